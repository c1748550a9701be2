import NIOCore
import ProxyTestKit
import Synchronization
import Testing

@testable import ForwardProxy

@Suite("Pages of the proxy's own that are sent as they are made")
struct OwnPageExchangeTests {
    /// What a stream has been told.
    private final class Calls: Sendable {
        let resumed = Mutex(0)
        /// How often the client took no more.
        let paused = Mutex(0)
        let cancelled = Mutex(0)
    }

    /// Sends parts for as long as the client takes them, then all the rest at once.
    private final class Parts: OwnPageStream {
        private var left: [String]
        private let calls: Calls
        private let ends: Bool

        init(_ parts: [String], _ calls: Calls, ends: Bool = true) {
            left = parts
            self.calls = calls
            self.ends = ends
        }

        func resume(_ page: OwnPageExchange) {
            calls.resumed.withLock { $0 += 1 }
            while page.isWritable, !left.isEmpty { page.send(ByteBuffer(string: left.removeFirst())) }
            if !left.isEmpty { calls.paused.withLock { $0 += 1 } }
            if left.isEmpty, ends { page.finish() }
        }

        func cancel() { calls.cancelled.withLock { $0 += 1 } }
    }

    private func proxy(
        _ parts: [String], _ calls: Calls, ends: Bool = true, comesLater: Bool = false
    ) throws -> TestProxy {
        let proxy = try TestProxy()
        proxy.server.onEachLoop { loop in
            loop.ownRoutes.append(
                OwnRoute(.below("/parts/"), methods: ["GET", "HEAD", "POST"], for: .thisMachine) { loop, _ in
                    let page = OwnPage(type: "text/plain", body: .stream(Parts(parts, calls, ends: ends)))
                    guard comesLater else { return .page(page) }
                    return .later(loop.eventLoop.makeSucceededVoidFuture().assumeIsolated().map { page }.nonisolated())
                })
        }
        return proxy
    }

    private func ask(_ proxy: TestProxy, _ method: String = "GET", receiveBuffer: CInt? = nil) throws -> Socket {
        let socket = try Socket.connect(port: proxy.port, receiveBuffer: receiveBuffer)
        try socket.send("\(method) /parts/all HTTP/1.1\r\nHost: 127.0.0.1:\(proxy.port)\r\nConnection: close\r\n\r\n")
        return socket
    }

    @Test("the parts come in order, in chunks", arguments: [false, true])
    func parts(comesLater: Bool) throws {
        let calls = Calls()
        let proxy = try proxy(["one ", "two ", "three"], calls, comesLater: comesLater)
        let response = TestResponse(try ask(proxy).receiveAll())
        #expect(response.status == 200)
        #expect(response.field("Transfer-Encoding") == "chunked" && response.field("Content-Length") == nil)
        #expect(response.field("Cache-Control") == "no-store" && response.field("X-Frame-Options") == "DENY")
        #expect(response.dechunked == "one two three")
        #expect(TestResponse(try ask(proxy, "POST").receiveAll()).dechunked == "one two three")
        #expect(calls.cancelled.withLock { $0 } == 0)
        #expect(try proxy.stopAndReadLog().contains(" GET /parts/all 200 13B "))
    }

    @Test("HEAD makes nothing of the body")
    func head() throws {
        let calls = Calls()
        let proxy = try proxy(["one"], calls)
        let response = TestResponse(try ask(proxy, "HEAD").receiveAll())
        #expect(response.status == 200 && response.body.isEmpty)
        #expect(calls.resumed.withLock { $0 } == 0)
    }

    @Test("a client that reads slowly is sent no more than it takes, and all of it in the end")
    func slow() throws {
        let calls = Calls()
        let part = String(repeating: "x", count: 64 << 10)
        let proxy = try proxy([String](repeating: part, count: 256), calls)
        // A buffer of this size stays as small as it is.
        let socket = try ask(proxy, receiveBuffer: 64 << 10)
        try Wait.until { calls.paused.withLock { $0 } > 0 }
        let response = TestResponse(try socket.receiveAll())
        #expect(response.dechunked?.utf8.count == 256 * part.utf8.count)
        #expect(calls.resumed.withLock { $0 } > 1)
    }

    @Test("a stream is told, once, that its client has gone")
    func gone() throws {
        let calls = Calls()
        let proxy = try proxy(["one"], calls, ends: false)
        let socket = try ask(proxy)
        _ = try socket.receive(until: "one")
        socket.close()
        // In its own time: a client that only closes its output may read still, so the end of the proxy is what ends
        // it.
        proxy.server.stop()
        #expect(calls.cancelled.withLock { $0 } == 1)
    }
}
