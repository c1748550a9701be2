/// Reads the dates of cookies, as Unix seconds (RFC 6265 §5.1.1).
public enum CookieDate {
    /// Reads a date as browsers do: time, day, month and year between any delimiters, whatever else stands there.
    ///
    /// Zones and names of days are passed over: all is UTC. Nil where a part is missing, and for a date that there is
    /// not, and one before 1601.
    public static func parse(_ text: [UInt8]) -> Int64? {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?
        for token in text.split(whereSeparator: isDelimiter) {
            if time == nil, let found = clock(token) {
                time = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = monthNumber(token) {
                month = found
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = found
            }
        }
        guard let ofDay = time, let dayOfMonth = day, let ofYear = month, var fullYear = year else { return nil }
        if fullYear < 70 {
            fullYear += 2000
        } else if fullYear < 100 {
            fullYear += 1900
        }
        let date = CivilDate(year: Int64(fullYear), month: ofYear, day: dayOfMonth)
        guard fullYear >= 1601, dayOfMonth >= 1, dayOfMonth <= date.daysInMonth, ofDay.hour < 24, ofDay.minute < 60,
            ofDay.second < 60
        else { return nil }
        return date.daysSinceEpoch * 86_400 + Int64(ofDay.hour * 3600 + ofDay.minute * 60 + ofDay.second)
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    /// The number that a token begins with, where it has so many digits.
    private static func number(_ token: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int? {
        let found = token.prefix(while: isDigit)
        guard digits.contains(found.count) else { return nil }
        return found.reduce(0) { $0 * 10 + Int($1 &- 0x30) }
    }

    /// `8:49:37`, and what is no digit behind it.
    private static func clock(_ token: ArraySlice<UInt8>) -> (hour: Int, minute: Int, second: Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].allSatisfy(isDigit), parts[1].allSatisfy(isDigit),
            let hour = number(parts[0], digits: 1...2), let minute = number(parts[1], digits: 1...2),
            let second = number(parts[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    /// 1 to 12, by the first three letters.
    private static func monthNumber(_ token: ArraySlice<UInt8>) -> Int? {
        months.firstIndex(of: token.prefix(3).map(\.asciiLowercased)).map { $0 + 1 }
    }

    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        .map { Array($0.utf8) }
}
