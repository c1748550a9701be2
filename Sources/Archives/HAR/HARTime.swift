import HTTPSemantics

/// Times as HAR has them: ISO 8601, such as `2026-11-23T04:05:06.789+01:00`.
enum HARTime {
    /// Unix milliseconds; nil for what is no such time, and for 1970 and before, which stand for none.
    ///
    /// Without a zone it is UTC. Digits behind milliseconds are dropped.
    static func milliseconds(_ text: UnsafeRawBufferPointer) -> Int64? {
        var cursor = Cursor(text: text)
        guard let year = cursor.number(4), year > 1970 else { return nil }
        cursor.pass(UInt8(ascii: "-"))
        guard let month = cursor.number(2), (1...12).contains(month) else { return nil }
        cursor.pass(UInt8(ascii: "-"))
        guard let day = cursor.number(2), (1...daysInMonth(year, month)).contains(day) else { return nil }
        guard cursor.pass(UInt8(ascii: "T")) || cursor.pass(UInt8(ascii: "t")) || cursor.pass(0x20) else { return nil }
        guard let hour = cursor.number(2), hour < 24 else { return nil }
        cursor.pass(UInt8(ascii: ":"))
        guard let minute = cursor.number(2), minute < 60 else { return nil }
        cursor.pass(UInt8(ascii: ":"))
        let second = cursor.number(2) ?? 0
        guard second <= 60 else { return nil }
        let fraction = cursor.milliseconds()
        let zone = cursor.zone()
        let minutes =
            (CivilDate(year: year, month: Int(month), day: Int(day)).daysSinceEpoch * 24 + hour) * 60 + minute - zone
        return (minutes * 60 + second) * 1000 + fraction
    }

    /// Such as `2026-11-23T03:05:06.789Z`; times before the year 0 or after 9999 are those years' first or last.
    static func text(_ milliseconds: Int64) -> [UInt8] {
        let time = min(max(milliseconds, -62_167_219_200_000), 253_402_300_799_999)
        let day = time >= 0 ? time / 86_400_000 : (time - 86_399_999) / 86_400_000
        let rest = time - day * 86_400_000
        let civil = CivilDate(daysSinceEpoch: day)
        let (year, month, date) = (civil.year, Int64(civil.month), Int64(civil.day))
        var text: [UInt8] = []
        func digits(_ value: Int64, _ count: Int) {
            var value = value
            var digits: [UInt8] = []
            for _ in 0..<count {
                digits.append(0x30 + UInt8(truncatingIfNeeded: value % 10))
                value /= 10
            }
            text += digits.reversed()
        }
        let parts: [(Int64, Int, UInt8)] = [
            (year, 4, UInt8(ascii: "-")), (month, 2, UInt8(ascii: "-")), (date, 2, UInt8(ascii: "T")),
            (rest / 3_600_000, 2, UInt8(ascii: ":")), (rest / 60_000 % 60, 2, UInt8(ascii: ":")),
            (rest / 1000 % 60, 2, UInt8(ascii: ".")), (rest % 1000, 3, UInt8(ascii: "Z")),
        ]
        for (value, count, separator) in parts {
            digits(value, count)
            text.append(separator)
        }
        return text
    }

    /// Whole milliseconds of a duration; nil for none: writers have -1 for what they don't know.
    static func duration(_ milliseconds: Double) -> Int64? {
        milliseconds >= 0 && milliseconds < 1e15 ? Int64(milliseconds.rounded()) : nil
    }

    private static func daysInMonth(_ year: Int64, _ month: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private struct Cursor {
        let text: UnsafeRawBufferPointer
        var index = 0

        @discardableResult
        mutating func pass(_ byte: UInt8) -> Bool {
            guard index < text.count, text[index] == byte else { return false }
            index += 1
            return true
        }

        mutating func digit() -> Int64? {
            guard index < text.count, (0x30...0x39).contains(text[index]) else { return nil }
            index += 1
            return Int64(text[index - 1] - 0x30)
        }

        mutating func number(_ digits: Int) -> Int64? {
            let start = index
            var value: Int64 = 0
            for _ in 0..<digits {
                guard let digit = digit() else {
                    index = start
                    return nil
                }
                value = value * 10 + digit
            }
            return value
        }

        /// A fraction of a second.
        mutating func milliseconds() -> Int64 {
            guard pass(UInt8(ascii: ".")) || pass(UInt8(ascii: ",")) else { return 0 }
            var value: Int64 = 0
            var weight: Int64 = 100
            while let digit = digit() {
                value += digit * weight
                weight /= 10
            }
            return value
        }

        /// The minutes that the zone is ahead of UTC.
        mutating func zone() -> Int64 {
            let sign: Int64
            if pass(UInt8(ascii: "+")) { sign = 1 } else if pass(UInt8(ascii: "-")) { sign = -1 } else { return 0 }
            guard let hours = number(2) else { return 0 }
            pass(UInt8(ascii: ":"))
            return sign * (hours * 60 + (number(2) ?? 0))
        }
    }
}
