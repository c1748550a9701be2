import Glibc
import Logging
import NIOConcurrencyHelpers
public import NIOCore
import NIOPosix

/// A socket that listens on one address until ``close()``.
///
/// NIO closes a listener for errors of accept(2) that it takes for final, among them some that speak of one connection
/// only. The proxy would live on and hear nobody, so the address is listened on anew then.
final class Listener: Sendable {
    private struct State {
        var channel: any Channel
        var isClosed = false
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
    private let state: NIOLockedValueBox<State>

    /// Listens, and accepts nothing yet.
    ///
    /// - Throws: ``BindError``.
    init(_ source: Source, _ setting: Setting) throws {
        do {
            let channel = try Listener.open(source, setting).wait()
            if case .address(let address) = source {
                self.source = .address(channel.localAddress ?? address)
            } else {
                self.source = source
            }
            self.setting = setting
            state = NIOLockedValueBox(State(channel: channel))
        } catch let error as IOError {
            throw BindError(address: source.address, code: error.errnoCode)
        }
    }

    /// Begins to accept, connections that have come already first.
    func start() { start(state.withLockedValue(\.channel)) }

    /// Stops accepting for good, and waits until it has; what comes from now on waits in the queue.
    func pause() {
        let channel = state.withLockedValue { state in
            state.isClosed = true
            return state.channel
        }
        try? channel.setOption(.autoRead, value: false).wait()
    }

    /// Stops listening for good, and waits until it has. A passed socket goes on to listen, without this process.
    func close() {
        let channel = state.withLockedValue { state in
            state.isClosed = true
            return state.channel
        }
        try? channel.close().wait()
    }

    private func start(_ channel: any Channel) {
        channel.closeFuture.whenComplete { [weak self] _ in self?.reopen(on: channel.eventLoop) }
        channel.setOption(.autoRead, value: true).whenComplete { _ in channel.read() }
    }

    private func reopen(on eventLoop: any EventLoop) {
        guard !state.withLockedValue(\.isClosed) else { return }
        Listener.open(source, setting).whenComplete { [self] result in
            guard case .success(let channel) = result else {
                setting.warnings.warn("\(address) can't be listened on any more, and is tried again")
                eventLoop.scheduleTask(in: AcceptPause.pause) { [weak self] in self?.reopen(on: eventLoop) }
                return
            }
            let isClosed = state.withLockedValue { state in
                state.channel = channel
                return state.isClosed
            }
            guard !isClosed else { return channel.close(promise: nil) }
            // Clients wait in its queue meanwhile.
            eventLoop.scheduleTask(in: AcceptPause.pause) { [weak self] in self?.start(channel) }
        }
    }

    /// Connections that wait to be accepted; the kernel takes less where net.core.somaxconn is less. (listen(2))
    private static let backlog: Int32 = 4096

    private static func open(_ source: Source, _ setting: Setting) -> EventLoopFuture<any Channel> {
        switch source {
        case .address(let address): return bootstrap(setting).bind(to: address)
        case .passed(let listener):
            // A duplicate, since the channel closes its descriptor.
            let own = fcntl(listener.descriptor, F_DUPFD_CLOEXEC, 3)
            guard own >= 0 else {
                return setting.group.next().makeFailedFuture(IOError(errnoCode: errno, reason: "dup"))
            }
            return bootstrap(setting).withBoundSocket(own).map { channel in
                // NIO calls listen with a backlog of 128.
                listen(listener.descriptor, backlog)
                return channel
            }
        }
    }

    private static func bootstrap(_ setting: Setting) -> ServerBootstrap {
        ServerBootstrap(group: setting.group)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.maxMessagesPerRead, value: 16)
            .serverChannelOption(.autoRead, value: false)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptPause(setting.warnings))
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
