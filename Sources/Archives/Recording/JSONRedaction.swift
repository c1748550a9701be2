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

    /// Where the values of members of these names stand, in their order. Of a text that is JSON only as far as it goes,
    /// what stands behind the name it ends in counts too. Several values may stand one after the other, as in JSON lines.
    static func places(_ text: [UInt8], _ names: RedactedNames) -> [Range<Int>] {
        guard !names.isEmpty else { return [] }
        let first = text.first { $0 > 0x20 && $0 != 0xEF && $0 != 0xBB && $0 != 0xBF }
        guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return [] }
        var walk = Walk(names: names)
        var scanner = JSONScanner(ArchiveBytes(text))
        do throws(JSONError) {
            try scanner.beginning()
            while try !scanner.isAtEnd() { try walk.value(&scanner, text) }
        } catch {
            if let start = walk.open { walk.places.append(start..<text.count) }
        }
        return walk.places
    }

    private struct Walk {
        let names: RedactedNames
        var places: [Range<Int>] = []
        /// Where the value begins that is being passed over.
        var open: Int?

        init(names: RedactedNames) { self.names = names }

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
            } else {
                try scanner.skipValue()
            }
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
