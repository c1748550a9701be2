import HTTPSemantics

/// Writes the same meaning in the many ways that messages have: case, spaces, empty members, lines, quotes, dates.
struct FieldSpelling {
    var random: ModelRandom

    /// A field name in some case.
    mutating func name(_ name: String) -> String {
        switch random.below(10) {
        case 0: name.uppercased()
        case 1: name.lowercased()
        default: name
        }
    }

    /// A directive, its name in some case and its argument quoted now and then.
    mutating func directive(_ name: String, _ argument: String? = nil) -> String {
        let spelled = self.name(name)
        guard let argument else { return spelled }
        let isQuotable = ModelText.isToken(argument) && random.chance(15)
        return isQuotable ? "\(spelled)=\"\(argument)\"" : "\(spelled)=\(argument)"
    }

    /// The members as one list field of one or several lines.
    mutating func list(_ name: String, _ members: [String]) -> [ModelField] {
        guard !members.isEmpty else { return [] }
        var lines: [ModelField] = []
        var value = ""
        for (index, member) in members.enumerated() {
            if index > 0 {
                if random.chance(15) {
                    lines.append(ModelField(self.name(name), value))
                    value = ""
                } else {
                    value += random.pick(weighted: [(6, ", "), (3, ","), (1, " ,\t"), (1, ",,"), (1, " , , ")])
                }
            } else if random.chance(3) {
                value += ","
            }
            value += member
        }
        if random.chance(3) { value += "," }
        lines.append(ModelField(self.name(name), value))
        return lines
    }

    /// A date in one of the three forms.
    mutating func date(_ seconds: Int64) -> String {
        let text = usualDate(seconds)
        let parts = text.split(separator: " ").map(String.init)
        let isNear = (2000...2060).contains(Int(parts[3]) ?? 0)
        switch random.below(12) {
        case 0: return "\(parts[0].dropLast()) \(parts[2]) \(FieldSpelling.spacedDay(parts[1])) \(parts[4]) \(parts[3])"
        case 1 where isNear:
            let day = ["Sun": "Sunday", "Mon": "Monday", "Tue": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday"]
            guard let long = day[String(parts[0].dropLast())] else { return text }
            return "\(long), \(parts[1])-\(parts[2])-\(parts[3].suffix(2)) \(parts[4]) GMT"
        case 2: return random.chance(50) ? text.lowercased() : text.uppercased()
        default: return text
        }
    }

    /// A date as it is to be written.
    func usualDate(_ seconds: Int64) -> String { String(decoding: HTTPDate.bytes(seconds), as: UTF8.self) }

    private static func spacedDay(_ day: String) -> String { day.hasPrefix("0") ? " \(day.dropFirst())" : day }

    /// A text that is no date.
    mutating func badDate() -> String {
        random.pick(["0", "-1", "", "yesterday", "Thu, 99 Foo 2020 00:00:00 GMT", "60"])
    }

    /// Seconds as an argument; now and then huge.
    mutating func seconds() -> String {
        random.pick(weighted: [
            (2, "0"), (2, "1"), (3, "5"), (4, "10"), (5, "60"), (4, "300"), (2, "3600"), (1, "007"), (1, "2147483648"),
            (1, "99999999999999999999"),
        ])
    }

    /// An argument that is no number of seconds.
    mutating func badSeconds() -> String { random.pick(["-1", "1e3", "60s", "1.5", "abc", "\"\"", "'60'", ""]) }
}
