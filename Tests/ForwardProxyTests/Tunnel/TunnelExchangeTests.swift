import ForwardProxy
import Foundation
import ProxyTestKit
import Testing

@Suite("Tunnels and upgrades")
struct TunnelExchangeTests {
    /// Listens, and serves one connection with `body`.
    private func listen(_ body: @escaping @Sendable (Socket) -> Void) throws -> (listener: Socket, port: UInt16) {
        let (listener, port) = try Socket.listen()
        Threads.start { while let socket = listener.accept() { body(socket) } }
        return (listener, port)
    }

    private func tunnel(_ proxy: TestProxy, to port: UInt16) throws -> Socket {
        let socket = try proxy.connect()
        try socket.send("CONNECT 127.0.0.1:\(port) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
        let head = String(decoding: try socket.receive(until: "\r\n\r\n"), as: UTF8.self)
        guard head.hasPrefix("HTTP/1.1 200 ") else { throw TestFailure(head) }
        return socket
    }

    @Test("bytes go both ways untouched, and after one side's end the other goes on")
    func halfClose() throws {
        let target = try listen { socket in
            // Reads to the end of the client's output first: the end has come through, or nothing is sent back.
            guard let all = try? socket.receiveAll() else { return }
            try? socket.send(all)
            socket.close()
        }
        defer { target.listener.interrupt() }
        let proxy = try TestProxy { $0.connectPorts = [target.port] }
        let socket = try tunnel(proxy, to: target.port)
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        Threads.start {
            try? socket.send(bytes)
            socket.finish()
        }
        #expect(try socket.receiveAll() == bytes)
        let log = try proxy.stopAndReadLog()
        #expect(log.contains("CONNECT 127.0.0.1:\(target.port) 200 200.0kB"))
        #expect(log.contains(" tunnelled"))
    }

    @Test("bytes that come with the CONNECT request are the tunnel's")
    func earlyBytes() throws {
        let target = try listen { socket in
            if let bytes = try? socket.receive(exactly: 5) { try? socket.send(bytes) }
            socket.close()
        }
        defer { target.listener.interrupt() }
        let proxy = try TestProxy { $0.connectPorts = [target.port] }
        let socket = try proxy.connect()
        try socket.send("CONNECT 127.0.0.1:\(target.port) HTTP/1.1\r\nHost: x\r\n\r\nhello")
        let all = String(decoding: try socket.receiveAll(), as: UTF8.self)
        #expect(all.hasSuffix("\r\n\r\nhello"))
    }

    @Test("a target that resets ends the client's side")
    func reset() throws {
        let target = try listen { socket in
            _ = try? socket.receive(exactly: 1)
            socket.reset()
        }
        defer { target.listener.interrupt() }
        let proxy = try TestProxy { $0.connectPorts = [target.port] }
        let socket = try tunnel(proxy, to: target.port)
        try socket.send("x")
        #expect(try socket.receiveAll().isEmpty)
    }

    @Test("ports, addresses and the proxy itself are refused by policy, and what can't be reached is an error")
    func policy() throws {
        let free = try Socket.reserve()
        defer { free.socket.close() }
        let proxy = try TestProxy { $0.connectPorts = [443, free.port] }
        func status(_ target: String) throws -> Int {
            let socket = try proxy.connect()
            try socket.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\nConnection: close\r\n\r\n")
            socket.finish()
            return TestResponse(try socket.receiveAll()).status
        }
        #expect(try status("127.0.0.1:22") == 403)
        #expect(try status("169.254.169.254:443") == 403)
        #expect(try status("127.0.0.1:\(free.port)") == 502)
        #expect(try status("host.invalid:443") == 502)
        #expect(try status("127.0.0.1") == 400)
        let open = try TestProxy { $0.connectPorts = Set(1...65535) }
        let socket = try open.connect()
        try socket.send("CONNECT 127.0.0.1:\(open.port) HTTP/1.1\r\nHost: x\r\n\r\n")
        socket.finish()
        #expect(TestResponse(try socket.receiveAll()).status == 508)
    }

    private static let handshake =
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

    @Test("a valid 101 opens the tunnel; what the client sent too early comes after it")
    func upgrade() throws {
        let origin = try ScriptedOrigin { request, connection in
            #expect(request.field("Upgrade") == "websocket")
            #expect(request.field("Connection") == "Upgrade")
            try connection.socket.send(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nfirst")
            try connection.socket.send(try connection.socket.receive(exactly: 5))
            return false
        }
        let proxy = try TestProxy()
        let socket = try proxy.connect()
        try socket.send("GET http://127.0.0.1:\(origin.port)/ws HTTP/1.1\r\nHost: x\r\n" + Self.handshake + "early")
        let text = String(decoding: try socket.receiveAll(), as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 101 Switching Protocols\r\n"))
        #expect(text.hasSuffix("\r\n\r\nfirstearly"))
    }

    @Test(
        "a 101 whose handshake is not valid is no tunnel",
        arguments: [
            "Upgrade: websocket\r\nConnection: Upgrade\r\n",
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: short\r\n",
            "Upgrade: other\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n",
            "Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n",
        ])
    func invalidHandshake(_ fields: String) throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.socket.send("HTTP/1.1 101 Switching Protocols\r\n\(fields)\r\nsecret")
            _ = try? connection.socket.receive()
            return false
        }
        let proxy = try TestProxy()
        let socket = try proxy.connect()
        try socket.send("GET http://127.0.0.1:\(origin.port)/ws HTTP/1.1\r\nHost: x\r\n" + Self.handshake)
        socket.finish()
        let response = TestResponse(try socket.receiveAll())
        #expect(response.status == 502)
        #expect(!response.body.contains("secret"))
    }

    @Test("an origin that declines the upgrade answers as usual, and the connection goes on")
    func declined() throws {
        let origin = try ScriptedOrigin(body: "no sockets here")
        let proxy = try TestProxy()
        let socket = try proxy.connect()
        try socket.send(
            "GET http://127.0.0.1:\(origin.port)/ws HTTP/1.1\r\nHost: x\r\n" + Self.handshake
                + "GET http://127.0.0.1:\(origin.port)/next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        let text = String(decoding: try socket.receiveAll(), as: UTF8.self)
        #expect(text.components(separatedBy: "no sockets here").count == 3)
        #expect(origin.requests.map(\.target) == ["/ws", "/next"])
    }

    @Test("HTTP/2 in the clear is not passed on")
    func h2c() throws {
        let origin = try ScriptedOrigin(body: "ok")
        let proxy = try TestProxy()
        let response = try proxy.exchange(
            "GET", "http://127.0.0.1:\(origin.port)/",
            fields: ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"])
        #expect(response.status == 200)
        #expect(origin.requests.first?.field("Upgrade") == nil)
        #expect(origin.requests.first?.field("HTTP2-Settings") == nil)
    }

    @Test("what follows a refused CONNECT is not read as a request", arguments: [true, false])
    func refused(comesAtOnce: Bool) throws {
        let proxy = try TestProxy("substitutions:\n  http://m.test/x: { text: mapped }\n")
        let socket = try proxy.connect()
        let payload = "GET http://m.test/x HTTP/1.1\r\nHost: m.test\r\n\r\n"
        let refused = "CONNECT m.test:25 HTTP/1.1\r\nHost: m.test:25\r\n\r\n"
        try socket.send(refused + (comesAtOnce ? payload : ""))
        let head = String(decoding: try socket.receive(until: "\r\n\r\n"), as: UTF8.self)
        #expect(head.hasPrefix("HTTP/1.1 403 "))
        #expect(head.contains("\r\nConnection: close\r\n"))
        if !comesAtOnce { try? socket.send(payload) }
        #expect(!String(decoding: try socket.receiveAll(), as: UTF8.self).contains("mapped"))
    }
}
