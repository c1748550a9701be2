import Basics

/// The wall clock of one event loop, derived from the monotonic clock, so that a request reads one clock and not two. A
/// step of the wall clock shows within 10 ms.
struct LoopClock {
    private var distance: UInt64 = 0
    private var nextLook: UInt64 = 0
    /// The bits of the monotonic clock that count: none where the clock stands still.
    private var counted = UInt64.max

    init() {}

    /// A clock that stands still, for tests of what depends on the time.
    ///
    /// - Parameter wall: nanoseconds since 1970.
    init(stoppedAt wall: UInt64) {
        distance = wall
        nextLook = .max
        counted = 0
    }

    /// Nanoseconds since 1970 at a time of the monotonic clock that is now or was a moment ago.
    @inline(__always)
    mutating func wall(at monotonic: UInt64) -> UInt64 {
        if monotonic >= nextLook {
            distance = wallNanoseconds() &- monotonicNanoseconds()
            nextLook = monotonic &+ 10_000_000
        }
        return (monotonic & counted) &+ distance
    }
}
