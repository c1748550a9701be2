import ForwardProxy
import Foundation
import NIOCore
import ProxyTestKit
import Substitution
import Testing

@Suite("What comes late: reloads, fallbacks and slow peers while an exchange is under way")
struct LateEventTests {
    /// An origin that answers 500 when it is told to.
    private func slowOrigin(_ asked: DispatchSemaphore, _ goOn: DispatchSemaphore) throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            asked.signal()
            _ = goOn.wait(timeout: .now() + 60)
            try connection.respond("500 Broken")
            return false
        }
    }

    @Test("a fallback answers by the rule of the map that its exchange began with")
    func reloadBeforeFallback() throws {
        let asked = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let origin = try slowOrigin(asked, goOn)
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/1: { text: one }
              http://a.test/2: { text: two }
              http://127.0.0.1:\(origin.port)/x: { text: fallback, when: origin-fails }
            """)
        let socket = try proxy.connect()
        try socket.send("GET http://127.0.0.1:\(origin.port)/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(asked.wait(timeout: .now() + 60) == .success)
        let loaded = SubstitutionMap.load(text: "substitutions:\n  http://a.test/1: { text: other }\n")
        proxy.server.adopt(try #require(loaded.map))
        goOn.signal()
        #expect(TestResponse(try socket.receiveAll()).body == "fallback")
    }

    @Test("captures belong to their own request, whatever is looked up meanwhile")
    func captures() throws {
        let asked = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let origin = try slowOrigin(asked, goOn)
        let proxy = try TestProxy(
            """
            substitutions:
              http://127.0.0.1:\(origin.port)/of/*.txt: { file: $1.txt, when: origin-fails }
              http://m.test/*.txt: $1.txt
            """, files: ["long-name-of-a-file.txt": "right", "bb.txt": "other"])
        let socket = try proxy.connect()
        try socket.send(
            "GET http://127.0.0.1:\(origin.port)/of/long-name-of-a-file.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        #expect(asked.wait(timeout: .now() + 60) == .success)
        #expect(try proxy.exchange("GET", "http://m.test/bb.txt").body == "other")
        goOn.signal()
        #expect(TestResponse(try socket.receiveAll()).body == "right")
    }

    @Test("a request that waits behind a fallback is served after it")
    func pipelinedBehindFallback() throws {
        let origin = try ScriptedOrigin(body: "origin")
        let proxy = try TestProxy(
            "substitutions:\n  http://host.invalid/x: { text: fallback, when: origin-fails }\n")
        let socket = try proxy.connect()
        try socket.send(
            "GET http://host.invalid/x HTTP/1.1\r\nHost: x\r\n\r\n"
                + "GET http://127.0.0.1:\(origin.port)/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        let text = String(decoding: try socket.receiveAll(), as: UTF8.self)
        #expect(text.contains("fallback"))
        #expect(text.hasSuffix("origin"))
    }

    @Test("of a client that sends on and on while an origin is asked no more is read than what is looked at next")
    func readsNoFurther() throws {
        let asked = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let origin = try slowOrigin(asked, goOn)
        let proxy = try TestProxy("substitutions:\n  http://a.test/1: { text: one }\n")
        let socket = try proxy.connect()
        try socket.send("GET http://127.0.0.1:\(origin.port)/ HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(asked.wait(timeout: .now() + 60) == .success)
        let next = Array("GET http://a.test/1 HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
        // The kernel has buffers for some MiB.
        let all = 64 << 20
        let chunk = Array(repeating: next, count: 1000).flatMap { $0 }
        var sent = 0
        while sent < all {
            let before = sent
            let isStopped = Wait.keeps(for: 0.3) {
                sent += socket.sendWithoutWaiting(chunk)
                return sent == before
            }
            if isStopped { break }
        }
        #expect(sent < all / 2)
        goOn.signal()
        let text = String(decoding: try socket.receive(until: "one"), as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 500 Broken"))
    }

    @Test("a body goes along where a missing file sends the request on")
    func bodyOfMissing() throws {
        let origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            try connection.respond(body: String(decoding: request.body, as: UTF8.self))
            return true
        }
        let proxy = try TestProxy(
            "substitutions:\n  http://127.0.0.1:\(origin.port)/x: { file: no.txt, methods: [POST], missing: forward }\n"
        )
        let url = "http://127.0.0.1:\(origin.port)/x"
        #expect(try proxy.exchange("POST", url, body: "hello").body == "hello")
        let socket = try proxy.connect()
        try socket.send(
            "POST \(url) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nhel\r\n")
        try socket.send("2\r\nlo\r\n0\r\n\r\n")
        #expect(TestResponse(try socket.receiveAll()).body == "hello")
    }

    @Test(
        "what no file can be named after goes on to the origin with its body, where a missing file would",
        arguments: [
            "@types%2fnode", "a//b", "a%00b",
        ])
    func bodyOfUnnameable(_ path: String) throws {
        let origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            try connection.respond(body: request.target + " " + String(decoding: request.body, as: UTF8.self))
            return true
        }
        let base = "http://127.0.0.1:\(origin.port)"
        let proxy = try TestProxy(
            """
            substitutions:
              \(base)/x/: { file: ./, methods: [GET, POST], missing: forward }
              \(base)/y/: ./
            """)
        #expect(try proxy.exchange("POST", "\(base)/x/\(path)", body: "hello").body == "/x/\(path) hello")
        #expect(try proxy.exchange("GET", "\(base)/y/\(path)").status == 404)
        let cached = try proxy.exchange("GET", "\(base)/x/\(path)", fields: ["Cache-Control: only-if-cached"])
        #expect(cached.status == 504 && origin.requests.count == 1)
    }

    @Test("a client that owes the rest of a body after its answer is not waited for for ever")
    func drainingEnds() throws {
        let proxy = try TestProxy("substitutions:\n  http://m.test/x: { text: answer }\n") {
            $0.limits.silenceTimeout = .milliseconds(150)
        }
        let socket = try proxy.connect()
        try socket.send("POST http://m.test/x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
        #expect(String(decoding: try socket.receiveAll(), as: UTF8.self).hasSuffix("answer"))
        #expect(try proxy.stopAndReadLog().split(separator: "\n").count == 1)
    }

    @Test("a client that reads slowly gets all of a retained file, also past the idle timeout")
    func slowReader() throws {
        let content = String(repeating: "0123456789abcdef", count: 500_000)
        func received(idle limit: Int64) throws -> Int {
            let proxy = try TestProxy("substitutions:\n  http://m.test/x: f.txt\n", files: ["f.txt": content]) {
                $0.limits.idleTimeout = .milliseconds(limit)
            }
            let socket = try Socket.connect(port: proxy.port, receiveBuffer: 16_384)
            try socket.send("GET http://m.test/x HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try socket.receive(until: "\r\n\r\n")
            var count = 0
            let clock = ContinuousClock()
            let begin = clock.now
            // Some at a time until the idle timeout is long past, then the rest.
            while clock.now - begin < .milliseconds(3 * limit), count < content.utf8.count {
                count += try socket.receive(1 << 10).count
                usleep(1000)
            }
            return try count + socket.receive(exactly: content.utf8.count - count).count
        }
        // On a busy machine a client may stand still for longer than the shorter ones.
        let counts = [300, 3000, 30_000].lazy.map { (try? received(idle: $0)) ?? 0 }
        #expect(counts.contains(content.utf8.count))
    }

    @Test("an origin that stalls after it declined an upgrade is silent like any other")
    func stalledUpgrade() throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.socket.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhe")
            _ = try? connection.socket.receive()
            return false
        }
        var body = ""
        // On a busy machine it may not have begun within the shorter ones.
        for limit in [200, 2000, 20_000] as [Int64] where body != "he" {
            let proxy = try TestProxy { $0.limits.silenceTimeout = .milliseconds(limit) }
            let socket = try proxy.connect()
            try socket.send(
                "GET http://127.0.0.1:\(origin.port)/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
            )
            body = TestResponse(try socket.receiveAll()).body
        }
        #expect(body == "he")
    }

    @Test("a client that closes its side before the tunnel is open has closed it for the target too")
    func earlyHalfClose() throws {
        let (listener, port) = try Socket.listen()
        defer { listener.interrupt() }
        Threads.start {
            while let socket = listener.accept() {
                if let all = try? socket.receiveAll() { try? socket.send(all) }
                socket.close()
            }
        }
        let proxy = try TestProxy { $0.connectPorts = [port] }
        let socket = try proxy.connect()
        try socket.send("CONNECT 127.0.0.1:\(port) HTTP/1.1\r\nHost: x\r\n\r\nhello")
        socket.finish()
        #expect(String(decoding: try socket.receiveAll(), as: UTF8.self).hasSuffix("hello"))
    }

    @Test("credentials in a URL that can't be parsed are not logged either")
    func credentials() throws {
        let proxy = try TestProxy()
        #expect(try proxy.exchange("GET", "http://user:secret@host.test:99999/?k=v").status == 400)
        let log = try proxy.stopAndReadLog()
        #expect(log.contains("http://host.test:99999/?k=*"))
        #expect(!log.contains("secret"))
    }

    @Test("only-if-cached asks no origin, also for rules that would")
    func onlyIfCached() throws {
        let origin = try ScriptedOrigin(body: "origin")
        let proxy = try TestProxy(
            """
            substitutions:
              http://127.0.0.1:\(origin.port)/f: { forward: true }
              http://127.0.0.1:\(origin.port)/o: { text: rule, when: origin-fails }
              http://127.0.0.1:\(origin.port)/m: { file: none.txt, missing: forward }
              http://127.0.0.1:\(origin.port)/r: { text: rule }
              http://127.0.0.1:\(origin.port)/d: { sqlite: none.db, resource: t, missing: forward }
              http://127.0.0.1:\(origin.port)/t: { template: none.html, missing: forward }
            """)
        let field = ["Cache-Control: only-if-cached"]
        #expect(try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/f", fields: field).status == 504)
        #expect(try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/o", fields: field).body == "rule")
        for path in ["m", "d", "t"] {
            #expect(try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/\(path)", fields: field).status == 504)
        }
        let reload = ["Cache-Control: only-if-cached, no-cache"]
        #expect(try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/r", fields: reload).body == "rule")
        #expect(origin.requests.isEmpty)
    }
}
