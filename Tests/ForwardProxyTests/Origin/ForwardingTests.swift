import ForwardProxy
import Foundation
import NIOCore
import ProxyTestKit
import Substitution
import Testing

@Suite("What is forwarded, and how")
struct ForwardingTests {
    private static func mapped(_ origin: ScriptedOrigin, _ options: String = "", file: String = "mapped") throws
        -> TestProxy
    {
        try TestProxy(
            """
            substitutions:
              http://127.0.0.1:\(origin.port)/mapped: { file: f.txt\(options) }
              http://127.0.0.1:\(origin.port)/forward: { forward: true, headers: { X-Added: "1", X-Gone: null } }
              http://rewrite.test/: { forward: "http://127.0.0.1:\(origin.port)/other/" }
            """, files: ["f.txt": file])
    }

    @Test(
        "a capture that would make another host of a rule's URL gets 400, and nobody is asked",
        arguments: ["good@127.0.0.1:PORT", "127.0.0.1:PORT/", "127.0.0.1:PORT?", "127.0.0.1%3APORT"])
    func capturedHost(_ captured: String) throws {
        let origin = try ScriptedOrigin(body: "found")
        let proxy = try TestProxy(
            """
            substitutions:
              "~^http://h.test/host/(.*)$": { forward: "http://$1/x" }
              "~^http://h.test/to/(.*)$": { redirect: "http://$1/x" }
            """)
        let good = try proxy.exchange("GET", "http://h.test/host/127.0.0.1:\(origin.port)")
        #expect(good.body == "found")
        let text = captured.replacing("PORT", with: "\(origin.port)")
        for way in ["host", "to"] {
            let response = try proxy.exchange("GET", "http://h.test/\(way)/\(text)")
            #expect(response.status == 400)
            #expect(response.body.contains("makes no usable URL"), "\(response.body)")
        }
        #expect(origin.connectionCount == 1)
    }

    @Test("fields reach the origin in their order, case and bytes, less those of the connection")
    func requestFidelity() throws {
        let origin = try ScriptedOrigin(body: "ok")
        let proxy = try TestProxy()
        let socket = try proxy.connect()
        let head =
            "GET http://127.0.0.1:\(origin.port)/a/../b//c?x=%zz HTTP/1.1\r\nHost: wrong.test\r\nx-B: 2\r\nX-b: \r\nAccept: a\r\n"
            + "Accept: b\r\nConnection: close, x-hop\r\nX-Hop: gone\r\nKeep-Alive: 1\r\nProxy-Authorization: Basic x\r\n"
            + "Proxy-Connection: keep-alive\r\nX-L: caf"
        try socket.send(Array(head.utf8) + [0xe9] + Array("\r\n\r\n".utf8))
        let response = TestResponse(try socket.receiveAll())
        #expect(response.status == 200)
        let request = try #require(origin.requests.first)
        let text = String(decoding: request.head, as: Unicode.ASCII.self)
        let via = try #require(request.field("Via"))
        #expect(
            text.hasPrefix(
                "GET /a/../b//c?x=%zz HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\nx-B: 2\r\nX-b:"))
        #expect(request.head.firstRange(of: Array("X-L: caf".utf8) + [0xe9, 0x0d, 0x0a]) != nil)
        #expect(text.contains("Accept: a\r\nAccept: b\r\n"))
        #expect(via.hasPrefix("1.1 subproxy-"))
        for gone in ["Hop", "Keep-Alive", "Proxy-", "close", "wrong.test", "User-Agent", "Expect"] {
            #expect(!text.contains(gone), "\(gone) was sent on")
        }
    }

    @Test("the response's fields come back in their order, case and bytes")
    func responseFidelity() throws {
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.socket.send(
                Array(
                    "HTTP/1.1 203 Fine By Me\r\nx-A: 1\r\nX-a: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-L: caf".utf8
                )
                    + [0xe9] + Array("\r\nConnection: x-hop\r\nX-Hop: gone\r\nContent-Length: 2\r\n\r\nok".utf8))
            return true
        }
        let proxy = try TestProxy()
        let response = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/")
        #expect(
            response.head.hasPrefix(
                "HTTP/1.1 203 Fine By Me\r\nx-A: 1\r\nX-a: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"))
        #expect(response.bytes.firstRange(of: Array("X-L: caf".utf8) + [0xe9, 0x0d, 0x0a]) != nil)
        #expect(!response.head.contains("Hop"))
        #expect(response.field("Cache-Status") == "subproxy; fwd=uri-miss")
        #expect(response.field("Via")?.hasPrefix("1.1 subproxy-") == true)
        #expect(response.field("Date") != nil)
        #expect(response.body == "ok")
    }

    @Test("a body comes through by length, chunked with trailers, and for a client of HTTP/1.0 until the end")
    func bodies() throws {
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.socket.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n3\r\n, w\r\n0\r\nX-Sum: 8\r\n"
                    + "X-Also: y\r\n\r\n")
            return true
        }
        let proxy = try TestProxy()
        let chunked = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/")
        #expect(chunked.field("Transfer-Encoding") == "chunked")
        #expect(chunked.body.hasSuffix("0\r\nX-Sum: 8\r\nX-Also: y\r\n\r\n"))
        #expect(chunked.body.contains("hello"))
        let socket = try proxy.connect()
        try socket.send("GET http://127.0.0.1:\(origin.port)/ HTTP/1.0\r\n\r\n")
        let old = TestResponse(try socket.receiveAll())
        #expect(old.body == "hello, w")
        #expect(old.field("Transfer-Encoding") == nil)
    }

    @Test(
        "uploads of known length and chunked ones with trailers arrive whole; 100 is sent when the origin takes the body"
    )
    func uploads() throws {
        let origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            try connection.respond(body: "\(request.body.count)")
            return true
        }
        let proxy = try TestProxy()
        let big = String(repeating: "0123456789", count: 60_000)
        #expect(try proxy.exchange("POST", "http://127.0.0.1:\(origin.port)/", body: big).body == "600000")
        let socket = try proxy.connect()
        try socket.send(
            "PUT http://127.0.0.1:\(origin.port)/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n"
                + "Expect: 100-continue\r\n\r\n")
        #expect(
            String(decoding: try socket.receive(until: "\r\n\r\n"), as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
        try socket.send("5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n")
        #expect(TestResponse(try socket.receiveAll()).body == "5")
        #expect(origin.requests.last?.field("Transfer-Encoding") == "chunked")
    }

    @Test("interim responses are passed on, and the final one follows")
    func interim() throws {
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.socket.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n")
            try connection.respond()
            return true
        }
        let proxy = try TestProxy()
        let socket = try proxy.connect()
        try socket.send("GET http://127.0.0.1:\(origin.port)/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        let text = String(decoding: try socket.receiveAll(), as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nVia: 1.1 subproxy-"), "\(text)")
        #expect(text.contains("\r\n\r\nHTTP/1.1 200 OK\r\n"))
    }

    @Test("a Max-Forwards that is too large for a number goes down, and an upgrade has no TE")
    func rewritten() throws {
        let origin = try ScriptedOrigin(body: "ok")
        let proxy = try TestProxy()
        let fields = [
            "Max-Forwards: 99999999999999999999", "TE: trailers", "Upgrade: websocket", "Connection: Upgrade, TE",
        ]
        _ = try proxy.exchange("OPTIONS", "http://127.0.0.1:\(origin.port)/", fields: Array(fields.prefix(1)))
        _ = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/", fields: fields)
        let requests = origin.requests
        #expect(requests.first?.field("Max-Forwards") == "\(Int.max - 1)")
        #expect(requests.last?.field("Upgrade") == "websocket" && requests.last?.field("Connection") == "Upgrade")
        #expect(requests.count == 2 && requests.last?.field("TE") == nil)
    }

    @Test("connections to the origin are used again", arguments: [5])
    func reuse(_ count: Int) throws {
        let origin = try ScriptedOrigin(body: "ok")
        let proxy = try TestProxy()
        for _ in 0..<count { #expect(try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/").status == 200) }
        #expect(origin.connectionCount == 1)
    }

    @Test("a truncated response is cut off for the client too, not completed")
    func truncated() throws {
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.socket.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
            return false
        }
        let proxy = try TestProxy()
        let response = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/")
        #expect(!response.body.hasSuffix("0\r\n\r\n"))
        #expect(try proxy.stopAndReadLog().contains(" failed "))
    }

    @Test("errors of the proxy's own say what was asked, what failed and what to do, in HTML where it is preferred")
    func errors() throws {
        let proxy = try TestProxy()
        let free = try Socket.reserve()
        defer { free.socket.close() }
        let refused = try proxy.exchange("GET", "http://127.0.0.1:\(free.port)/<b>")
        #expect(refused.status == 502)
        #expect(refused.field("Proxy-Status")?.hasPrefix("subproxy; error=connection_refused") == true)
        #expect(refused.body.contains("asked:") && refused.body.contains("to do:"))
        #expect(refused.field("Cache-Status") == nil)
        let html = try proxy.exchange(
            "GET", "http://127.0.0.1:\(free.port)/<b>", fields: ["Accept: text/html,application/xhtml+xml,*/*;q=0.8"])
        #expect(html.field("Content-Type") == "text/html; charset=utf-8")
        #expect(!html.body.contains("/<b>"))
        #expect(try proxy.exchange("GET", "http://host.invalid/").field("Proxy-Status")?.contains("dns_error") == true)
        #expect(try proxy.exchange("GET", "foo://x/").status == 501)
        #expect(try proxy.exchange("GET", "http://127.0.0.1:\(free.port)/", fields: ["Expect: x"]).status == 417)
    }

    @Test("a silent origin is a 504")
    func silence() throws {
        let origin = try ScriptedOrigin { _, connection in
            _ = try? connection.socket.receive()
            return false
        }
        let proxy = try TestProxy { $0.limits.silenceTimeout = .milliseconds(200) }
        let response = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/")
        #expect(response.status == 504)
        #expect(response.field("Proxy-Status")?.contains("http_response_timeout") == true)
    }

    @Test("a client that leaves ends the exchange with the origin")
    func clientLeaves() throws {
        let left = DispatchSemaphore(value: 0)
        let asked = DispatchSemaphore(value: 0)
        let origin = try ScriptedOrigin { _, connection in
            asked.signal()
            _ = try? connection.socket.receive()
            left.signal()
            return false
        }
        let proxy = try TestProxy()
        let socket = try proxy.connect()
        try socket.send("GET http://127.0.0.1:\(origin.port)/ HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(asked.wait(timeout: .now() + 60) == .success)
        socket.close()
        #expect(left.wait(timeout: .now() + 60) == .success)
    }

    @Test(
        "a reload-ignoring-cache request gets what `bypass` says",
        arguments: [
            ("", ["Cache-Control: no-cache"], "origin", #"subproxy; fwd=request; detail="no-cache m.yaml:2""#),
            ("", ["Pragma: no-cache"], "origin", #"subproxy; fwd=request; detail="no-cache m.yaml:2""#),
            ("", ["Cache-Control: foo, NO-CACHE"], "origin", #"subproxy; fwd=request; detail="no-cache m.yaml:2""#),
            ("", ["Cache-Control: max-age=0", "Pragma: no-cache"], "mapped", #"subproxy; hit; detail="m.yaml:2""#),
            ("", ["Cache-Control: no-store"], "mapped", #"subproxy; hit; detail="m.yaml:2""#),
            ("", ["Cache-Control: only-if-cached"], "mapped", #"subproxy; hit; detail="m.yaml:2""#),
            ("", ["Cache-Control: foo=\"no-cache\""], "mapped", #"subproxy; hit; detail="m.yaml:2""#),
            (", bypass: never", ["Cache-Control: no-cache"], "mapped", #"subproxy; hit; detail="m.yaml:2""#),
            (", bypass: revalidate", ["Cache-Control: no-cache"], "mapped", #"subproxy; hit; detail="m.yaml:2""#),
        ])
    func bypass(_ options: String, _ fields: [String], _ body: String, _ cacheStatus: String) throws {
        let origin = try ScriptedOrigin(body: "origin")
        let proxy = try Self.mapped(origin, options)
        let response = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/mapped", fields: fields)
        #expect(response.body == body)
        #expect(response.field("Cache-Status") == cacheStatus)
    }

    @Test("the command line's bypass is over the map's default and under the rule's; offline nothing bypasses")
    func bypassOverrides() throws {
        let origin = try ScriptedOrigin(body: "origin")
        let map = """
            defaults: { bypass: origin }
            substitutions:
              http://127.0.0.1:\(origin.port)/mapped: f.txt
              http://127.0.0.1:\(origin.port)/own: { file: f.txt, bypass: origin }
            """
        let never = try TestProxy(map, files: ["f.txt": "mapped"]) { $0.bypass = .never }
        let url = "http://127.0.0.1:\(origin.port)/mapped"
        #expect(try never.exchange("GET", url, fields: ["Cache-Control: no-cache"]).body == "mapped")
        let own = "http://127.0.0.1:\(origin.port)/own"
        #expect(try never.exchange("GET", own, fields: ["Cache-Control: no-cache"]).body == "origin")
        let offline = try TestProxy(map, files: ["f.txt": "mapped"]) { $0.isOffline = true }
        #expect(try offline.exchange("GET", url, fields: ["Cache-Control: no-cache"]).body == "mapped")
        #expect(try offline.exchange("GET", "http://127.0.0.1:\(origin.port)/other").status == 504)
        let post = try offline.exchange("POST", url, body: "x")
        #expect(post.status == 405)
        #expect(post.field("Allow") == "GET, HEAD")
        #expect(origin.requests.count == 1)
    }

    @Test("a method that a rule does not answer is forwarded")
    func otherMethod() throws {
        let origin = try ScriptedOrigin(body: "origin")
        let proxy = try Self.mapped(origin)
        let response = try proxy.exchange("DELETE", "http://127.0.0.1:\(origin.port)/mapped")
        #expect(response.body == "origin")
        #expect(response.field("Cache-Status") == "subproxy; fwd=method")
    }

    @Test("rules that forward: as asked with fields set and removed, or to another URL with the rest of the path")
    func forwardRules() throws {
        let origin = try ScriptedOrigin(fields: "X-Gone: 1\r\nX-Kept: 1\r\n", body: "origin")
        let proxy = try Self.mapped(origin)
        let asAsked = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/forward")
        #expect(asAsked.field("X-Added") == "1")
        #expect(asAsked.field("X-Gone") == nil)
        #expect(asAsked.field("X-Kept") == "1")
        #expect(try proxy.exchange("GET", "http://rewrite.test/a/b?c=d").body == "origin")
        #expect(origin.requests.last?.target == "/other/a/b?c=d")
        #expect(origin.requests.last?.field("Host") == "127.0.0.1:\(origin.port)")
    }

    @Test("when: origin-fails asks the origin first, and answers when it can't be reached or gives a 5xx")
    func originFails() throws {
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.respond(request.target == "/mapped" ? "503 Busy" : "200 OK", body: "origin")
            return true
        }
        let proxy = try TestProxy(
            """
            substitutions:
              http://127.0.0.1:\(origin.port)/mapped: { file: f.txt, when: origin-fails }
              http://127.0.0.1:\(origin.port)/good: { file: f.txt, when: origin-fails }
              http://host.invalid/: { text: fallback, when: origin-fails }
            """, files: ["f.txt": "mapped"])
        #expect(try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/mapped").body == "mapped")
        #expect(try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/good").body == "origin")
        #expect(try proxy.exchange("GET", "http://host.invalid/x").body == "fallback")
    }

    /// An origin that sends back the target and the body, with 503 for targets that begin with `/down`.
    private static func echo() throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            let isDown = request.target.hasPrefix("/down")
            let body = request.target + " " + String(decoding: request.body, as: UTF8.self)
            try connection.respond(isDown ? "503 Busy" : "200 OK", fields: "X-Gone: 1\r\n", body: body)
            return true
        }
    }

    @Test("when: origin-fails with forward asks the request's own origin first, and the rule's URL where it fails")
    func originFailsElsewhere() throws {
        let origin = try Self.echo()
        let base = "http://127.0.0.1:\(origin.port)"
        let proxy = try TestProxy(
            """
            defaults: { when: origin-fails }
            substitutions:
              \(base)/up/: { forward: "\(base)/other/", headers: { X-Added: "1", X-Gone: null } }
              \(base)/down/: { forward: "\(base)/other/", headers: { X-Added: "1", X-Gone: null } }
              \(base)/down: { forward: "\(base)/down" }
              http://host.invalid/*: { forward: "\(base)/of/$1" }
            """)
        let up = try proxy.exchange("GET", "\(base)/up/a?b=c")
        #expect(up.body == "/up/a?b=c ")
        #expect(up.field("X-Added") == nil && up.field("X-Gone") == "1")
        #expect(up.field("Cache-Status") == "subproxy; fwd=bypass; detail=\"m.yaml:3\"")
        #expect(origin.requests.map(\.target) == ["/up/a?b=c"])
        let down = try proxy.exchange("GET", "\(base)/down/a?b=c")
        #expect(down.status == 200 && down.body == "/other/a?b=c ")
        #expect(down.field("X-Added") == "1" && down.field("X-Gone") == nil)
        #expect(down.field("Cache-Status") == "subproxy; fwd=bypass; detail=\"m.yaml:4\"")
        #expect(origin.requests.map(\.target) == ["/up/a?b=c", "/down/a?b=c", "/other/a?b=c"])
        #expect(try proxy.exchange("GET", "http://host.invalid/x").body == "/of/x ")
        // A URL is not its own fallback.
        let same = try proxy.exchange("GET", "\(base)/down")
        #expect(same.status == 503 && same.body == "/down ")
        #expect(origin.requests.count == 5)
        let log = try proxy.stopAndReadLog()
        #expect(log.split(separator: "\n").allSatisfy { $0.contains(" forwarded m.yaml:") }, "\(log)")
    }

    @Test("when: origin-fails with forward sends the rule's URL the request's body too, as far as it can be held")
    func originFailsElsewhereWithBody() throws {
        let origin = try Self.echo()
        let base = "http://127.0.0.1:\(origin.port)"
        let proxy = try TestProxy(
            "substitutions:\n  \(base)/*/**: { forward: \"\(base)/other\", when: origin-fails }\n"
        ) { $0.limits.bodyBytes = 100_000 }
        #expect(try proxy.exchange("POST", "\(base)/up/a", body: "abc").body == "/up/a abc")
        #expect(try proxy.exchange("POST", "\(base)/down/a", body: "abc").body == "/other abc")
        let most = String(repeating: "x", count: 100_000)
        #expect(try proxy.exchange("POST", "\(base)/down/a", body: most).body == "/other \(most)")
        func chunked(_ target: String, _ chunks: [String]) throws -> TestResponse {
            let socket = try proxy.connect()
            let content = chunks.map { String($0.utf8.count, radix: 16) + "\r\n\($0)\r\n" }.joined()
            try socket.send(
                "POST \(base)\(target) HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n"
                    + "Connection: close\r\n\r\n\(content)0\r\n\r\n")
            return TestResponse(try socket.receiveAll())
        }
        #expect(try chunked("/down/b", ["ab", "c"]).body == "/other abc")
        // More than that reaches the origin whole, and nobody else.
        let count = origin.requests.count
        let long = most + "y"
        #expect(try chunked("/up/b", [most, "y"]).body == "/up/b \(long)")
        #expect(try chunked("/down/b", [most, "y"]).status == 503)
        #expect(try proxy.exchange("POST", "\(base)/down/a", body: long).status == 503)
        #expect(origin.requests.count == count + 3)
    }

    @Test("a request that has been here before, or is for the proxy itself, is a loop")
    func loops() throws {
        let origin = try ScriptedOrigin(body: "ok")
        let proxy = try TestProxy()
        let first = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/")
        let via = try #require(first.field("Via"))
        let again = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/", fields: ["Via: 1.0 x, \(via)"])
        #expect(again.status == 508)
        #expect(try proxy.exchange("GET", "http://[::ffff:127.0.0.1]:\(proxy.port)/x").status == 508)
    }
}
