import HTTP2
import HTTPSemantics
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import Substitution
import Testing

@testable import ForwardProxy

/// Connections of HTTP/2 without TLS or sockets, each run to its end.
final class ConnectionStage {
    private let loop = EmbeddedEventLoop()
    private let context: LoopContext
    private let core: ProxyCore
    private let pool = NIOThreadPool(numberOfThreads: 1)
    private let secured: SecureAuthority
    let watch = ExchangeWatch()

    init() throws {
        let text = String(repeating: "large ", count: 20_000)
        let loaded = SubstitutionMap.load(
            text: "substitutions:\n  https://h.test/: { text: small }\n  https://h.test/large: { text: \"\(text)\" }\n"
                + "  https://h.test/absent: { text: absent, status: 404 }\n"
                + "  https://h.test/empty: { text: \"\" }\n")
        let map = try #require(loaded.map, "\(loaded.diagnostics)")
        var configuration = ProxyConfiguration()
        configuration.isOffline = true
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        pool.start()
        core = ProxyCore(
            configuration: configuration, addressPolicy: AddressPolicy(allowsPrivateForRemote: false),
            logSink: try LogSink(.file("/dev/null")), logger: logger,
            files: RetainedFiles(limits: configuration.retention, now: { 0 }, onEvict: { _ in }), filePool: pool,
            identity: ProxyIdentity(), ownNames: OwnNames(),
            transports: try TransferLoops(configuration))
        context = LoopContext(eventLoop: loop, proxy: core, map: map, tunnelPolicy: TunnelPolicy(map))
        secured = SecureAuthority(Authority(host: "h.test", port: 443))
        context.observers = [watch]
    }

    func stop() {
        core.transports.shutdown()
        pool.shutdownGracefully { _ in }
    }

    /// What the connection is sent when these bytes come, and then the end.
    func run(_ pieces: [ByteBuffer]) throws -> [UInt8] {
        let channel = EmbeddedChannel(loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.pipeline.syncOperations.addHandler(
            HTTP2Connection(loop: context, secured: secured, address: "127.0.0.1", isLocal: true))
        for piece in pieces where channel.isActive { try channel.writeInbound(piece) }
        loop.advanceTime(by: .milliseconds(110))
        var output: [UInt8] = []
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { output += bytes.readableBytesView }
        _ = try channel.finish(acceptAlreadyClosed: true)
        return output
    }
}
