public import HTTPSemantics

/// The directives of a response (RFC 9111 §5.2.2, RFC 5861, RFC 8246), from Cache-Control or a targeted field
/// (RFC 9213).
///
/// Of a directive that is repeated with other arguments the first counts; the more restrictive form of `no-cache` and
/// `private` does. Unknown directives are passed over.
public struct ResponseDirectives: Sendable, Equatable {
    /// What `no-cache` or `private` applies to.
    public enum Restriction: Sendable, Equatable {
        /// The whole response: the directive has no field names, or none that can be read.
        case all
        /// The fields of these names, in lower case; never empty.
        case fields([[UInt8]])

        /// How many names are kept; a longer list counts as the whole response.
        static let maximumNames = 32
    }

    /// What max-age or s-maxage says.
    public enum Argument: Sendable, Equatable {
        /// 0 to 2³¹; larger numbers are 2³¹ (RFC 9111 §1.2.2).
        case seconds(Int64)
        /// No non-negative integer: the response is stale from the start (RFC 9111 §4.2.1).
        case invalid
    }

    public var noStore = false
    public var mustUnderstand = false
    public var isPublic = false
    public var mustRevalidate = false
    public var proxyRevalidate = false
    public var noTransform = false
    /// Read, and of no effect: a client that asks for a validation gets it (RFC 8246 §2 concerns a fresh response that
    /// a user agent reloads).
    public var immutable = false
    public var noCache: Restriction?
    public var isPrivate: Restriction?
    public var maxAge: Argument?
    public var sMaxAge: Argument?
    /// Seconds (RFC 5861 §3); nil where there is none or no number.
    public var staleWhileRevalidate: Int64?
    /// Seconds (RFC 5861 §4); nil where there is none or no number.
    public var staleIfError: Int64?
    /// Whether these are of a targeted field; then Cache-Control and Expires don't count.
    public var isTargeted = false

    /// No directive at all.
    public init() {}

    /// Reads Cache-Control, or the first of the policy's targeted fields that is there, valid and not empty.
    public init(_ fields: FieldSection, policy: CachePolicy) {
        for name in policy.targetedFields {
            if let targeted = TargetedField.directives(named: name, in: fields) {
                self = targeted
                return
            }
        }
        fields.forEach(.cacheControl) { addCacheControl($0) }
    }

    /// Whether a directive shows that the origin has caches in mind.
    var speakOfCaching: Bool {
        isPublic || mustRevalidate || proxyRevalidate || mustUnderstand || immutable || noCache != nil
            || isPrivate != nil || maxAge != nil || sMaxAge != nil || staleWhileRevalidate != nil
            || staleIfError != nil
    }

    /// Whether a fresh or a validated response may not be kept: `no-store` that isn't taken back by `must-understand`,
    /// or an unqualified `private` in a shared cache.
    func forbidStoring(_ policy: CachePolicy) -> Bool {
        (noStore && !mustUnderstand) || (policy.isShared && isPrivate == .all)
    }
}
