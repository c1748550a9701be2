import ForwardProxy
import Foundation
import NIOCore
import ProxyTestKit
import Substitution
import Testing

@Suite("The proxy's own pages, its log and its limits")
struct OwnSiteTests {
    private func own(_ proxy: TestProxy, _ path: String, host: String? = nil, method: String = "GET") throws
        -> TestResponse
    {
        let socket = try proxy.connect()
        let host = host ?? "127.0.0.1:\(proxy.port)"
        try socket.send("\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
        return TestResponse(try socket.receiveAll())
    }

    @Test("the status page and the proxy configuration are for requests to a name of the proxy's own")
    func pages() throws {
        let proxy = try TestProxy(
            "substitutions:\n  http://a.test/x: { text: x }\n  http://*.b.test/y: { text: y }\n")
        let page = try own(proxy, "/")
        #expect(page.status == 200)
        #expect(page.body.contains("2 rules"))
        #expect(page.field("X-Content-Type-Options") == "nosniff")
        let script = try own(proxy, "/proxy.pac", host: "localhost:\(proxy.port)")
        #expect(script.field("Content-Type") == "application/x-ns-proxy-autoconfig")
        #expect(script.body.contains(#""a.test": 1"#) && script.body.contains(#""*.b.test""#))
        #expect(script.body.contains("PROXY localhost:\(proxy.port)"))
        #expect(try own(proxy, "/none").status == 404)
        #expect(try own(proxy, "http://127.0.0.1:\(proxy.port)/").status == 200)
        #expect(try own(proxy, "http://127.0.0.1:\(proxy.port)/none").status == 508)
    }

    @Test("hosts to decrypt are sent here, and hosts of other schemes are not")
    func interceptedHosts() throws {
        let proxy = try TestProxy(
            """
            intercept: [c.test, "*.d.test"]
            substitutions:
              http://a.test/x: { text: x }
              http://[2001:db8::1]/x: { text: x }
              e://e.test/x: { text: x }
            """)
        let script = try own(proxy, "/proxy.pac", host: "localhost:\(proxy.port)").body
        // Browsers name an address without its brackets.
        for text in [#""a.test": 1"#, #""c.test": 1"#, #""*.d.test""#, #""2001:db8::1": 1"#] {
            #expect(script.contains(text), "\(script)")
        }
        #expect(!script.contains("e.test"))
    }

    @Test(
        "a page says which methods it answers, and the proxy which pages it has",
        arguments: ["/", "/proxy.pac", "/metrics", "/healthz", "/ca.pem", "/ca.mobileconfig"])
    func methods(_ path: String) throws {
        let proxy = try TestProxy()
        let refused = try own(proxy, path, method: "DELETE")
        #expect(refused.status == 405)
        #expect(refused.field("Allow") == "GET, HEAD")
        #expect(refused.body.contains("The proxy's own pages answer GET and HEAD."))
        #expect(refused.body.contains("Use GET."))
        let none = try own(proxy, "/none")
        #expect(none.body.contains("/, /proxy.pac, /metrics, /healthz, /reset, /ca.pem, /ca.mobileconfig, /console/,"))
    }

    @Test("what the proxy answers for itself is its own in the log and the metrics, and nothing that was substituted")
    func outcome() throws {
        let proxy = try TestProxy("substitutions:\n  http://m.test/x: { text: mapped }\n")
        for path in ["/", "/proxy.pac", "/healthz", "http://127.0.0.1:\(proxy.port)/healthz", "/metrics"] {
            #expect(try own(proxy, path).status == 200)
        }
        #expect(try own(proxy, "*", method: "OPTIONS").status == 200)
        #expect(try own(proxy, "/none").status == 404)
        #expect(try proxy.exchange("GET", "http://m.test/x").status == 200)
        let metrics = try own(proxy, "/metrics").body
        #expect(metrics.contains("subproxy_exchanges_total{outcome=\"own\",class=\"2xx\"} 6\n"))
        #expect(metrics.contains("subproxy_exchanges_total{outcome=\"substituted\",class=\"2xx\"} 1\n"))
        #expect(metrics.contains("subproxy_exchange_duration_seconds_count{outcome=\"own\"} 6\n"))
        let page = try own(proxy, "/").body
        #expect(page.contains("<tr><th>own<td>7\n") && page.contains("<tr><th>substituted<td>1\n"))
        let log = try proxy.stopAndReadLog().split(separator: "\n")
        #expect(log.count { $0.hasSuffix("ms own") } == 8)
        #expect(log.count { $0.contains("substituted") } == 1)
    }

    @Test(
        "another Host is misdirected",
        arguments: ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example"])
    func rebinding(_ host: String) throws {
        let proxy = try TestProxy()
        #expect(try own(proxy, "/", host: host).status == 421)
        #expect(try own(proxy, "http://127.0.0.1:\(proxy.port)/", host: host).status == 421)
    }

    @Test("the log has a line an exchange, and shows no query values of unmapped URLs")
    func accessLog() throws {
        let origin = try ScriptedOrigin(body: "ok")
        let proxy = try TestProxy("substitutions:\n  http://m.test/x: { text: mapped, query: ignore }\n")
        _ = try proxy.exchange("GET", "http://m.test/x?shown=yes")
        _ = try proxy.exchange(
            "GET", "http://u:p@127.0.0.1:\(origin.port)/?token=secret&b", fields: ["Cookie: s=hidden"])
        let log = try proxy.stopAndReadLog()
        let lines = log.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.contains(" GET http://m.test/x?shown=yes 200 6B ") == true)
        #expect(lines.first?.hasSuffix("ms substituted m.yaml:2") == true)
        #expect(lines.last?.contains(":\(origin.port)/?token=*&* 200 2B ") == true)
        for secret in ["secret", "hidden", "u:p"] { #expect(!log.contains(secret)) }
    }

    @Test("no name and password of a target that can't be read is in the log, and an @ in a URL's path is")
    func userInformation() throws {
        let proxy = try TestProxy("substitutions:\n  http://m.test/: { text: mapped }\n")
        for target in ["http://alice:pa/55@m.test/", "http//alice:pa55@m.test/", "//alice:pa55@m.test/"] {
            #expect(try own(proxy, target).status >= 400)
        }
        #expect(try own(proxy, "alice:pa55@m.test:443", method: "CONNECT").status >= 400)
        for _ in 0..<2 { _ = try own(proxy, "http://m.test/@scope/part@2") }
        let log = try proxy.stopAndReadLog()
        for secret in ["alice", "pa/55", "pa55"] { #expect(!log.contains(secret), "\(log)") }
        #expect(log.split(separator: " ").filter { $0 == "http://m.test/@scope/part@2" }.count == 2, "\(log)")
    }

    @Test("every response of the proxy itself has Via, and an error Proxy-Status")
    func statusFields() throws {
        let proxy = try TestProxy()
        for path in ["/", "/proxy.pac", "/healthz", "/metrics"] {
            let page = try own(proxy, path)
            #expect(page.status == 200)
            #expect(page.field("Via")?.hasPrefix("1.1 subproxy-") == true)
            #expect(page.field("Proxy-Status") == nil)
        }
        let socket = try proxy.connect()
        try socket.send(
            "POST /reset HTTP/1.1\r\nHost: 127.0.0.1:\(proxy.port)\r\nSec-Fetch-Site: cross-site\r\n"
                + "Connection: close\r\n\r\n")
        let errors: [(TestResponse, Int, String)] = [
            (try own(proxy, "/none"), 404, "http_request_error"),
            (try own(proxy, "/", method: "DELETE"), 405, "http_request_error"),
            (try own(proxy, "/", host: "evil.example"), 421, "http_request_error"),
            (TestResponse(try socket.receiveAll()), 403, "http_request_denied"),
        ]
        for (error, status, type) in errors {
            #expect(error.status == status)
            #expect(error.field("Via")?.hasPrefix("1.1 subproxy-") == true)
            #expect(error.field("Proxy-Status")?.hasPrefix("subproxy; error=\(type); details=") == true)
        }
    }

    @Test("an expectation of the proxy itself that it does not know can't be met")
    func expectation() throws {
        let proxy = try TestProxy("substitutions:\n  http://m.test/x: { text: mapped }\n")
        for (method, target) in [
            ("GET", "/"), ("GET", "/healthz"), ("GET", "http://127.0.0.1:\(proxy.port)/"), ("OPTIONS", "*"),
            ("OPTIONS", "http://127.0.0.1:\(proxy.port)"), ("CONNECT", "m.test:443"), ("GET", "/console/x"),
        ] {
            let host = method == "CONNECT" ? target : "127.0.0.1:\(proxy.port)"
            let socket = try proxy.connect()
            try socket.send("\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\nExpect: magic\r\n\r\n")
            #expect(try socket.receiveResponseHead().status == 417, "\(method) \(target)")
        }
    }

    @Test("as JSON each line is an object with the documented names")
    func jsonLog() throws {
        let proxy = try TestProxy("substitutions:\n  http://m.test/x: { text: mapped }\n") { $0.logFormat = .json }
        _ = try proxy.exchange("GET", "http://m.test/x")
        let log = try proxy.stopAndReadLog()
        let object = try JSONSerialization.jsonObject(with: Data(log.utf8)) as? [String: Any]
        let record = try #require(object)
        #expect(
            Set(record.keys)
                == ["time", "client", "method", "url", "status", "bytes", "duration_ms", "outcome", "rule", "reason"])
        #expect(record["outcome"] as? String == "substituted")
        #expect(record["rule"] as? String == "m.yaml:2")
        #expect(record["status"] as? Int == 200)
    }

    @Test("a header section that does not arrive is a 408, an idle connection just ends")
    func timeouts() throws {
        let strict = try TestProxy { $0.limits.headerTimeout = .milliseconds(100) }
        let slow = try strict.connect()
        try slow.send("GET http://x/ HT")
        #expect(TestResponse(try slow.receiveAll()).status == 408)
        let impatient = try TestProxy { $0.limits.idleTimeout = .milliseconds(100) }
        #expect(try impatient.connect().receiveAll().isEmpty)
    }

    @Test(
        "what is too large is refused with its status, and the connection ends",
        arguments: [
            ("GET http://x/" + String(repeating: "a", count: 40_000) + " HTTP/1.1\r\nHost: x\r\n\r\n", 414),
            ("GET http://x/ HTTP/1.1\r\nHost: x\r\nA: " + String(repeating: "a", count: 70_000) + "\r\n\r\n", 431),
            ("GET http://x/ HTTP/1.1\r\nHost: x\r\n" + String(repeating: "A: b\r\n", count: 201) + "\r\n", 431),
            ("GET http://x/ HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", 400), ("GET x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            ("GET http://x/ HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        ])
    func limits(_ request: String, _ status: Int) throws {
        let proxy = try TestProxy()
        let socket = try proxy.connect()
        try? socket.send(request)
        #expect(TestResponse(try socket.receiveAll()).status == status)
    }

    @Test("another map is in force for the next request of an open connection")
    func reload() throws {
        let proxy = try TestProxy("substitutions:\n  http://m.test/x: { text: one }\n")
        let socket = try proxy.connect()
        try socket.send("GET http://m.test/x HTTP/1.1\r\nHost: m.test\r\n\r\n")
        #expect(String(decoding: try socket.receive(until: "one"), as: UTF8.self).hasSuffix("one"))
        let loaded = SubstitutionMap.load(text: "substitutions:\n  http://m.test/x: { text: two }\n")
        proxy.server.adopt(try #require(loaded.map))
        try socket.send("GET http://m.test/x HTTP/1.1\r\nHost: m.test\r\n\r\n")
        #expect(String(decoding: try socket.receive(until: "two"), as: UTF8.self).hasSuffix("two"))
    }

    @Test("more connections than the limit are closed at once, and room is made again")
    func connectionLimit() throws {
        let proxy = try TestProxy("substitutions:\n  http://m.test/x: { text: one }\n") { $0.limits.connections = 2 }
        let first = try proxy.connect()
        let second = try proxy.connect()
        for socket in [first, second] {
            try socket.send("GET http://m.test/x HTTP/1.1\r\nHost: m.test\r\n\r\n")
            _ = try socket.receive(until: "one")
        }
        #expect(try proxy.connect().receiveAll().isEmpty)
        first.close()
        #expect(Wait.holds { (try? proxy.exchange("GET", "http://m.test/x").status) == 200 })
    }
}
