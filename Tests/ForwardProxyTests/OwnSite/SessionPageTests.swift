import Glibc
import NIOCore
import ProxyTestKit
import Testing

@testable import ForwardProxy

@Suite("Pages of sessions")
struct SessionPageTests {
    private static let session = """
        saved: 2026-11-22T14:02:11Z
        current: 1
        entries:
          - { url: "http://a.test/one?x=1#top", title: "One <b>&'" }
          - { url: "https://b.test/two", title: "" }

        """

    private func proxy(
        _ map: String = "substitutions:\n  http://unused.test/: { text: unused }\n",
        configure: (inout ProxyConfiguration) -> Void = { _ in }
    ) throws -> TestProxy {
        var path = ""
        let proxy = try TestProxy(map) { configuration in
            path = "/tmp/subproxy-sessions-\(UInt64.random(in: 0 ... .max))"
            configuration.sessionsFolder = path
            configure(&configuration)
        }
        mkdir(path, 0o700)
        try Array(Self.session.utf8).write(to: "\(path)/shop.yaml")
        try Array("current: 0\nentries: secret\n".utf8).write(to: "\(path)/bad.yaml")
        return proxy
    }

    private func ask(
        _ proxy: TestProxy, _ path: String, _ fields: [String] = [], method: String = "GET", host: String? = nil,
        over socket: Socket? = nil
    ) throws -> TestResponse {
        let socket = try socket ?? proxy.connect()
        let host = host ?? "127.0.0.1:\(proxy.port)"
        let lines = ["\(method) \(path) HTTP/1.1", "Host: \(host)", "Connection: close"] + fields
        try socket.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
        return TestResponse(try socket.receiveAll())
    }

    @Test("every response says what it may load, and that no other site may show or read it")
    func fields() throws {
        let proxy = try proxy()
        for path in [
            "/session/restore", "/sessions/shop", "/sessions/shop/0", "/sessions/none", "/sessions/shop/2",
            "/sessions/bad",
            "/console/session.js", "/console/session.css", "/console/icon.svg", "/console/none", "/sessions/",
            "/api/none",
        ] {
            let answer = try ask(proxy, path, ["Accept: text/html"])
            #expect(answer.field("X-Content-Type-Options") == "nosniff", "\(path)")
            #expect(answer.field("X-Frame-Options") == "DENY", "\(path)")
            #expect(answer.field("Referrer-Policy") == "no-referrer", "\(path)")
            #expect(answer.field("Cross-Origin-Resource-Policy") == "same-origin", "\(path)")
            #expect(answer.field("Cross-Origin-Opener-Policy") == "same-origin", "\(path)")
            let isFile = path.hasPrefix("/console/") && answer.status == 200
            #expect(answer.field("Cache-Control") == (isFile ? "no-cache" : "no-store"), "\(path)")
            #expect(answer.field("Content-Security-Policy")?.hasPrefix("default-src 'none'; ") == true, "\(path)")
            #expect(!answer.head.lowercased().contains("access-control-"), "\(path)")
        }
        #expect(
            try ask(proxy, "/sessions/shop").field("Content-Security-Policy")
                == "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
                + "worker-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                + "require-trusted-types-for 'script'; trusted-types 'none'")
    }

    @Test("a session's page lists it as links, without a script or a style of its own")
    func page() throws {
        let body = try ask(try proxy(), "/sessions/shop").body
        #expect(body.contains("data-name=\"shop\" data-count=\"2\" data-current=\"1\">"))
        #expect(
            body.contains(
                "<li><a href=\"http://a.test/one?x=1#top\" rel=\"noreferrer\">One &lt;b&gt;&amp;&#39;</a>"
                    + "<span class=\"url\">http://a.test/one?x=1#top</span></li>"))
        #expect(
            body.contains(
                "<li aria-current=\"page\"><a href=\"https://b.test/two\" rel=\"noreferrer\">https://b.test/two</a></li>"
            ))
        for page in [body, try ask(try proxy(), "/session/restore").body] {
            #expect(page.contains("<link rel=\"icon\" href=\"/console/icon.svg\""))
            #expect(!page.contains("<style") && !page.contains(" style=") && !page.contains(" on"))
            #expect(page.split(separator: "<script").count == 2 && page.contains("></script>"))
        }
    }

    @Test(
        "an entry leads to its page, for a tab alone",
        arguments: [
            ("/sessions/shop/0", [], 302), ("/sessions/shop/1", ["Sec-Fetch-Dest: document"], 302),
            ("/sessions/shop/1", ["Sec-Fetch-Dest: document", "Sec-Fetch-Site: cross-site"], 302),
            ("/sessions/shop/2", [], 404), ("/sessions/shop/00", [], 404), ("/sessions/shop/-1", [], 404),
            ("/sessions/shop/0/", [], 404), ("/sessions/shop/", [], 404), ("/sessions/shop/9999999999", [], 404),
            ("/sessions/shop/0", ["Sec-Fetch-Dest: iframe"], 403), ("/sessions/shop/0", ["Sec-Fetch-Dest: image"], 403),
            ("/sessions/shop/0", ["Sec-Fetch-Dest: empty"], 403), ("/sessions/shop/0", ["Sec-Fetch-Dest: script"], 403),
            ("/sessions/shop/0", ["Sec-Fetch-Dest: document", "Sec-Fetch-Dest: image"], 403),
            ("/sessions/none", [], 404), ("/sessions/none/0", [], 404), ("/sessions/..", [], 404),
            ("/sessions/", [], 404),
            ("/sessions/%73hop", [], 404), ("/sessions/..%2fshop", [], 404), ("/sessions", [], 404),
        ] as [(String, [String], Int)])
    func entries(_ path: String, _ fields: [String], _ status: Int) throws {
        let answer = try ask(try proxy(), path, fields)
        #expect(answer.status == status)
        let location = path.hasSuffix("0") ? "http://a.test/one?x=1#top" : "https://b.test/two"
        #expect(answer.field("Location") == (status == 302 ? location : nil))
        #expect(status != 302 || answer.body.isEmpty)
    }

    @Test(
        "nothing that changes is asked for; whoever may not look learns no more than that",
        arguments: ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
    func methods(_ method: String) throws {
        let proxy = try proxy()
        for path in ["/session/restore", "/sessions/shop", "/sessions/shop/0", "/console/session.js"] {
            let answer = try ask(proxy, path, method: method)
            #expect(answer.status == 405 && answer.field("Allow") == "GET, HEAD", "\(path)")
        }
        #expect(try ask(proxy, "/sessions/.x", method: method).status == 404)
    }

    @Test(
        "another Host is misdirected, before anything else",
        arguments: ["/sessions/shop", "/session/restore", "/console/icon.svg"])
    func rebinding(_ path: String) throws {
        let proxy = try proxy()
        for host in ["evil.test", "evil.test:\(proxy.port)", "127.0.0.1:1"] {
            #expect(try ask(proxy, path, host: host).status == 421)
            #expect(try ask(proxy, path, method: "POST", host: host).status == 421)
        }
    }

    @Test("no rule of the map answers for the console's pages, whatever it says; others it may")
    func reserved() throws {
        let port = try #require(freePort())
        let rules = ["/session/restore", "/sessions/shop", "/console/session.js", "/api/v1/status", "/other"].map {
            "  http://127.0.0.1:\(port)\($0): { text: \"<script>1</script>\", type: text/html }\n"
        }
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: Int(port))
        let proxy = try proxy("substitutions:\n" + rules.joined()) { $0.listeners = [address] }
        let base = "http://127.0.0.1:\(port)"
        for path in ["/session/restore", "/sessions/shop", "/console/session.js", "/api/v1/status"] {
            for _ in 0..<2 {
                #expect(try ask(proxy, base + path).body.contains("<script>1") == false, "\(path)")
            }
        }
        #expect(try ask(proxy, base + "/other").body == "<script>1</script>")
        #expect(try ask(proxy, base + "/sessions/shop").status == 200)
    }

    @Test("no archive answers for the proxy's own names: its scripts would be of the origin of these pages")
    func archived() throws {
        let port = try #require(freePort())
        let page = "<script>1</script>"
        let har = ["http://127.0.0.1:\(port)/x", "http://other.test/x"].map { url in
            #"{"request":{"method":"GET","url":"\#(url)","headers":[]},"response":{"status":200,"headers":[],"#
                + #""content":{"mimeType":"text/html","text":"\#(page)"}}}"#
        }.joined(separator: ",")
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: Int(port))
        let proxy = try TestProxy(
            "archives: [a.har]\n", files: ["a.har": #"{"log":{"entries":[\#(har)]}}"#]
        ) { $0.listeners = [address] }
        #expect(try ask(proxy, "http://other.test/x").body == page)
        #expect(try ask(proxy, "http://127.0.0.1:\(port)/x").status == 508)
    }

    @Test(
        "a session is restored without a click where no other site can have led there",
        arguments: [
            ([], true), (["Sec-Fetch-Site: none"], true), (["Sec-Fetch-Site: same-origin"], true),
            (["Sec-Fetch-Site: cross-site"], false), (["Sec-Fetch-Site: same-site"], false),
            (["Sec-Fetch-Site: x"], false), (["Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"], false),
        ] as [([String], Bool)])
    func restoredNow(_ fields: [String], _ isRestored: Bool) throws {
        let proxy = try proxy()
        #expect(
            try ask(proxy, "/sessions/shop?restore=now", fields).body.contains("data-restore=\"now\"") == isRestored)
        #expect(try ask(proxy, "/sessions/shop?a&restore=now", fields).body.contains("data-restore") == isRestored)
        for query in ["", "?restore", "?restore=no", "?restore=nowx", "?xrestore=now"] {
            #expect(try !ask(proxy, "/sessions/shop" + query, fields).body.contains("data-restore"))
        }
    }

    @Test("a file that is no session is named with its place, and nothing of it is sent")
    func badFile() throws {
        for path in ["/sessions/bad", "/sessions/bad/0"] {
            let answer = try ask(try proxy(), path)
            #expect(answer.status == 500)
            #expect(answer.body.contains("bad.yaml:2:10"))
            #expect(!answer.body.contains("secret"))
        }
    }

    @Test("what is in the query is neither logged nor told")
    func secrets() throws {
        let proxy = try proxy { $0.logsQueryValues = true }
        for path in ["/session/restore?history=secret", "/sessions/shop?secret", "/sessions/none?secret"] {
            for method in ["GET", "POST"] {
                #expect(try !ask(proxy, path, ["Accept: text/html"], method: method).body.contains("secret"))
                _ = try ask(proxy, path, method: method, host: "evil.test")
                _ = try ask(proxy, "http://127.0.0.1:\(proxy.port)\(path)", method: method)
            }
        }
        let log = try proxy.stopAndReadLog()
        #expect(log.split(separator: "\n").count == 18)
        #expect(!log.contains("secret"))
    }

    @Test(
        "a client of another machine is not admitted, and learns of no path and no method",
        .kernel(Remote.exists, "an interface beside loopback"))
    func remote() throws {
        let proxy = try proxy()
        for (path, method) in [("/sessions/shop", "GET"), ("/sessions/none", "GET"), ("/sessions/shop", "POST")] {
            let answer = try ask(proxy, path, method: method, over: Remote.connect(port: proxy.port))
            #expect(answer.status == 403)
            #expect(answer.body.contains("not-admitted") && answer.body.contains("--console-users"))
        }
        #expect(try ask(proxy, "/session/restore", over: Remote.connect(port: proxy.port)).status == 200)
        #expect(try ask(proxy, "/console/icon.svg", over: Remote.connect(port: proxy.port)).status == 200)
    }

    @Test("HEAD has the fields of GET and no body, a file that is had already is not sent again")
    func files() throws {
        let proxy = try proxy()
        let head = try ask(proxy, "/sessions/shop", method: "HEAD")
        #expect(head.status == 200 && head.body.isEmpty)
        let file = try ask(proxy, "/console/backforward.js")
        #expect(file.field("Content-Type") == "text/javascript; charset=utf-8")
        #expect(file.body.contains("export function layOut"))
        let tag = try #require(file.field("ETag"))
        let again = try ask(proxy, "/console/backforward.js", ["If-None-Match: \(tag)"])
        #expect(again.status == 304 && again.body.isEmpty && again.field("ETag") == tag)
        #expect(again.field("Content-Length") == nil)
    }
}

/// A port of 127.0.0.1 that nobody listens on.
private func freePort() -> UInt16? { (try? TestProxy())?.port }

extension [UInt8] {
    fileprivate func write(to path: String) throws {
        guard let file = fopen(path, "w") else { throw SystemCallError() }
        defer { fclose(file) }
        fwrite(self, 1, count, file)
    }
}
