import Glibc
import ProxyTestKit
import Synchronization
import Testing

extension EndToEnd {
    /// Origins that misbehave: the client gets an error or a response that is seen to be cut off.
    @Suite("Origins that misbehave")
    struct OriginFaults {
        private let served: ServedMap
        private let origin: FaultOrigin
        private var binary: RunningBinary { served.binary }

        init() throws {
            origin = try FaultOrigin()
            served = try ServedMap()
        }

        /// A proxy that waits for an origin no longer than so.
        private func impatient(_ limit: String) throws -> ServedMap {
            try ServedMap(options: ["--origin-timeout", limit])
        }

        @Test(
            "A response that breaks off in its body is cut off for the client too",
            arguments: [
                "/reset?n=1000", "/reset?n=200000", "/short?n=5&cl=10", "/short?n=100000&cl=100001", "/hangbody",
            ])
        func brokenBody(path: String) throws {
            // The head has to come in time.
            let served = path == "/hangbody" ? try impatient("2s") : served
            let binary = served.binary
            let client = try binary.connect()
            try client.sendRequest("GET", origin.url(path))
            let response = try client.receiveResponse()
            #expect(response.status == 200)
            #expect(!response.isComplete)
            #expect(try client.receive().isEmpty)
            #expect(Wait.holds { binary.log.contains(" failed ") })
        }

        @Test(
            "An origin that is silent before its response is complete in its head is a 504 that says so",
            arguments: [("GET", "/hang"), ("GET", "/hanghead"), ("POST", "/hang")])
        func silence(method: String, path: String) throws {
            let served = try impatient("500ms")
            let client = try served.binary.connect()
            try client.sendRequest(method, origin.url(path), body: method == "POST" ? "body" : nil)
            let response = try client.receiveResponse()
            #expect(response.status == 504)
            #expect(response.field("Proxy-Status")?.hasPrefix("subproxy; error=") == true)
        }

        @Test("An upload that the origin does not read ends with a 504")
        func unreadUpload() throws {
            let served = try impatient("500ms")
            let client = try served.binary.connect()
            let size = 64 * mebibyte
            try client.send(
                """
                POST \(origin.url("/noread")) HTTP/1.1\r
                Host: 127.0.0.1\r
                Content-Length: \(size)\r\n\r\n
                """)
            let block = [UInt8](repeating: 0x75, count: 65536)
            var sent = 0
            try Wait.until {
                while sent < size, case let count = client.sendWithoutWaiting(block), count > 0 { sent += count }
                return client.hasInput
            }
            #expect(sent < size)
            let response = try client.receiveResponse()
            #expect(response.status == 504)
            // The rest of the body is never taken for a request: it is thrown away, within a bound.
            while sent < size, case let count = client.sendWithoutWaiting(block), count > 0 { sent += count }
            #expect((try? client.receiveAll())?.isEmpty != false)
        }

        @Test(
            "Endless header sections and interim responses are a 502, in bounded memory",
            arguments: ["/manyheaders?n=100000", "/bighdr?n=10000000", "/1xx?n=100000"])
        func headBombs(path: String) throws {
            _ = try binary.get(origin.url("/ok"))
            let before = binary.residentBytes
            let response = try binary.get(origin.url(path))
            #expect(response.status == 502)
            #expect(response.interim.count <= 256)
            #expect(response.field("Proxy-Status")?.hasPrefix("subproxy; error=") == true)
            #expect(binary.residentBytes - before < 8 * mebibyte)
        }

        @Test("A header line beyond libcurl's own limit is the origin's fault too", arguments: [110_000, 300_000])
        func longLine(length: Int) throws {
            let origin = try ScriptedOrigin { _, connection in
                let line = "X-Long: " + String(repeating: "l", count: length)
                try connection.socket.send("HTTP/1.1 200 OK\r\n\(line)\r\nContent-Length: 2\r\n\r\nok")
                return false
            }
            let response = try binary.get("http://127.0.0.1:\(origin.port)/")
            #expect(response.status == 502, "\(response.text)")
        }

        @Test(
            "Nothing is put into a response that begins while the client waits for a 100 (Continue)",
            arguments: [5000, 3_000_000])
        func responseBeforeContinue(length: Int) throws {
            let body = [UInt8]((0..<length).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) })
            let origin = try ScriptedOrigin { _, connection in
                try connection.socket.send("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n")
                try connection.socket.send(body)
                while try !connection.socket.receive().isEmpty {}
                return false
            }
            let client = try binary.connect()
            try client.send(
                """
                POST http://127.0.0.1:\(origin.port)/ HTTP/1.1\r
                Host: 127.0.0.1\r
                Expect: 100-continue\r
                Content-Length: 1000\r\n\r\n
                """)
            let response = try client.receiveResponse()
            #expect(response.status == 200)
            let isSame = response.body == body
            #expect(isSame && response.interim.isEmpty)
            try? client.send([UInt8](repeating: 0x75, count: 1000))
            let rest = try? client.receiveAll()
            #expect(rest?.isEmpty != false, "\(String(decoding: rest ?? [], as: UTF8.self).prefix(100))")
        }

        @Test("Interim responses pass, each once and in order")
        func interim() throws {
            let response = try binary.get(origin.url("/1xx?n=3"))
            #expect(response.interim.count == 3)
            for head in response.interim {
                #expect(head.hasPrefix("HTTP/1.1 103 "))
                #expect(head.contains("\r\nLink: </a>\r\n"))
            }
            #expect(response.status == 200)
            #expect(response.text == "ok")
        }

        @Test("Bodies whose length is not announced are complete, and a half-closed origin ends one")
        func unknownLength() throws {
            let chunked = try binary.get(origin.url("/bigchunked?n=6553600"))
            #expect(chunked.isComplete)
            #expect(chunked.body.count == 6_553_600)
            let closed = try binary.get(origin.url("/halfclose"))
            #expect(closed.isComplete)
            #expect(closed.text == "hello")
        }

        @Test("A body with a content coding passes as it is, however much it would decode to")
        func codedBomb() throws {
            _ = try binary.get(origin.url("/ok"))
            let before = binary.residentBytes
            let response = try binary.get(origin.url("/gzipbomb?mb=50"))
            #expect(response.status == 200)
            #expect(response.field("Content-Encoding") == "gzip")
            #expect(response.isComplete)
            #expect(response.body.count < mebibyte)
            #expect(binary.residentBytes - before < 8 * mebibyte)
        }

        @Test("An origin that drops every second connection is a 502 or answers, and never hangs")
        func flapping() throws {
            for _ in 0..<8 {
                let response = try binary.get(origin.url("/flap"))
                #expect(response.status == 200 || response.status == 502)
            }
            #expect(try binary.get(origin.url("/ok")).status == 200)
        }

        @Test("A slow reader of an upload gets all of it")
        func slowUpload() throws {
            let response = try binary.exchange(
                "POST", origin.url("/slowread?ms=20"), body: String(repeating: "u", count: 8000))
            #expect(response.status == 200)
        }
    }

    /// When a request may be sent a second time, and when the origin learns that nobody waits.
    @Suite("Connections to origins")
    struct OriginConnections {
        /// An origin that closes a connection at its second request, or where `closesAll` at its first, unanswered.
        private func closingOrigin(closesAll: Bool) throws -> ScriptedOrigin {
            let served = Mutex<Set<CInt>>([])
            return try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                let isFirst = served.withLock { $0.insert(connection.socket.descriptor).inserted }
                guard isFirst, !closesAll else {
                    served.withLock { _ = $0.remove(connection.socket.descriptor) }
                    return false
                }
                try connection.respond(body: "answered")
                return true
            }
        }

        @Test(
            "A kept connection that turns out closed costs no client an error, and no request is sent twice but GET",
            arguments: [("GET", 2), ("HEAD", 2), ("PUT", 1), ("POST", 1)])
        func keptConnections(method: String, mostSent: Int) throws {
            let origin = try closingOrigin(closesAll: false)
            let served = try ServedMap()
            let url = "http://127.0.0.1:\(origin.port)"
            #expect(try served.binary.get("\(url)/first").text == "answered")
            let body = method.hasPrefix("P") ? "body" : nil
            let response = try served.binary.exchange(method, "\(url)/second", body: body)
            #expect(response.status == 200)
            #expect(origin.requests.filter { $0.target == "/second" }.count <= mostSent)
        }

        @Test("A request that a new connection does not answer is a 502, sent once", arguments: ["GET", "PUT", "POST"])
        func newConnections(method: String) throws {
            let origin = try closingOrigin(closesAll: true)
            let served = try ServedMap()
            let body = method == "GET" ? nil : "body"
            let response = try served.binary.exchange(method, "http://127.0.0.1:\(origin.port)/", body: body)
            #expect(response.status == 502)
            #expect(origin.requests.count == 1)
        }

        @Test("An origin sees that the client has left", arguments: ["in the head", "in the body"])
        func cancellation(moment: String) throws {
            let noticed = Counter()
            let asked = Counter()
            let origin = try ScriptedOrigin { request, connection in
                if moment == "in the body" {
                    try connection.socket.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nx")
                }
                asked.add()
                // The end of input: the proxy has closed the connection.
                _ = try? connection.socket.receive()
                noticed.add()
                return false
            }
            let served = try ServedMap()
            let client = try served.binary.connect()
            try client.sendRequest("GET", "http://127.0.0.1:\(origin.port)/slow")
            if moment == "in the body" { _ = try client.receiveResponseHead() }
            #expect(Wait.holds { asked.value == 1 })
            client.close()
            #expect(Wait.holds { noticed.value == 1 })
        }
    }
}
