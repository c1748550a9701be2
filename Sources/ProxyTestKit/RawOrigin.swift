import Synchronization

/// An origin on loopback that speaks no HTTP of its own: one thread a connection, for tunnels and misbehaviour.
public final class RawOrigin: Sendable {
    private struct State {
        var connections: [Socket] = []
        var accepted = 0
        var closed = 0
    }

    public let port: UInt16
    private let listener: Socket
    private let state = Mutex(State())

    /// Starts to listen.
    ///
    /// - Parameter handler: has the connection to itself; it is closed when the handler returns or throws.
    /// - Throws: ``Socket/Failure/failed(_:code:)`` where no port can be listened on.
    public init(_ handler: @escaping @Sendable (Socket) throws -> Void) throws {
        (listener, port) = try Socket.listen()
        let listener = listener
        Threads.start { [weak self] in
            while let socket = listener.accept() {
                guard let self else { return }
                state.withLock {
                    $0.connections.append(socket)
                    $0.accepted += 1
                }
                Threads.start { [weak self] in
                    try? handler(socket)
                    socket.interrupt()
                    self?.state.withLock { state in
                        state.connections.removeAll { $0 === socket }
                        state.closed += 1
                    }
                }
            }
        }
    }

    /// An origin that sends back what it gets, as it comes.
    ///
    /// - Throws: ``Socket/Failure/failed(_:code:)`` where no port can be listened on.
    public static func echo() throws -> RawOrigin {
        try RawOrigin { socket in
            // A tunnel may be idle for as long as its test takes elsewhere; stop() ends the wait.
            socket.setTimeout(0)
            while case let bytes = try socket.receive(), !bytes.isEmpty { try socket.send(bytes) }
        }
    }

    deinit { stop() }

    /// How many connections were made to this origin.
    public var connectionCount: Int { state.withLock(\.accepted) }

    /// How many of them are over.
    public var closedCount: Int { state.withLock(\.closed) }

    public func stop() {
        listener.interrupt()
        for socket in state.withLock({ $0.connections }) { socket.interrupt() }
    }
}
