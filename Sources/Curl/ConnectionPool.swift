/// Connections to origins that no other transfers use than those with this pool.
///
/// For connections that stand for a user, whom the origin has authenticated for the connection's length (RFC 4559 §6):
/// what one client does on them must be out of reach of every other. They are closed when the last reference goes.
public final class ConnectionPool: Sendable {
    private let commands: CommandQueue

    init(_ commands: CommandQueue) { self.commands = commands }

    deinit { commands.add(.close(ObjectIdentifier(self))) }
}
