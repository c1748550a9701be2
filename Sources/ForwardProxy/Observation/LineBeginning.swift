import Glibc

/// What the access log's lines of one millisecond begin with: `14:02:11.123 `, local time, or in JSON
/// `{"time":"2026-11-21T14:02:11.123Z","client":"` (RFC 3339).
struct LineBeginning {
    private let isJSON: Bool
    private var text: [48 of UInt8] = .init(repeating: 0)
    private var count = 0
    /// Bytes that stay the same for a second.
    private var secondCount = 0
    private var second = UInt64.max
    /// When the millisecond began, in nanoseconds since 1970.
    private var millisecond = UInt64.max

    init(isJSON: Bool) { self.isJSON = isJSON }

    /// - Parameter wall: the time, nanoseconds since 1970.
    @inline(__always)
    mutating func write(_ wall: UInt64, to line: inout LogLine) {
        if wall < millisecond || wall &- millisecond >= 1_000_000 { make(wall) }
        text.span.withUnsafeBytes { line.write(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }

    private mutating func make(_ wall: UInt64) {
        let milliseconds = wall / 1_000_000
        millisecond = milliseconds &* 1_000_000
        let second = milliseconds / 1000
        if second != self.second { make(second: second) }
        let (isJSON, secondCount) = (isJSON, secondCount)
        var span = text.mutableSpan
        count = span.withUnsafeMutableBytes { text in
            var line = LogLine(text, count: secondCount)
            line.writeDigits(UInt(milliseconds &- second &* 1000), 3)
            if isJSON { line.write(#"Z","client":""#) } else { line.write(UInt8(ascii: " ")) }
            return line.count
        }
    }

    private mutating func make(second: UInt64) {
        self.second = second
        var seconds = time_t(truncatingIfNeeded: second)
        var time = tm()
        if isJSON { gmtime_r(&seconds, &time) } else { localtime_r(&seconds, &time) }
        let isJSON = isJSON
        var span = text.mutableSpan
        secondCount = span.withUnsafeMutableBytes { text in
            var line = LogLine(text)
            if isJSON {
                line.write(#"{"time":""#)
                LineBeginning.write(time.tm_year &+ 1900, 4, "-", to: &line)
                LineBeginning.write(time.tm_mon &+ 1, 2, "-", to: &line)
                LineBeginning.write(time.tm_mday, 2, "T", to: &line)
            }
            LineBeginning.write(time.tm_hour, 2, ":", to: &line)
            LineBeginning.write(time.tm_min, 2, ":", to: &line)
            LineBeginning.write(time.tm_sec, 2, ".", to: &line)
            return line.count
        }
    }

    private static func write(_ number: CInt, _ width: Int, _ end: Unicode.Scalar, to line: inout LogLine) {
        line.writeDigits(UInt(max(0, number)), width)
        line.write(UInt8(ascii: end))
    }
}
