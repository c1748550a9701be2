import HTTPCaching
import HTTPSemantics

/// What a request that no rule answers gets from the store, or why it goes to the origin.
///
/// Pure, from the request, what is stored under its URL, and the time (RFC 9111 §4).
enum StoredDecision {
    /// Served as it is; `permission` says why a stale one may be.
    case serve(StoredEntry, StalePermission?)
    /// Validated with the origin first.
    case validate(StoredEntry, ValidationReason)
    /// The origin answers.
    case fetch(ForwardReason)
    case refuse(ProxyError)

    static func make(
        _ request: CacheRequest, entries: [StoredEntry], at now: CacheInstant, policy: CachePolicy, isOffline: Bool
    ) -> StoredDecision {
        func forward(_ reason: ForwardReason) -> StoredDecision {
            if isOffline { return .refuse(.offline) }
            return request.directives.onlyIfCached ? .refuse(.onlyIfCached) : .fetch(reason)
        }
        guard request.method == .get || request.method == .head else { return forward(.method) }
        guard !request.hasContent else { return forward(.bypass) }
        guard isOffline || !request.directives.isEndToEndReload else { return forward(.request) }
        guard !entries.isEmpty else { return forward(.uriMiss) }
        guard let index = Selection.select(request, among: entries.map(\.metadata)) else { return forward(.varyMiss) }
        let entry = entries[index]
        switch Reuse.verdict(request, entry.metadata, at: now, policy: policy, isOffline: isOffline) {
        case .fresh: return .serve(entry, nil)
        case .stale(let permission): return .serve(entry, permission)
        case .validate(let reason):
            // Nobody is there to validate with: `--offline` takes what is stored, whatever its age and directives.
            if isOffline { return .serve(entry, .offline) }
            return request.directives.onlyIfCached ? .refuse(.onlyIfCachedIsStale) : .validate(entry, reason)
        case .unusable(let reason):
            switch reason {
            case .reload, .precondition: return forward(.request)
            case .range: return forward(.partial)
            case .method: return forward(.method)
            case .requestContent: return forward(.bypass)
            case .withdrawn: return forward(.stale)
            }
        }
    }
}

/// Why a response is passed on without being stored.
struct NotStored {
    var reason: StaticString
    /// Whether Cache-Status says it: where somebody has said that the response must not be stored, rather than nobody
    /// that it may.
    var isTold: Bool

    init(_ refusal: StoreRefusal) {
        reason = refusal.reason
        isTold =
            switch refusal {
            case .method, .requestContent, .status, .setCookie, .notExplicit: false
            default: true
            }
    }

    private init(_ reason: StaticString, isTold: Bool = true) {
        self.reason = reason
        self.isTold = isTold
    }

    /// A part of what is stored whole.
    static let heldWhole = NotStored("stored whole already", isTold: false)
    static let tooLarge = NotStored("too large")
    /// Where only the end of the connection ends the body, TLS can't tell a whole one from one that was cut off.
    static let unframed = NotStored("no length over TLS")
}

extension StandInPermission {
    /// The words for the log.
    var reason: StaticString {
        switch self {
        case .staleIfError: "stale-if-error"
        case .unreachable: "origin not reached"
        }
    }

    /// The detail of Cache-Status.
    var detail: String {
        switch self {
        case .staleIfError: "stale-if-error"
        case .unreachable: "unreachable"
        }
    }
}

extension StalePermission {
    /// The word for the log.
    var reason: StaticString {
        switch self {
        case .maxStale: "max-stale"
        case .whileRevalidate: "stale-while-revalidate"
        case .offline: "offline"
        }
    }
}
