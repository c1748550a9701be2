public import Glibc

/// The monotonic clock in nanoseconds, which stands still while the machine is suspended (`clock_gettime`,
/// CLOCK_MONOTONIC).
@inlinable
public func monotonicNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_MONOTONIC) }

/// A clock that never jumps and counts the time that the machine was suspended, in nanoseconds (CLOCK_BOOTTIME).
@inlinable
public func steadyNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_BOOTTIME) }

/// The wall clock in nanoseconds since 1970 (`clock_gettime`, CLOCK_REALTIME).
@inlinable
public func wallNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_REALTIME) }

/// The clock by which the kernel gives files their times, in nanoseconds since 1970: behind the wall clock by a tick at
/// the most (CLOCK_REALTIME_COARSE).
@inlinable
public func fileNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_REALTIME_COARSE) }

@inlinable
@inline(__always)
func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(truncatingIfNeeded: time.tv_sec) &* 1_000_000_000 &+ UInt64(truncatingIfNeeded: time.tv_nsec)
}
