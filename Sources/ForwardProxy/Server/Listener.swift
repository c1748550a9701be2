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

    /// The address, port resolved.
    let address: SocketAddress
    private let setting: Setting
    private let state: NIOLockedValueBox<State>

    /// Listens, and accepts nothing yet.
    ///
    /// - Throws: ``BindError``.
    init(_ address: SocketAddress, _ setting: Setting) throws {
        do {
            let channel = try Listener.bootstrap(setting).bind(to: address).wait()
            self.address = channel.localAddress ?? address
            self.setting = setting
            state = NIOLockedValueBox(State(channel: channel))
        } catch let error as IOError {
            throw BindError(address: address, code: error.errnoCode)
        }
    }

    /// Begins to accept, connections that have come already first.
    func start() { start(state.withLockedValue(\.channel)) }

    /// Stops listening for good, and waits until it has.
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
        Listener.bootstrap(setting).bind(to: address).whenComplete { [self] result in
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

    private static func bootstrap(_ setting: Setting) -> ServerBootstrap {
        ServerBootstrap(group: setting.group)
            .serverChannelOption(.backlog, value: 1024)
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
        let place = "\(address.ipAddress ?? "?"):\(address.port ?? 0)"
        return "can't listen on \(place): \(String(cString: strerror(code)))"
    }
}
