/// How often something may happen on one connection that costs the client little and the proxy more.
struct HTTP2RateLimit {
    let limit: Int
    private var count = 0
    private var periodStart: UInt64 = 0

    private static let period: UInt64 = 30_000_000_000

    /// - Parameter limit: how often in 30 s.
    init(_ limit: Int) { self.limit = limit }

    /// Counts one.
    ///
    /// - Throws: GOAWAY with ENHANCE_YOUR_CALM, beyond the limit.
    mutating func count(at now: UInt64) throws(HTTP2Violation) {
        if now &- periodStart > HTTP2RateLimit.period {
            periodStart = now
            count = 0
        }
        count &+= 1
        guard count <= limit else { throw .connection(.enhanceYourCalm) }
    }

    /// Begins to count anew, since the client has been given something that explains what was counted.
    mutating func forgive() { count = 0 }
}
