import Authentication
import Curl
import HTTPSemantics
import Synchronization

/// Which connections to origins a request may use.
enum OriginConnections {
    /// Those that are kept for everybody.
    case shared
    /// Those of its client's connection alone.
    case own(OwnConnections)
    /// A new one, which is closed behind the response.
    case single
}

/// Connections to origins that belong to one connection of a client.
///
/// NTLM and Negotiate authenticate a connection and not a request (RFC 4559 §6): whatever is sent on it afterwards is
/// the user's, with credentials or without. So from the first request with such credentials on, all that a client's
/// connection asks for goes over connections that nobody else uses; they are closed with it.
final class OwnConnections: Sendable {
    let pool: ConnectionPool
    private let client: FailedAttempts.Client
    private let counter: OwnConnectionsCounter

    /// - Parameter client: whose they are.
    /// - Returns: nil where there are as many as there may be.
    init?(of loop: TransferLoop, for client: FailedAttempts.Client, counting counter: OwnConnectionsCounter) {
        guard counter.add(client) else { return nil }
        self.client = client
        self.counter = counter
        pool = loop.makePool()
    }

    deinit { counter.remove(client) }
}

/// How many clients' connections have connections to origins of their own.
///
/// Each takes some 30 KiB and three descriptors, so there is a limit. An address of a client (of IPv6 its /64) has a
/// share of it, so that no client takes all. Beyond the limit each request has a new connection, for itself alone.
final class OwnConnectionsCounter: Sendable {
    static let limit = 512
    static let limitOfClient = 128

    private let counts = Mutex<(all: Int, byClient: [FailedAttempts.Client: Int])>((0, [:]))

    fileprivate func add(_ client: FailedAttempts.Client) -> Bool {
        counts.withLock { counts in
            let own = counts.byClient[client, default: 0]
            guard counts.all < OwnConnectionsCounter.limit, own < OwnConnectionsCounter.limitOfClient else {
                return false
            }
            counts.all += 1
            counts.byClient[client] = own + 1
            return true
        }
    }

    fileprivate func remove(_ client: FailedAttempts.Client) {
        counts.withLock { counts in
            counts.all -= 1
            let own = counts.byClient[client, default: 0] - 1
            counts.byClient[client] = own > 0 ? own : nil
        }
    }
}

/// The authentication schemes that authenticate connections.
enum ConnectionAuthentication {
    private static let schemes: [StaticString] = ["ntlm", "negotiate", "kerberos"]
    private static let challenge = Array("www-authenticate".utf8)

    /// Whether a request has credentials of such a scheme.
    static func isUsed(by request: FieldSection) -> Bool {
        guard request.contains(.authorization) else { return false }
        var isUsed = false
        // No credentials are a list, but an origin may read them as one.
        request.forEach(.authorization) { value in
            for element in FieldListElements(value) where names(element) { isUsed = true }
        }
        return isUsed
    }

    /// Whether a response asks for credentials of such a scheme.
    static func isAskedFor(by response: FieldSection) -> Bool {
        var isAskedFor = false
        response.forEach(named: challenge) { value in
            for element in FieldListElements(value) where names(element) { isAskedFor = true }
        }
        return isAskedFor
    }

    private static func names(_ element: UnsafeRawBufferPointer) -> Bool {
        let end = element.firstIndex { $0 == 0x20 || $0 == 0x09 } ?? element.count
        let scheme = element.rebased(0..<end)
        return schemes.contains { scheme.equalsIgnoringCase($0) }
    }
}

extension LoopContext {
    /// Which connections to origins a request uses.
    ///
    /// - Parameter client: whose request it is; nil where none waits for the response.
    func connections(for request: Request, of client: (any ExchangeClient)?) -> OriginConnections {
        if let own = client?.ownConnections { return .own(own) }
        guard ConnectionAuthentication.isUsed(by: request.head.fields) else { return .shared }
        guard let client, let own = proxy.transports.ownConnections(for: client) else {
            return .single
        }
        client.ownConnections = own
        return .own(own)
    }
}

extension ExchangeClient {
    /// Whether what is sent on its connections to origins is a user's, also without credentials.
    var isConnectionAuthenticated: Bool { ownConnections != nil }
}
