import HTTPSemantics
import Substitution

/// Why a request is forwarded: the `fwd` parameter of Cache-Status (RFC 9211 §2.2).
enum ForwardReason: Sendable, Equatable {
    /// No rule and nothing stored for this URL.
    case uriMiss
    /// No stored response answers requests with this method.
    case method
    /// The request asked for the origin's answer (no-cache).
    case request
    /// The map says that this URL goes to the origin.
    case bypass
    /// What is stored for this URL was stored for other values of the fields that Vary names.
    case varyMiss
    /// What is stored is to be validated first.
    case stale
    /// Only other parts of the representation are stored.
    case partial

    var parameter: StaticString {
        switch self {
        case .uriMiss: "uri-miss"
        case .method: "method"
        case .request: "request"
        case .bypass: "bypass"
        case .varyMiss: "vary-miss"
        case .stale: "stale"
        case .partial: "partial"
        }
    }
}

/// What an exchange gets, and why; what the log, Cache-Status and `explain` say comes from here.
enum Decision {
    /// The rule answers. `revalidates`: its validators are checked against the file on disk first.
    case answer(revalidates: Bool)
    /// The rule answers a script of another origin that asks first whether it may send its request (Fetch standard).
    case preflight(Rule)
    /// The URL is one of the proxy's own site.
    case ownSite
    /// A reload-ignoring-cache request passes the rule by.
    case bypass
    /// The rule answers where the origin fails (`when: origin-fails`), or the URL that it forwards to.
    case originFirst
    /// No rule answers: a stored response does, or the origin.
    case consultStore
    /// The origin answers; the rule, if there is one, says so (`forward`).
    case forward(ForwardReason)
    case refuse(ProxyError)
}

/// How a request that an origin is to answer gets there.
enum Passage {
    case request
    /// As one that asks for another protocol on its connection.
    case upgrade
    /// Max-Forwards lets OPTIONS go no further, so the proxy answers (RFC 9110 §7.6.2).
    case options
    case refused(ProxyError)
}

/// What a CONNECT request gets.
enum TunnelDecision {
    /// Bytes are relayed untouched.
    case relay
    /// The proxy answers TLS, and the requests inside.
    case decrypt
    case refuse(Refusal)

    /// Why there is no tunnel.
    enum Refusal {
        case port(UInt16)
        case content
        case expectation
        case loop
        case offline

        /// What the client is told.
        var error: ProxyError {
            switch self {
            case .port(let port): .connectPort(port)
            case .content: .badRequest("A CONNECT request has no content.")
            case .expectation: .expectation
            case .loop: .loop
            case .offline: .offline
            }
        }
    }
}

/// A request as far as decisions depend on it: made once, and handed on. A class, since a structure of this size is
/// copied with each call.
final class AskedRequest {
    let uri: TargetURI
    let method: RequestMethod
    let version: HTTPVersion
    let fields: FieldSection
    let hasBody: Bool
    /// Whether it is to be tried as an upgrade.
    let isUpgrade: Bool

    init(uri: TargetURI, method: RequestMethod, version: HTTPVersion, fields: FieldSection, hasBody: Bool) {
        self.uri = uri
        self.method = method
        self.version = version
        self.fields = fields
        self.hasBody = hasBody
        isUpgrade = UpgradeRequest.isWanted(method.known, version, fields, hasBody: hasBody)
    }

    convenience init(_ request: borrowing Request, _ uri: TargetURI) {
        self.init(
            uri: uri, method: RequestMethod(request.head), version: request.head.version, fields: request.head.fields,
            hasBody: request.hasBody)
    }
}

/// Decides what requests get, from the map and the configuration in force. Pure: it looks at no file and no network.
///
/// It never changes. It is a class so that a request does not copy all that it holds.
final class Decider: Sendable {
    let map: SubstitutionMap
    let tunnels: TunnelPolicy
    let isOffline: Bool
    /// The bypass mode over the maps' default.
    let bypass: RuleOptions.Bypass?
    /// Whether responses are stored.
    let hasCache: Bool
    /// The ports that CONNECT may name beside those that the map names.
    let connectPorts: Set<UInt16>
    let ownNames: OwnNames
    /// By which a request that has been here is known; nil where there is no proxy.
    let identity: ProxyIdentity?

    init(
        map: SubstitutionMap, tunnels: TunnelPolicy, isOffline: Bool = false, bypass: RuleOptions.Bypass? = nil,
        hasCache: Bool = true, connectPorts: Set<UInt16> = [], ownNames: OwnNames = OwnNames(),
        identity: ProxyIdentity? = nil
    ) {
        self.map = map
        self.tunnels = tunnels
        self.isOffline = isOffline
        self.bypass = bypass
        self.hasCache = hasCache
        self.connectPorts = connectPorts
        self.ownNames = ownNames
        self.identity = identity
    }

    /// Decides what a request gets, from its cache directives and the rule found for it.
    ///
    /// - Parameter rule: the rule that answers by its conditions, if any.
    func decision(on asked: AskedRequest, rule: Rule?, scratch: inout LookupScratch) -> Decision {
        if asked.uri.isOfConsole, hasOwnName(asked.uri) { return .ownSite }
        if let rule = preflightRule(for: asked, &scratch) {
            return expectationError(asked).map { .refuse($0) } ?? .preflight(rule)
        }
        let directives = RequestCacheControl(asked.fields)
        guard let rule else { return isOwn(asked.uri) ? .ownSite : unmapped(asked, directives) }
        if rule.forwards {
            let decision = forwarding(directives, by: rule)
            // Schemes other than http and https have no origin that could be asked first.
            guard case .forward = decision, rule.options.when == .originFails, asked.uri.scheme != .other else {
                return decision
            }
            return .originFirst
        }
        return answering(asked, rule.options, directives)
    }

    /// Decides what a request gets for which the map has an answer.
    func answering(_ asked: AskedRequest, _ options: RuleOptions, _ directives: RequestCacheControl) -> Decision {
        let answer = expectationError(asked).map { Decision.refuse($0) }
        let mode = options.isBypassOwn ? options.bypass : bypass ?? options.bypass
        guard !isOffline else {
            let isReload = directives.isEndToEndReload && mode == .revalidate
            return answer ?? .answer(revalidates: directives.isRevalidation || isReload)
        }
        // Schemes other than http and https have no origin.
        guard asked.uri.scheme != .other else {
            return answer ?? .answer(revalidates: directives.isRevalidation || directives.isEndToEndReload)
        }
        if directives.isEndToEndReload {
            switch mode {
            case .origin where directives.onlyIfCached: break
            case .origin: return .bypass
            case .revalidate where options.when == .always: return answer ?? .answer(revalidates: true)
            case .revalidate, .never: break
            }
        }
        if options.when == .originFails, !directives.onlyIfCached { return .originFirst }
        return answer ?? .answer(revalidates: directives.isRevalidation)
    }

    /// Decides what a request gets where a rule says that the origin answers.
    func forwarding(_ directives: RequestCacheControl, by rule: Rule) -> Decision {
        if isOffline { return .refuse(.offline(rule: rule.position)) }
        if directives.onlyIfCached { return .refuse(.onlyIfCached) }
        return .forward(directives.isEndToEndReload ? .request : .bypass)
    }

    private func unmapped(_ asked: AskedRequest, _ directives: RequestCacheControl) -> Decision {
        let method = asked.method.known
        let isRetrieval = method == .get || method == .head
        guard asked.uri.scheme != .other else {
            let allowed = methodsAnswered(asked)
            return .refuse(allowed.map { .methodNotAllowed($0) } ?? .unsupportedScheme(asked.uri.schemeText))
        }
        if isOffline {
            if let allowed = methodsAnswered(asked) { return .refuse(.methodNotAllowed(allowed)) }
            guard hasCache, isRetrieval, !asked.isUpgrade else { return .refuse(.offline) }
        }
        // A connection that changes its protocol is nothing to be stored.
        if hasCache, !asked.isUpgrade, isRetrieval || method == .post { return .consultStore }
        if directives.onlyIfCached { return .refuse(.onlyIfCached) }
        if !isRetrieval { return .forward(.method) }
        // What no store answers, whether there is one or not: `explain` can't know.
        if asked.isUpgrade || asked.hasBody { return .forward(.bypass) }
        return .forward(directives.isEndToEndReload ? .request : .uriMiss)
    }

    /// The methods that rules for this URL answer, where its method is what they miss.
    private func methodsAnswered(_ asked: AskedRequest) -> String? {
        let methods = map.methods(answeredFor: asked.uri, fields: asked.fields)
        return methods.isEmpty ? nil : methods.joined(separator: ", ")
    }

    /// The rule that a preflight is about, if the rule answers cross-origin requests by itself.
    func preflightRule(for asked: AskedRequest, _ scratch: inout LookupScratch) -> Rule? {
        guard asked.method.known == .options, CORS.isPreflight(.options, asked.fields),
            let method = CORS.requestedMethod(asked.fields)?.withUnsafeBytes({ RequestMethod($0) }),
            let match = map.lookup(asked.uri, method: method, fields: asked.fields, scratch: &scratch)
        else { return nil }
        let rule = map.rule(match.id)
        return rule.options.cors == .auto && !rule.forwards ? rule : nil
    }

    /// The archive that a preflight is about, if no rule answers and the archive has the URL by the wanted method.
    func preflightArchive(for asked: AskedRequest) -> MapArchive? {
        guard asked.method.known == .options, CORS.isPreflight(.options, asked.fields),
            let method = CORS.requestedMethod(asked.fields)?.withUnsafeBytes({ RequestMethod($0) }),
            let archive = map.archivePreflight(asked.uri, method: method), archive.options.cors == .auto
        else { return nil }
        return archive
    }

    // MARK: The way to an origin

    /// How a request gets to the origin of a URL, which may be another than the request's.
    func passage(of asked: AskedRequest, to uri: TargetURI) -> Passage {
        if let error = refusal(of: asked, to: uri) { return .refused(error) }
        if asked.method.known == .options || asked.method.known == .trace,
            asked.fields.withFirst(.maxForwards, { $0.decimalValue }) == .some(0)
        {
            return asked.method.known == .options ? .options : .refused(.trace)
        }
        return asked.isUpgrade ? .upgrade : .request
    }

    /// Why a request may not go to the origin of a URL; nil where it may.
    func refusal(of asked: AskedRequest, to uri: TargetURI) -> ProxyError? {
        if let error = expectationError(asked) { return error }
        guard uri.scheme != .other else { return .unsupportedScheme(uri.schemeText) }
        // TLS to any port would be the tunnel that the port policy of CONNECT refuses.
        guard uri.scheme == .http || allows(port: uri.port) else { return .connectPort(uri.port) }
        guard !hasBeenHere(asked.fields) else { return .loop }
        guard !(asked.method.known == .head && asked.hasBody) else {
            return .badRequest("A HEAD request with content can't be forwarded.")
        }
        return nil
    }

    /// Why a request's expectation can't be met; nil where it is known, or of HTTP/1.0, and so ignored (RFC 9110
    /// §10.1.1).
    func expectationError(_ asked: AskedRequest) -> ProxyError? {
        Decider.expectationError(asked.fields, asked.version)
    }

    static func expectationError(_ fields: FieldSection, _ version: HTTPVersion) -> ProxyError? {
        guard fields.contains(.expect), version >= .http1_1 else { return nil }
        let isKnown =
            fields.count(of: .expect) == 1
            && fields.withFirst(.expect, { $0.equalsIgnoringCase("100-continue") }) == true
        return isKnown ? nil : .expectation
    }

    /// Decides what a CONNECT request gets.
    ///
    /// - Parameter host: IPv6 addresses have their brackets.
    func tunnel(
        to host: String, port: UInt16, version: HTTPVersion, fields: FieldSection, hasBody: Bool
    ) -> TunnelDecision {
        guard Decider.expectationError(fields, version) == nil else { return .refuse(.expectation) }
        guard allows(port: port) else { return .refuse(.port(port)) }
        guard !hasBody else { return .refuse(.content) }
        guard !hasBeenHere(fields) else { return .refuse(.loop) }
        if tunnels.intercepted.contains(host: host, port: port) { return .decrypt }
        return isOffline ? .refuse(.offline) : .relay
    }

    /// Whether the port policy lets TLS or a tunnel to this port through.
    private func allows(port: UInt16) -> Bool { connectPorts.contains(port) || tunnels.namedPorts.contains(port) }

    private func hasBeenHere(_ fields: FieldSection) -> Bool { identity?.isNamed(in: fields) ?? false }

    /// Whether the target is this proxy itself, by name; addresses that a name leads to are judged when connecting.
    func isOwn(_ uri: TargetURI) -> Bool { uri.scheme == .http && hasOwnName(uri) }

    /// The same for either scheme: a page there would be of the origin of the proxy's own pages.
    func hasOwnName(_ uri: TargetURI) -> Bool {
        guard uri.scheme == .http || uri.scheme == .https else { return false }
        return uri.withBytes { bytes in
            let authority = uri.hostRange.lowerBound..<uri.pathStart
            return ownNames.contains(
                UnsafeRawBufferPointer(rebasing: bytes[authority]), isSecure: uri.scheme == .https)
        }
    }
}

extension ProxyError {
    fileprivate static let trace: ProxyError = {
        var error = ProxyError(
            status: 405, type: "http_request_denied", failure: "TRACE is not answered here.",
            advice: "Raise Max-Forwards to reach the origin.", isRefusal: true)
        error.allow = LoopContext.methods
        return error
    }()
}
