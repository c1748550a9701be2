import NIOCore
import NIOEmbedded
import Testing

@testable import ForwardProxy

/// Both sides of a tunnel, without sockets, and its time as a test says.
private final class TunnelStage {
    private static let second: UInt64 = 1_000_000_000
    let client: EmbeddedChannel
    let origin: EmbeddedChannel
    let tunnel: Tunnel
    private let time: Time

    private final class Time { var now: UInt64 = 1000 * TunnelStage.second }

    init() throws {
        let time = Time()
        self.time = time
        tunnel = Tunnel(
            idleLimit: 100 * TunnelStage.second, drainLimit: 20 * TunnelStage.second, clock: { time.now },
            onEnd: { _ in })
        let sides = RelayHandler.pair(tunnel, toClient: ByteBuffer())
        let loop = EmbeddedEventLoop()
        func connect(_ side: RelayHandler) throws -> EmbeddedChannel {
            let channel = EmbeddedChannel(loop: loop)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            try channel.pipeline.syncOperations.addHandler(side)
            return channel
        }
        origin = try connect(sides.origin)
        client = try connect(sides.client)
    }

    var isOpen: Bool { client.isActive && origin.isActive }
    var isClosed: Bool { !client.isActive && !origin.isActive }

    func wait(milliseconds: UInt64) { time.now += milliseconds * 1_000_000 }

    func check() {
        tunnel.check(now: time.now)
        client.embeddedEventLoop.run()
    }

    /// Leaves the client's side with bytes that the origin does not take.
    func leaveClogged() throws {
        try origin.pipeline.syncOperations.addHandler(Clog(), position: .first)
        try client.writeInbound(ByteBuffer(string: "bytes"))
        try client.close().wait()
        client.embeddedEventLoop.run()
    }

    /// Takes what is written, and writes none of it.
    private final class Clog: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        private var promises: [EventLoopPromise<Void>] = []

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if let promise { promises.append(promise) }
        }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            for promise in promises { promise.fail(ChannelError.ioOnClosedChannel) }
            promises = []
            context.close(mode: mode, promise: promise)
        }
    }

    /// Carries bytes to the origin.
    func carry() throws {
        try client.writeInbound(ByteBuffer(string: "bytes"))
        #expect(try origin.readOutbound(as: ByteBuffer.self) == ByteBuffer(string: "bytes"))
    }
}

@Suite("Tunnels when the proxy stops")
struct RelayHandlerTests {
    @Test("one that has carried something in the last second stays open, however long it is silent then")
    func inUse() throws {
        let stage = try TunnelStage()
        stage.wait(milliseconds: 5000)
        try stage.carry()
        stage.wait(milliseconds: 1000)
        stage.tunnel.stop()
        for _ in 0..<10 {
            stage.wait(milliseconds: 5000)
            stage.check()
            #expect(stage.isOpen)
        }
    }

    @Test("one that has carried nothing for a second is closed, a quarter of a second later")
    func idle() throws {
        let stage = try TunnelStage()
        stage.wait(milliseconds: 1001)
        stage.tunnel.stop()
        stage.wait(milliseconds: 249)
        stage.check()
        #expect(stage.isOpen)
        stage.wait(milliseconds: 1)
        stage.check()
        #expect(stage.isClosed)
    }

    @Test("one whose next bytes were on their way stays open")
    func onTheWay() throws {
        let stage = try TunnelStage()
        stage.wait(milliseconds: 2000)
        stage.tunnel.stop()
        stage.wait(milliseconds: 100)
        try stage.carry()
        for _ in 0..<10 {
            stage.wait(milliseconds: 5000)
            stage.check()
            #expect(stage.isOpen)
        }
        stage.wait(milliseconds: 60_000)
        stage.check()
        #expect(stage.isClosed)
    }
}

@Suite("Tunnels of which one side is gone")
struct LeftTunnelTests {
    @Test("one whose other side takes nothing of what is left has its time for that, and not that of an idle one")
    func clogged() throws {
        let stage = try TunnelStage()
        stage.wait(milliseconds: 1000)
        try stage.leaveClogged()
        stage.wait(milliseconds: 20_000)
        stage.check()
        #expect(stage.origin.isActive)
        stage.wait(milliseconds: 1)
        stage.check()
        #expect(stage.isClosed)
    }
}
