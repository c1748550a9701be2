import HTTPCaching
public import HTTPSemantics
public import Substitution

/// What the proxy would do with a request, and why: the decision of a real exchange, without the exchange.
public struct DecisionPreview: Sendable {
    /// The outcome as the access log names it.
    public let outcome: String
    /// What is done, and why: one sentence without a capital and a full stop.
    public let sentence: String
    /// The value of Cache-Status; nil where the response has none.
    public let cacheStatus: String?
    /// The status of an answer that is made here; nil where the origin decides.
    public let status: Int?

    /// Decides as for a request with these fields; looks at nothing but the map.
    public init(
        _ uri: TargetURI, method: RequestMethod, fields: FieldSection, map: SubstitutionMap, isOffline: Bool,
        bypass: RuleOptions.Bypass?
    ) {
        var scratch = LookupScratch()
        let match = map.lookup(uri, method: method, fields: fields, scratch: &scratch)
        let rule = match.map { map.rule($0.id) }
        var decision = Decision.make(
            method: method.known, scheme: uri.scheme, schemeText: uri.schemeText,
            directives: RequestCacheControl(fields), rule: rule,
            otherMethods: { map.methodsAnswered(uri, fields) },
            context: DecisionContext(isOffline: isOffline, bypass: bypass, hasCache: true))
        if case .consultStore = decision { decision = .withNothingStored(method, fields, isOffline: isOffline) }
        self.init(decision, rule, keeping: RequestCacheControl(fields).noStore ? StoreRefusal.requestNoStore : nil)
    }

    /// What happens instead where the rule can't answer this URL; the same where it was not to.
    public func refusing(_ reason: RefusalReason, rule: Rule) -> DecisionPreview {
        guard outcome == (rule.forwards ? "forwarded" : "substituted") else { return self }
        let error = reason.isOfURL ? ProxyError.noUsableURL(rule: rule.position, reason) : nil
        return DecisionPreview(.refuse(error ?? .noSuchFile(rule: rule.position)), rule)
    }

    /// What happens instead where the rule's file can't be served; the same where no file was to be.
    ///
    /// - Parameters:
    ///   - refusal: why.
    ///   - path: the path tried, below the rule's root.
    public func refusing(_ refusal: FileRefusal, path: [UInt8], rule: Rule, isOffline: Bool) -> DecisionPreview {
        guard outcome == "substituted" else { return self }
        let error = ProxyError.file(
            refusal, rule: rule.position, path: String(decoding: path, as: UTF8.self))
        guard refusal == .notFound else { return DecisionPreview(.refuse(error), rule) }
        switch rule.options.missing {
        case .error: return DecisionPreview(.refuse(error), rule)
        case .notFound: return DecisionPreview(.refuse(.noSuchFile(rule: rule.position)), rule)
        case .forward where isOffline: return DecisionPreview(.refuse(.offline), rule)
        case .forward: return DecisionPreview(forwardingFor: rule)
        }
    }

    private init(forwardingFor rule: Rule) {
        outcome = "forwarded"
        sentence = "the file does not exist, so the origin answers (missing: forward)"
        cacheStatus = "subproxy; fwd=bypass; detail=\(DecisionPreview.quoted(rule.position))"
        status = nil
    }

    /// - Parameter refusal: why the response of an origin will not be stored, as far as the request tells.
    private init(_ decision: Decision, _ rule: Rule?, keeping refusal: StoreRefusal? = nil) {
        let position = rule?.position ?? ""
        switch decision {
        case .answer(let revalidates):
            outcome = "substituted"
            sentence =
                revalidates
                ? "the rule answers, with its validators checked against the file on disk" : "the rule answers"
            cacheStatus = "subproxy; hit; detail=\(DecisionPreview.quoted(position))"
            status = rule?.status
        case .bypass:
            outcome = "bypassed"
            sentence =
                "the request asks for a fresh answer (no-cache) and passes the rule by to the origin; "
                + "'bypass: never' or --bypass never answers it from the map"
            cacheStatus = "subproxy; fwd=request; detail=\(DecisionPreview.quoted("no-cache \(position)"))"
            status = nil
        case .originFirst:
            outcome = "forwarded"
            sentence = "the origin is asked first, and the rule answers where it fails (when: origin-fails)"
            cacheStatus = "subproxy; fwd=bypass; detail=\(DecisionPreview.quoted(position))"
            status = nil
        case .forward(let reason):
            outcome = "forwarded"
            let kept = refusal.map { ", and what it answers is not kept (\($0.reason))" } ?? ""
            sentence =
                rule == nil ? DecisionPreview.sentence(for: reason) + kept : "the rule forwards the request"
            let detail = rule == nil ? "" : "; detail=\(DecisionPreview.quoted(position))"
            cacheStatus = "subproxy; fwd=\(reason.parameter)\(detail)"
            status = nil
        case .consultStore:
            outcome = "forwarded"
            sentence = DecisionPreview.sentence(for: .uriMiss)
            cacheStatus = "subproxy; fwd=uri-miss"
            status = nil
        case .refuse(let error):
            outcome = error.isRefusal ? "refused" : "failed"
            sentence = "\(error.failure) \(error.advice)"
            cacheStatus = nil
            status = error.status
        }
    }

    /// A text as the field has it (RFC 9651 §3.3.3).
    private static func quoted(_ text: String) -> String {
        String(decoding: StructuredString.bytes(text.utf8), as: UTF8.self)
    }

    private static func sentence(for reason: ForwardReason) -> String {
        switch reason {
        case .uriMiss: "the origin answers, unless a response that is stored may be used (RFC 9111)"
        case .request: "the origin answers, whatever is stored: the request asks for it"
        case .method: "the origin answers: a request with this method gets nothing that is stored"
        default: "the origin answers"
        }
    }

    /// The media type that a file would be answered with by a rule.
    public static func mediaType(ofFile path: [UInt8], by rule: Rule) -> String {
        if let type = rule.options.type { return type.withDefaultCharset.description }
        return SystemMediaTypes.type(forPath: path).withDefaultCharset.description
    }
}

extension Decision {
    /// What a request that no rule answers gets from an empty store.
    fileprivate static func withNothingStored(
        _ method: RequestMethod, _ fields: FieldSection, isOffline: Bool
    ) -> Decision {
        let request = CacheRequest(method: method.known, fields: fields, hasContent: false)
        let now = CacheInstant(wall: 0, steady: 0)
        switch StoredDecision.make(request, entries: [], at: now, policy: CachePolicy(), isOffline: isOffline) {
        case .fetch(let reason): return .forward(reason)
        case .refuse(let error): return .refuse(error)
        case .serve, .validate: return .consultStore
        }
    }
}

extension SubstitutionMap {
    /// The methods that a rule for this URL answers, where its method is what it misses.
    func methodsAnswered(_ uri: TargetURI, _ fields: FieldSection) -> String? {
        var scratch = LookupScratch()
        for method in [Method.get, .post, .put, .patch, .delete, .options] {
            let match = lookup(uri, method: RequestMethod(method), fields: fields, scratch: &scratch)
            guard let match else { continue }
            return rule(match.id).options.allowedMethods.joined(separator: ", ")
        }
        return nil
    }
}
