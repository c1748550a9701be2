/// What a request asks of caches: its Cache-Control, and Pragma where there is no Cache-Control (RFC 9111 §5.2.1,
/// §5.4).
///
/// Read in one pass without allocation. Names in any case, arguments with or without quotes. Numbers are capped at 2³¹
/// (RFC 9111 §1.2.2). Of directives that are repeated the stricter counts: the smaller max-age, max-stale and
/// stale-if-error, the larger min-fresh. A max-age that is no number counts as 0, so that doubt leads to a validation;
/// the others are ignored then. Directives without an argument count whether or not they are given one.
public struct RequestCacheControl: Sendable, Equatable {
    /// How stale a stored response may be.
    public enum MaxStale: Sendable, Equatable {
        case none
        /// `max-stale` without a number: any age.
        case any
        case seconds(UInt32)
    }

    public private(set) var noCache = false
    public private(set) var noStore = false
    public private(set) var noTransform = false
    public private(set) var onlyIfCached = false
    /// Seconds.
    public private(set) var maxAge: UInt32?
    public private(set) var maxStale = MaxStale.none
    /// Seconds.
    public private(set) var minFresh: UInt32?
    /// Seconds (RFC 5861 §4).
    public private(set) var staleIfError: UInt32?

    private static let names = FieldNameSet(.cacheControl, .pragma)

    /// The request's answer must come from the origin: `no-cache`, a reload that ignores caches.
    public var isEndToEndReload: Bool { noCache }

    /// The request's answer must be validated: `max-age=0`, a browser's Reload.
    public var isRevalidation: Bool { maxAge == 0 && !noCache }

    /// A request without directives.
    public init() {}

    public init(_ fields: FieldSection) {
        guard !fields.present.isDisjoint(with: RequestCacheControl.names) else { return }
        if fields.contains(.cacheControl) {
            fields.forEach(.cacheControl) { add($0) }
        } else {
            noCache = fields.containsElement(of: .pragma) {
                FieldParameter($0)?.name.equalsIgnoringCase("no-cache") ?? false
            }
        }
    }

    private mutating func add(_ value: UnsafeRawBufferPointer) {
        for element in FieldListElements(value) {
            if let directive = FieldParameter(element, allowingBadWhitespace: true) {
                add(directive.name, directive.value)
            } else if let equals = element.firstIndex(of: UInt8(ascii: "=")) {
                // A known name with a malformed argument.
                let name = UnsafeRawBufferPointer(rebasing: element[0..<equals]).trimmingOptionalWhitespace
                add(name, UnsafeRawBufferPointer(rebasing: element[(equals &+ 1)...]))
            }
        }
    }

    private mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) {
        switch name.count {
        case 7 where name.equalsIgnoringCase("max-age"):
            let seconds = value.flatMap(RequestCacheControl.deltaSeconds) ?? 0
            maxAge = min(maxAge ?? .max, seconds)
        case 8 where name.equalsIgnoringCase("no-cache"): noCache = true
        case 8 where name.equalsIgnoringCase("no-store"): noStore = true
        case 9 where name.equalsIgnoringCase("max-stale"): addMaxStale(value)
        case 9 where name.equalsIgnoringCase("min-fresh"):
            guard let seconds = value.flatMap(RequestCacheControl.deltaSeconds) else { return }
            minFresh = max(minFresh ?? 0, seconds)
        case 12 where name.equalsIgnoringCase("no-transform"): noTransform = true
        case 14 where name.equalsIgnoringCase("only-if-cached"): onlyIfCached = true
        case 14 where name.equalsIgnoringCase("stale-if-error"):
            guard let seconds = value.flatMap(RequestCacheControl.deltaSeconds) else { return }
            staleIfError = min(staleIfError ?? .max, seconds)
        default: break
        }
    }

    private mutating func addMaxStale(_ value: UnsafeRawBufferPointer?) {
        guard let value else {
            if maxStale == .none { maxStale = .any }
            return
        }
        guard let seconds = RequestCacheControl.deltaSeconds(value) else { return }
        if case .seconds(let earlier) = maxStale, earlier < seconds { return }
        maxStale = .seconds(seconds)
    }

    /// `1*DIGIT`, at most 2³¹; nil where the bytes are no number (RFC 9111 §1.2.2).
    public static func deltaSeconds(_ bytes: UnsafeRawBufferPointer) -> UInt32? {
        bytes.saturatingDecimalValue.map { UInt32(truncatingIfNeeded: min($0, 1 << 31)) }
    }
}
