import Basics

/// A time of the monotonic clock by which something should have happened.
public struct Deadline: Sendable, Hashable {
    /// In nanoseconds of the monotonic clock.
    public let nanoseconds: UInt64

    /// So many milliseconds from now.
    public init(milliseconds: Int) {
        nanoseconds = monotonicNanoseconds() &+ UInt64(clamping: milliseconds) &* 1_000_000
    }

    init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    public var isOver: Bool { monotonicNanoseconds() >= nanoseconds }

    /// The milliseconds until then, rounded up; 0 once it is over.
    public var milliseconds: Int {
        let now = monotonicNanoseconds()
        return now >= nanoseconds ? 0 : Int(clamping: (nanoseconds &- now &+ 999_999) / 1_000_000)
    }

    /// The earlier of two.
    public func orEarlier(_ other: Deadline) -> Deadline { nanoseconds <= other.nanoseconds ? self : other }
}
