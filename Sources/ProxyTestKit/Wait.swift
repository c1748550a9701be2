import Glibc

/// Waiting for what happens in another process, always with a bound.
public enum Wait {
    /// How long to wait for what is to happen, in seconds: so long that only what never happens takes it, however busy
    /// the machine is.
    public static let limit = 300.0

    /// Asks until something holds: every half millisecond at first, every five in the end.
    ///
    /// - Throws: ``Socket/Failure/timedOut`` when it does not in time, or what `condition` throws.
    public static func until(seconds: Double = limit, _ condition: () throws -> Bool) throws {
        guard try holds(within: seconds, condition) else { throw Socket.Failure.timedOut }
    }

    /// Whether something comes to hold in time.
    public static func holds(within seconds: Double = limit, _ condition: () throws -> Bool) rethrows -> Bool {
        let start = Clock.seconds
        var pause: useconds_t = 500
        while true {
            if try condition() { return true }
            if Clock.seconds - start > seconds { return false }
            usleep(pause)
            pause = min(pause * 2, 5000)
        }
    }

    /// Asks for as long as `seconds`, and returns whether it held each time.
    public static func keeps(for seconds: Double, _ condition: () throws -> Bool) rethrows -> Bool {
        let start = Clock.seconds
        while Clock.seconds - start < seconds {
            guard try condition() else { return false }
            usleep(20_000)
        }
        return true
    }
}

/// The monotonic clock.
public enum Clock {
    public static var seconds: Double {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}
