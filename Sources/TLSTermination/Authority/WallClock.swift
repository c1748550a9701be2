import Basics
import Glibc

/// The wall clock in seconds since 1970, and days for messages.
public enum WallClock {
    public static let system: @Sendable () -> Int64 = { Int64(time(nil)) }

    /// A day as `2025-11-21`, in UTC.
    static func day(_ seconds: Int64) -> String { WallTime(seconds: seconds).day }
}
