import CLinux
public import Glibc
public import NIOCore

/// What a connection to an address is, for the proxy's purposes.
public enum AddressVerdict: Sendable, Equatable {
    case allowed
    /// The address is one that this proxy listens on: a connection would be a loop.
    case ownListener
    /// The address may not be reached through the proxy; the text says why.
    case prohibited(String)
    /// The system did not say whether the address is this machine's; the number is its errno.
    case undetermined(CInt)
}

/// Which addresses may be connected to, judged on the address itself and never on the text that led to it.
///
/// Link-local and multicast addresses never; the proxy's own listeners never; those of clouds' metadata services only
/// for clients on this machine, and where ``allowsMetadata`` is set; loopback and private ones, and all others of this
/// machine, only for clients on this machine, unless ``allowsPrivateForRemote`` is set or ``allowsPrivateForLocal``
/// isn't. An IPv4 address inside of an IPv6 one is judged too.
public struct AddressPolicy: Sendable {
    /// An address of a listener; a wildcard one covers every local address.
    struct Listener: Sendable, Equatable {
        var address: AddressBytes
        var port: UInt16
    }

    /// Whether clients on other machines may reach loopback and private addresses; the default is no.
    public var allowsPrivateForRemote: Bool
    /// Whether clients on this machine may reach loopback and private addresses; the default is yes.
    public var allowsPrivateForLocal: Bool
    /// Whether clients on this machine may reach the metadata services of clouds; the default is no.
    public var allowsMetadata: Bool
    /// Asked at each connection, since the machine gets and loses addresses while the proxy runs.
    var ownership: @Sendable (AddressBytes) -> AddressOwnership = { AddressOwnership(of: $0) }
    private var listeners: [Listener] = []

    public init(
        allowsPrivateForRemote: Bool = false, allowsPrivateForLocal: Bool = true, allowsMetadata: Bool = false
    ) {
        self.allowsPrivateForRemote = allowsPrivateForRemote
        self.allowsPrivateForLocal = allowsPrivateForLocal
        self.allowsMetadata = allowsMetadata
    }

    /// Whether an address is loopback's, private, or this machine's: one that not everybody reaches.
    public static func isNear(_ address: UnsafePointer<sockaddr>) -> Bool {
        AddressPolicy().judge(address, clientIsLocal: false) != .allowed
    }

    /// Adds an address that this proxy listens on.
    public mutating func addListener(_ address: SocketAddress) {
        guard let port = address.port.flatMap(UInt16.init(exactly:)), let bytes = AddressBytes(address) else { return }
        listeners.append(Listener(address: bytes, port: port))
    }

    /// Judges an address that a connection is about to be made to.
    func judge(_ address: UnsafePointer<sockaddr>, clientIsLocal: Bool) -> AddressVerdict {
        guard let bytes = AddressBytes(address) else { return .prohibited("is not an internet address") }
        let port = AddressBytes.port(address)
        for bytes in [bytes] + bytes.embedded {
            let verdict = judge(bytes, port, clientIsLocal)
            guard verdict == .allowed else { return verdict }
        }
        return .allowed
    }

    private func judge(_ bytes: AddressBytes, _ port: UInt16, _ clientIsLocal: Bool) -> AddressVerdict {
        let here = listeners.filter { $0.port == port }
        // Connecting to 0.0.0.0 or :: reaches this machine.
        if here.contains(where: { $0.address == bytes }) || (bytes.isUnspecified && !here.isEmpty) {
            return .ownListener
        }
        if here.contains(where: \.address.isUnspecified) {
            switch bytes.isLoopback ? .own : ownership(bytes) {
            case .own: return .ownListener
            case .foreign: break
            case .unknown(let code): return .undetermined(code)
            }
        }
        if bytes.isMulticast { return .prohibited("is a multicast address") }
        if bytes.isMetadata {
            guard clientIsLocal else { return .prohibited("is that of a cloud's metadata service") }
            guard allowsMetadata else {
                return .prohibited("is that of a cloud's metadata service, which takes --allow-metadata")
            }
            return .allowed
        }
        if bytes.isLinkLocal { return .prohibited("is a link-local address") }
        guard clientIsLocal ? !allowsPrivateForLocal : !allowsPrivateForRemote else { return .allowed }
        let whose = clientIsLocal ? "which may not be reached here" : "which only clients on this machine may reach"
        if bytes.isLoopback || bytes.isUnspecified { return .prohibited("is a loopback address, \(whose)") }
        if bytes.isPrivate { return .prohibited("is a private address, \(whose)") }
        switch ownership(bytes) {
        case .own: return .prohibited("is the proxy's own machine's, \(whose)")
        case .foreign: return .allowed
        case .unknown(let code): return .undetermined(code)
        }
    }
}

extension ProxyError {
    /// The error that a client gets if its request leads to this address; nil if it may be reached.
    init?(_ verdict: AddressVerdict, host: String) {
        switch verdict {
        case .allowed: return nil
        case .ownListener: self = .loop
        case .prohibited(let why): self = .prohibited(why)
        case .undetermined(let code): self = .noResources(host, String(cString: strerror(code)))
        }
    }
}

/// Whether an address is one of this machine's.
enum AddressOwnership: Sendable, Equatable {
    case own, foreign
    /// The system does not say; the number is its errno.
    case unknown(CInt)

    /// Asks the kernel where a packet to the address would go (rtnetlink(7)): some microseconds, and right at the
    /// moment, whatever addresses, routes and rules the machine has got since the start.
    init(of address: AddressBytes) {
        let answer = address.withKernelForm { linux_is_delivered_here($0.baseAddress, $0.count) }
        switch answer {
        case 0: self = .foreign
        case 1: self = .own
        default: self = .unknown(-answer)
        }
    }
}
