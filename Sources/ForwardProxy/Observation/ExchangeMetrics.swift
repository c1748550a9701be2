/// The metrics of one event loop's exchanges: plain numbers in one place, so that an exchange costs a few additions.
struct ExchangeMetrics: Sendable {
    /// The classes of status codes; the first one is for exchanges that ended before a status was sent.
    static let classNames: [StaticString] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"]

    /// The totals of the exchanges with one outcome.
    private struct Sum: Sendable {
        /// By class of status.
        var exchanges: [6 of UInt64] = .init(repeating: 0)
        var durations: DurationBuckets.Counts = .init(repeating: 0)
        var nanoseconds: UInt64 = 0
        var bodyBytes: UInt64 = 0

        mutating func add(_ other: borrowing Sum) {
            for index in exchanges.indices { exchanges[index] &+= other.exchanges[index] }
            for index in durations.indices { durations[index] &+= other.durations[index] }
            nanoseconds &+= other.nanoseconds
            bodyBytes &+= other.bodyBytes
        }
    }

    /// By outcome.
    private var sums = ContiguousArray(repeating: Sum(), count: Outcome.allCases.count)
    /// Bytes of requests' bodies, and those that tunnels have carried to origins.
    var receivedBytes: UInt64 = 0
    /// Answers of archives' entries by the way that these were found: exact, tolerant, nearest.
    var archiveAnswers: [3 of UInt64] = .init(repeating: 0)
    /// Requests for URLs of archives that have no entry.
    var archiveMisses: UInt64 = 0

    /// Counts an exchange that is over.
    @inline(__always)
    mutating func add(_ outcome: Outcome, status: Int, bytes: Int, duration: UInt64) {
        let index = UInt(bitPattern: status) / 100
        ExchangeMetrics.add(
            to: &sums[Int(outcome.rawValue)], index < 6 ? Int(bitPattern: index) : 0, bytes: bytes, duration: duration)
    }

    @inline(__always)
    private static func add(to sum: inout Sum, _ statusClass: Int, bytes: Int, duration: UInt64) {
        sum.exchanges[statusClass] &+= 1
        sum.durations[DurationBuckets.index(of: duration)] &+= 1
        sum.nanoseconds &+= duration
        sum.bodyBytes &+= UInt64(bitPattern: Int64(bytes))
    }

    mutating func add(_ other: borrowing ExchangeMetrics) {
        for index in sums.indices { sums[index].add(other.sums[index]) }
        receivedBytes &+= other.receivedBytes
        for index in archiveAnswers.indices { archiveAnswers[index] &+= other.archiveAnswers[index] }
        archiveMisses &+= other.archiveMisses
    }

    /// Exchanges with an outcome, by class of status.
    func byStatus(_ outcome: Outcome) -> [UInt64] {
        let exchanges = sums[Int(outcome.rawValue)].exchanges
        return exchanges.indices.map { exchanges[$0] }
    }

    /// Exchanges with an outcome, by bucket of their durations.
    func durations(_ outcome: Outcome) -> [UInt64] {
        let durations = sums[Int(outcome.rawValue)].durations
        return durations.indices.map { durations[$0] }
    }

    /// The durations of all exchanges with an outcome together.
    func nanoseconds(_ outcome: Outcome) -> UInt64 { sums[Int(outcome.rawValue)].nanoseconds }

    /// Bytes of the bodies of responses that were sent.
    func bodyBytes(_ outcome: Outcome) -> UInt64 { sums[Int(outcome.rawValue)].bodyBytes }
}
