import Glibc
import ProxyTestKit
import Synchronization
import Testing

extension EndToEnd {
    /// Stored responses where the process, its threads and its options count.
    @Suite("Stored responses")
    struct Cache {
        private static let mapped = "http://mapped.test/x"

        @Test("Fifty clients on two event loops that ask for one slow URL cause one origin exchange")
        func fiftyClients() async throws {
            let isOpen = Counter()
            let origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                _ = Wait.holds { isOpen.value > 0 }
                try connection.respond(
                    fields: "Cache-Control: max-age=60\r\n", body: String(repeating: "s", count: 100_000))
                return true
            }
            let served = try ServedMap(options: ["--threads", "2", "--collapse-timeout", "5m"])
            let binary = served.binary
            let clients = try (0..<50).map { _ in
                let client = try binary.connect()
                try client.sendRequest("GET", "http://127.0.0.1:\(origin.port)/slow", fields: ["Connection: close"])
                return client
            }
            for _ in 0..<4 { _ = try binary.get(Cache.mapped) }
            isOpen.add()
            let answers = try await atOnce(50) { try clients[$0].receiveResponse() }
            #expect(answers.allSatisfy { $0.status == 200 && $0.isComplete && $0.body.count == 100_000 })
            #expect(origin.requests.count == 1)
            let leaders = answers.filter { $0.field("Cache-Status") == "subproxy; fwd=uri-miss; stored" }
            #expect(leaders.count == 1)
            let others = answers.filter {
                $0.field("Cache-Status") == "subproxy; fwd=uri-miss; stored; collapsed"
                    || $0.field("Cache-Status")?.hasPrefix("subproxy; hit") == true
            }
            #expect(others.count == 49)
        }

        @Test("Fifty clients that come at any moment of a short exchange cause one, time after time")
        func fiftyClientsAtOnce() async throws {
            let origin = try ScriptedOrigin(
                fields: "Cache-Control: max-age=60\r\n", body: String(repeating: "s", count: 5000))
            let served = try ServedMap(options: ["--threads", "2", "--collapse-timeout", "5m"])
            let binary = served.binary
            for round in 1...10 {
                let answers = try await atOnce(50) { _ in try binary.get("http://127.0.0.1:\(origin.port)/\(round)") }
                #expect(answers.allSatisfy { $0.status == 200 && $0.isComplete && $0.body.count == 5000 })
                #expect(origin.requests.count == round)
            }
        }

        @Test("Fifty clients get fifty private responses, none of them another's")
        func privateResponses() async throws {
            let count = Counter()
            let origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                if count.next() == 1 { _ = Wait.keeps(for: 0.3) { true } }
                try connection.respond(
                    fields: "Cache-Control: private, max-age=60\r\nSet-Cookie: id=\(request.field("Cookie") ?? "")\r\n",
                    body: request.field("Cookie") ?? "")
                return true
            }
            let served = try ServedMap(options: ["--threads", "2"])
            let binary = served.binary
            let answers = try await atOnce(50) { index in
                try binary.get("http://127.0.0.1:\(origin.port)/me", fields: ["Cookie: user=\(index)"])
            }
            for (index, answer) in answers.enumerated() {
                #expect(answer.text == "user=\(index)")
                #expect(answer.field("Set-Cookie") == "id=user=\(index)")
            }
            #expect(origin.requests.count == 50)
        }

        @Test("Clients that wait for an origin which hangs go their own way after --collapse-timeout")
        func collapseTimeout() async throws {
            let isOver = Counter()
            defer { isOver.add() }
            let count = Counter()
            let origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                if count.next() == 1 { _ = Wait.holds { isOver.value > 0 } }
                try connection.respond(fields: "Cache-Control: max-age=60\r\n", body: "ok")
                return true
            }
            let served = try ServedMap(options: ["--threads", "2", "--collapse-timeout", "500ms"])
            let binary = served.binary
            let url = "http://127.0.0.1:\(origin.port)/hangs"
            let leader = try binary.connect()
            try leader.sendRequest("GET", url)
            try Wait.until { count.value == 1 }
            let answers = try await atOnce(10) { _ in try binary.get(url) }
            #expect(answers.allSatisfy { $0.status == 200 && $0.text == "ok" })
            #expect(origin.requests.count <= 11)
            #expect(try binary.get(url).field("Cache-Status")?.hasPrefix("subproxy; hit") == true)
        }

        @Test("Clients that leave anywhere in a body harm nobody, and leave no descriptor behind")
        func leavingClients() async throws {
            let size = 400_000
            let origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                try connection.socket.send(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: \(size)\r\n\r\n")
                let block = [UInt8](repeating: 0x61, count: size / 20)
                for _ in 0..<20 {
                    try connection.socket.send(block)
                    usleep(2000)
                }
                return true
            }
            let served = try ServedMap(options: ["--threads", "2"])
            let binary = served.binary
            // What is made at the first need of each event loop has been.
            _ = try await atOnce(8) { try binary.get("http://127.0.0.1:\(origin.port)/warm/\($0)") }
            let warm = origin.requests.count
            let before = binary.footprint
            for round in 1...5 {
                let url = "http://127.0.0.1:\(origin.port)/\(round)"
                // One that stays leads, so that there is always somebody for whom it goes on.
                let leader = try binary.connect()
                try leader.sendRequest("GET", url)
                _ = try leader.receiveResponseHead()
                let complete = try await atOnce(30) { index -> Bool? in
                    let client = try binary.connect()
                    // So that the proxy has seen where the client is before it leaves.
                    try client.sendRequest("GET", Cache.mapped)
                    _ = try client.receiveResponse()
                    try client.sendRequest("GET", url, fields: ["Connection: close"])
                    guard index % 3 != 0 else {
                        if index % 2 == 0 { _ = try client.receive(exactly: index * 5000) }
                        client.reset()
                        return nil
                    }
                    let answer = try client.receiveResponse()
                    return answer.isComplete && answer.body.count == size
                }
                #expect(complete.allSatisfy { $0 != false })
                #expect(try leader.receive(exactly: size).count == size)
                #expect(origin.requests.count == warm + round)
                #expect(try binary.get(url).body.count == size)
            }
            origin.stop()
            let after = try binary.settle(to: before, memory: .max / 2) { _ = try binary.get(Cache.mapped) }
            #expect(after.descriptors <= before.descriptors, "\(before.openDescriptors), \(after.openDescriptors)")
        }

        @Test("--cache-mode, --cache-memory and --cache-targets say what is stored")
        func options() throws {
            let origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                let fields =
                    request.target == "/private"
                    ? "Cache-Control: private, max-age=60\r\n"
                    : request.target == "/targeted"
                        ? "Cache-Control: no-store\r\nCDN-Cache-Control: max-age=60\r\n"
                        : "Cache-Control: max-age=60\r\n"
                try connection.respond(fields: fields, body: "b")
                return true
            }
            for (options, stored) in [
                ([], ["/public"]), (["--cache-mode", "shared"], ["/public"]),
                (["--cache-mode", "private"], ["/public", "/private"]), (["--cache-mode", "off"], []),
                (["--cache-memory", "0"], []), (["--cache-targets", "CDN-Cache-Control"], ["/public", "/targeted"]),
            ] as [([String], [String])] {
                let served = try ServedMap(options: options)
                for path in ["/public", "/private", "/targeted"] {
                    let url = "http://127.0.0.1:\(origin.port)\(path)"
                    _ = try served.binary.get(url)
                    let again = try served.binary.get(url)
                    #expect(
                        (again.field("Cache-Status")?.hasPrefix("subproxy; hit; ttl=") == true)
                            == stored.contains(path),
                        "\(options) \(path)")
                }
            }
        }

        @Test("The log has the outcomes of the cache in JSON too")
        func jsonLog() throws {
            let origin = try ScriptedOrigin(fields: "Cache-Control: max-age=60\r\n", body: "b")
            let served = try ServedMap(options: ["--log-format", "json", "--threads", "1"])
            let url = "http://127.0.0.1:\(origin.port)/x?secret=1"
            for fields in [[], [], ["Cache-Control: max-age=0"]] { _ = try served.binary.get(url, fields: fields) }
            try Wait.until { served.binary.log.split(separator: "\n").count >= 3 }
            let lines = served.binary.log.split(separator: "\n")
            for (line, outcome) in zip(lines, ["forwarded", "stored", "forwarded"]) {
                #expect(line.contains("\"outcome\":\"\(outcome)\""), "\(line)")
                #expect(!line.contains("secret=1"))
            }
        }

        @Test("SIGTERM ends the program although a validation in the background and an abandoned body are under way")
        func stop() throws {
            let isOver = Counter()
            defer { isOver.add() }
            let origin = try ScriptedOrigin { request, connection in
                let isFirst = request.field("If-None-Match") == nil
                _ = try connection.readBody(of: request)
                if !isFirst || request.target == "/half" {
                    if request.target == "/half" {
                        try connection.socket.send(
                            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 100\r\n\r\nhalf")
                    }
                    _ = Wait.holds { isOver.value > 0 }
                    return false
                }
                try connection.respond(
                    fields: "Cache-Control: max-age=0, stale-while-revalidate=60\r\nETag: \"v1\"\r\n", body: "b")
                return true
            }
            let served = try ServedMap(options: ["--shutdown-grace", "5m"])
            let base = "http://127.0.0.1:\(origin.port)"
            _ = try served.binary.get("\(base)/stale")
            #expect(try served.binary.get("\(base)/stale").text == "b")
            let client = try served.binary.connect()
            try client.sendRequest("GET", "\(base)/half")
            _ = try client.receiveResponseHead()
            client.reset()
            try Wait.until { origin.requests.count == 3 }
            served.binary.process.send(SIGTERM)
            #expect(try served.binary.process.finish() == 0)
        }
    }
}
