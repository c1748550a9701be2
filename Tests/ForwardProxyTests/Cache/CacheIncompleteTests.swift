import ForwardProxy
import ProxyTestKit
import Testing

@Suite("Broken, old and unusual messages, and what is stored of them")
struct CacheIncompleteTests {
    /// An origin that sends these bytes to each request and then ends the connection, by a reset where told so.
    private func origin(_ text: String, resets: Bool = false) throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.socket.send(text)
            if resets {
                // Until the proxy has read what was sent, a reset would take it back.
                _ = Wait.keeps(for: 0.1) { true }
                connection.socket.reset()
            }
            return false
        }
    }

    @Test(
        "a response that is cut off is never stored, nor served as a whole one",
        arguments: [
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\n01234",
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n",
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n012",
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n0\r\n",
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\nzz\r\n",
        ])
    func truncated(_ text: String) throws {
        for resets in [false, true] {
            let origin = try origin(text, resets: resets)
            let proxy = try TestProxy()
            for _ in 1...2 {
                let client = try proxy.connect()
                try client.sendRequest("GET", "http://127.0.0.1:\(origin.port)/")
                let answer = try? client.receiveResponse()
                #expect(answer?.isComplete != true || answer?.status == 502)
            }
            #expect(origin.requests.count >= 2)
        }
    }

    @Test("a response without a length that ends by a reset is not stored; one that ends in order is")
    func closeDelimited() throws {
        let text = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\n01234"
        let proxy = try TestProxy()
        let cut = try origin(text, resets: true)
        for _ in 1...2 {
            let client = try proxy.connect()
            try client.sendRequest("GET", "http://127.0.0.1:\(cut.port)/")
            let answer = try? client.receiveResponse()
            #expect(answer?.isComplete != true || answer?.status == 502)
        }
        #expect(cut.requests.count >= 2)
        let whole = try origin(text)
        _ = try proxy.exchange("GET", "http://127.0.0.1:\(whole.port)/")
        let hit = try proxy.exchange("GET", "http://127.0.0.1:\(whole.port)/")
        #expect(hit.body == "01234")
        #expect(hit.field("Content-Length") == "5")
        #expect(whole.requests.count == 1)
    }

    @Test("a response of HTTP/1.0 is stored, and served with HTTP/1.1's framing")
    func oldOrigin() throws {
        let origin = try origin("HTTP/1.0 200 OK\r\nCache-Control: max-age=60\r\n\r\nold")
        let proxy = try TestProxy()
        let url = "http://127.0.0.1:\(origin.port)/"
        #expect(try proxy.exchange("GET", url).dechunked == "old")
        let client = try proxy.connect()
        for _ in 1...2 {
            try client.sendRequest("GET", url)
            let hit = try client.receiveResponse()
            #expect(hit.text == "old")
            #expect(hit.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
        #expect(origin.requests.count == 1)
    }

    @Test("an HTTP/1.0 client gets what is stored and what is being stored, delimited by closing")
    func oldClient() throws {
        let stage = try CacheStage { _, _ in
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3\r\nabc\r\n3\r\ndef\r\n0\r\nX-Trailer: 1\r\n\r\n"
        }
        for isHit in [false, true] {
            let client = try stage.proxy.connect()
            try client.send("GET \(stage.url()) HTTP/1.0\r\n\r\n")
            let answer = TestResponse(try client.receiveAll())
            #expect(answer.body == "abcdef")
            #expect(answer.field("Transfer-Encoding") == nil)
            #expect(answer.field("Connection") == "close")
            #expect(answer.cacheStatus?.hasPrefix(isHit ? "subproxy; hit" : "subproxy; fwd=uri-miss; stored") == true)
        }
        #expect(stage.count == 1)
    }

    @Test("a chunked response is stored with its length; its trailers go to the first client only")
    func trailers() throws {
        let stage = try CacheStage { _, _ in
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3;ext=1\r\nabc\r\n0\r\nX-Sum: 6\r\n\r\n"
        }
        let first = try stage.get()
        #expect(first.dechunked == "abc")
        #expect(first.body.hasSuffix("0\r\nX-Sum: 6\r\n\r\n"))
        let hit = try stage.get()
        #expect(hit.body == "abc")
        #expect(hit.field("Content-Length") == "3")
        #expect(hit.field("Transfer-Encoding") == nil)
        #expect(hit.field("X-Sum") == nil)
        #expect(hit.field("Trailer") == nil)
    }

    @Test("empty contents and statuses without content are stored and served as such")
    func empty() throws {
        for status in ["200 OK", "204 No Content", "404 Not Found"] {
            let stage = try CacheStage { _, _ in response(status, "Cache-Control: max-age=60") }
            let first = try stage.get()
            for method in ["GET", "HEAD", "GET"] {
                let hit = try stage.get(method: method)
                #expect(hit.status == first.status)
                #expect(hit.body.isEmpty)
                #expect(hit.field("Content-Length") == (status.hasPrefix("204") ? nil : "0"))
            }
            #expect(stage.count == 1)
        }
    }

    @Test("a reason phrase of the origin's own is kept")
    func reasonPhrase() throws {
        let stage = try CacheStage { _, _ in response("200 Very Well", "Cache-Control: max-age=60", body: "b") }
        for _ in 1...3 { #expect(try stage.get().head.hasPrefix("HTTP/1.1 200 Very Well\r\n")) }
        #expect(stage.count == 1)
    }

    @Test("a large response is stored whole, and larger ones than an eighth of the memory pass")
    func sizes() throws {
        let large = String(repeating: "x", count: 900_000)
        let tooLarge = String(repeating: "y", count: 1_200_000)
        let stage = try CacheStage {
            $0.cache.memory = 8 << 20
        } _: { request, _ in
            let body = request.target.hasPrefix("/large") ? large : tooLarge
            guard request.target.hasSuffix("chunked") else {
                return response("200 OK", "Cache-Control: max-age=60", body: body)
            }
            return "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n"
                + String(body.utf8.count, radix: 16) + "\r\n" + body + "\r\n0\r\n\r\n"
        }
        for path in ["/large", "/large/chunked"] {
            _ = try stage.get(path)
            #expect(try stage.get(path).body == large)
        }
        #expect(stage.count == 2)
        for (path, status) in [
            ("/too", "subproxy; fwd=uri-miss; detail=\"too large\""),
            ("/too/chunked", "subproxy; fwd=uri-miss; stored"),
        ] {
            for _ in 1...2 {
                let answer = try stage.get(path)
                #expect(answer.dechunked ?? answer.body == tooLarge)
                #expect(answer.cacheStatus == status)
            }
        }
        #expect(stage.count == 6)
        #expect(try stage.get("/large").cacheStatus?.hasPrefix("subproxy; hit") == true)
    }
}
