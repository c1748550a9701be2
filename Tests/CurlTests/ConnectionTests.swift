import Dispatch
import Glibc
import Testing

@testable import Curl

@Suite("Connections: kept, repeated on, chained, handed over")
struct ConnectionTests {
    @Test("A kept connection is used again, unless a fresh one is asked for")
    func reuse() async throws {
        let origin = ScriptedOrigin { connection in
            while connection.readHead() != nil { connection.respond("abc") }
        }
        let loop = try makeLoop()
        var reused: [Bool] = []
        for isFresh in [false, false, false, true, false] {
            let result = await run(.to(origin, isFresh: isFresh), TransferRecorder(), on: loop)
            #expect(result.isSuccess)
            reused.append(result.reusedConnection)
        }
        #expect(reused == [false, true, true, false, true])
        #expect(origin.connections == 2)
    }

    /// What origins send without being asked: a further response, a complaint about the idle connection, the rest of a
    /// body that nobody wanted.
    static let unasked = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong", "HTTP/1.1 408 Request Timeout\r\n\r\n", "\r\n", "wrong",
    ]

    @Test("A kept connection is closed as soon as something arrives on it", arguments: unasked)
    func unsolicited(_ bytes: String) async throws {
        let sent = Log()
        let origin = ScriptedOrigin { connection in
            while connection.readHead() != nil {
                connection.respond("right")
                guard connection.number == 0 else { continue }
                connection.write(bytes)
                sent.add(connection.readsEnd() ? "closed" : "open")
            }
        }
        let loop = try makeLoop()
        for _ in 0..<3 {
            let recorder = TransferRecorder()
            #expect(await run(.to(origin), recorder, on: loop).isSuccess)
            #expect(recorder.body == "right")
            await sent.reaches(1)
        }
        #expect(sent.all == ["closed"])
        #expect(origin.connections == 2)
    }

    @Test(
        "A kept connection on which something has arrived is not used, also where nobody has noticed yet",
        arguments: ["GET", "HEAD"], unasked)
    func unnoticed(_ method: String, _ bytes: String) async throws {
        let mayWrite = DispatchSemaphore(value: 0)
        let isWritten = DispatchSemaphore(value: 0)
        let origin = ScriptedOrigin { connection in
            while connection.readHead() != nil {
                if method == "HEAD" {
                    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
                } else {
                    connection.respond("right")
                }
                guard connection.number == 0 else { continue }
                mayWrite.wait()
                connection.write(bytes)
                isWritten.signal()
            }
        }
        let loop = try makeLoop()
        #expect(await run(.to(origin, method), TransferRecorder(), on: loop).isSuccess)
        // The thread stands still while the bytes come, and begins the next transfer before it looks at its sockets.
        let recorder = TransferRecorder()
        _ = loop.perform {
            loop.start(.to(origin, method), delegate: recorder)
            mayWrite.signal()
            isWritten.wait()
        }
        #expect(await recorder.result.isSuccess)
        #expect(recorder.body == (method == "HEAD" ? "" : "right"))
        #expect(origin.connections == 2)
    }

    /// Responses whose end libcurl finds without telling what stands behind it.
    private static let endings: [(method: String, response: String)] = [
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), ("GET", "HTTP/1.1 304 Not Modified\r\n\r\n"),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n"), ("GET", "HTTP/1.1 200 OK\r\ncontent-length:  0\r\n\r\n"),
        ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nright\r\n0\r\n\r\n"),
        ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright"),
    ]

    @Test("A connection whose response was read together with more is not used again", arguments: endings)
    func excess(_ method: String, _ response: String) async throws {
        for excess in ["", "w", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong"] {
            let origin = ScriptedOrigin { connection in
                while connection.readHead() != nil { connection.write(response + excess) }
            }
            let loop = try makeLoop()
            for _ in 0..<3 {
                let recorder = TransferRecorder()
                #expect(await run(.to(origin, method), recorder, on: loop).isSuccess)
                #expect(recorder.body == (response.hasSuffix("right") || response.contains("right") ? "right" : ""))
            }
            #expect(origin.connections == (excess.isEmpty ? 1 : 3))
        }
    }

    @Test("Connections of a pool are used by its transfers alone, and closed with it")
    func pools() async throws {
        let ends = Log()
        let origin = ScriptedOrigin { connection in
            while connection.readHead() != nil { connection.respond("\(connection.number)") }
            ends.add("\(connection.number)")
        }
        let loop = try makeLoop { $0.resolve = ["some.test:\(origin.port):127.0.0.1"] }
        func body(_ pool: ConnectionPool?) async -> String {
            var request = TransferRequest.to(origin, host: "some.test")
            request.pool = pool
            let recorder = TransferRecorder()
            #expect(await run(request, recorder, on: loop).isSuccess)
            return recorder.body
        }
        do {
            let first = loop.makePool()
            let second = loop.makePool()
            // The names that are given count in each of them.
            for _ in 0..<2 {
                #expect(await body(nil) == "0")
                #expect(await body(first) == "1")
                #expect(await body(second) == "2")
            }
        }
        await ends.reaches(2)
        #expect(Set(ends.all) == ["1", "2"])
        #expect(await body(nil) == "0")
        #expect(await body(loop.makePool()) == "3")
    }

    @Test("What a pool's look-up of a name leaves behind takes no events from other transfers")
    func poolsAndNames() async throws {
        let origin = ScriptedOrigin { connection in
            while connection.readHead() != nil { connection.respond("abc") }
        }
        let loop = try makeLoop()
        for _ in 0..<8 {
            var request = TransferRequest.to(origin, host: "nonexistent.invalid")
            request.pool = loop.makePool()
            #expect(await run(request, TransferRecorder(), on: loop).kind == .hostNotFound)
            for _ in 0..<3 {
                #expect(await run(.to(origin, isFresh: true), TransferRecorder(), on: loop).isSuccess)
            }
        }
    }

    @Test("A request that must not be repeated fails where the kept connection of its pool dies")
    func notRepeated() async throws {
        let log = Log()
        let origin = ScriptedOrigin { connection in
            _ = connection.readHead()
            connection.respond("abc")
            if connection.readHead() != nil { log.add("POST") }
        }
        let loop = try makeLoop()
        let pool = loop.makePool()
        for (method, isRepeatable) in [("GET", true), ("POST", false)] {
            var request = TransferRequest.to(origin, method)
            request.pool = pool
            request.mayBeRepeated = isRepeatable
            let result = await run(request, TransferRecorder(), on: loop)
            #expect(result.isSuccess == isRepeatable)
            if !isRepeatable { #expect(result.kind == .reset) }
        }
        #expect(log.all == ["POST"])
    }

    @Test("A request whose kept connection died is repeated, time and again; on a fresh one it isn't")
    func repeated() async throws {
        let log = Log()
        // Each connection answers once and dies with the second request, which it has read.
        let origin = ScriptedOrigin { connection in
            _ = connection.readHead()
            connection.respond("abc")
            if let head = connection.readHead() { log.add("\(head.prefix(4))\(connection.number)") }
        }
        let loop = try makeLoop()
        for round in 0..<20 {
            let result = await run(.to(origin, "GET", "/\(round)"), TransferRecorder(), on: loop)
            #expect(result.isSuccess, "\(round): \(result)")
        }
        #expect(log.all.count == 19)
        #expect(origin.connections == 20)

        let dying = ScriptedOrigin { _ = $0.readHead() }
        let post = TransferRequest.to(dying, "POST", lines: ["Content-Length: 1"], body: .length(1), isFresh: true)
        let result = await run(post, TransferRecorder(sending: ["a"]), on: loop)
        #expect(result.kind == .reset)
        #expect(dying.connections == 1)
    }

    @Test("Of a host's addresses one that takes the connection is found without a wait for each that refuses")
    func severalAddresses() async throws {
        let origin = ScriptedOrigin { connection in
            while connection.readHead() != nil { connection.respond("abc") }
        }
        // With a wait of a fifth of a second, as between addresses that don't answer, they would take longer than the
        // limit.
        let addresses = (0..<400).map { "127.0.\($0 / 200).\(2 + $0 % 200)" }.joined(separator: ",")
        let loop = try makeLoop {
            $0.connectTimeoutMilliseconds = 60_000
            $0.resolve = ["some.test:\(origin.port):\(addresses),127.0.0.1", "none.test:1:\(addresses)"]
        }
        let result = await run(.to(origin, host: "some.test"), TransferRecorder(), on: loop)
        #expect(result.isSuccess, "\(result)")
        let none = TransferRequest(
            method: Array("GET".utf8), isHTTPS: false, host: "none.test", port: 1, pathAndQuery: [0x2f], lines: [])
        #expect(await run(none, TransferRecorder(), on: loop).kind == .notConnected)
    }

    @Test("Names are resolved as the configuration says")
    func resolve() async throws {
        let origin = ScriptedOrigin { connection in
            while connection.readHead() != nil { connection.respond("abc") }
        }
        let loop = try makeLoop { $0.resolve = ["some.test:\(origin.port):127.0.0.1"] }
        for _ in 0..<3 {
            let result = await run(.to(origin, host: "some.test"), TransferRecorder(), on: loop)
            #expect(result.isSuccess, "\(result)")
        }
    }

    @Test("A parent proxy gets the absolute-form in the very bytes, and nothing else")
    func upstreamProxy() async throws {
        let log = Log()
        let proxy = ScriptedOrigin { connection in
            while let head = connection.readHead() {
                log.add(head)
                connection.respond("abc")
            }
        }
        let loop = try makeLoop {
            $0.upstreamProxy = "http://127.0.0.1:\(proxy.port)"
            $0.noProxy = "direct.test"
        }
        for (port, target) in [(80, "/a|b?%zz"), (8080, "/a/../b"), (80, "*")] as [(UInt16, String)] {
            var request = TransferRequest.to(proxy, "GET", target, host: "o.test", lines: ["X: 1"])
            request.port = port
            // The address is the operator's choice.
            let result = await run(request, TransferRecorder(allows: { _ in false }), on: loop)
            #expect(result.isSuccess, "\(result)")
        }
        let fields = " HTTP/1.1\r\nHost: o.test\r\nX: 1\r\n\r\n"
        #expect(
            log.all == [
                "GET http://o.test/a|b?%zz" + fields, "GET http://o.test:8080/a/../b" + fields,
                "GET http://o.test" + fields,
            ])
        #expect(await run(.to(proxy, host: "direct.test"), TransferRecorder(), on: loop).kind == .hostNotFound)
    }

    @Test("A parent proxy that asks for credentials gets them")
    func proxyCredentials() async throws {
        let log = Log()
        let proxy = ScriptedOrigin { connection in
            log.add(connection.readHead())
            connection.respond()
        }
        let loop = try makeLoop { $0.upstreamProxy = "http://u:p@127.0.0.1:\(proxy.port)" }
        _ = await run(.to(proxy, host: "o.test"), TransferRecorder(), on: loop)
        #expect(log.all.first?.contains("Proxy-Authorization: Basic dTpw\r\n") == true)
    }

    @Test("A connected socket is handed over, and outlives the loop")
    func connectOnly() async throws {
        let origin = ScriptedOrigin { connection in
            connection.write("hello\n")
            connection.write(connection.read(to: "\n") ?? "(end)")
            _ = connection.readsEnd()
        }
        let loop = try makeLoop()
        try await echo(.connection(to: "127.0.0.1", port: origin.port), on: loop)
    }

    @Test("A connected socket through a parent proxy, which sees CONNECT and nothing behind it")
    func connectOnlyThroughProxy() async throws {
        let log = Log()
        let proxy = ScriptedOrigin { connection in
            log.add(connection.readHead())
            connection.write("HTTP/1.1 200 Connection established\r\nX: 1\r\n\r\nhello\n")
            connection.write(connection.read(to: "\n") ?? "(end)")
            _ = connection.readsEnd()
        }
        let loop = try makeLoop { $0.upstreamProxy = "http://127.0.0.1:\(proxy.port)" }
        try await echo(.connection(to: "o.test", port: 4443), on: loop)
        #expect(log.all.first?.hasPrefix("CONNECT o.test:4443 HTTP/1.1\r\nHost: o.test:4443\r\n") == true)
    }

    @Test("A tunnel that the parent proxy refuses, and an address that may not be connected to")
    func connectOnlyFails() async throws {
        let proxy = ScriptedOrigin { connection in
            _ = connection.readHead()
            connection.respond("no", status: "403 Forbidden")
        }
        let loop = try makeLoop { $0.upstreamProxy = "http://127.0.0.1:\(proxy.port)" }
        let recorder = TransferRecorder()
        let result = await run(.connection(to: "o.test", port: 443), recorder, on: loop)
        #expect(!result.isSuccess)
        #expect(recorder.current.descriptor == nil)
        #expect(recorder.lines.isEmpty)

        let direct = try makeLoop()
        let refusing = TransferRecorder(allows: { _ in false })
        let refused = await run(.connection(to: "127.0.0.1", port: proxy.port), refusing, on: direct)
        #expect(refused.refusedAddress)
        #expect(refusing.current.descriptor == nil)
    }

    private func echo(_ request: TransferRequest, on loop: TransferLoop) async throws {
        let recorder = TransferRecorder()
        let result = await run(request, recorder, on: loop)
        #expect(result.isSuccess, "\(result)")
        let descriptor = try #require(recorder.current.descriptor)
        defer { close(descriptor) }
        #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(recorder.lines.isEmpty)
        loop.shutdown()
        #expect(readLine(descriptor) == "hello\n")
        #expect(write(descriptor, "abc\n", 4) == 4)
        #expect(readLine(descriptor) == "abc\n")
    }

    private func readLine(_ descriptor: CInt) -> String {
        var bytes: [UInt8] = []
        while bytes.last != 0x0a {
            var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&state, 1, 60_000) == 1 else { break }
            var byte: UInt8 = 0
            guard read(descriptor, &byte, 1) == 1 else { break }
            bytes.append(byte)
        }
        return text(bytes)
    }
}
