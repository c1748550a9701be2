/// How late an event loop runs what is due: the largest lag of the last 15 to 30 seconds.
///
/// The time is a parameter: nanoseconds of the monotonic clock.
struct LoopLag {
    private static let window: UInt64 = 15_000_000_000

    private var windowStart: UInt64 = 0
    private var current: UInt64 = 0
    private var last: UInt64 = 0

    mutating func note(_ lag: UInt64, now: UInt64) {
        turn(now)
        current = max(current, lag)
    }

    mutating func largest(now: UInt64) -> UInt64 {
        turn(now)
        return max(current, last)
    }

    private mutating func turn(_ now: UInt64) {
        let age = now &- windowStart
        guard now >= windowStart, age >= LoopLag.window else { return }
        last = age < 2 &* LoopLag.window ? current : 0
        current = 0
        windowStart = now
    }
}
