import Authentication
import Basics
import Files
import Foundation
import HTTPSemantics
import NIOCore
import ProxyTestKit
import Substitution
import Synchronization
import Testing

@testable import ForwardProxy

@Suite("Observers of exchanges")
struct ExchangeObserverTests {
    private static let map = """
        substitutions:
          http://m.test/x: { text: mapped }
          http://m.test/f.txt: f.txt

        """

    /// When the test began.
    private let began = monotonicNanoseconds()

    /// Compares what was seen of an exchange with what its client was sent.
    private func expect(
        _ seen: ExchangeWatch.Seen, is response: ProxyResponse, _ outcome: Outcome,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let ofConnection = ["Transfer-Encoding: chunked", "Connection: close"]
        let lines = response.head.components(separatedBy: "\r\n").dropFirst()
            .filter { !$0.isEmpty && !ofConnection.contains($0) }
        #expect(seen.isInOrder, "\(seen.calls)", sourceLocation: sourceLocation)
        #expect(seen.status == response.status, sourceLocation: sourceLocation)
        #expect(seen.lines.components(separatedBy: "\r\n") == lines + [""], sourceLocation: sourceLocation)
        #expect(seen.body == response.body, sourceLocation: sourceLocation)
        #expect(seen.record?.outcome == outcome, sourceLocation: sourceLocation)
        #expect(seen.record?.status == response.status, sourceLocation: sourceLocation)
        #expect(seen.record?.bodyBytes == response.body.count, sourceLocation: sourceLocation)
        #expect(seen.client == "127.0.0.1", sourceLocation: sourceLocation)
        #expect(seen.duration <= monotonicNanoseconds() - began, sourceLocation: sourceLocation)
    }

    private func ask(
        _ socket: Socket, _ url: String, _ method: String = "GET", _ fields: String..., body: String? = nil
    ) throws -> ProxyResponse {
        try socket.sendRequest(method, url, fields: fields, body: body)
        return try socket.receiveResponse(to: method)
    }

    @Test("a mapped answer is seen as it is sent, whichever way it takes: made, ready, or known by its target")
    func mapped() throws {
        let proxy = try TestProxy(Self.map)
        let watch = proxy.watch()
        let socket = try proxy.connect()
        var responses: [ProxyResponse] = []
        for _ in 0..<4 { responses.append(try ask(socket, "http://m.test/x")) }
        let tag = "If-None-Match: \(try #require(responses[0].field("ETag")))"
        for _ in 0..<3 {
            responses.append(try ask(socket, "http://m.test/x", "HEAD"))
            responses.append(try ask(socket, "http://m.test/x", "GET", tag))
            responses.append(try ask(socket, "http://m.test/x", "GET", "Range: bytes=1-2"))
        }
        let seen = try watch.ended(responses.count)
        #expect(seen.count == responses.count)
        for (seen, response) in zip(seen, responses) {
            expect(seen, is: response, .substituted)
            #expect(seen.url == "http://m.test/x" && seen.record?.rule == "m.yaml:2")
            #expect(seen.request?.fields.firstText(.host) == "m.test")
        }
        #expect(responses.map(\.status) == [200, 200, 200, 200] + [200, 304, 206, 200, 304, 206, 200, 304, 206])
        #expect(seen[4].method == "HEAD" && seen[5].method == "GET")
        #expect(String(decoding: seen[3].body, as: UTF8.self) == "mapped")
    }

    @Test("it is the same whether or not anybody looks on, and the log and the metrics are")
    func unchanged() throws {
        let proxy = try TestProxy(Self.map)
        let socket = try proxy.connect()
        func round() throws -> [String] {
            let tag = "If-None-Match: \(try #require(try ask(socket, "http://m.test/x").field("ETag")))"
            let responses = try [
                ask(socket, "http://m.test/x"), ask(socket, "http://m.test/x", "HEAD"),
                ask(socket, "http://m.test/x", "GET", tag), ask(socket, "http://m.test/none.invalid", "TRACE"),
            ]
            return responses.map { response in
                response.head.components(separatedBy: "\r\n").filter { !$0.hasPrefix("Date: ") }
                    .joined(separator: "\n") + response.text
            }
        }
        let before = try round()
        let watch = proxy.watch()
        #expect(try round() == before)
        #expect(try watch.ended(5).count == 5)
        proxy.server.onEachLoop { $0.observers = [] }
        #expect(try round() == before)
        #expect(watch.all.count == 5)
        proxy.server.onEachLoop { #expect(!$0.isObserved) }
        let log = try proxy.stopAndReadLog().split(separator: "\n").map { line in
            // Without the time and the duration.
            line.split(separator: " ").enumerated().filter { $0.offset != 0 && $0.offset != 5 }.map(\.element)
        }
        #expect(log.count == 15 && log[0..<5] == log[5..<10] && log[0..<5] == log[10..<15])
    }

    @Test("the bytes of a large file are seen, whether it is in memory, sealed, or streamed", arguments: [20, 4])
    func files(retained: Int) throws {
        let text = String((0..<200_000).map { String($0 + 1_000_000) + "\n" }.joined().prefix(1_500_000))
        let proxy = try TestProxy(Self.map, files: ["f.txt": text]) {
            $0.retention = RetentionLimits(file: retained << 18)
        }
        let watch = proxy.watch()
        let socket = try proxy.connect()
        var responses: [ProxyResponse] = []
        for _ in 0..<3 {
            responses.append(try ask(socket, "http://m.test/f.txt"))
            responses.append(try ask(socket, "http://m.test/f.txt", "GET", "Range: bytes=100000-1200000"))
        }
        let seen = try watch.ended(6)
        for (seen, response) in zip(seen, responses) { expect(seen, is: response, .substituted) }
        #expect(responses[0].text == text && responses[5].body.count == 1_100_001)
    }

    @Test("stored and forwarded responses are seen, chunked ones without their coding, and large ones whole")
    func origins() throws {
        let large = String(repeating: "0123456789abcdef", count: 1 << 17)
        let origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            switch request.target {
            case "/stored": try connection.respond(fields: "Cache-Control: max-age=60\r\n", body: "kept")
            case "/chunked":
                try connection.socket.send(
                    "HTTP/1.1 201 Created\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
            case "/none": try connection.respond("404 Not Found", fields: "Cache-Control: no-store\r\n", body: "")
            default: try connection.respond(fields: "Cache-Control: no-store\r\n", body: large)
            }
            return true
        }
        let proxy = try TestProxy(Self.map)
        let watch = proxy.watch()
        let socket = try proxy.connect()
        let url = "http://127.0.0.1:\(origin.port)"
        var asked: [(ProxyResponse, Outcome)] = []
        asked.append((try ask(socket, "\(url)/stored"), .forwarded))
        for _ in 0..<3 { asked.append((try ask(socket, "\(url)/stored"), .stored)) }
        asked.append((try ask(socket, "\(url)/stored", "HEAD"), .stored))
        asked.append((try ask(socket, "\(url)/chunked"), .forwarded))
        asked.append((try ask(socket, "\(url)/none"), .forwarded))
        asked.append((try ask(socket, "\(url)/large"), .forwarded))
        asked.append((try ask(socket, "\(url)/chunked", "POST", body: "content"), .forwarded))
        let seen = try watch.ended(asked.count)
        #expect(seen.count == asked.count)
        for (seen, asked) in zip(seen, asked) { expect(seen, is: asked.0, asked.1) }
        #expect(String(decoding: seen[5].body, as: UTF8.self) == "onetwo")
        #expect(asked[7].0.text == large)
    }

    @Test("errors of the proxy's own, and its pages, are seen")
    func own() throws {
        let proxy = try TestProxy(Self.map)
        let watch = proxy.watch()
        let socket = try proxy.connect()
        let responses = try [
            ask(socket, "http://none.invalid/"), ask(socket, "http://127.0.0.1:\(proxy.port)/metrics"),
            ask(socket, "http://127.0.0.1:\(proxy.port)/healthz", "HEAD"),
        ]
        let seen = try watch.ended(3)
        expect(seen[0], is: responses[0], .failed)
        expect(seen[1], is: responses[1], .own)
        expect(seen[2], is: responses[2], .own)
        #expect(responses.map(\.status) == [502, 200, 200])
    }

    @Test("a request that can't be read has a beginning without a head, and an end")
    func malformed() throws {
        let proxy = try TestProxy(Self.map)
        let watch = proxy.watch()
        for text in [
            "GET http://x/ HTTP/1.1\r\nA : b\r\n\r\n", "POST http://m.test/x HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
        ] {
            let socket = try proxy.connect()
            try socket.send(text)
            socket.finish()
            _ = try socket.receiveAll()
        }
        let seen = try watch.ended(1)
        #expect(seen[0].request == nil && seen[0].method == "GET" && seen[0].url == "http://x/")
        #expect(seen[0].calls == "hbe" && seen[0].status == 400)
        #expect(seen[0].lines.contains("Connection: close\r\n") && seen[0].record?.outcome == .refused)
        for seen in try watch.ended(2) { #expect(seen.isInOrder) }
    }

    @Test("a client that goes before the end of the response ends the exchange once")
    func aborted() throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { _, connection in
            try connection.socket.send(
                "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 10\r\n\r\nhalf ")
            gate.pass()
            return false
        }
        let proxy = try TestProxy(Self.map)
        let watch = proxy.watch()
        let socket = try proxy.connect()
        try socket.sendRequest("GET", "http://127.0.0.1:\(origin.port)/")
        _ = try socket.receive(until: "half ")
        socket.reset()
        let seen = try watch.ended(1)
        gate.open()
        #expect(seen.count == 1 && seen[0].calls == "hbe")
        #expect(seen[0].record?.outcome == .failed && seen[0].record?.bodyBytes == 5)
        #expect(String(decoding: seen[0].body, as: UTF8.self) == "half ")
        proxy.server.stop()
        #expect(watch.all.count == 1 && watch.all[0].calls == "hbe")
    }

    @Test("a tunnel has a head and, when it is closed, an end")
    func tunnel() throws {
        let echo = try RawOrigin.echo()
        let proxy = try TestProxy(Self.map) { $0.connectPorts = [echo.port] }
        let watch = proxy.watch()
        let socket = try proxy.connect()
        try socket.send("CONNECT 127.0.0.1:\(echo.port) HTTP/1.1\r\nHost: x\r\n\r\n")
        let head = try socket.receiveResponseHead()
        try socket.send("hello")
        #expect(try socket.receive(exactly: 5) == Array("hello".utf8))
        #expect(watch.all.map(\.calls) == ["h"])
        socket.close()
        let seen = try watch.ended(1)
        #expect(seen.count == 1 && seen[0].calls == "he" && seen[0].url == "127.0.0.1:\(echo.port)")
        #expect(seen[0].status == 200 && head.head.contains(seen[0].lines.split(separator: "\r\n").joined()))
        #expect(seen[0].record?.outcome == .tunnelled && seen[0].record?.bodyBytes == 5)
    }

    @Test(
        "in a decrypted tunnel each request is an exchange, and the CONNECT is over with the handshake",
        arguments: ["--http1.1", "--http2"])
    func decrypted(version: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "subproxy-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let proxy = try TestProxy(
            "substitutions:\n  https://m.test/x: { text: mapped }\n  https://m.test/gone: { status: 410, text: no }\n"
        ) { $0.authorityFolder = folder }
        let watch = proxy.watch()
        let url = "https://m.test/"
        let curl = try ChildProcess.run([
            "curl", "-sSik", version, "-x", "http://127.0.0.1:\(proxy.port)", "\(url)x", "\(url)x", "\(url)x",
            "\(url)gone",
        ])
        #expect(curl.status == 0, "\(curl.error)")
        let seen = try watch.ended(5)
        #expect(seen.map(\.method) == ["CONNECT", "GET", "GET", "GET", "GET"])
        #expect(seen.map(\.url) == ["m.test:443", "\(url)x", "\(url)x", "\(url)x", "\(url)gone"])
        #expect(seen.map(\.status) == [200, 200, 200, 200, 410])
        #expect(seen.allSatisfy { $0.isInOrder })
        #expect(seen[0].calls == "he" && seen[0].record?.outcome == .tunnelled)
        for seen in seen[1...3] {
            #expect(String(decoding: seen.body, as: UTF8.self) == "mapped" && seen.record?.bodyBytes == 6)
            // Names are in lower case on the wire of HTTP/2.
            for line in seen.lines.split(separator: "\r\n") {
                let name = line.prefix { $0 != ":" }
                let sent = version == "--http2" ? name.lowercased() + line.dropFirst(name.count) : String(line)
                #expect(curl.output.contains(sent), "\(sent)")
            }
        }
        #expect(String(decoding: seen[4].body, as: UTF8.self) == "no")
        // The CONNECT has no line in the log.
        #expect(try proxy.stopAndReadLog().split(separator: "\n").count == 4)
    }

    @Test("a handshake that fails ends its CONNECT")
    func failedHandshake() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "subproxy-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let proxy = try TestProxy("substitutions:\n  https://m.test/x: { text: mapped }\n") {
            $0.authorityFolder = folder
        }
        let watch = proxy.watch()
        let socket = try proxy.connect()
        try socket.send("CONNECT m.test:443 HTTP/1.1\r\nHost: m.test\r\n\r\n")
        _ = try socket.receiveResponseHead()
        try socket.send("this is no TLS")
        _ = try? socket.receiveAll()
        let seen = try watch.ended(1)
        #expect(seen.count == 1 && seen[0].calls == "he" && seen[0].record?.outcome == .failed)
    }

    @Test("a request whose credentials are checked first begins once")
    func admitted() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "subproxy-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try "\(TestUsers.ann)\n".write(toFile: folder, atomically: true, encoding: .utf8)
        let passwords = try Passwords(file: folder)
        let proxy = try TestProxy(Self.map) { $0.passwords = passwords }
        let watch = proxy.watch()
        let socket = try proxy.connect()
        let right = "Proxy-Authorization: Basic \(Data("ann:secret".utf8).base64EncodedString())"
        var responses = [try ask(socket, "http://m.test/x")]
        for _ in 0..<4 { responses.append(try ask(socket, "http://m.test/x", "GET", right)) }
        let seen = try watch.ended(5)
        #expect(seen.count == 5 && responses.map(\.status) == [407, 200, 200, 200, 200])
        for (index, seen) in seen.enumerated() {
            expect(seen, is: responses[index], index == 0 ? .refused : .substituted)
        }
    }

    @Test("an exchange that began before there were observers is not seen, one that outlasts them has its end")
    func change() throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            gate.pass()
            try connection.respond(fields: "Cache-Control: no-store\r\n", body: "late")
            return true
        }
        let proxy = try TestProxy(Self.map)
        let url = "http://127.0.0.1:\(origin.port)/"
        let early = try proxy.connect()
        try early.sendRequest("GET", "\(url)early")
        try gate.awaitArrivals(1)
        let watch = proxy.watch()
        let late = try proxy.connect()
        try late.sendRequest("GET", "\(url)late")
        try gate.awaitArrivals(2)
        proxy.server.onEachLoop { $0.observers = [] }
        gate.open()
        #expect(try early.receiveResponse().text == "late")
        #expect(try late.receiveResponse().text == "late")
        let seen = try watch.ended(1)
        #expect(seen.map(\.url) == ["\(url)late"] && seen[0].isInOrder)
        #expect(String(decoding: seen[0].body, as: UTF8.self) == "late")
        proxy.server.onEachLoop { #expect(!$0.isObserved) }
    }

    @Test("the field lines of a head are what stands between its status line and the empty one")
    func fieldLines() {
        func lines(_ text: String) -> String { String(buffer: ByteBuffer(string: text).fieldLinesOfHead) }
        #expect(lines("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\n\r\nrest\r\n") == "A: 1\r\nB: 2\r\n")
        #expect(lines("HTTP/1.1 200 OK\r\n\r\n").isEmpty)
        #expect(lines("").isEmpty)
    }
}
