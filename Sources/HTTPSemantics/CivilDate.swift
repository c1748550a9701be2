/// A day of the proleptic Gregorian calendar, and its number counted from 1970-01-01.
///
/// Computed with years that begin in March, so that the leap day is a year's last.
public struct CivilDate {
    public var year: Int64
    /// From 1.
    public var month: Int
    /// From 1.
    public var day: Int

    public init(year: Int64, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    public init(daysSinceEpoch days: Int64) {
        let shifted = days &+ 719_468
        let era = HTTPDate.floorDivide(shifted, 146_097)
        let dayOfEra = shifted &- era &* 146_097
        let yearOfEra = (dayOfEra &- dayOfEra / 1460 &+ dayOfEra / 36524 &- dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra &- (365 &* yearOfEra &+ yearOfEra / 4 &- yearOfEra / 100)
        let marchMonth = (5 &* dayOfYear &+ 2) / 153
        day = Int(dayOfYear &- (153 &* marchMonth &+ 2) / 5 &+ 1)
        month = Int(marchMonth < 10 ? marchMonth &+ 3 : marchMonth &- 9)
        year = yearOfEra &+ era &* 400 &+ (month <= 2 ? 1 : 0)
    }

    public var daysSinceEpoch: Int64 {
        let marchYear = month <= 2 ? year &- 1 : year
        let era = HTTPDate.floorDivide(marchYear, 400)
        let yearOfEra = marchYear &- era &* 400
        let marchMonth = Int64(month > 2 ? month &- 3 : month &+ 9)
        let dayOfYear = (153 &* marchMonth &+ 2) / 5 &+ Int64(day) &- 1
        let dayOfEra = yearOfEra &* 365 &+ yearOfEra / 4 &- yearOfEra / 100 &+ dayOfYear
        return era &* 146_097 &+ dayOfEra &- 719_468
    }

    var isLeapYear: Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    var daysInMonth: Int {
        switch month {
        case 2: isLeapYear ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The same day some years later; 29 February becomes the 28th where there is none.
    func addingYears(_ years: Int64) -> CivilDate {
        var date = CivilDate(year: year &+ years, month: month, day: day)
        date.day = min(date.day, date.daysInMonth)
        return date
    }
}
