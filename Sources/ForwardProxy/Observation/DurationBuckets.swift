/// The buckets that the durations of exchanges are counted in, as a Prometheus histogram has them.
enum DurationBuckets {
    /// A count for each of them, the one without an upper bound included.
    typealias Counts = [19 of UInt64]

    /// The upper bounds in nanoseconds, which belong to their buckets: 50 µs to a minute.
    static let bounds: [18 of UInt64] = [
        50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
        100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
        60_000_000_000,
    ]

    /// The bucket of a duration. What is over at once, as a mapped hit is, takes one comparison or two.
    @inline(__always)
    static func index(of nanoseconds: UInt64) -> Int {
        // The first bound, without the array that is made at its first use.
        if nanoseconds <= 50_000 { return 0 }
        var index = 1
        while index < bounds.count, nanoseconds > bounds[index] { index &+= 1 }
        return index
    }
}
