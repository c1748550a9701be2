import Basics
import HTTPSemantics

/// The names of parameters and members whose values are taken out.
struct RedactedNames: Sendable {
    private let names: Set<[UInt8]>
    /// The length of the longest one.
    private let longest: Int

    /// - Parameter names: in lower case.
    init(_ names: Set<[UInt8]>) {
        self.names = names
        longest = names.lazy.map(\.count).max() ?? 0
    }

    var isEmpty: Bool { names.isEmpty }

    /// Whether a name is one of them, whatever its case. Of `user[password][0]` it may be what stands in any of the
    /// brackets, or before one, as all that a member of JSON has in it is taken out; of `Input.Password` what stands
    /// behind the last point.
    func contains(_ name: some Collection<UInt8>) -> Bool {
        guard name.count <= 1024 else { return false }
        let name = RedactedNames.folded(name)
        if name.count <= longest, names.contains(name) { return true }
        // Most have nothing to be read in another way.
        guard name.last == UInt8(ascii: "]") || name.contains(UInt8(ascii: ".")) else { return false }
        return RedactedNames.readings(of: name, upTo: longest).contains { names.contains(Array($0)) }
    }

    /// A name in lower case, as Unicode has it.
    static func folded(_ name: some Collection<UInt8>) -> [UInt8] {
        guard name.contains(where: { $0 >= 0x80 }) else { return name.map(\.asciiLowercased) }
        return Array(String(decoding: name, as: UTF8.self).lowercased().utf8)
    }

    /// What a name may stand for, of so many bytes at most.
    /// All together have no more bytes than the name, and some for each bracket in it.
    static func readings(of name: [UInt8], upTo longest: Int) -> [ArraySlice<UInt8>] {
        var readings: [ArraySlice<UInt8>] = []
        func add(_ reading: ArraySlice<UInt8>) {
            if !reading.isEmpty, reading.count <= longest { readings.append(reading) }
            // What stands behind the last point.
            if let point = reading.suffix(longest + 1).lastIndex(of: UInt8(ascii: ".")), point + 1 < reading.endIndex {
                readings.append(reading[(point + 1)...])
            }
        }
        var rest = name[...]
        add(rest)
        while rest.last == UInt8(ascii: "]"), let start = rest.lastIndex(of: UInt8(ascii: "[")) {
            add(rest[(start + 1)...].dropLast())
            rest = rest[..<start]
            // Else each of many brackets would be looked at with all that stands before it.
            if rest.count <= longest || rest.last != UInt8(ascii: "]") { add(rest) }
        }
        return readings
    }

    /// Whether one of them stands anywhere in a text.
    func occur(in text: some Collection<UInt8>) -> Bool {
        let text = RedactedNames.folded(text)
        return names.contains { !RedactedNames.places(of: $0, in: text[...]).isEmpty }
    }

    // MARK: Forms

    /// Where pairs and their values end.
    enum Pairs {
        /// Those of a URL: before `&`.
        case query
        /// Those of a form: before `&`.
        case form
        /// Those of a text that may be a form (HTML, `enctype=text/plain`): before `&`, or where a line ends.
        case text
    }

    /// Pairs of a query or a form (WHATWG URL §5.1); all but the values stays as it is written.
    func redactedPairs(_ text: ArraySlice<UInt8>, _ kind: Pairs = .query) -> [UInt8] {
        guard !isEmpty else { return Array(text) }
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var rest = text
        while true {
            let end = rest.firstIndex { byte in
                byte == UInt8(ascii: "&") || (kind == .text && (byte == 0x0A || byte == 0x0D))
            }
            let pair = rest[..<(end ?? rest.endIndex)]
            let equals = pair.firstIndex(of: UInt8(ascii: "="))
            if let equals, isTakenOut(pair[..<equals], pair[(equals + 1)...]) {
                result += pair[...equals] + Redaction.mark
            } else if isEncodedJSON(pair[..<(equals ?? pair.endIndex)], kind) {
                result += Redaction.mark
            } else {
                result += pair
            }
            guard let end else { return result }
            result.append(rest[end])
            rest = rest[(end + 1)...]
        }
    }

    /// Whether a pair has one of these names, or its value has: as a member of JSON, or in a URL or a form.
    private func isTakenOut(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> Bool {
        contains(RedactedNames.pairName(name)) || hasNames(value)
    }

    /// Whether a value has one of these names, however often it is encoded.
    private func hasNames(_ value: ArraySlice<UInt8>) -> Bool {
        var text = value
        for _ in 0..<RedactedNames.mostEncodings {
            let isEncoded = RedactedNames.isEncoded(text)
            let decoded = RedactedNames.decoded(text)
            // In what has been searched as a text, what was taken out is no reason to take out what stands around it.
            if JSONRedaction.hasMembers(decoded, self, countsMarks: ResponseText.begins(decoded)) || hasPairs(decoded) {
                return true
            }
            text = decoded[...]
            guard isEncoded else { return false }
        }
        return false
    }

    /// Whether a value is a URL or a form that has a parameter with one of these names, but for the first of a form:
    /// one pair alone may be a text.
    private func hasPairs(_ text: [UInt8]) -> Bool {
        var start: Int?
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "#"), UInt8(ascii: ";"), 0x0A, 0x0D:
                start = index + 1
            case UInt8(ascii: "="):
                if let start, contains(RedactedNames.pairName(text[start..<index])) { return true }
                start = nil
            default: break
            }
        }
        return false
    }

    /// Whether what stands in the place of a name has one of these as a member of JSON, which wasn't taken out of a
    /// body since it is encoded.
    private func isEncodedJSON(_ name: ArraySlice<UInt8>, _ kind: Pairs) -> Bool {
        (kind == .query || RedactedNames.isEncoded(name))
            && JSONRedaction.hasMembers(RedactedNames.decoded(name), self, countsMarks: kind == .query)
    }

    /// A value is decoded so often.
    private static let mostEncodings = 4

    private static func isEncoded(_ text: ArraySlice<UInt8>) -> Bool {
        text.contains(UInt8(ascii: "%")) || text.contains(UInt8(ascii: "+"))
    }

    /// The name of a pair: of the first one of a query or a form what stands behind all that stands before that.
    private static func pairName(_ name: ArraySlice<UInt8>) -> [UInt8] {
        let start = name.lastIndex { "?#;\n\r".utf8.contains($0) }.map { $0 + 1 } ?? name.startIndex
        return decoded(name[start...]).trimming { $0 == 0x20 || $0 == 0x09 }
    }

    static func decoded(_ name: ArraySlice<UInt8>) -> [UInt8] {
        guard isEncoded(name) else { return Array(name) }
        var decoded: [UInt8] = []
        var index = name.startIndex
        while index < name.endIndex {
            if name[index] == UInt8(ascii: "%"), name.endIndex - index > 2, let high = name[index + 1].hexValue,
                let low = name[index + 2].hexValue
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(name[index] == UInt8(ascii: "+") ? 0x20 : name[index])
                index += 1
            }
        }
        return decoded
    }

    // MARK: URLs

    /// A text without the values of these parameters in the URLs that it has; each ends as a URL in a text does.
    func redactedURLs(_ text: [UInt8]) -> [UInt8] {
        guard !isEmpty else { return text }
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            result.append(text[index])
            index += 1
            guard "?&#".utf8.contains(text[index - 1]) else { continue }
            let end = RedactedNames.parameterEnd(text, from: index)
            guard let equals = text[index..<end].firstIndex(of: UInt8(ascii: "=")),
                isTakenOut(text[index..<equals], text[(equals + 1)..<end])
            else { continue }
            result += text[index...equals] + Redaction.mark
            index = end
        }
        return result
    }

    private static func parameterEnd(_ text: [UInt8], from start: Int) -> Int {
        text[start...].indices.first { index in
            let byte = text[index]
            if byte <= 0x20 || "&#?<>\"'".utf8.contains(byte) { return true }
            guard byte == UInt8(ascii: ",") || byte == UInt8(ascii: ";") else { return false }
            return index + 1 == text.count || text[index + 1] <= 0x20
        } ?? text.count
    }

    // MARK: Bodies

    /// In so many parts of parts names are looked for.
    static let deepest = 8

    /// A body without the values of these names, whatever it is: a form, a multipart form, or JSON is told by its bytes
    /// as well as by its label.
    ///
    /// - Parameters:
    ///   - type: the value of Content-Type; empty for none.
    ///   - depth: in how many parts it is.
    func redactedBody(_ body: [UInt8], type: [UInt8], depth: Int = 0) -> [UInt8] {
        guard !isEmpty else { return body }
        let media = type.withUnsafeBytes { MediaType($0) }
        let essence = media.map { Array($0.essence) } ?? []
        if depth < RedactedNames.deepest {
            // What begins as a part does has a boundary, whatever is said.
            let said = essence.starts(with: "multipart/".utf8) ? media?.parameter("boundary") : nil
            for boundary in [said, RedactedNames.boundary(body)].compactMap(\.self) {
                if let parts = redactedParts(body, boundary, depth) { return parts }
            }
        }
        let text = JSONRedaction.redacted(body, self) ?? body
        let isForm = essence.elementsEqual("application/x-www-form-urlencoded".utf8)
        // What is said to be a form may be read as one, JSON or not.
        return JSONRedaction.isJSON(text) && !isForm ? text : redactedPairs(text[...], isForm ? .form : .text)
    }
}

extension [UInt8] {
    /// Without what is trimmed at both ends.
    func trimming(_ isTrimmed: (UInt8) -> Bool) -> [UInt8] {
        var text = self[...].drop(while: isTrimmed)
        while let last = text.last, isTrimmed(last) { text.removeLast() }
        return Array(text)
    }
}
