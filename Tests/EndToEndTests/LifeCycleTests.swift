import Foundation
import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Start, reload and end, with clients at work.
    @Suite("Life cycle")
    struct LifeCycle {
        /// Whether a tunnel to an origin that sends everything back carries something there and back.
        private func carries(_ tunnel: Socket) throws -> Bool {
            try tunnel.send("still")
            return try tunnel.receive(exactly: 5) == Array("still".utf8)
        }

        /// Whether something comes to hold in time, while a tunnel stays in use: one that carries nothing for a second
        /// is idle when the proxy stops, and a busy machine may take that long for anything.
        private func waits(using tunnel: Socket, _ condition: () throws -> Bool) throws -> Bool {
            try Wait.holds {
                try #require(try carries(tunnel))
                return try condition()
            }
        }

        @Test("No privilege of root's is needed, not to answer and not to tunnel")
        func withoutPrivileges() async throws {
            let echo = try RawOrigin.echo()
            // Anyone else has none from the start.
            let served = try ServedMap(
                tunnelsTo: echo.port,
                wrapper: getuid() == 0 ? ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] : [])
            let client = try served.binary.connect()
            try client.sendRequest("GET", "http://mapped.test/x")
            #expect(try client.receiveResponse().text == "x")
            let tunnel = try served.binary.tunnel(to: echo.port)
            try tunnel.send("through")
            #expect(try tunnel.receive(exactly: 7) == Array("through".utf8))
        }

        @Test(
            "SIGTERM and SIGINT close what is idle, finish 50 exchanges and a tunnel, and exit with 0",
            arguments: [SIGTERM, SIGINT])
        func orderlyEnd(signal: Int32) async throws {
            let asked = Counter()
            let mayGoOn = Counter()
            let origin = try ScriptedOrigin { _, connection in
                try connection.socket.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789")
                asked.add()
                _ = Wait.holds { mayGoOn.value > 0 }
                try connection.socket.send("0123456789")
                return true
            }
            let echo = try RawOrigin.echo()
            let served = try ServedMap(options: ["--shutdown-grace", "5m"], tunnelsTo: echo.port)
            let binary = served.binary
            let idle = try (0..<10).map { index in
                let client = try binary.connect()
                // Half of them have had an exchange.
                if index % 2 == 0 {
                    try client.sendRequest("GET", "http://mapped.test/x")
                    #expect(try client.receiveResponse().text == "x")
                }
                return client
            }
            let clients = try (0..<50).map { _ in
                let client = try binary.connect()
                try client.sendRequest("GET", "http://127.0.0.1:\(origin.port)/")
                return client
            }
            let tunnel = try binary.tunnel(to: echo.port)
            #expect(try waits(using: tunnel) { asked.value == 50 })
            binary.process.send(signal)
            for client in idle { #expect(try waits(using: tunnel) { client.hasEnded }) }
            #expect(throws: (any Error).self) { try binary.connect() }
            mayGoOn.add()
            for client in clients {
                let response = try client.receiveResponse()
                #expect(response.status == 200)
                #expect(response.isComplete)
                #expect(response.body.count == 20)
            }
            #expect(binary.process.status == nil)
            #expect(try carries(tunnel))
            tunnel.close()
            #expect(try binary.process.finish() == 0)
            #expect(binary.log.split(separator: "\n").count == 56)
        }

        @Test("A tunnel is cut at the end of --shutdown-grace")
        func graceEnd() throws {
            let echo = try RawOrigin.echo()
            let served = try ServedMap(options: ["--shutdown-grace", "500ms"], tunnelsTo: echo.port)
            let tunnel = try served.binary.tunnel(to: echo.port)
            let start = Clock.seconds
            served.binary.process.send(SIGTERM)
            #expect(Wait.holds { (try? carries(tunnel)) != true })
            #expect(tunnel.hasEnded)
            #expect(try served.binary.process.finish() == 0)
            #expect(Clock.seconds - start > 0.4)
        }

        @Test("A response that starts while the proxy stops says that the connection closes")
        func closingResponse() throws {
            let mayAnswer = Counter()
            let asked = Counter()
            let origin = try ScriptedOrigin { _, connection in
                asked.add()
                _ = Wait.holds { mayAnswer.value > 0 }
                try connection.respond(body: "late")
                return true
            }
            let served = try ServedMap(options: ["--shutdown-grace", "5m"])
            let client = try served.binary.connect()
            try client.sendRequest("GET", "http://127.0.0.1:\(origin.port)/")
            #expect(Wait.holds { asked.value == 1 })
            served.binary.process.send(SIGTERM)
            #expect(Wait.holds { (try? served.binary.connect()) == nil })
            mayAnswer.add()
            let response = try client.receiveResponse()
            #expect(response.text == "late")
            #expect(response.field("Connection") == "close")
            #expect(try served.binary.process.finish() == 0)
        }

        @Test("A mapped response that a client reads slowly is finished while the proxy stops")
        func slowReader() throws {
            // It is in memory as a whole, so that the exchange is over long before the client has it.
            let file = String(repeating: "0123456789abcdef", count: 12 << 16)
            let served = try ServedMap(
                "http://mapped.test/file: file.txt", files: ["file.txt": file], options: ["--shutdown-grace", "5m"])
            let binary = served.binary
            let client = try binary.connect(receiveBuffer: 8192)
            try client.sendRequest("GET", "http://mapped.test/file")
            var response = try client.receiveResponseHead()
            #expect(Wait.holds { binary.log.contains("mapped.test/file 200") })
            binary.process.send(SIGTERM)
            #expect(Wait.holds { (try? binary.connect()) == nil })
            // Longer than what is idle is waited for.
            #expect(Wait.keeps(for: 1) { binary.process.status == nil })
            response.body = try client.receive(exactly: file.utf8.count)
            #expect(response.body.count == file.utf8.count)
            #expect(response.text == file)
            #expect(try binary.process.finish() == 0)
        }

        @Test("A second signal ends it at once")
        func secondSignal() throws {
            let echo = try RawOrigin.echo()
            let served = try ServedMap(options: ["--shutdown-grace", "5m"], tunnelsTo: echo.port)
            let tunnel = try served.binary.tunnel(to: echo.port)
            served.binary.process.send(SIGTERM)
            #expect(try waits(using: tunnel) { (try? served.binary.connect()) == nil })
            #expect(served.binary.process.status == nil)
            served.binary.process.send(SIGTERM)
            #expect(try served.binary.process.finish() == 128 + SIGTERM)
            #expect(Wait.holds { tunnel.hasEnded })
        }

        @Test("A hundred changes of the map under load, each with a SIGHUP, fail no request and close no connection")
        func reloadUnderLoad() async throws {
            let origin = try ScriptedOrigin(body: "forwarded")
            let texts = ["one", "two"]
            let maps = texts.map { ServedMap.text("http://mapped.test/file: \($0).txt") }
            let served = try ServedMap(
                "http://mapped.test/file: one.txt", files: ["one.txt": "one", "two.txt": "two"],
                options: ["--threads", "2"])
            let binary = served.binary
            let (folder, mapPath) = (served.folder.path, served.mapPath)
            let isOver = Counter()
            let seen = [Counter(), Counter()]
            let port = origin.port
            func reloads(_ result: String) throws -> Double {
                try Metrics.value("subproxy_reloads_total{subject=\"map\",result=\"\(result)\"}", binary) ?? -1
            }
            let counts = try await atOnce(5) { worker in
                if worker == 0 {
                    defer { isOver.add() }
                    for number in 1...100 {
                        let other = "\(folder)/other.yaml"
                        let before = seen[number % 2].value
                        try maps[number % 2].write(toFile: other, atomically: false, encoding: .utf8)
                        try #require(rename(other, mapPath) == 0)
                        binary.process.send(SIGHUP)
                        usleep(10_000)
                        // Now and then until it is in force, one map and the other in turn.
                        if number % 7 == 0 {
                            #expect(Wait.holds { seen[number % 2].value > before })
                        }
                    }
                    return 0
                }
                let client = try binary.connect()
                var count = 0
                while isOver.value == 0 {
                    let isMapped = (worker + count) % 2 == 0
                    try client.sendRequest("GET", isMapped ? "http://mapped.test/file" : "http://127.0.0.1:\(port)/")
                    let response = try client.receiveResponse()
                    #expect(response.status == 200)
                    if isMapped {
                        let index = try #require(texts.firstIndex(of: response.text), "\(response.text)")
                        seen[index].add()
                    } else {
                        #expect(response.text == "forwarded")
                    }
                    count += 1
                }
                return count
            }
            #expect(counts.dropFirst().allSatisfy { $0 > 0 })
            #expect(seen.allSatisfy { $0.value > 0 })
            #expect(try reloads("success") >= 5)
            #expect(try reloads("failure") == 0)
            #expect(Wait.holds { (try? binary.get("http://mapped.test/file").text) == "one" })
            #expect(binary.process.status == nil)
        }

        @Test("A port that is in use ends the start with 69 and names who holds it")
        func portInUse() throws {
            let (listener, port) = try Socket.listen()
            defer { listener.close() }
            let served = try ServedMap()
            let second = try ChildProcess.run([
                RunningBinary.path, "--map", served.mapPath, "--listen", "127.0.0.1:0", "--listen", "127.0.0.1:\(port)",
            ])
            #expect(second.status == 69)
            #expect(second.error.contains("127.0.0.1:\(port)"))
            #expect(second.error.split(separator: "\n").count == 1)
        }

        @Test("The port is free again as soon as the program has ended")
        func restart() throws {
            let served = try ServedMap()
            _ = try served.binary.get("http://mapped.test/x")
            served.binary.process.send(SIGTERM)
            #expect(try served.binary.process.finish() == 0)
            let again = try ChildProcess([
                RunningBinary.path, "--map", served.mapPath, "--listen", "127.0.0.1:\(served.binary.port)",
            ])
            #expect(Wait.holds { again.error.contains("listening on") }, "\(again.error)")
        }
    }
}
