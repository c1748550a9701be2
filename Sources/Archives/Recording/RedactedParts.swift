import Basics
import HTTPSemantics

/// Multipart bodies (RFC 2046 §5.1), whose parts have names of their own.
extension RedactedNames {
    /// The boundary of a body that begins as multipart does (RFC 2046 §5.1.1); nil for none.
    static func boundary(_ body: [UInt8]) -> [UInt8]? {
        let text = body.drop { $0 == 0x0D || $0 == 0x0A }
        guard text.starts(with: "--".utf8) else { return nil }
        let lines = text.prefix(1024).split(maxSplits: 16) { $0 == 0x0D || $0 == 0x0A }
        let head = lines.dropFirst().prefix { $0.contains(UInt8(ascii: ":")) }
        guard head.contains(where: { $0.prefix(8).map(\.asciiLowercased).elementsEqual("content-".utf8) }) else {
            return nil
        }
        return Array(lines[0].dropFirst(2)).trimming { $0 == 0x20 || $0 == 0x09 }
    }

    /// The parts of a form (RFC 7578), those of these names with another content; nil where it has no such boundary.
    func redactedParts(_ body: [UInt8], _ boundary: [UInt8], _ depth: Int) -> [UInt8]? {
        guard !boundary.isEmpty else { return nil }
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
        // What stands before the first part, or behind the last one, has no head.
        let start = RedactedNames.headEnd(part) ?? part.startIndex
        let lines = RedactedNames.lines(part[..<start])
        // The line break before the next delimiter is no part of the content.
        let breakLength =
            part[start...].suffix(2).elementsEqual([0x0D, 0x0A]) ? 2 : part[start...].last == 0x0A ? 1 : 0
        let content = Array(part[start...].dropLast(breakLength))
        return part[..<start] + redactedContent(content, lines, depth) + part.suffix(breakLength)
    }

    private func redactedContent(_ content: [UInt8], _ lines: [[UInt8]], _ depth: Int) -> [UInt8] {
        let names = RedactedNames.names(lines)
        if names.contains(where: { contains($0) || contains(RedactedNames.decoded($0[...])) }) { return Redaction.mark }
        let type = RedactedNames.values("content-type", lines).first ?? []
        // Not everybody who reads a form decodes what is coded, so both are looked into.
        let decoded = RedactedNames.transferDecoded(content, lines)
        let depthDecoded = max(depth + 1, RedactedNames.deepest - 1)
        let hasNames = [decoded, Redaction.narrow(decoded ?? content)].compactMap(\.self).contains {
            redactedBody($0, type: type, depth: depthDecoded) != $0
        }
        if hasNames { return Redaction.mark }
        return redactedBody(content, type: type, depth: depth + 1)
    }

    /// A content without its transfer encoding; nil where it has none.
    private static func transferDecoded(_ content: [UInt8], _ lines: [[UInt8]]) -> [UInt8]? {
        var result: [UInt8] = []
        switch TransferEncoding(values("content-transfer-encoding", lines).first) {
        case .base64:
            var decoder = Base64Decoder()
            content.withUnsafeBytes { decoder.decode($0, into: &result) }
            decoder.finish(into: &result)
        case .quotedPrintable:
            var decoder = QuotedPrintableDecoder()
            content.withUnsafeBytes { decoder.decode($0, into: &result) }
            decoder.finish(into: &result)
        case .binary, nil: return nil
        }
        return result
    }

    /// Behind the first line that is empty; nil for none.
    private static func headEnd(_ part: ArraySlice<UInt8>) -> Int? {
        var isEmpty = false
        for index in part.indices {
            if part[index] == 0x0A {
                if isEmpty { return index + 1 }
                isEmpty = true
            } else if part[index] != 0x0D {
                isEmpty = false
            }
        }
        return nil
    }

    /// The lines of a head, each with those that continue it.
    private static func lines(_ head: ArraySlice<UInt8>) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for line in head.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            if let first = line.first, first == 0x20 || first == 0x09, let last = lines.indices.last {
                lines[last] += line
            } else {
                lines.append(Array(line))
            }
        }
        return lines
    }

    /// The values of the fields of a name, in lower case, before whose colon blanks may stand.
    private static func values(_ name: String, _ lines: [[UInt8]]) -> [[UInt8]] {
        lines.compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let found = Array(line[..<colon]).trimming { $0 <= 0x20 }
            guard found.map(\.asciiLowercased).elementsEqual(name.utf8) else { return nil }
            return Array(line[(colon + 1)...]).trimming { $0 <= 0x20 }
        }
    }

    /// What a part's Content-Disposition says to be its name (RFC 7578 §4.2), in `name*` and in pieces too (RFC 2231
    /// §3). A backslash in quotes may stand for itself, as browsers write it, or for what follows it: what is a name by
    /// either reading counts.
    private static func names(_ lines: [[UInt8]]) -> [[UInt8]] {
        values("content-disposition", lines).flatMap { value in
            [true, false].flatMap { names(parameters(value, hasEscapes: $0), hasEscapes: $0) }
        }
    }

    private static func names(_ parameters: [ArraySlice<UInt8>], hasEscapes: Bool) -> [[UInt8]] {
        // Of a quoted pair the backslash is no part (RFC 9110 §5.6.4).
        let marks = Array((hasEscapes ? "\"\\" : "\"").utf8)
        var names: [[UInt8]] = []
        var pieces: [UInt8] = []
        for parameter in parameters {
            guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = parameter[..<equals].filter { $0 > 0x20 }.map(\.asciiLowercased)
            let value = parameter[(equals + 1)...].filter { $0 > 0x20 && !marks.contains($0) }
            if name.elementsEqual("name".utf8) {
                names.append(value.trimming { $0 == UInt8(ascii: "'") })
            } else if name.starts(with: "name*".utf8) {
                pieces += value
            }
        }
        let charset = pieces.lastIndex(of: UInt8(ascii: "'"))
        return names + [decoded(pieces[(charset.map { $0 + 1 } ?? 0)...])]
    }

    /// What stands between semicolons that are in no quotes: the kind of the disposition, where it is said, and the
    /// parameters.
    ///
    /// - Parameter hasEscapes: whether a quote behind a backslash ends nothing.
    private static func parameters(_ line: [UInt8], hasEscapes: Bool) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var (start, isQuoted, isEscaped) = (0, false, false)
        for (index, byte) in line.enumerated() {
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            isEscaped = hasEscapes && isQuoted && !isEscaped && byte == UInt8(ascii: "\\")
            guard byte == UInt8(ascii: ";"), !isQuoted else { continue }
            parts.append(line[start..<index])
            start = index + 1
        }
        return parts + [line[start...]]
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

    /// Where a text stands, without overlaps. Linear, whatever is repeated in both (Knuth, Morris, Pratt).
    static func places(of text: [UInt8], in bytes: ArraySlice<UInt8>) -> [Int] {
        guard !text.isEmpty else { return [] }
        // Of each beginning of the text how much of its end is a beginning too.
        var beginnings = [0]
        for index in text.indices.dropFirst() {
            beginnings.append(matched(beginnings[index - 1], and: text[index], text, beginnings))
        }
        var places: [Int] = []
        var count = 0
        for index in bytes.indices {
            count = matched(count, and: bytes[index], text, beginnings)
            guard count == text.count else { continue }
            places.append(index + 1 - count)
            count = 0
        }
        return places
    }

    /// How much of a text's beginning stands before and with a byte.
    private static func matched(_ before: Int, and byte: UInt8, _ text: [UInt8], _ beginnings: [Int]) -> Int {
        var count = before
        while count > 0, text[count] != byte { count = beginnings[count - 1] }
        return text[count] == byte ? count + 1 : 0
    }
}
