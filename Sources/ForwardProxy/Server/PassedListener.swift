public import NIOCore

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
