import Basics
import Glibc
import Testing

@Suite("The clocks")
struct ClocksTests {
    @Test("are those that the system names so")
    func same() {
        // Each is read between two readings of the system's, which only a step of the wall clock could belie.
        for (clock, read) in [
            (CLOCK_MONOTONIC, monotonicNanoseconds), (CLOCK_BOOTTIME, steadyNanoseconds),
            (CLOCK_REALTIME, wallNanoseconds),
        ] {
            let before = Self.nanoseconds(clock)
            let found = read()
            #expect((before...max(before, Self.nanoseconds(clock))).contains(found))
        }
    }

    private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
