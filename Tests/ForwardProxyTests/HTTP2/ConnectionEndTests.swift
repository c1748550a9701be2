import HTTPSemantics
import NIOCore
import NIOEmbedded
import Testing

@testable import ForwardProxy

/// How connections of HTTP/2 end, without TLS or sockets.
@Suite("A connection of HTTP/2 that is done")
struct ConnectionEndTests {
    /// Holds back what tells that bytes have left.
    private final class HeldWrites: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private var held: [EventLoopPromise<Void>] = []

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if let promise { held.append(promise) }
            context.write(data, promise: nil)
        }

        func release() {
            for promise in held { promise.succeed() }
            held = []
        }
    }

    private static let preface =
        Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
    private static let goAway: [UInt8] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]

    @Test("is closed when all that was written has left, and not before")
    func pending() throws {
        let stage = try LoopStage("substitutions:\n  https://h.test/: { text: x }\n")
        let writes = HeldWrites()
        let connection = HTTP2Connection(
            loop: stage.context, secured: SecureAuthority(Authority(host: "h.test", port: 443)), address: "127.0.0.1",
            isLocal: true)
        let channel = try stage.connect([writes, connection])
        try channel.writeInbound(ByteBuffer(bytes: ConnectionEndTests.preface))
        try channel.writeInbound(ByteBuffer(bytes: ConnectionEndTests.goAway))
        #expect(channel.isActive)
        #expect(connection.activity == .closing)
        writes.release()
        stage.loop.run()
        #expect(!channel.isActive)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("is closed at a stop without waiting for a client that has all that was sent to it")
    func idle() throws {
        let stage = try LoopStage("substitutions:\n  https://h.test/: { text: x }\n")
        let connection = HTTP2Connection(
            loop: stage.context, secured: SecureAuthority(Authority(host: "h.test", port: 443)), address: "127.0.0.1",
            isLocal: true)
        let channel = try stage.connect([connection])
        try channel.writeInbound(ByteBuffer(bytes: ConnectionEndTests.preface))
        while try channel.readOutbound(as: ByteBuffer.self) != nil {}
        connection.stop()
        stage.loop.run()
        #expect(!channel.isActive)
        let last = try channel.readOutbound(as: ByteBuffer.self)
        #expect(last?.getInteger(at: 3, as: UInt8.self) == 7)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}
