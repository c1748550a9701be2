import HTTPSemantics
import Substitution

/// Why a request is forwarded: the `fwd` parameter of Cache-Status (RFC 9211 §2.2).
enum ForwardReason: Sendable, Equatable {
    /// No rule and nothing stored for this URL.
    case uriMiss
    /// The method is none that a stored response answers.
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
    /// A reload-ignoring-cache request passes the rule by.
    case bypass
    /// The rule answers where the origin fails (`when: origin-fails`).
    case originFirst
    /// No rule answers: a stored response does, or the origin.
    case consultStore
    /// The origin answers; the rule, if there is one, says so (`forward`).
    case forward(ForwardReason)
    case refuse(ProxyError)
}

/// What a decision depends on besides the request and the map.
struct DecisionContext {
    var isOffline: Bool
    /// The bypass mode over the maps' default.
    var bypass: RuleOptions.Bypass?
    /// Whether responses are stored.
    var hasCache: Bool
}

extension Decision {
    /// Decides what a request gets, from its cache directives and the rule found for it.
    ///
    /// - Parameters:
    ///   - rule: the rule that answers by its conditions, if any.
    ///   - otherMethods: where no rule answers, the methods of a rule that matches but for its method.
    static func make(
        method: Method, scheme: URIScheme, schemeText: @autoclosure () -> String, directives: RequestCacheControl,
        rule: Rule?, otherMethods: () -> String?, context: DecisionContext
    ) -> Decision {
        guard let rule else {
            return unmapped(method, scheme, schemeText(), directives, otherMethods, context)
        }
        let options = rule.options
        if rule.forwards {
            if context.isOffline { return .refuse(.offline) }
            if directives.onlyIfCached { return .refuse(.onlyIfCached) }
            return .forward(directives.isEndToEndReload ? .request : .bypass)
        }
        guard !context.isOffline else { return .answer(revalidates: directives.isRevalidation) }
        if directives.isEndToEndReload {
            let bypass = options.isBypassOwn ? options.bypass : context.bypass ?? options.bypass
            switch bypass {
            case .origin: return .bypass
            case .revalidate: return .answer(revalidates: true)
            case .never: break
            }
        }
        if options.when == .originFails, !directives.onlyIfCached { return .originFirst }
        return .answer(revalidates: directives.isRevalidation)
    }

    private static func unmapped(
        _ method: Method, _ scheme: URIScheme, _ schemeText: String, _ directives: RequestCacheControl,
        _ otherMethods: () -> String?, _ context: DecisionContext
    ) -> Decision {
        guard scheme != .other else { return .refuse(.unsupportedScheme(schemeText)) }
        if context.isOffline {
            if let allowed = otherMethods() { return .refuse(.methodNotAllowed(allowed)) }
            guard context.hasCache, method == .get || method == .head else { return .refuse(.offline) }
        }
        if context.hasCache, method == .get || method == .head || method == .post { return .consultStore }
        if directives.onlyIfCached { return .refuse(.onlyIfCached) }
        if method != .get && method != .head { return .forward(.method) }
        return .forward(directives.isEndToEndReload ? .request : .uriMiss)
    }
}
