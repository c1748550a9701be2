import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Clients that hold on to what they get: the others are served meanwhile.
    @Suite("Hostile clients")
    struct HostileClients {
        private static let url = "http://mapped.test/x"

        @Test("200 clients that send a head byte by byte get 408 in time, and others are served meanwhile")
        func slowHeads() async throws {
            let served = try ServedMap(options: ["--header-timeout", "300ms"])
            let binary = served.binary
            let before = binary.footprint
            let isOver = Counter()
            _ = try await atOnce(2) { side in
                if side == 1 {
                    defer { isOver.add() }
                    return try HostileClients.sendSlowly(binary, count: 200)
                }
                while isOver.value == 0 {
                    #expect(try binary.get(HostileClients.url).text == "x")
                    usleep(5000)
                }
            }
            let after = try binary.settle(to: before, memory: 8 * mebibyte)
            #expect(after.descriptors <= before.descriptors)
            #expect(after.residentBytes - before.residentBytes < 8 * mebibyte)
        }

        /// Sends a byte on each connection every few milliseconds; all must end with 408.
        private static func sendSlowly(_ binary: RunningBinary, count: Int) throws {
            let head = Array("GET \(url) HTTP/1.1\r\nHost: mapped.test\r\nX-Slow: ".utf8)
            let clients = try (0..<count).map { _ in try binary.connect() }
            var open = Array(clients.indices)
            var position = 0
            try Wait.until {
                let byte = position < head.count ? head[position] : UInt8(ascii: "x")
                for index in open { _ = clients[index].sendWithoutWaiting([byte]) }
                position += 1
                usleep(20_000)
                // A response is there to read when the proxy has given up.
                open.removeAll { clients[$0].hasInput }
                return open.isEmpty
            }
            for client in clients {
                let response = try client.receiveResponse()
                #expect(response.status == 408)
                #expect(response.field("Connection") == "close")
                #expect(try client.receiveAll().isEmpty)
            }
        }

        @Test("Connections that never send anything are closed without a word when they have been idle long enough")
        func idleConnections() throws {
            let served = try ServedMap(options: ["--idle-timeout", "1500ms"])
            let start = Clock.seconds
            let clients = try (0..<50).map { index in
                let client = try served.binary.connect()
                if index % 2 == 0 {
                    try client.sendRequest("GET", HostileClients.url)
                    #expect(try client.receiveResponse().status == 200)
                }
                return client
            }
            for client in clients { #expect(try client.receiveAll().isEmpty) }
            #expect(Clock.seconds - start > 1.4)
        }

        @Test("A body that stops is a 408, and the origin's request is broken off", arguments: [true, false])
        func stoppedBody(isChunked: Bool) throws {
            let brokenOff = Counter()
            let origin = try ScriptedOrigin { _, connection in
                while try !connection.socket.receive().isEmpty {}
                brokenOff.add()
                return false
            }
            let served = try ServedMap(options: ["--origin-timeout", "500ms"])
            let rest = isChunked ? "Transfer-Encoding: chunked\r\n\r\nff\r\nabc" : "Content-Length: 255\r\n\r\nabc"
            let client = try served.binary.connect()
            try client.send(
                "PUT http://127.0.0.1:\(origin.port)/ HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\n\(rest)")
            #expect(try client.receiveResponse().status == 408)
            #expect(Wait.holds { brokenOff.value == 1 })
        }

        @Test("More connections than --max-connections are closed at once, and room is made again")
        func connectionLimit() throws {
            let served = try ServedMap(options: ["--max-connections", "5"])
            let clients = try (0..<5).map { _ in
                let client = try served.binary.connect()
                try client.sendRequest("GET", HostileClients.url)
                #expect(try client.receiveResponse().status == 200)
                return client
            }
            for _ in 0..<3 { #expect(try served.binary.connect().receiveAll().isEmpty) }
            for client in clients {
                try client.sendRequest("GET", HostileClients.url)
                #expect(try client.receiveResponse().status == 200)
                client.close()
            }
            #expect(Wait.holds { (try? served.binary.get(HostileClients.url).status) == 200 })
        }

        /// - Parameter isWarm: whether something was forwarded before, for which libcurl had to be opened.
        @Test(
            "With 64 descriptors 200 clients are shed or wait, none is harmed for good, and no processor time is burnt",
            arguments: [true, false])
        func fewDescriptors(isWarm: Bool) throws {
            let origin = try ScriptedOrigin(body: "forwarded")
            let other = try ScriptedOrigin(body: "from elsewhere")
            let served = try ServedMap(
                """
                \(HostileClients.url): { text: x }
                http://mapped.test/file: file.txt
                http://mapped.test/before: before.txt
                """, files: ["file.txt": "file", "before.txt": "before"],
                wrapper: ["prlimit", "--nofile=64"])
            let binary = served.binary
            #expect(try binary.get(HostileClients.url).text == "x")
            // Leaves the folder of the map's files open.
            #expect(try binary.get("http://mapped.test/before").text == "before")
            if isWarm { #expect(try binary.get("http://127.0.0.1:\(origin.port)/").text == "forwarded") }
            let first = try binary.connect()
            try first.sendRequest("GET", HostileClients.url)
            #expect(try first.receiveResponse().status == 200)
            let before = binary.footprint
            let clients = try (0..<200).map { _ in try binary.connect() }
            for client in clients { try? client.sendRequest("GET", HostileClients.url) }
            #expect(Wait.holds { clients.count { $0.hasInput } > 10 })
            // Those that were let in are served, those that wait do not make the proxy spin.
            #expect(binary.processorShare(for: 1) < 0.25)
            try first.sendRequest("GET", HostileClients.url)
            #expect(try first.receiveResponse().status == 200)
            // What needs a descriptor of its own fails soon and with the reason, as long as there is none.
            let urls = [
                "http://127.0.0.1:\(other.port)/", "http://name.invalid:\(other.port)/", "http://mapped.test/file",
            ]
            for url in urls {
                try first.sendRequest("GET", url)
                let response = try first.receiveResponse()
                #expect(response.status == 503, "\(url): \(response.text)")
                #expect(response.text.contains("oo many open files"), "\(url): \(response.text)")
            }
            for client in clients { client.close() }
            #expect(Wait.holds { (try? binary.get(HostileClients.url).text) == "x" })
            #expect(try binary.get("http://127.0.0.1:\(origin.port)/").text == "forwarded")
            #expect(try binary.get("http://mapped.test/file").text == "file")
            guard isWarm else { return }
            let after = try binary.settle(to: before, memory: 16 * mebibyte)
            #expect(after.descriptors <= before.descriptors, "\(before), \(after)")
        }

        @Test("A client that does not read its own responses does not keep the proxy from others, pipelining or not")
        func unreadPipeline() throws {
            let served = try ServedMap(
                "\(HostileClients.url): a.txt", files: ["a.txt": String(repeating: "m", count: 100_000)])
            let binary = served.binary
            #expect(try binary.get(HostileClients.url).body.count == 100_000)
            let before = binary.residentBytes
            let request = Array("GET \(HostileClients.url) HTTP/1.1\r\nHost: mapped.test\r\n\r\n".utf8)
            let clients = try (0..<50).map { _ in try binary.connect(receiveBuffer: 8192) }
            let many = Array(repeatElement(request, count: 500).joined())
            for client in clients { _ = client.sendWithoutWaiting(many) }
            var rounds = 0
            let peak = try binary.peakResidentBytes {
                let response = try binary.get(HostileClients.url)
                #expect(response.body.count == 100_000)
                rounds += 1
                return rounds < 100
            }
            #expect((peak - before) / 50 < 512 << 10)
        }

        @Test("A client that only asks has few answers pile up, however many it asks for")
        func onlyAsks() throws {
            let served = try ServedMap("\(HostileClients.url): a.txt", files: ["a.txt": "mapped"])
            let binary = served.binary
            _ = try binary.get(HostileClients.url)
            let before = binary.residentBytes
            // Each is answered with an error page of its own, some forty times as long.
            let request = Array("GET /x HTTP/1.1\r\nHost: localhost:\(binary.port)\r\n\r\n".utf8)
            let many = Array(repeatElement(request, count: 1000).joined())
            let client = try binary.connect(receiveBuffer: 8192)
            var rest = many
            // Until the proxy has stopped reading and the kernel's buffers are full, or 40 MB have gone.
            for _ in 0..<800 {
                var isBlocked = false
                while !rest.isEmpty, !isBlocked {
                    isBlocked = Wait.keeps(for: 0.3) {
                        let sent = client.sendWithoutWaiting(rest)
                        rest.removeFirst(sent)
                        return sent == 0
                    }
                }
                if isBlocked { break }
                rest = many
            }
            #expect(!rest.isEmpty)
            #expect(binary.residentBytes - before < 16 << 20)
            #expect(try binary.get(HostileClients.url).body.count == 6)
        }
    }
}
