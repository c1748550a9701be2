import ForwardProxy
import Foundation
import Glibc
import ProxyTestKit
import Testing

/// What RFC 9110 and RFC 9112 want of a proxy in messages that are rare.
@Suite("Targets, versions and ends of forwarded messages")
struct ProtocolTests {
    private func send(_ proxy: TestProxy, _ text: String) throws -> TestResponse {
        let socket = try proxy.connect()
        try socket.send(text)
        return TestResponse(try socket.receiveAll())
    }

    @Test("a host with the root's dot is the host without it for rules, the store and the origin")
    func rootDot() throws {
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.respond(fields: "Cache-Control: max-age=60\r\n")
            return true
        }
        let name = "origin.test:\(origin.port)"
        let proxy = try TestProxy("substitutions:\n  http://mapped.test/x: { text: mapped }\n") {
            $0.resolve = ["origin.test:\(origin.port):127.0.0.1"]
        }
        #expect(try proxy.exchange("GET", "http://mapped.test./x").body == "mapped")
        #expect(try proxy.exchange("GET", "http://origin.test.:\(origin.port)/a/../b").status == 200)
        #expect(origin.requests.map(\.target) == ["/a/../b"])
        #expect(origin.requests.first?.field("Host") == name)
        let stored = try proxy.exchange("GET", "http://\(name)/a/../b")
        #expect(stored.field("Cache-Status")?.hasPrefix("subproxy; hit; ttl=") == true)
        #expect(origin.requests.count == 1)
        // The proxy's own name, too.
        let own = "localhost.:\(proxy.port)"
        let page = "GET /healthz HTTP/1.1\r\nHost: \(own)\r\nConnection: close\r\n\r\n"
        #expect(try send(proxy, page).body == "ok\n")
        #expect(
            try send(proxy, "GET http://\(own)/none HTTP/1.1\r\nHost: \(own)\r\nConnection: close\r\n\r\n").status
                == 508)
        for host in ["http://./", "http://mapped.test../x"] {
            #expect(try proxy.exchange("GET", host).status == 400)
        }
    }

    @Test("an error that ends the connection has no content for HEAD")
    func headErrors() throws {
        let proxy = try TestProxy()
        let target = "http://unused.test/"
        for (rest, status) in [
            ("\r\n", 400), ("Host: a\r\nTransfer-Encoding: x\r\n\r\n", 501),
            ("Host: a\r\nContent-Length: 1x\r\n\r\n", 400),
        ] {
            let head = try send(proxy, "HEAD \(target) HTTP/1.1\r\n\(rest)")
            let get = try send(proxy, "GET \(target) HTTP/1.1\r\n\(rest)")
            #expect(head.status == status && get.status == status, "\(rest)")
            #expect(head.body.isEmpty && !get.body.isEmpty && head.field("Content-Length") != nil)
        }
    }

    @Test("OPTIONS of a URL without a path asks the server itself, of the proxy's own name the proxy")
    func serverOptions() throws {
        let origin = try ScriptedOrigin(body: "ok")
        let proxy = try TestProxy(
            "substitutions:\n  http://other.test: { forward: \"http://127.0.0.1:\(origin.port)\" }\n")
        let server = "http://127.0.0.1:\(origin.port)"
        for url in [server, "\(server)/", "\(server)?", "\(server)#f", "http://other.test"] {
            #expect(try proxy.exchange("OPTIONS", url).status == 200)
        }
        _ = try proxy.exchange("GET", server)
        let asked = origin.requests.map { "\($0.method) \($0.target)" }
        #expect(asked == ["OPTIONS *", "OPTIONS /", "OPTIONS /?", "OPTIONS *", "OPTIONS /", "GET /"])
        let own = "127.0.0.1:\(proxy.port)"
        let options = try send(proxy, "OPTIONS http://\(own) HTTP/1.1\r\nHost: \(own)\r\nConnection: close\r\n\r\n")
        #expect(options.status == 200)
        #expect(options.field("Allow")?.contains("OPTIONS") == true)
    }

    @Test("through a parent proxy OPTIONS of a URL without a path keeps its form")
    func parentOptions() throws {
        let parent = try ScriptedOrigin(body: "ok")
        let proxy = try TestProxy { $0.upstreamProxy = "http://127.0.0.1:\(parent.port)" }
        #expect(try proxy.exchange("OPTIONS", "http://origin.test:81").status == 200)
        #expect(parent.requests.map(\.target) == ["http://origin.test:81"])
    }

    @Test("a parent proxy learns from CONNECT where it has been, so that one that comes back is a loop")
    func parentVia() throws {
        let parent = try ScriptedOrigin(status: "502 Bad Gateway", body: "no")
        let proxy = try TestProxy { $0.upstreamProxy = "http://127.0.0.1:\(parent.port)" }
        let upgrade = ["Connection: Upgrade", "Upgrade: x"]
        for (method, url, fields) in [
            ("CONNECT", "origin.test:443", []), ("GET", "https://origin.test/", []),
            ("GET", "http://origin.test/", upgrade), ("GET", "https://origin.test/", upgrade),
        ] as [(String, String, [String])] {
            let count = parent.requests.count
            #expect(try proxy.exchange(method, url, fields: fields + ["Via: 1.0 before"]).status == 502)
            let seen = try #require(parent.requests.dropFirst(count).first)
            #expect(seen.method == "CONNECT", "\(seen.text)")
            let lines = seen.text.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("via:") }.map(String.init)
            #expect(lines.count == 2 && lines.first == "Via: 1.0 before", "\(seen.text)")
            #expect(try proxy.exchange("CONNECT", "origin.test:443", fields: lines).status == 508)
        }
        // What isn't CONNECT has each line once.
        _ = try proxy.exchange("GET", "http://origin.test/plain")
        let plain = try #require(parent.requests.last)
        #expect(plain.method == "GET" && plain.text.components(separatedBy: "Via:").count == 2, "\(plain.text)")
    }

    @Test(
        "a request whose fields can't be used is named in page and log, and its error is not to be stored",
        arguments: [("Transfer-Encoding: magic", 501), ("X : y", 400), ("Host: a\r\nHost: b", 400)])
    func unusableFields(lines: String, status: Int) throws {
        let proxy = try TestProxy()
        let socket = try proxy.connect()
        try socket.send("GET http://u:secret@a.test/x?k=v HTTP/1.1\r\nHost: a.test\r\n\(lines)\r\n\r\n")
        let response = TestResponse(try socket.receiveAll())
        #expect(response.status == status)
        #expect(response.field("Cache-Control") == "no-store")
        #expect(response.body.contains("asked:  GET http://"))
        let log = try proxy.stopAndReadLog()
        #expect(log.contains("GET http://a.test/x?k=* \(status)"), "\(log)")
        #expect(!log.contains("secret"))
    }

    @Test("Expect of a client of HTTP/1.0 is ignored, and not passed on", arguments: ["100-continue", "else"])
    func oldExpectation(value: String) throws {
        let origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            try connection.respond(body: String(decoding: request.body, as: UTF8.self))
            return true
        }
        let proxy = try TestProxy("substitutions:\n  http://m.test/x: { text: mapped }\n")
        let fields = "Expect: \(value)\r\nContent-Length: 2\r\n\r\nhi"
        let response = try send(proxy, "POST http://127.0.0.1:\(origin.port)/ HTTP/1.0\r\n\(fields)")
        #expect(response.status == 200 && response.body == "hi")
        #expect(origin.requests.first?.field("Expect") == nil)
        #expect(try send(proxy, "POST http://m.test/x HTTP/1.0\r\n\(fields)").body == "mapped")
    }

    @Test("Via says in which protocol a message was received, also of a stored response")
    func via() throws {
        let origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            let isStored = request.target == "/stored"
            try connection.socket.send(
                "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\(isStored ? "Cache-Control: max-age=60\r\n" : "")\r\nok")
            return false
        }
        let proxy = try TestProxy()
        let url = "http://127.0.0.1:\(origin.port)"
        #expect(try proxy.exchange("GET", "\(url)/").field("Via")?.hasPrefix("1.0 subproxy-") == true)
        for _ in 0..<2 {
            let response = try proxy.exchange("GET", "\(url)/stored")
            #expect(response.field("Via")?.hasPrefix("1.0 subproxy-") == true)
        }
        #expect(try proxy.exchange("POST", "\(url)/", body: "x").field("Via")?.hasPrefix("1.0 ") == true)
        _ = try send(proxy, "GET \(url)/old HTTP/1.0\r\n\r\n")
        let received = origin.requests.map { $0.field("Via")?.prefix(4).description ?? "" }
        #expect(received == ["1.1 ", "1.1 ", "1.1 ", "1.0 "])
    }

    @Test(
        "a response that breaks off ends in a reset for a client that tells its end by the connection's",
        arguments: [false, true])
    func brokenForOldClient(isStored: Bool) throws {
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            let fields = isStored ? "Cache-Control: max-age=60\r\n" : "Cache-Control: no-store\r\n"
            try connection.socket.send("HTTP/1.1 200 OK\r\n\(fields)Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            // The proxy has passed on what came before the connection breaks.
            usleep(100_000)
            return false
        }
        let proxy = try TestProxy()
        let socket = try proxy.connect()
        try socket.send("GET http://127.0.0.1:\(origin.port)/ HTTP/1.0\r\n\r\n")
        var wasReset = false
        do {
            while try !socket.receive().isEmpty {}
        } catch Socket.Failure.failed(_, code: ECONNRESET) {
            wasReset = true
        }
        #expect(wasReset)
        // One whose end is in the message sees it there.
        let whole = try proxy.connect()
        try whole.send("GET http://127.0.0.1:\(origin.port)/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(try whole.receiveResponse().isComplete == false)
    }

    @Test("a parent proxy's 407 is a 502 that says so, and never a challenge", arguments: ["GET", "POST", "CONNECT"])
    func parentChallenge(method: String) throws {
        let parent = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.respond(
                "407 Proxy Authentication Required", fields: "Proxy-Authenticate: Basic realm=\"p\"\r\n")
            return true
        }
        let proxy = try TestProxy { $0.upstreamProxy = "http://127.0.0.1:\(parent.port)" }
        let target = method == "CONNECT" ? "origin.test:443" : "http://origin.test/"
        let response = try proxy.exchange(method, target, body: method == "POST" ? "content" : nil)
        #expect(response.status == 502)
        #expect(response.body.contains("The parent proxy wants credentials for origin.test: it answered 407."))
        #expect(response.field("Proxy-Status")?.contains("error=proxy_configuration_error") == true)
        #expect(response.field("Proxy-Authenticate") == nil)
    }

    @Test("a parent proxy that refuses a tunnel is named with its answer; a 407 of an origin itself is passed on")
    func parentRefusal() throws {
        let parent = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.respond("403 Forbidden")
            return true
        }
        let proxy = try TestProxy {
            $0.upstreamProxy = "http://127.0.0.1:\(parent.port)"
            $0.noProxy = "127.0.0.1"
        }
        let response = try proxy.exchange("CONNECT", "origin.test:443")
        #expect(response.status == 502)
        #expect(response.body.contains("The parent proxy refused a connection to origin.test: it answered 403."))
        #expect(try proxy.exchange("GET", "http://origin.test/").status == 403)
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.respond("407 Odd", fields: "Proxy-Authenticate: Basic realm=\"p\"\r\n")
            return true
        }
        let odd = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/")
        #expect(odd.status == 407)
        #expect(odd.field("Proxy-Authenticate") == nil)
    }

    @Test(
        "an answer to a request of whose body too much is to come says that the connection is closed",
        arguments: [
            ("/text", 200), ("/slow", 200), ("/file", 200), ("/none", 502), ("/block", 403), ("/posted", 405),
        ])
    func givenUpBodies(path: String, status: Int) throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://m.test/text: { text: a }
              http://m.test/slow: { text: a, delay: 1ms }
              http://m.test/file: { file: f.txt, methods: [POST] }
              http://m.test/none: { file: none.txt, methods: [POST] }
              http://m.test/block: { block: true }
            """, files: ["f.txt": "a"]
        ) { $0.isOffline = true }
        // More than 256 KiB of a body are not read behind an answer; how long a chunked one is nobody knows.
        let limit = 256 << 10
        let own = path == "/posted" ? ("/healthz", "127.0.0.1:\(proxy.port)") : ("http://m.test\(path)", "x")
        for (framing, isClosed) in [
            ("Content-Length: \(limit)", false), ("Content-Length: \(limit + 1)", true),
            ("Content-Length: 3000000", true), ("Transfer-Encoding: chunked", false),
        ] {
            let socket = try proxy.connect()
            try socket.send("POST \(own.0) HTTP/1.1\r\nHost: \(own.1)\r\n\(framing)\r\n\r\n")
            let response = TestResponse(Array(try socket.receive(until: "\r\n\r\n")))
            #expect(response.status == status)
            #expect(response.field("Connection") == (isClosed ? "close" : nil), "\(framing)")
        }
    }

    @Test("an origin's response to a long body says nothing of the connection: the origin gets the rest meanwhile")
    func earlyResponse() throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond()
            _ = try connection.readBody(of: request)
            return true
        }
        let proxy = try TestProxy()
        let socket = try proxy.connect()
        let length = 300_000
        try socket.send(
            "POST http://127.0.0.1:\(origin.port)/ HTTP/1.1\r\nHost: x\r\nContent-Length: \(length)\r\n\r\n")
        let response = TestResponse(Array(try socket.receive(until: "\r\n\r\n")))
        #expect(response.status == 200)
        #expect(response.field("Connection") == nil)
    }
}
