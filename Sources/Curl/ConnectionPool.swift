/// Connections to origins that only transfers with this pool use.
///
/// For connections that the origin has authenticated for a user (RFC 4559 §6): no client may use those of another one.
/// They are closed when the last reference to the pool goes.
public final class ConnectionPool: Sendable {
    private let commands: CommandQueue

    init(_ commands: CommandQueue) { self.commands = commands }

    deinit { commands.add(.close(ObjectIdentifier(self))) }
}
