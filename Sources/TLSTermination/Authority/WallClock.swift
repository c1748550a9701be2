import Glibc

/// The wall clock in seconds since 1970, and days for messages.
public enum WallClock {
    public static let system: @Sendable () -> Int64 = { Int64(time(nil)) }

    /// A day as `2025-11-21`, in UTC.
    static func day(_ seconds: Int64) -> String {
        var time = time_t(seconds)
        var parts = tm()
        guard gmtime_r(&time, &parts) != nil else { return "\(seconds)" }
        return "\(Int(parts.tm_year) + 1900)-\(twoDigits(parts.tm_mon + 1))-\(twoDigits(parts.tm_mday))"
    }

    private static func twoDigits(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
