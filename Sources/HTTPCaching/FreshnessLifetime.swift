public import HTTPSemantics

/// How long a response is fresh, and by what (RFC 9111 §4.2.1).
///
/// The first of: s-maxage in a shared cache; max-age; Expires less Date; a heuristic. One that is there but invalid
/// makes the response stale, and the next one does not replace it. Of several Expires lines the first counts; one that
/// is not a date, such as `0`, is in the past.
public struct FreshnessLifetime: Sendable, Equatable {
    public enum Source: UInt8, Sendable {
        case sMaxAge, maxAge, expires, heuristic
        /// Nothing says it: stale from the start.
        case none
    }

    /// 0 to 2³¹.
    public var seconds: Int64
    public var source: Source

    public init(seconds: Int64, source: Source) {
        self.seconds = seconds
        self.source = source
    }

    /// Whether the origin gave a lifetime, valid or not.
    public var isExplicit: Bool {
        switch source {
        case .sMaxAge, .maxAge, .expires: true
        case .heuristic, .none: false
        }
    }

    /// Whether the origin said that the response is fresh for a while.
    var isGiven: Bool { isExplicit && seconds > 0 }

    /// - Parameters:
    ///   - date: Unix seconds: the Date, or the time of receipt where it is missing or malformed.
    ///   - lastModified: Unix seconds; nil where it is missing or malformed.
    public init(
        _ directives: ResponseDirectives, fields: FieldSection, status: Int, date: Int64, lastModified: Int64?,
        policy: CachePolicy
    ) {
        if policy.isShared, let sMaxAge = directives.sMaxAge {
            self.init(seconds: sMaxAge.value, source: .sMaxAge)
        } else if let maxAge = directives.maxAge {
            self.init(seconds: maxAge.value, source: .maxAge)
        } else if !directives.isTargeted, fields.contains(.expires) {
            let expires = CacheDate.first(.expires, in: fields, now: date) ?? date
            self.init(seconds: min(max(expires &- date, 0), ResponseDirectives.largestDelta), source: .expires)
        } else if CacheableStatus.isHeuristicallyCacheable(status) || directives.isPublic,
            let seconds = HeuristicFreshness.seconds(lastModified: lastModified, date: date, policy: policy)
        {
            self.init(seconds: seconds, source: .heuristic)
        } else {
            self.init(seconds: 0, source: .none)
        }
    }
}

extension ResponseDirectives.Argument {
    fileprivate var value: Int64 {
        switch self {
        case .seconds(let seconds): seconds
        case .invalid: 0
        }
    }
}
