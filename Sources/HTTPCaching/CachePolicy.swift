/// What kind of cache this is.
public struct CachePolicy: Sendable {
    public enum Mode: Sendable {
        /// One store for several users, as in a proxy.
        case shared
        /// One store for one user: `private` allows storing, s-maxage and proxy-revalidate don't count.
        case `private`
    }

    /// Default shared.
    public var mode: Mode
    /// The targeted fields that are obeyed, as `cdn-cache-control`: names in lower case, the first that is there and
    /// valid wins (RFC 9213 §2.2). Default none.
    public var targetedFields: [[UInt8]]
    /// How much of the time from Last-Modified to Date a response is fresh that doesn't say it (RFC 9111 §4.2.2).
    /// Default 10.
    public var heuristicPercent: Int64
    /// The longest heuristic lifetime, in seconds. Default 86 400, one day.
    public var heuristicLimit: Int64
    /// For how many seconds after it became stale a response is sent if the origin can't be reached (RFC 9111
    /// §4.2.4). Default 604 800, seven days; 0 is never.
    public var staleIfUnreachable: Int64

    public init(
        mode: Mode = .shared, targetedFields: [[UInt8]] = [], heuristicPercent: Int64 = 10,
        heuristicLimit: Int64 = 86_400, staleIfUnreachable: Int64 = 604_800
    ) {
        self.mode = mode
        self.targetedFields = targetedFields
        self.heuristicPercent = heuristicPercent
        self.heuristicLimit = heuristicLimit
        self.staleIfUnreachable = staleIfUnreachable
    }

    var isShared: Bool { mode == .shared }
}
