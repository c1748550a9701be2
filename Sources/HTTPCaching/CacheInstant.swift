/// The instant at which a rule is asked, on two clocks.
///
/// The wall clock is compared with what origins write; how long a response has been here is measured by the steady one,
/// so that an operator who sets the clock makes nothing fresh or stale.
public struct CacheInstant: Sendable, Equatable {
    /// Unix seconds; compared with Date, Expires and Last-Modified.
    public var wall: Int64
    /// Nanoseconds of a clock that never jumps and counts suspended time.
    public var steady: UInt64

    public init(wall: Int64, steady: UInt64) {
        self.wall = wall
        self.steady = steady
    }

    /// The wall clock within ±10¹² seconds, so that differences of two times can't overflow.
    var boundedWall: Int64 { min(max(wall, -1_000_000_000_000), 1_000_000_000_000) }

    /// Whole seconds since `earlier`; 0 where that is later than this.
    func seconds(since earlier: CacheInstant) -> Int64 {
        guard steady > earlier.steady else { return 0 }
        return Int64((steady &- earlier.steady) / 1_000_000_000)
    }
}
