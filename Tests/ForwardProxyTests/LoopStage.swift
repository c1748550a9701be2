import Files
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import Substitution
import Synchronization
import Testing

@testable import ForwardProxy

/// An event loop of a proxy without sockets, whose time is a test's own.
final class LoopStage {
    let loop = EmbeddedEventLoop()
    let context: LoopContext
    let core: ProxyCore
    let messages = MessageRecorder()
    let watch = ExchangeWatch()
    private let pool = NIOThreadPool(numberOfThreads: 1)

    /// - Parameters:
    ///   - map: the map's text.
    ///   - ownNames: the names of the proxy; the default is none.
    init(
        _ map: String, ownNames: OwnNames = OwnNames(), configure: (inout ProxyConfiguration) -> Void = { _ in }
    ) throws {
        let loaded = SubstitutionMap.load(text: map)
        let map = try #require(loaded.map, "\(loaded.diagnostics)")
        var configuration = ProxyConfiguration()
        configuration.isOffline = true
        configure(&configuration)
        let messages = messages
        pool.start()
        core = ProxyCore(
            configuration: configuration, addressPolicy: AddressPolicy(allowsPrivateForRemote: false),
            logSink: try LogSink(.file("/dev/null")), logger: Logger(label: "test") { _ in messages },
            files: RetainedFiles(limits: configuration.retention, now: { 0 }, onEvict: { _ in }), filePool: pool,
            identity: ProxyIdentity(), ownNames: ownNames,
            transports: try TransferLoops(configuration))
        context = LoopContext(eventLoop: loop, proxy: core, map: map, tunnelPolicy: TunnelPolicy(map))
        context.observers = [watch]
    }

    deinit {
        core.transports.shutdown()
        pool.shutdownGracefully { _ in }
    }

    /// A client's connection with these handlers.
    func connect(_ handlers: [any ChannelHandler]) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.pipeline.syncOperations.addHandlers(handlers)
        return channel
    }
}

/// Keeps what a proxy tells its operator.
final class MessageRecorder: LogHandler, Sendable {
    private let messages = Mutex<[String]>([])

    var all: [String] { messages.withLock { $0 } }

    func log(event: LogEvent) { messages.withLock { $0.append("\(event.level): \(event.message)") } }

    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
}
