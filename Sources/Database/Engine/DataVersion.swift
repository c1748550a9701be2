import Basics
import Synchronization

/// Which state of a database's data is the newest that is known, and when that was last looked at.
///
/// An answer is made from a state, and can be given again while that state is the newest.
public final class DataVersion: Sendable {
    private let number = Atomic<UInt64>(1)
    private let looked = Atomic<UInt64>(0)
    private let isFixed = Atomic<Bool>(false)

    public init() {}

    /// The newest state's number.
    public var current: UInt64 { number.load(ordering: .acquiring) }

    /// When it was last seen that the data are in this state, in nanoseconds of the monotonic clock; the far future
    /// where nobody but this process can change them.
    public var checkedAt: UInt64 { isFixed.load(ordering: .acquiring) ? .max : looked.load(ordering: .acquiring) }

    /// Counts a change on: answers made before are not given again.
    public func change() { number.wrappingAdd(1, ordering: .acquiringAndReleasing) }

    /// Counts a change on that one reader has seen.
    ///
    /// - Parameter before: the state that the reader began at.
    /// - Returns: the state that its answer is of; nil where others have changed it meanwhile.
    func change(from before: UInt64) -> UInt64? {
        let result = number.compareExchange(
            expected: before, desired: before &+ 1, ordering: .acquiringAndReleasing)
        if !result.exchanged { change() }
        return result.exchanged ? before &+ 1 : nil
    }

    /// Notes that the data were looked at.
    public func checked(at time: UInt64) {
        var known = looked.load(ordering: .relaxed)
        while known < time {
            let result = looked.weakCompareExchange(expected: known, desired: time, ordering: .acquiringAndReleasing)
            if result.exchanged { return }
            known = result.original
        }
    }

    /// Says whether the data are in memory, where nobody else changes them.
    public func setFixed(_ value: Bool) { isFixed.store(value, ordering: .releasing) }
}
