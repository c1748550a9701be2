import Basics
import HTTPSemantics

/// The names of parameters and members whose values are taken out.
struct RedactedNames: Sendable {
    private let names: Set<[UInt8]>

    /// - Parameter names: in lower case.
    init(_ names: Set<[UInt8]>) { self.names = names }

    var isEmpty: Bool { names.isEmpty }

    /// Whether a name is one of them, whatever its case; of `user[password]` it is what stands in the last brackets, of
    /// `token[]` and `token[0]` what stands before those that are empty or hold a number.
    func contains(_ name: some Collection<UInt8>) -> Bool {
        guard name.count <= 1024 else { return false }
        var name = name.map(\.asciiLowercased)
        if names.contains(name) { return true }
        while name.last == UInt8(ascii: "]"), let start = name.lastIndex(of: UInt8(ascii: "[")) {
            let inside = name[(start + 1)...].dropLast()
            if names.contains(Array(inside)) { return true }
            guard inside.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
            name.removeSubrange(start...)
            if names.contains(name) { return true }
        }
        return false
    }

    // MARK: Forms

    /// Where pairs and their values end.
    enum Pairs {
        /// Those of a URL: before `&`.
        case query
        /// Those of a form: a name may begin a line too, and its value ends before `&`.
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
            var end = rest.firstIndex { byte in
                byte == UInt8(ascii: "&") || (kind != .query && (byte == 0x0A || byte == 0x0D))
            }
            let pair = rest[..<(end ?? rest.endIndex)]
            if let equals = pair.firstIndex(of: UInt8(ascii: "=")), isTakenOut(pair[..<equals], pair[(equals + 1)...]) {
                result += pair[...equals] + Redaction.mark
                if kind == .form { end = rest[pair.endIndex...].firstIndex(of: UInt8(ascii: "&")) }
            } else {
                result += pair
            }
            guard let end else { return result }
            result.append(rest[end])
            rest = rest[(end + 1)...]
        }
    }

    /// Whether a pair's value is one of these names, or is JSON that has such.
    private func isTakenOut(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> Bool {
        let name = RedactedNames.decoded(name).trimming { $0 == 0x20 || $0 == 0x09 }
        if contains(name) { return true }
        let first = value.prefix(3).map(\.asciiLowercased)
        guard ["{", "[", "%7b", "%5b", "%22"].contains(where: { first.starts(with: $0.utf8) }) else { return false }
        return !JSONRedaction.places(RedactedNames.decoded(value), self).isEmpty
    }

    private static func decoded(_ name: ArraySlice<UInt8>) -> [UInt8] {
        guard name.contains(UInt8(ascii: "%")) || name.contains(UInt8(ascii: "+")) else { return Array(name) }
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

    /// A body without the values of these names, whatever it is.
    ///
    /// - Parameters:
    ///   - boundary: that of the parts, where one is said; what begins as a part does has one without.
    ///   - isForm: whether it is said to be a form.
    ///   - depth: in how many parts it is.
    func redactedBody(_ body: [UInt8], boundary: [UInt8]?, isForm: Bool, depth: Int = 0) -> [UInt8] {
        guard !isEmpty else { return body }
        if depth < 8, let parts = redactedParts(body, boundary ?? [], depth) { return parts }
        if depth < 8, let found = RedactedNames.boundary(body), let parts = redactedParts(body, found, depth) {
            return parts
        }
        let text = JSONRedaction.redacted(body, self) ?? body
        // What is said to be a form may be read as one, JSON or not.
        return JSONRedaction.isJSON(text) && !isForm ? text : redactedPairs(text[...], isForm ? .form : .text)
    }

    // MARK: Multipart

    /// The boundary of a body that begins as multipart does (RFC 2046 §5.1.1); nil for none.
    private static func boundary(_ body: [UInt8]) -> [UInt8]? {
        let text = body.drop { $0 == 0x0D || $0 == 0x0A }
        guard text.starts(with: "--".utf8) else { return nil }
        let lines = text.prefix(1024).split(maxSplits: 2) { $0 == 0x0D || $0 == 0x0A }
        guard lines.count > 1, lines[1].prefix(8).map(\.asciiLowercased).elementsEqual("content-".utf8) else {
            return nil
        }
        return Array(lines[0].dropFirst(2)).trimming { $0 == 0x20 || $0 == 0x09 }
    }

    /// The parts of a form (RFC 7578), those of these names with another content; nil where it has no such boundary.
    private func redactedParts(_ body: [UInt8], _ boundary: [UInt8], _ depth: Int) -> [UInt8]? {
        guard !boundary.isEmpty, boundary.count <= 256 else { return nil }
        let delimiter = Array("--".utf8) + boundary
        let places = RedactedNames.places(of: delimiter, in: body[...])
        guard !places.isEmpty else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(body.count)
        var part = 0
        for place in places {
            result += redactedPart(body[part..<place], depth)
            part = place
        }
        return result + redactedPart(body[part...], depth)
    }

    /// A part from its delimiter on: another content where it has one of these names, else as a body of its own.
    private func redactedPart(_ part: ArraySlice<UInt8>, _ depth: Int) -> [UInt8] {
        let breaks = ["\r\n\r\n", "\n\n"].compactMap { text in
            RedactedNames.places(of: Array(text.utf8), in: part).first.map { ($0, $0 + text.utf8.count) }
        }
        guard let (head, start) = breaks.min(by: { $0.0 < $1.0 }) else { return Array(part) }
        guard RedactedNames.names(part[..<head]).contains(where: { contains($0) }) else {
            return part[..<start]
                + redactedBody(Array(part[start...]), boundary: nil, isForm: false, depth: depth + 1)
        }
        let end = part[start...].suffix(2).elementsEqual([0x0D, 0x0A]) ? 2 : part[start...].last == 0x0A ? 1 : 0
        return Array(part[..<start]) + Redaction.mark + Array(part.suffix(end))
    }

    /// What a part's Content-Disposition says to be its name (RFC 7578 §4.2), in `name*` too, which may stand in several
    /// lines.
    private static func names(_ head: ArraySlice<UInt8>) -> [[UInt8]] {
        var line: [UInt8] = []
        for next in head.split(separator: 0x0A) {
            if let first = next.first, first == 0x20 || first == 0x09 {
                line += next
            } else if isDisposition(line) {
                break
            } else {
                line = Array(next)
            }
        }
        guard isDisposition(line) else { return [] }
        return parameters(line).compactMap { part in
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let name = part[..<equals].filter { $0 > 0x20 }.map(\.asciiLowercased)
            let value = part[(equals + 1)...].filter { $0 != UInt8(ascii: "\"") && $0 > 0x20 }
            if name.elementsEqual("name".utf8) { return value }
            guard name.elementsEqual("name*".utf8) else { return nil }
            return value.lastIndex(of: UInt8(ascii: "'")).map { decoded(value[($0 + 1)...]) }
        }
    }

    private static func isDisposition(_ line: [UInt8]) -> Bool {
        line.prefix(20).map(\.asciiLowercased).elementsEqual("content-disposition:".utf8)
    }

    /// What stands behind each semicolon that is in no quotes.
    private static func parameters(_ line: [UInt8]) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var (start, isQuoted, isEscaped) = (0, false, false)
        for (index, byte) in line.enumerated() {
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && !isEscaped && byte == UInt8(ascii: "\\")
            guard byte == UInt8(ascii: ";"), !isQuoted else { continue }
            parts.append(line[start..<index])
            start = index + 1
        }
        return Array((parts + [line[start...]]).dropFirst())
    }

    /// What stands before, between and behind the places of a text.
    static func pieces(of bytes: ArraySlice<UInt8>, around text: [UInt8]) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var start = bytes.startIndex
        for place in places(of: text, in: bytes) {
            pieces.append(bytes[start..<place])
            start = place + text.count
        }
        return pieces + [bytes[start...]]
    }

    /// Where a text stands, without overlaps.
    static func places(of text: [UInt8], in bytes: ArraySlice<UInt8>) -> [Int] {
        guard let first = text.first, bytes.count >= text.count else { return [] }
        var places: [Int] = []
        var index = bytes.startIndex
        let last = bytes.endIndex - text.count
        while index <= last {
            if bytes[index] == first, bytes[index..<index + text.count].elementsEqual(text) {
                places.append(index)
                index += text.count
            } else {
                index += 1
            }
        }
        return places
    }
}

extension [UInt8] {
    fileprivate func trimming(_ isTrimmed: (UInt8) -> Bool) -> [UInt8] {
        var text = self[...].drop(while: isTrimmed)
        while let last = text.last, isTrimmed(last) { text.removeLast() }
        return Array(text)
    }
}
