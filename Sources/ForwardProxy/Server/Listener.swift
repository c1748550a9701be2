import Glibc
import Logging
import NIOConcurrencyHelpers
public import NIOCore
import NIOPosix
import Synchronization

/// A socket that listens on one address until ``close()``.
///
/// NIO closes a listener for errors of accept(2) that it takes for final, among them some that speak of one connection
/// only. The proxy would live on and hear nobody, so the address is listened on anew then.
final class Listener: Sendable {
    /// Says that nothing is accepted any more.
    private final class Ending: Sendable {
        private let state = Atomic<Bool>(false)

        var hasCome: Bool { state.load(ordering: .sequentiallyConsistent) }
        func come() { state.store(true, ordering: .sequentiallyConsistent) }
    }

    /// What connections are accepted with.
    struct Setting: Sendable {
        let group: MultiThreadedEventLoopGroup
        let warnings: AcceptWarnings
        /// Sets an accepted connection up, on its event loop.
        let accept: @Sendable (any Channel) throws -> Void
    }

    /// What is listened on.
    enum Source {
        case address(SocketAddress)
        case passed(PassedListener)

        var address: SocketAddress {
            switch self {
            case .address(let address): address
            case .passed(let listener): listener.address
            }
        }
    }

    /// What is listened on, port resolved.
    let source: Source
    var address: SocketAddress { source.address }
    private let setting: Setting
    private let channel: NIOLockedValueBox<any Channel>
    private let ending = Ending()

    /// Listens, and accepts nothing yet.
    ///
    /// - Throws: ``BindError``.
    init(_ source: Source, _ setting: Setting) throws {
        do {
            let channel = try Listener.open(source, setting, ending).wait()
            if case .address(let address) = source {
                self.source = .address(channel.localAddress ?? address)
            } else {
                self.source = source
            }
            self.setting = setting
            self.channel = NIOLockedValueBox(channel)
        } catch let error as IOError {
            throw BindError(address: source.address, code: error.errnoCode)
        }
    }

    /// Begins to accept, connections that have come already first.
    func start() { start(channel.withLockedValue { $0 }) }

    /// Stops accepting for good, and waits until it has; what comes from now on waits in the queue.
    func pause() {
        ending.come()
        try? channel.withLockedValue { $0 }.setOption(.autoRead, value: false).wait()
    }

    /// Stops listening for good, and waits until it has. A passed socket goes on to listen, without this process.
    func close() {
        ending.come()
        try? channel.withLockedValue { $0 }.close().wait()
    }

    private func start(_ channel: any Channel) {
        channel.closeFuture.whenComplete { [weak self] _ in self?.reopen(on: channel.eventLoop) }
        channel.eventLoop.execute { [ending] in
            // On the channel's event loop, where ``pause()`` switches reading off before this or behind it.
            guard !ending.hasCome else { return }
            try? channel.syncOptions?.setOption(.autoRead, value: true)
            channel.read()
        }
    }

    private func reopen(on eventLoop: any EventLoop) {
        guard !ending.hasCome else { return }
        Listener.open(source, setting, ending).whenComplete { [self] result in
            guard case .success(let channel) = result else {
                setting.warnings.warn("\(address) can't be listened on any more, and is tried again")
                eventLoop.scheduleTask(in: AcceptPause.pause) { [weak self] in self?.reopen(on: eventLoop) }
                return
            }
            self.channel.withLockedValue { $0 = channel }
            guard !ending.hasCome else { return channel.close(promise: nil) }
            // Clients wait in its queue meanwhile.
            eventLoop.scheduleTask(in: AcceptPause.pause) { [weak self] in self?.start(channel) }
        }
    }

    /// Connections that wait to be accepted; the kernel takes less where net.core.somaxconn is less. (listen(2))
    private static let backlog: Int32 = 4096

    private static func open(
        _ source: Source, _ setting: Setting, _ ending: Ending
    ) -> EventLoopFuture<any Channel> {
        switch source {
        case .address(let address): return bootstrap(setting, ending).bind(to: address)
        case .passed(let listener):
            // A duplicate, since the channel closes its descriptor.
            let own = fcntl(listener.descriptor, F_DUPFD_CLOEXEC, 3)
            guard own >= 0 else {
                return setting.group.next().makeFailedFuture(IOError(errnoCode: errno, reason: "dup"))
            }
            return bootstrap(setting, ending).withBoundSocket(own).map { channel in
                // NIO calls listen with a backlog of 128.
                listen(listener.descriptor, backlog)
                return channel
            }
        }
    }

    private static func bootstrap(_ setting: Setting, _ ending: Ending) -> ServerBootstrap {
        ServerBootstrap(group: setting.group)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.maxMessagesPerRead, value: 16)
            .serverChannelOption(.autoRead, value: false)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptPause(setting.warnings) { !ending.hasCome })
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // One buffer at a time, so that back-pressure acts before the next is read.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(
                .writeBufferWaterMark, value: ChannelOptions.Types.WriteBufferWaterMark(low: 32 << 10, high: 64 << 10)
            )
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try setting.accept(channel) }
            }
    }
}

/// An address can't be listened on.
public struct BindError: Error, CustomStringConvertible {
    public let address: SocketAddress
    /// The error number of `bind` or `listen`, such as EADDRINUSE.
    public let code: CInt

    public var description: String {
        let place = address.pathname ?? "\(address.ipAddress ?? "?"):\(address.port ?? 0)"
        return "can't listen on \(place): \(String(cString: strerror(code)))"
    }
}

/// A socket that listens already, passed by whoever started the process, and open longer than it lives: connections
/// that come between two processes wait in its queue, and none is refused.
public struct PassedListener: Sendable {
    /// The descriptor, which stays open; the proxy works with duplicates.
    public let descriptor: CInt
    /// What it is bound to.
    public let address: SocketAddress
    /// Whether clients speak TLS with it.
    public let isSecure: Bool

    public init(descriptor: CInt, address: SocketAddress, isSecure: Bool) {
        self.descriptor = descriptor
        self.address = address
        self.isSecure = isSecure
    }
}
