import NIOCore
import NIOEmbedded
import ProxyTestKit
import Testing

@testable import ForwardProxy

@Suite("A TLS handshake with a client of a decrypted tunnel")
struct ClientHandshakeTests {
    private let folder = TemporaryFolder()
    private let stage: LoopStage

    init() throws {
        let path = folder.at("authority")
        stage = try LoopStage("substitutions:\n  https://h.test/: { text: mapped }\n") { $0.authorityFolder = path }
        try stage.core.secureTunnels.open()
    }

    /// A client that has asked for the tunnel.
    private func connect(_ handlers: [any ChannelHandler] = []) throws -> EmbeddedChannel {
        let connection = ClientConnection(
            loop: stage.context, address: "127.0.0.1", isLocal: true, isEncrypted: false)
        let channel = try stage.connect(handlers + [connection])
        try channel.writeInbound(ByteBuffer(string: "CONNECT h.test:443 HTTP/1.1\r\nHost: h.test:443\r\n\r\n"))
        return channel
    }

    private func expectFailure(_ reason: String, warns: Bool) {
        let record = stage.watch.all.first?.record
        #expect(stage.watch.all.count == 1)
        #expect(record?.outcome == .failed)
        #expect(record?.status == 200)
        #expect(record?.reason.hasPrefix(reason) == true, "\(record?.reason ?? "none")")
        #expect(stage.messages.all.contains { $0.contains("broken off TLS with h.test") } == warns)
        #expect(stage.context.metrics(asked: 0).connections.allSatisfy { $0 == 0 })
    }

    @Test("that the client ends by closing is told of as the client's")
    func closed() throws {
        let channel = try connect()
        let reply = try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) }
        #expect(reply?.hasPrefix("HTTP/1.1 200 ") == true)
        #expect(stage.context.metrics(asked: 0).connections[ConnectionActivity.handshake.rawValue] == 1)
        _ = try channel.finish()
        expectFailure("the client closed the connection", warns: true)
    }

    @Test("that does not come is given up when the time for a header section is over")
    func silent() throws {
        let channel = try connect()
        let limit = stage.core.configuration.limits.headerTimeout
        stage.loop.advanceTime(by: limit - .milliseconds(1))
        #expect(channel.isActive)
        stage.loop.advanceTime(by: .milliseconds(1))
        #expect(!channel.isActive)
        expectFailure("no TLS handshake came", warns: true)
    }

    @Test("that the proxy can't begin is not blamed on the client")
    func faultOfProxy() throws {
        let channel = try connect([ConnectionRemover()])
        stage.loop.run()
        #expect(!channel.isActive)
        expectFailure("the proxy could not do its part", warns: false)
    }

    @Test("that the proxy ends because it stops is not blamed on the client", arguments: [true, false])
    func stopped(isCut: Bool) throws {
        let channel = try connect()
        if isCut {
            stage.context.cut()
        } else {
            stage.context.stop {}
            #expect(channel.isActive)
            stage.loop.advanceTime(by: ClientConnection.lastRequestPatience)
        }
        stage.loop.run()
        #expect(!channel.isActive)
        expectFailure("the proxy stopped", warns: false)
    }
}

/// Takes the client's connection out of the pipeline when it is written to, so that nothing can take its place.
private final class ConnectionRemover: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        context.write(data, promise: promise)
        let pipeline = context.pipeline.syncOperations
        if let connection = try? pipeline.handler(type: ClientConnection.self) {
            pipeline.removeHandler(connection, promise: nil)
        }
    }
}
