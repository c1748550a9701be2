/// Reads the parts of an HTTP-date one after the other (RFC 9110 §5.6.7).
struct DateCursor {
    static let dayNames: StaticString = "SunMonTueWedThuFriSat"
    static let monthNames: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"

    private let bytes: UnsafeRawBufferPointer
    private var index = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { index == bytes.count }

    mutating func skip(_ literal: StaticString) -> Bool {
        let end = index &+ literal.utf8CodeUnitCount
        guard end <= bytes.count, UnsafeRawBufferPointer(rebasing: bytes[index..<end]).equals(literal) else {
            return false
        }
        index = end
        return true
    }

    /// Exactly that many digits.
    mutating func number(_ digits: Int) -> Int? {
        let end = index &+ digits
        guard end <= bytes.count, let value = UnsafeRawBufferPointer(rebasing: bytes[index..<end]).decimalValue else {
            return nil
        }
        index = end
        return value
    }

    mutating func dayName() -> Bool { name(in: DateCursor.dayNames) != nil }

    mutating func longDayName() -> Bool {
        skip("Sunday") || skip("Monday") || skip("Tuesday") || skip("Wednesday") || skip("Thursday") || skip("Friday")
            || skip("Saturday")
    }

    /// 1 to 12.
    mutating func month() -> Int? { name(in: DateCursor.monthNames).map { $0 &+ 1 } }

    /// `hour ":" minute ":" second` as the second of the day; 60 is allowed for a leap second.
    mutating func time() -> Int? {
        guard let hour = number(2), hour < 24, skip(":"), let minute = number(2), minute < 60, skip(":"),
            let second = number(2), second <= 60
        else { return nil }
        return hour &* 3600 &+ minute &* 60 &+ second
    }

    /// Which of the names of three letters stands here.
    private mutating func name(in names: StaticString) -> Int? {
        guard index &+ 3 <= bytes.count else { return nil }
        for start in stride(from: 0, to: names.utf8CodeUnitCount, by: 3)
        where bytes[index] == names.utf8Start[start] && bytes[index &+ 1] == names.utf8Start[start &+ 1]
            && bytes[index &+ 2] == names.utf8Start[start &+ 2]
        {
            index &+= 3
            return start / 3
        }
        return nil
    }
}
