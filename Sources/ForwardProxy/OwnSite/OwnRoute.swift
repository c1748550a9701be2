import HTTPSemantics
import NIOCore

/// A page of the proxy's own site, or all that are below a path: who may ask for it, how, and what it answers.
struct OwnRoute: Sendable {
    enum Path: Sendable {
        case exact(StaticString)
        /// This path, which ends in `/`, and everything below it.
        case below(StaticString)

        var text: StaticString {
            switch self {
            case .exact(let text), .below(let text): text
            }
        }
    }

    enum Answer {
        case page(OwnPage)
        case later(EventLoopFuture<OwnPage>)
        case error(ProxyError)
    }

    let path: Path
    /// The methods that it answers, as Allow says them.
    let methods: [String]
    let audience: OwnAudience
    let answer: @Sendable (LoopContext, OwnRequest) -> Answer

    /// - Parameter answer: what it answers, given the event loop's context and the request; called on the event loop.
    init(
        _ path: Path, methods: [String] = ["GET", "HEAD"], for audience: OwnAudience,
        answer: @escaping @Sendable (LoopContext, OwnRequest) -> Answer
    ) {
        self.path = path
        self.methods = methods
        self.audience = audience
        self.answer = answer
    }

    func matches(path: [UInt8]) -> Bool {
        switch self.path {
        case .exact(let text): text.withUTF8Buffer { $0.elementsEqual(path) }
        case .below(let text): text.withUTF8Buffer { path.starts(with: $0) }
        }
    }

    func answers(_ method: [UInt8]) -> Bool { methods.contains { $0.utf8.elementsEqual(method) } }
}

/// What a route's answer may depend on.
struct OwnRequest {
    let request: Request
    /// The path without its query.
    let path: [UInt8]
    /// Whether the client speaks TLS with the proxy.
    let isEncrypted: Bool
    /// Whether the client's address is one of loopback.
    let isFromLoopback: Bool
    /// Who asks, as far as what each client has of its own goes.
    let client: TurnClient

    /// `host:port` of the proxy as the client knows it.
    var authority: String { request.head.fields.firstText(.host) ?? "" }
}

/// Whom a page is for.
enum OwnAudience: CaseIterable {
    /// Anybody: it has what clients need before they can use the proxy.
    case anybody
    /// Whoever may use the proxy: anybody, and where there is `--auth`, clients of this machine and such as have
    /// credentials.
    case users
    /// Clients of this machine, and with `--auth` such as have credentials.
    case thisMachineAndUsers
    /// Clients of this machine alone.
    case thisMachine
    /// Clients of this machine whose socket is the proxy's own user's, or one of `--console-users`, and with `--auth`
    /// such as have credentials.
    case owners

    enum Verdict {
        case admitted, credentialsNeeded, refused
        /// The kernel has to say whose the client is.
        case ownerNeeded
    }

    /// - Parameters:
    ///   - isLocal: whether the client is on this machine.
    ///   - hasAccessControl: whether there is `--auth`.
    ///   - isProxied: whether the request was for the proxy to pass on, by its form: then it has been asked for
    ///     Proxy-Authorization before.
    func judge(isLocal: Bool, hasAccessControl: Bool, isProxied: Bool) -> Verdict {
        guard self != .owners else {
            if hasAccessControl, isProxied { return .admitted }
            if isLocal { return .ownerNeeded }
            return hasAccessControl ? .credentialsNeeded : .refused
        }
        guard !isLocal else { return .admitted }
        switch self {
        case .anybody, .owners: return .admitted
        case .thisMachine: return .refused
        case .users where !hasAccessControl: return .admitted
        case .thisMachineAndUsers where !hasAccessControl: return .refused
        case .users, .thisMachineAndUsers: return isProxied ? .admitted : .credentialsNeeded
        }
    }
}
