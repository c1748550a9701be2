import HTTPSemantics

/// Times as WARC has them: those of ISO 8601 that the W3C's note on dates allows, from a year alone to fractions of a
/// second (WARC 1.1 §5.4).
enum RecordTime {
    /// Unix milliseconds; nil for what is no time. A part that is missing is its first; without a zone it is UTC.
    static func milliseconds(_ text: ArraySlice<UInt8>) -> Int64? {
        var rest = text
        guard let year = number(&rest, 4) else { return nil }
        var parts: [Int64] = [1, 1, 0, 0, 0]
        let separators: [StaticString] = ["-", "-", "Tt ", ":", ":"]
        for index in parts.indices {
            guard pass(&rest, separators[index]) else { break }
            guard let part = number(&rest, 2) else { return nil }
            parts[index] = part
        }
        guard (1...12).contains(parts[0]), (1...31).contains(parts[1]), parts[2] < 24, parts[3] < 60, parts[4] <= 60
        else { return nil }
        let fraction = pass(&rest, ".,") ? milliseconds(fraction: &rest) : 0
        guard let zone = zone(&rest) else { return nil }
        let minutes =
            (CivilDate(year: year, month: Int(parts[0]), day: Int(parts[1])).daysSinceEpoch * 24 + parts[2]) * 60
            + parts[3] - zone
        return (minutes * 60 + parts[4]) * 1000 + fraction
    }

    private static func pass(_ text: inout ArraySlice<UInt8>, _ bytes: StaticString) -> Bool {
        guard let first = text.first, bytes.withUTF8Buffer({ $0.contains(first) }) else { return false }
        text = text.dropFirst()
        return true
    }

    private static func number(_ text: inout ArraySlice<UInt8>, _ digits: Int) -> Int64? {
        var value: Int64 = 0
        guard text.count >= digits else { return nil }
        for byte in text.prefix(digits) {
            guard (0x30...0x39).contains(byte) else { return nil }
            value = value * 10 + Int64(byte - 0x30)
        }
        text = text.dropFirst(digits)
        return value
    }

    private static func milliseconds(fraction text: inout ArraySlice<UInt8>) -> Int64 {
        var value: Int64 = 0
        var weight: Int64 = 100
        while let digit = number(&text, 1) {
            value += digit * weight
            weight /= 10
        }
        return value
    }

    /// The minutes that the zone is ahead of UTC; nil where something else follows.
    private static func zone(_ text: inout ArraySlice<UInt8>) -> Int64? {
        if text.isEmpty || pass(&text, "Zz") { return text.isEmpty ? 0 : nil }
        let isBehind = text.first == UInt8(ascii: "-")
        guard pass(&text, "+-"), let hours = number(&text, 2) else { return nil }
        _ = pass(&text, ":")
        let minutes = (number(&text, 2) ?? 0) + hours * 60
        return text.isEmpty ? (isBehind ? -minutes : minutes) : nil
    }

    /// Such as `2026-11-23T03:05:06.789Z`; times before the year 0 or after 9999 are those years' first or last.
    static func text(_ milliseconds: Int64) -> [UInt8] {
        let time = min(max(milliseconds, -62_167_219_200_000), 253_402_300_799_999)
        let day = time >= 0 ? time / 86_400_000 : (time - 86_399_999) / 86_400_000
        let rest = time - day * 86_400_000
        let date = CivilDate(daysSinceEpoch: day)
        var text: [UInt8] = []
        text.reserveCapacity(24)
        let parts: [(value: Int64, width: Int, behind: StaticString)] = [
            (date.year, 4, "-"), (Int64(date.month), 2, "-"), (Int64(date.day), 2, "T"), (rest / 3_600_000, 2, ":"),
            (rest / 60_000 % 60, 2, ":"), (rest / 1000 % 60, 2, "."), (rest % 1000, 3, "Z"),
        ]
        for part in parts {
            var divisor: Int64 = part.width == 4 ? 1000 : part.width == 3 ? 100 : 10
            while divisor > 0 {
                text.append(0x30 + UInt8(truncatingIfNeeded: part.value / divisor % 10))
                divisor /= 10
            }
            text.add(part.behind)
        }
        return text
    }
}
