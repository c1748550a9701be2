import ForwardProxy
import ProxyTestKit
import Testing

@Suite("What responses are stored by")
struct CacheKeyingTests {
    /// An origin that tells what it was asked for, and lets it be stored.
    private func echo(configure: (inout ProxyConfiguration) -> Void = { _ in }) throws -> CacheStage {
        try CacheStage(configure: configure) { request, _ in
            response(
                "200 OK", "Cache-Control: max-age=60",
                body: "\(request.method) \(request.target) of \(request.field("Host") ?? "")")
        }
    }

    @Test("another host, port or query is another entry")
    func authorities() throws {
        let other = try ScriptedOrigin(fields: "Cache-Control: max-age=60\r\n", body: "other port")
        let stage = try echo()
        let port = stage.origin.port
        let proxy = try TestProxy { $0.resolve = ["a.test:\(port):127.0.0.1", "b.test:\(port):127.0.0.1"] }
        func get(_ url: String) throws -> TestResponse { try proxy.exchange("GET", url) }
        let urls = [
            "http://a.test:\(port)/x", "http://b.test:\(port)/x", "http://a.test:\(port)/x?q",
            "http://a.test:\(port)/x?q=1", "http://127.0.0.1:\(port)/x", "http://127.0.0.1:\(other.port)/x",
        ]
        let first = try urls.map { try get($0).body }
        #expect(Set(first).count == urls.count)
        #expect(first[1] == "GET /x of b.test:\(port)")
        for (url, body) in zip(urls, first) {
            let again = try get(url)
            #expect(again.body == body)
            #expect(again.cacheStatus?.hasPrefix("subproxy; hit; ttl=") == true)
        }
        #expect(stage.count == urls.count - 1)
        #expect(other.requests.count == 1)
    }

    @Test("the case of scheme and host and the default port make no other entry")
    func normalForm() throws {
        let stage = try echo()
        let port = stage.origin.port
        let proxy = try TestProxy { $0.resolve = ["a.test:\(port):127.0.0.1"] }
        let first = try proxy.exchange("GET", "http://a.test:\(port)/x")
        let second = try proxy.exchange("GET", "HTTP://A.Test:\(port)/x")
        #expect(first.cacheStatus == "subproxy; fwd=uri-miss; stored")
        #expect(second.cacheStatus?.hasPrefix("subproxy; hit") == true)
        #expect(stage.count == 1)
    }

    @Test("an http response never answers for https")
    func schemes() throws {
        let stage = try echo { $0.connectPorts = [] }
        let port = stage.origin.port
        #expect(try stage.get("/x").status == 200)
        let secure = try stage.proxy.exchange("GET", "https://127.0.0.1:\(port)/x")
        #expect(secure.status == 403)
        #expect(secure.cacheStatus == nil)
    }

    @Test("a Host that is not the target's leaves no trace in what is stored")
    func host() throws {
        let stage = try echo()
        let first = try stage.proxy.exchange("GET", stage.url("/x"))
        #expect(first.body == "GET /x of 127.0.0.1:\(stage.origin.port)")
        let evil = try stage.proxy.connect()
        try evil.send("GET \(stage.url("/x")) HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n")
        #expect(TestResponse(try evil.receiveAll()).body == first.body)
        #expect(stage.count == 1)
        let other = try stage.proxy.exchange("GET", "http://evil.test/x")
        #expect(other.status == 502 || other.status == 504)
    }

    @Test(
        "paths that differ in the bytes sent to the origin are never one entry",
        arguments: [
            ["/a%2Fb", "/a/b"], ["/A", "/a"], ["//", "/"], ["/?", "/"], ["/%7E", "/~"], ["/a/../b", "/b"],
            ["/a;x", "/a"], ["/a/./b", "/a/b"], ["/%61", "/a"], ["/x?a=1&b=2", "/x?b=2&a=1"], ["/a%2fb", "/a%2Fb"],
        ])
    func paths(_ paths: [String]) throws {
        let stage = try echo()
        for _ in 0..<2 {
            for path in paths { #expect(try stage.get(path).body.hasPrefix("GET \(path) of ")) }
        }
        #expect(stage.count == paths.count)
    }

    @Test(
        "what could split a line or a key is refused before it gets near the store",
        arguments: ["/a\u{0}b", "/a\rb", "/a\tb", "/a\u{7f}b"])
    func refused(_ path: String) throws {
        let stage = try echo()
        #expect(try stage.get(path).status == 400)
        #expect(stage.count == 0)
    }

    @Test("a fragment is neither part of the key nor sent to the origin")
    func fragment() throws {
        let stage = try echo()
        let first = try stage.get("/a#b")
        #expect(first.body.hasPrefix("GET /a of "))
        #expect(try stage.get("/a").body == first.body)
        #expect(try stage.get("/a#c?d").body == first.body)
        #expect(stage.count == 1)
    }

    @Test("a response to HEAD says nothing of what has come since it was asked for")
    func olderHead() throws {
        let gate = Gate()
        let stage = try CacheStage { request, _ in
            guard request.isHead else {
                return response("200 OK", ["Cache-Control: max-age=60", "Content-Type: text/new"], body: "new")
            }
            gate.pass()
            return response("200 OK", ["Cache-Control: max-age=6000", "Content-Type: text/old"])
        }
        let head = try stage.proxy.connect()
        try head.send("HEAD \(stage.url("/x")) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        try gate.awaitArrivals()
        stage.clock.advance(seconds: 1)
        #expect(try stage.get("/x").field("Content-Type") == "text/new")
        gate.open()
        #expect(TestResponse(try head.receiveAll()).field("Content-Type") == "text/old")
        let after = try stage.get("/x")
        #expect(after.field("Content-Type") == "text/new" && after.cacheStatus == "subproxy; hit; ttl=60")
    }

    @Test("a response to HEAD is not stored; HEAD is answered from a stored GET")
    func head() throws {
        let stage = try echo()
        let head = try stage.get("/x", method: "HEAD")
        #expect(head.cacheStatus == "subproxy; fwd=uri-miss")
        let get = try stage.get("/x")
        #expect(get.body.hasPrefix("GET /x"))
        #expect(get.cacheStatus == "subproxy; fwd=uri-miss; stored")
        let hit = try stage.get("/x", method: "HEAD")
        #expect(hit.cacheStatus?.hasPrefix("subproxy; hit") == true)
        #expect(hit.field("Content-Length") == "\(get.body.utf8.count)")
        #expect(hit.body.isEmpty)
        #expect(stage.count == 2)
    }

    @Test("a response to POST answers a later GET only where Content-Location is the target")
    func post() throws {
        let stage = try CacheStage { request, number in
            let location = request.target == "/named" ? "/named" : request.target == "/foreign" ? "/other" : nil
            return response(
                "200 OK", ["Cache-Control: max-age=60"] + (location.map { ["Content-Location: \($0)"] } ?? []),
                body: "\(request.method) \(number)")
        }
        let post = try stage.get("/named", method: "POST", body: "x")
        #expect(post.cacheStatus == "subproxy; fwd=method; stored")
        let get = try stage.get("/named")
        #expect(get.body == "POST 1")
        #expect(get.cacheStatus?.hasPrefix("subproxy; hit") == true)
        // A POST itself is never answered from what is stored.
        #expect(try stage.get("/named", method: "POST", body: "x").body == "POST 2")
        #expect(try stage.get("/named").body == "POST 2")
        for path in ["/unnamed", "/foreign"] {
            #expect(try stage.get(path, method: "POST", body: "x").cacheStatus == "subproxy; fwd=method")
            #expect(try stage.get(path).body.hasPrefix("GET "))
        }
    }

    @Test("a GET with content is neither stored nor answered from the store, and disturbs nothing")
    func fatGet() throws {
        let stage = try CacheStage { request, number in
            response(
                "200 OK", "Cache-Control: max-age=60",
                body: "\(number)" + String(decoding: request.body, as: UTF8.self))
        }
        #expect(try stage.get("/x").body == "1")
        let fat = try stage.get("/x", body: "evil")
        #expect(fat.body == "2evil")
        #expect(fat.cacheStatus == "subproxy; fwd=bypass")
        #expect(try stage.get("/x").body == "1")
        #expect(try stage.get("/y", body: "evil").body == "3evil")
        #expect(try stage.get("/y").body == "4")
    }

    @Test(
        "fields that are no part of the key don't change where a request goes, nor its method",
        arguments: [
            "X-Forwarded-Host", "X-Host", "X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override", "Forwarded",
            "X-Forwarded-Scheme", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Server", "X-Original-Host",
            "X-HTTP-Host-Override", "X-HTTP-DestinationURL", "X-Method-Override", "X-Real-IP", "Proxy-Host",
            "Destination", "Request-Uri", "X-Proxy-URL", "X-Forwarded-Prefix",
        ])
    func unkeyed(_ name: String) throws {
        let stage = try echo()
        let value = name == "Forwarded" ? "host=evil.test" : name.contains("Method") ? "DELETE" : "evil.test"
        let first = try stage.get("/x", "\(name): \(value)")
        #expect(first.body == "GET /x of 127.0.0.1:\(stage.origin.port)")
        #expect(try stage.get("/x").body == first.body)
        #expect(stage.count == 1)
    }

    @Test(
        "nothing is stored for what a path looks like",
        arguments: [
            "/account/x.css", "/account;x.css", "/account%2f..%2fstatic.css", "/account/..%2fx.js", "/account?x.css",
            "/account/x.png", "/account%00.css", "/account%3f.css",
        ])
    func deception(_ path: String) throws {
        for fields in [["Cache-Control: private, max-age=60"], [], ["Cache-Control: no-store"]] {
            let stage = try CacheStage { _, number in response("200 OK", fields, body: "\(number)") }
            let first = try stage.get(path)
            #expect(first.cacheStatus?.contains("; stored") == false)
            #expect(try stage.get(path).body == "2")
        }
    }

    @Test(
        "clients on other machines get nothing that was fetched for one on this machine",
        .kernel(Remote.exists, "an interface beside loopback"))
    func remoteClients() throws {
        let stage = try echo()
        #expect(try stage.get("/secret").status == 200)
        #expect(try stage.get("/secret").cacheStatus?.hasPrefix("subproxy; hit") == true)
        let remote = try Remote.connect(port: stage.proxy.port)
        try remote.send("GET \(stage.url("/secret")) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        let response = TestResponse(try remote.receiveAll())
        #expect(response.status == 403)
        #expect(!response.body.contains("GET /secret of"))
        #expect(stage.count == 1)
    }

    @Test(
        "clients on other machines share among themselves where they may reach the origin",
        .kernel(Remote.exists, "an interface beside loopback"))
    func remoteClientsThatMay() throws {
        let stage = try echo { $0.allowsPrivateForRemote = true }
        #expect(try stage.get("/x").status == 200)
        let remote = try Remote.connect(port: stage.proxy.port)
        try remote.send("GET \(stage.url("/x")) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(TestResponse(try remote.receiveAll()).cacheStatus?.hasPrefix("subproxy; hit") == true)
    }

    @Test(
        "clients on other machines share nothing where they alone may not reach the metadata services of clouds",
        .kernel(Remote.exists, "an interface beside loopback"))
    func remoteClientsBesideMetadata() throws {
        let stage = try echo {
            $0.allowsPrivateForRemote = true
            $0.allowsMetadata = true
        }
        #expect(try stage.get("/x").status == 200)
        let remote = try Remote.connect(port: stage.proxy.port)
        try remote.send("GET \(stage.url("/x")) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(TestResponse(try remote.receiveAll()).cacheStatus?.hasPrefix("subproxy; fwd=uri-miss") == true)
        #expect(stage.count == 2)
    }
}
