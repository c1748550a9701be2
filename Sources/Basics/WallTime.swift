import Glibc

/// A moment of the wall clock, as people and other programs read it: in UTC.
public struct WallTime: Sendable {
    /// Since 1970, and the milliseconds behind the last one.
    private let seconds: Int64
    private let milliseconds: Int

    /// The present moment.
    public static func now() -> WallTime { WallTime(nanoseconds: wallNanoseconds()) }

    /// - Parameter nanoseconds: since 1970.
    public init(nanoseconds: UInt64) {
        seconds = Int64(nanoseconds / 1_000_000_000)
        milliseconds = Int(nanoseconds / 1_000_000 % 1000)
    }

    /// - Parameter seconds: since 1970; negative before.
    public init(seconds: Int64) {
        self.seconds = seconds
        milliseconds = 0
    }

    /// The day as `2026-02-03`; the seconds of a year that has no number.
    public var day: String { parts.map(WallTime.day) ?? "\(seconds)" }

    /// `2026-02-03T14:02:11.123Z` (RFC 3339); the seconds of a year that has no number.
    public var internetText: String {
        guard let parts else { return "\(seconds)" }
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { WallTime.padded(Int($0), 2) }
        return "\(WallTime.day(parts))T\(clock.joined(separator: ":")).\(WallTime.padded(milliseconds, 3))Z"
    }

    private var parts: tm? {
        var time = time_t(seconds)
        var parts = tm()
        return gmtime_r(&time, &parts) == nil ? nil : parts
    }

    private static func day(_ parts: tm) -> String {
        "\(padded(Int(parts.tm_year) &+ 1900, 4))-\(padded(Int(parts.tm_mon) &+ 1, 2))-\(padded(Int(parts.tm_mday), 2))"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width &- digits.utf8.count)) + digits
    }
}
