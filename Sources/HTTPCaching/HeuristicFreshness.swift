/// How long a response without explicit freshness counts as fresh (RFC 9111 §4.2.2).
///
/// The policy's share of the time between Last-Modified and Date, at most its limit.
enum HeuristicFreshness {
    /// Seconds, at least 1; nil where there is no Last-Modified, or it is no earlier than Date.
    static func seconds(lastModified: Int64?, date: Int64, policy: CachePolicy) -> Int64? {
        guard let lastModified, lastModified < date else { return nil }
        let percent = min(max(policy.heuristicPercent, 0), 100)
        let limit = min(max(policy.heuristicLimit, 0), ResponseDirectives.largestDelta)
        let (hundreds, rest) = (date &- lastModified).quotientAndRemainder(dividingBy: 100)
        let seconds = min(hundreds &* percent &+ rest &* percent / 100, limit)
        return seconds > 0 ? seconds : nil
    }
}
