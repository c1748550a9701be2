import Testing

@testable import Curl

@Suite("What an origin receives, byte for byte")
struct EasyHandleTests {
    /// The head that an origin gets.
    private func head(_ make: (ScriptedOrigin) -> TransferRequest) async throws -> String {
        let log = Log()
        let origin = ScriptedOrigin { connection in
            log.add(connection.readHead())
            connection.respond("ok")
        }
        let loop = try makeLoop()
        let result = await run(make(origin), TransferRecorder(sending: []), on: loop)
        #expect(result.isSuccess, "\(result)")
        loop.shutdown()
        withExtendedLifetime(origin) {}
        return log.all.first ?? ""
    }

    @Test(
        "A request without a body has the given line and fields and nothing else, whatever the environment says",
        arguments: [
            "GET", "HEAD", "DELETE", "OPTIONS", "PROPFIND", "M-SEARCH", "X!#$%&'*+-.^_`|~9", "POST", "PUT", "get",
        ])
    func methods(method: String) async throws {
        let head = try await head { .to($0, method, "/a?b=c", lines: ["X-A: 1"]) }
        #expect(head == "\(method) /a?b=c HTTP/1.1\r\nHost: o.test\r\nX-A: 1\r\n\r\n")
    }

    @Test(
        "Odd targets go out as they are",
        arguments: [
            "/%zz", "/a|b", "/caf\u{e9}", "/?", "//a//b", "/a/../b", "/./", "/a?x", "/a??b#c", "/[]{}\"<>\\^`",
            "/%2e%2E/",
            "*", "?q", "/" + String(repeating: "a", count: 32_000),
        ])
    func targets(target: String) async throws {
        let head = try await head { .to($0, "GET", target) }
        #expect(head == "GET \(target) HTTP/1.1\r\nHost: o.test\r\n\r\n")
    }

    @Test("An empty target is sent as /")
    func emptyTarget() async throws {
        #expect(try await head { .to($0, "GET", "") } == "GET / HTTP/1.1\r\nHost: o.test\r\n\r\n")
    }

    @Test("Fields keep order, case, repetition, spaces and bytes; empty values stay")
    func fields() async throws {
        let lines = [
            "x-B: 1", "X-b: 2", "Accept: text/html", "user-agent: u", "Empty:", "Empty2:  ", "Name: caf\u{e9}",
            "Tab:\ta\tb ",
            "Cookie: a=b", "Authorization: Basic x", "Semi: a;", "Connection: close", "Proxy-Connection: x",
            "Referer: r",
        ]
        let head = try await head { .to($0, lines: lines) }
        let sent = lines.map { $0.hasPrefix("Empty2") ? "Empty2:" : $0 }
        #expect(head == "GET / HTTP/1.1\r\nHost: o.test\r\n" + sent.joined(separator: "\r\n") + "\r\n\r\n")
    }

    @Test("Host goes first from wherever it stands")
    func hostFirst() async throws {
        let head = try await head { origin in
            var request = TransferRequest.to(origin)
            request.lines = [Array("A: 1".utf8), Array("host: x.test:1".utf8), Array("B: 2".utf8)]
            return request
        }
        #expect(head == "GET / HTTP/1.1\r\nHost: x.test:1\r\nA: 1\r\nB: 2\r\n\r\n")
    }

    @Test("200 fields go out in order")
    func manyFields() async throws {
        let lines = (0..<200).map { "X-\($0): \(String(repeating: "v", count: 300))" }
        let head = try await head { .to($0, lines: lines) }
        #expect(head == "GET / HTTP/1.1\r\nHost: o.test\r\n" + lines.joined(separator: "\r\n") + "\r\n\r\n")
    }

    @Test(
        "What would break a line in two is not sent",
        arguments: [
            ("GET", "/", "X: a\r\nB: c"), ("GET", "/", "X: a\nB"), ("GET", "/", "X: a\0b"), ("GET", "/", "no colon"),
            ("GET", "/", ": v"), ("GET", "/a b", "X: 1"), ("GET", "/a\r\nX: 1", "X: 1"), ("GET", "/\0", "X: 1"),
            ("GE T", "/", "X: 1"), ("GET\r\n", "/", "X: 1"), ("", "/", "X: 1"), ("GET", "/", "Expect: 1\r\nX: 1"),
        ])
    func broken(method: String, target: String, line: String) async throws {
        let origin = ScriptedOrigin { $0.respond() }
        let loop = try makeLoop()
        let result = await run(.to(origin, method, target, lines: [line]), TransferRecorder(), on: loop)
        #expect(result.kind == .other)
        #expect(origin.connections == 0)
        // The handle is as good as before.
        #expect(await run(.to(origin, "GET", "/", lines: []), TransferRecorder(), on: loop).isSuccess)
    }

    @Test("A host that is none is refused", arguments: ["", "a b", "a/b", "a@b", "[::1", "a:80"])
    func badHost(host: String) async throws {
        let origin = ScriptedOrigin { $0.respond() }
        let loop = try makeLoop()
        let result = await run(.to(origin, host: host), TransferRecorder(), on: loop)
        #expect(!result.isSuccess)
        #expect(origin.connections == 0)
    }

    @Test("A body of known length is sent as it is")
    func knownLength() async throws {
        let log = Log()
        let origin = ScriptedOrigin { connection in
            log.add(connection.readHead())
            log.add(connection.read(11).map(text))
            connection.respond("ok")
        }
        let loop = try makeLoop()
        let recorder = TransferRecorder(sending: ["hello", " world"])
        let request = TransferRequest.to(
            origin, "POST", "/p", lines: ["Content-Length: 11", "X: 1"], body: .length(11))
        #expect(await run(request, recorder, on: loop).isSuccess)
        #expect(log.all == ["POST /p HTTP/1.1\r\nHost: o.test\r\nContent-Length: 11\r\nX: 1\r\n\r\n", "hello world"])
        #expect(recorder.body == "ok")
    }

    @Test("A HEAD request may have a body, and its response has none")
    func headWithBody() async throws {
        let log = Log()
        let origin = ScriptedOrigin { connection in
            log.add(connection.readHead())
            log.add(connection.read(3).map(text))
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
        }
        let request = TransferRequest.to(origin, "HEAD", lines: ["Content-Length: 3"], body: .length(3))
        let loop = try makeLoop()
        #expect(await run(request, TransferRecorder(sending: ["abc"]), on: loop).isSuccess)
        #expect(log.all == ["HEAD / HTTP/1.1\r\nHost: o.test\r\nContent-Length: 3\r\n\r\n", "abc"])
    }

    @Test("An empty body is not asked for")
    func emptyBody() async throws {
        let head = try await head { .to($0, "PUT", lines: ["Content-Length: 0"], body: .length(0)) }
        #expect(head == "PUT / HTTP/1.1\r\nHost: o.test\r\nContent-Length: 0\r\n\r\n")
    }

    @Test("Chunked bodies with trailers, several on one loop")
    func chunked() async throws {
        let log = Log()
        let origin = ScriptedOrigin { connection in
            while let head = connection.readHead() {
                log.add(head)
                log.add(connection.read(to: "0\r\n"))
                log.add(connection.read(to: "\r\n\r\n"))
                connection.respond("ok")
            }
        }
        let loop = try makeLoop()
        for _ in 0..<4 {
            let recorder = TransferRecorder(
                sending: ["hello", String(repeating: "x", count: 20)],
                trailers: ["A: 1", "B:2", "C: caf", "D\r\nE: x", "no"])
            let request = TransferRequest.to(origin, "POST", lines: ["Transfer-Encoding: chunked"], body: .chunked)
            let result = await run(request, recorder, on: loop)
            #expect(result.isSuccess, "\(result)")
        }
        let exchange = [
            "POST / HTTP/1.1\r\nHost: o.test\r\nTransfer-Encoding: chunked\r\n\r\n",
            "5\r\nhello\r\n14\r\nxxxxxxxxxxxxxxxxxxxx\r\n0\r\n", "A: 1\r\nB: 2\r\nC: caf\r\n\r\n",
        ]
        #expect(log.all == exchange + exchange + exchange + exchange)
    }

    @Test("A chunked body without trailers, and an empty one")
    func chunkedWithoutTrailers() async throws {
        for (pieces, bytes) in [(["abc"], "3\r\nabc\r\n0\r\n\r\n"), ([], "0\r\n\r\n")] {
            let log = Log()
            let origin = ScriptedOrigin { connection in
                _ = connection.readHead()
                log.add(connection.read(bytes.utf8.count).map(text))
                connection.respond()
            }
            let loop = try makeLoop()
            let request = TransferRequest.to(origin, "PUT", lines: ["Transfer-Encoding: chunked"], body: .chunked)
            #expect(await run(request, TransferRecorder(sending: pieces), on: loop).isSuccess)
            #expect(log.all == [bytes])
        }
    }

    @Test("One handle serves requests of every shape in turn")
    func shapesInTurn() async throws {
        let log = Log()
        let origin = ScriptedOrigin { connection in
            while let head = connection.readHead() {
                var body = ""
                if head.contains("Content-Length: 3") { body = connection.read(3).map(text) ?? "" }
                log.add(head.prefix { $0 != "/" } + body)
                if head.hasPrefix("HEAD") {
                    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
                } else {
                    connection.respond("12345")
                }
            }
        }
        let loop = try makeLoop()
        for method in ["GET", "HEAD", "POST", "GET", "HEAD", "HEAD", "DELETE", "POST", "POST", "HEAD", "POST", "GET"] {
            let recorder = TransferRecorder(sending: ["abc"])
            let isPost = method == "POST"
            let request = TransferRequest.to(
                origin, method, lines: isPost ? ["Content-Length: 3"] : [], body: isPost ? .length(3) : .none)
            #expect(await run(request, recorder, on: loop).isSuccess)
            #expect(recorder.body == (method == "HEAD" ? "" : "12345"))
        }
        #expect(
            log.all == [
                "GET ", "HEAD ", "POST abc", "GET ", "HEAD ", "HEAD ", "DELETE ", "POST abc", "POST abc", "HEAD ",
                "POST abc",
                "GET ",
            ])
        #expect(origin.connections == 1)
    }

    @Test("A body that ends before its length fails, and more than its length is not asked for")
    func lengthIsKept() async throws {
        let log = Log()
        let origin = ScriptedOrigin { connection in
            _ = connection.readHead()
            log.add(connection.read(4).map(text))
            if connection.number == 1 { connection.respond() }
            _ = connection.readsEnd()
        }
        let loop = try makeLoop()
        let short = await run(
            .to(origin, "POST", lines: ["Content-Length: 9"], body: .length(9)), TransferRecorder(sending: ["abcd"]),
            on: loop)
        #expect(short.kind == .other)
        #expect(short.message.contains("announced length"))
        let greedy = TransferRecorder(onRead: { _, space in
            for index in space.indices { space[index] = 0x61 }
            return .bytes(space.count)
        })
        let request = TransferRequest.to(origin, "POST", lines: ["Content-Length: 4"], body: .length(4))
        #expect(await run(request, greedy, on: loop).isSuccess)
        // The first one may be told of later.
        await log.reaches(2)
        #expect(Set(log.all) == ["abcd", "aaaa"])
    }
}
