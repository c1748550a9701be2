/// Reads and writes the dates of HTTP, as Unix seconds (RFC 9110 §5.6.7).
public enum HTTPDate {
    /// The length of a date as it is written.
    public static let length = 29

    /// Reads a date in one of the three forms: IMF-fixdate, RFC 850 and asctime; nil for anything else.
    ///
    /// Strict, by the grammar's bytes and case; days that a month does not have are refused. That the day's name fits
    /// the date is not checked. A leap second counts as the first second of the next minute.
    ///
    /// - Parameter now: Unix seconds. An RFC 850 year more than 50 years after it is of the century before.
    public static func parse(_ bytes: UnsafeRawBufferPointer, now: Int64) -> Int64? {
        var cursor = DateCursor(bytes)
        switch bytes.count {
        case 29 where bytes[3] == UInt8(ascii: ","): return fixdate(&cursor)
        case 24: return asctime(&cursor)
        case 30...33: return rfc850(&cursor, now: now)
        default: return nil
        }
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    private static func fixdate(_ cursor: inout DateCursor) -> Int64? {
        guard cursor.dayName(), cursor.skip(", "), let day = cursor.number(2), cursor.skip(" "),
            let month = cursor.month(), cursor.skip(" "), let year = cursor.number(4), cursor.skip(" "),
            let time = cursor.time(), cursor.skip(" GMT"), cursor.isAtEnd
        else { return nil }
        return seconds(year: Int64(year), month: month, day: day, time: time)
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`
    private static func rfc850(_ cursor: inout DateCursor, now: Int64) -> Int64? {
        guard cursor.longDayName(), cursor.skip(", "), let day = cursor.number(2), cursor.skip("-"),
            let month = cursor.month(), cursor.skip("-"), let shortYear = cursor.number(2), cursor.skip(" "),
            let time = cursor.time(), cursor.skip(" GMT"), cursor.isAtEnd
        else { return nil }
        let now = clamp(now)
        let limit = CivilDate(daysSinceEpoch: floorDivide(now, 86400)).addingYears(50)
        // The latest year that ends in these digits and is not behind the limit's.
        let year = limit.year &- modulo(limit.year &- Int64(shortYear), 100)
        guard let value = seconds(year: year, month: month, day: day, time: time) else { return nil }
        guard value > limit.daysSinceEpoch &* 86400 &+ modulo(now, 86400) else { return value }
        return seconds(year: year &- 100, month: month, day: day, time: time)
    }

    /// `Sun Nov  6 08:49:37 1994`
    private static func asctime(_ cursor: inout DateCursor) -> Int64? {
        guard cursor.dayName(), cursor.skip(" "), let month = cursor.month(), cursor.skip(" "),
            let day = cursor.skip(" ") ? cursor.number(1) : cursor.number(2), cursor.skip(" "),
            let time = cursor.time(), cursor.skip(" "), let year = cursor.number(4), cursor.isAtEnd
        else { return nil }
        return seconds(year: Int64(year), month: month, day: day, time: time)
    }

    private static func seconds(year: Int64, month: Int, day: Int, time: Int) -> Int64? {
        let date = CivilDate(year: year, month: month, day: day)
        guard (0...9999).contains(year), day >= 1, day <= date.daysInMonth else { return nil }
        return date.daysSinceEpoch &* 86400 &+ Int64(time)
    }

    /// Writes `seconds` as IMF-fixdate into the first 29 bytes of `out`; nothing where `out` is shorter.
    ///
    /// Times before the year 0 or after 9999 are written as the first or last second of those years.
    public static func write(_ seconds: Int64, into out: UnsafeMutableRawBufferPointer) {
        guard out.count >= length else { return }
        let seconds = clamp(seconds)
        let days = floorDivide(seconds, 86400)
        let time = modulo(seconds, 86400)
        let date = CivilDate(daysSinceEpoch: days)
        func copy(_ text: StaticString, _ from: Int, _ count: Int, at offset: Int) {
            for index in 0..<count { out[offset &+ index] = text.utf8Start[from &+ index] }
        }
        func digits(_ value: Int64, _ count: Int, at offset: Int) {
            var value = value
            for index in stride(from: offset &+ count &- 1, through: offset, by: -1) {
                out[index] = 0x30 &+ UInt8(truncatingIfNeeded: value % 10)
                value /= 10
            }
        }
        copy("Sun, 00 Jan 0000 00:00:00 GMT", 0, length, at: 0)
        // 1970-01-01 was a Thursday.
        copy(DateCursor.dayNames, Int(modulo(days &+ 4, 7)) &* 3, 3, at: 0)
        digits(Int64(date.day), 2, at: 5)
        copy(DateCursor.monthNames, (date.month &- 1) &* 3, 3, at: 8)
        digits(date.year, 4, at: 12)
        digits(time / 3600, 2, at: 17)
        digits(time / 60 % 60, 2, at: 20)
        digits(time % 60, 2, at: 23)
    }

    /// The date as bytes, for what is made once.
    public static func bytes(_ seconds: Int64) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            write(seconds, into: UnsafeMutableRawBufferPointer(buffer))
            count = length
        }
    }

    /// The seconds from 0000-01-01 to 9999-12-31.
    private static func clamp(_ seconds: Int64) -> Int64 { min(max(seconds, -62_167_219_200), 253_402_300_799) }

    static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
        (value &- modulo(value, divisor)) / divisor
    }

    static func modulo(_ value: Int64, _ divisor: Int64) -> Int64 {
        let remainder = value % divisor
        return remainder < 0 ? remainder &+ divisor : remainder
    }
}
