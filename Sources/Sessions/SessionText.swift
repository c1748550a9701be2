import Basics
import Glibc

extension SavedSession {
    /// The session as its file has it.
    public var yaml: [UInt8] {
        var text: [UInt8] = []
        if let saved { text += "saved: \(saved)\n".utf8 }
        text += "current: \(current)".utf8
        text += String(repeating: " ", count: max(1, 25 - String(current).count)).utf8
        text += "# from 0\nentries:\n".utf8
        for entry in entries {
            text += "  - { url: ".utf8
            SavedSession.append(quoted: entry.url, to: &text)
            text += ", title: ".utf8
            SavedSession.append(quoted: entry.title, to: &text)
            text += " }\n".utf8
        }
        return text
    }

    /// The same as JSON, on one line.
    public var json: [UInt8] {
        var text: [UInt8] = Array("{\"saved\":".utf8)
        if let saved { JSONText.append(string: saved.utf8, to: &text) } else { text += "null".utf8 }
        text += ",\"current\":\(current),\"entries\":[".utf8
        for (index, entry) in entries.enumerated() {
            text += (index == 0 ? "{\"url\":" : ",{\"url\":").utf8
            JSONText.append(string: entry.url.utf8, to: &text)
            text += ",\"title\":".utf8
            SavedSession.append(quoted: entry.title, to: &text)
            text.append(UInt8(ascii: "}"))
        }
        text += "]}".utf8
        return text
    }

    /// Appends a text in double quotes, with escapes that YAML and JSON have both: what is not printable (YAML 1.2
    /// §5.1), and what one reader or the other takes for a line's end.
    private static func append(quoted text: String, to yaml: inout [UInt8]) {
        yaml.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": yaml += [UInt8(ascii: "\\"), UInt8(truncatingIfNeeded: scalar.value)]
            case "\u{0}"..<" ", "\u{7F}"..."\u{A0}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\u{FEFF}",
                "\u{FFFE}"..."\u{FFFF}":
                let unit = UInt16(truncatingIfNeeded: scalar.value)
                yaml += "\\u".utf8
                yaml += withUnsafeBytes(of: unit.bigEndian) { Hexadecimal.text($0) }.utf8
            default: yaml += String(scalar).utf8
            }
        }
        yaml.append(UInt8(ascii: "\""))
    }

    /// A time as sessions have it: `2026-11-22T14:02:11Z`.
    public static func time(_ unixSeconds: Int64) -> String {
        var seconds = time_t(unixSeconds)
        var parts = tm()
        guard gmtime_r(&seconds, &parts) != nil else { return "1970-01-01T00:00:00Z" }
        func digits(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let date = "\(Int(parts.tm_year) + 1900)-\(digits(parts.tm_mon &+ 1))-\(digits(parts.tm_mday))"
        return "\(date)T\(digits(parts.tm_hour)):\(digits(parts.tm_min)):\(digits(parts.tm_sec))Z"
    }
}
