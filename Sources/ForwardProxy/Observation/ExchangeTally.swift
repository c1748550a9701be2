/// What one event loop has counted of its exchanges: plain numbers in one place, which cost an exchange a few
/// additions.
struct ExchangeTally: Sendable {
    /// The classes of status codes; the first one is for exchanges that ended before a status was sent.
    static let classNames: [StaticString] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"]

    private static let classes = 6

    /// Exchanges, by outcome and then by class of status.
    private var exchanges: [48 of UInt64] = .init(repeating: 0)
    /// Durations, by outcome and then by bucket.
    private var durations: [152 of UInt64] = .init(repeating: 0)
    /// By outcome.
    private var nanoseconds: [8 of UInt64] = .init(repeating: 0)
    private var bodyBytes: [8 of UInt64] = .init(repeating: 0)
    /// Bytes of requests' bodies, and those that tunnels have carried to origins.
    var receivedBytes: UInt64 = 0

    /// Counts an exchange that is over.
    @inline(__always)
    mutating func add(_ outcome: Outcome, status: Int, bytes: Int, duration: UInt64) {
        let outcome = Int(outcome.rawValue)
        let status = UInt(bitPattern: status) / 100
        exchanges[outcome &* ExchangeTally.classes &+ (status < 6 ? Int(bitPattern: status) : 0)] &+= 1
        durations[outcome &* DurationBuckets.count &+ DurationBuckets.index(of: duration)] &+= 1
        nanoseconds[outcome] &+= duration
        bodyBytes[outcome] &+= UInt64(bitPattern: Int64(bytes))
    }

    mutating func add(_ other: borrowing ExchangeTally) {
        for index in exchanges.indices { exchanges[index] &+= other.exchanges[index] }
        for index in durations.indices { durations[index] &+= other.durations[index] }
        for index in nanoseconds.indices {
            nanoseconds[index] &+= other.nanoseconds[index]
            bodyBytes[index] &+= other.bodyBytes[index]
        }
        receivedBytes &+= other.receivedBytes
    }

    /// Exchanges with an outcome, by class of status.
    func exchanges(_ outcome: Outcome) -> [UInt64] {
        let first = Int(outcome.rawValue) &* ExchangeTally.classes
        return (first..<first &+ ExchangeTally.classes).map { exchanges[$0] }
    }

    /// Exchanges with an outcome, by bucket of their durations.
    func durations(_ outcome: Outcome) -> [UInt64] {
        let first = Int(outcome.rawValue) &* DurationBuckets.count
        return (first..<first &+ DurationBuckets.count).map { durations[$0] }
    }

    /// The durations of all exchanges with an outcome together.
    func nanoseconds(_ outcome: Outcome) -> UInt64 { nanoseconds[Int(outcome.rawValue)] }

    /// Bytes of the bodies of responses that were sent.
    func bodyBytes(_ outcome: Outcome) -> UInt64 { bodyBytes[Int(outcome.rawValue)] }
}
