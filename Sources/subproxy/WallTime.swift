import Basics
import Glibc

/// A moment of the wall clock.
struct WallTime {
    /// Nanoseconds since 1970.
    private let nanoseconds: UInt64

    /// The present moment.
    static func now() -> WallTime { WallTime(nanoseconds: wallNanoseconds()) }

    /// - Parameter nanoseconds: since 1970.
    init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// `2026-02-03T14:02:11.123Z` (RFC 3339).
    var internetText: String {
        var seconds = time_t(clamping: nanoseconds / 1_000_000_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func padded(_ number: some BinaryInteger, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width &- digits.utf8.count)) + digits
        }
        let date = "\(padded(parts.tm_year &+ 1900, 4))-\(padded(parts.tm_mon &+ 1, 2))-\(padded(parts.tm_mday, 2))"
        let clock = "\(padded(parts.tm_hour, 2)):\(padded(parts.tm_min, 2)):\(padded(parts.tm_sec, 2))"
        return "\(date)T\(clock).\(padded(nanoseconds / 1_000_000 % 1000, 3))Z"
    }
}
