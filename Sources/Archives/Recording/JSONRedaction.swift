/// Finds members of JSON by their names, at any depth.
enum JSONRedaction {
    /// The text with `"REDACTED"` for the values of members of these names, but for null; all else stays as it is written.
    ///
    /// - Returns: nil where nothing is to be changed, JSON or not.
    static func redacted(_ text: [UInt8], _ names: RedactedNames) -> [UInt8]? {
        let places = places(text, names)
        guard !places.isEmpty else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var copied = 0
        for place in places {
            result += text[copied..<place.lowerBound] + Array("\"REDACTED\"".utf8)
            copied = place.upperBound
        }
        return result + text[copied...]
    }

    /// Whether a text is JSON to its end, and has members or elements.
    static func isJSON(_ text: [UInt8]) -> Bool {
        let first = text.first { $0 > 0x20 && $0 != 0xEF && $0 != 0xBB && $0 != 0xBF }
        guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return false }
        var scanner = JSONScanner(ArchiveBytes(text), room: text.count)
        do throws(JSONError) {
            try scanner.beginning()
            while try !scanner.isAtEnd() { try scanner.skipValue() }
            return true
        } catch {
            return false
        }
    }

    /// Where the values of members of these names stand, in their order. Several values may stand one after the other, as
    /// in JSON lines. Of a text that is JSON only as far as it goes, what stands behind the name it ends in counts too;
    /// where it is none any more, or none from the beginning, or nests too deep, names in quotes are looked for.
    ///
    /// - Parameter depth: in how many texts of JSON it is.
    static func places(_ text: [UInt8], _ names: RedactedNames, depth: Int = 0) -> [Range<Int>] {
        guard !names.isEmpty else { return [] }
        let first = text.first { $0 > 0x20 && $0 != 0xEF && $0 != 0xBB && $0 != 0xBF }
        guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return loosePlaces(text, names, from: 0) }
        var walk = Walk(names: names, depth: depth)
        var scanner = JSONScanner(ArchiveBytes(text), room: text.count)
        do throws(JSONError) {
            try scanner.beginning()
            while try !scanner.isAtEnd() { try walk.value(&scanner, text) }
        } catch {
            if let start = walk.open {
                walk.places.append(start..<text.count)
            } else {
                walk.places += loosePlaces(text, names, from: walk.places.last?.upperBound ?? 0)
            }
        }
        return walk.places
    }

    /// Where the values stand behind names in quotes, by these and the colon alone; linear in the text.
    private static func loosePlaces(_ text: [UInt8], _ names: RedactedNames, from start: Int) -> [Range<Int>] {
        var places: [Range<Int>] = []
        var index = start
        while let open = text[index...].firstIndex(of: quote), let close = text[(open + 1)...].firstIndex(of: quote) {
            // What ends a text here may begin one, where quotes don't come in pairs.
            index = close
            guard close - open <= 1024, let value = valueStart(text, behind: close),
                names.contains(text[(open + 1)..<close])
            else { continue }
            let end = looseEnd(text, from: value)
            if !text[value..<end].elementsEqual("null".utf8) { places.append(value..<end) }
            index = end
        }
        return places
    }

    private static let quote = UInt8(ascii: "\"")

    /// Where the value of a member begins whose name ends in a quote; nil where no colon is behind it.
    private static func valueStart(_ text: [UInt8], behind close: Int) -> Int? {
        guard let colon = text[(close + 1)...].firstIndex(where: { $0 > 0x20 }), text[colon] == UInt8(ascii: ":") else {
            return nil
        }
        return text[(colon + 1)...].firstIndex { $0 > 0x20 }
    }

    /// Where a value ends: a text behind its quote, anything with members at the end of all, else before what divides.
    private static func looseEnd(_ text: [UInt8], from start: Int) -> Int {
        let first = text[start]
        guard first != UInt8(ascii: "{"), first != UInt8(ascii: "[") else { return text.count }
        guard first == quote || first == UInt8(ascii: "'") else {
            return text[start...].firstIndex { $0 <= 0x20 || ",}]".utf8.contains($0) } ?? text.count
        }
        var index = start + 1
        while index < text.count, text[index] != first { index += text[index] == UInt8(ascii: "\\") ? 2 : 1 }
        return min(index + 1, text.count)
    }

    private struct Walk {
        /// In so many texts JSON is looked for.
        static let deepest = 4

        let names: RedactedNames
        /// In how many texts of JSON this one is.
        let depth: Int
        var places: [Range<Int>] = []
        /// Where the value begins that is being passed over.
        var open: Int?

        init(names: RedactedNames, depth: Int) { (self.names, self.depth) = (names, depth) }

        // The scanner refuses what nests deeper than its limit.
        mutating func value(_ scanner: inout JSONScanner, _ text: [UInt8]) throws(JSONError) {
            if try scanner.enterObject() {
                while let name = try scanner.nextMember() {
                    if names.contains(name), !scanner.isCut {
                        try pass(&scanner, text)
                    } else {
                        try value(&scanner, text)
                    }
                }
            } else if try scanner.enterArray() {
                while try scanner.nextElement() { try value(&scanner, text) }
            } else if depth < Walk.deepest, try scanner.significant() == quote {
                try string(&scanner, text)
            } else {
                try scanner.skipValue()
            }
        }

        /// Takes a text out that is JSON itself and has such members, as of a request that is packed into another.
        private mutating func string(_ scanner: inout JSONScanner, _ text: [UInt8]) throws(JSONError) {
            let start = scanner.offset
            guard start + 1 < text.count, "{[\\ ".utf8.contains(text[start + 1]) else { return try scanner.skipValue() }
            guard let decoded = try scanner.string().map({ Array($0) }) else { return }
            let first = decoded.first { $0 > 0x20 }
            guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return }
            if !JSONRedaction.places(decoded, names, depth: depth + 1).isEmpty { places.append(start..<scanner.offset) }
        }

        private mutating func pass(_ scanner: inout JSONScanner, _ text: [UInt8]) throws(JSONError) {
            _ = try scanner.significant()
            let start = scanner.offset
            open = start
            try scanner.skipValue()
            open = nil
            guard !text[start..<scanner.offset].elementsEqual("null".utf8) else { return }
            places.append(start..<scanner.offset)
        }
    }
}
