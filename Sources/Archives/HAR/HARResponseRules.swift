import HTTPSemantics

/// What is made of a recorded response: HAR's own members become fields, and fields go that don't hold any more.
enum HARResponseRules {
    /// - Parameters:
    ///   - lines: the valid lines as recorded.
    ///   - start: the first bytes of the body, four where there are so many.
    ///   - isText: whether the body is a string that isn't base64, which is UTF-8 whatever it once was.
    static func fields(
        _ response: HARResponse, start: [UInt8], isText: Bool
    ) -> (fields: [RecordedField], codings: [String]) {
        var fields = response.fields.lines
        if !fields.contains(where: { $0.isNamed("content-type") }), isMediaType(response.content.mediaType) {
            fields.append(RecordedField(Array("Content-Type".utf8), response.content.mediaType))
        }
        if !response.fields.hasLocation, !response.redirect.isEmpty, isFieldValue(response.redirect) {
            fields.append(RecordedField(Array("Location".utf8), response.redirect))
        }
        if isText {
            for index in fields.indices where fields[index].isNamed("content-type") {
                fields[index].value = utf8(fields[index].value)
            }
        }
        let codings = ContentDecoder.codings(of: fields)
        guard !codings.isEmpty else { return (fields, []) }
        // Of a part from within a coding can't be told, nor can it be undone.
        if begins(start, as: codings) || OutgoingFields.isFromWithin(response.status, response.fields.contentRange) {
            return (fields, codings)
        }
        fields.removeAll { $0.isNamed("content-encoding") || $0.isDigest }
        return (fields, [])
    }

    /// Whether a Content-Range says that the part is the whole (RFC 9110 §14.4).
    static func isWhole(_ contentRange: [UInt8]?) -> Bool {
        guard let contentRange else { return false }
        let parts = contentRange.split(separator: UInt8(ascii: "/"))
        guard parts.count == 2, let space = parts[0].firstIndex(of: 0x20),
            Array(parts[0][..<space]).withUnsafeBytes({ $0.equalsIgnoringCase("bytes") })
        else { return false }
        let range = parts[0][(space + 1)...].split(separator: UInt8(ascii: "-")).map { number($0) }
        guard range.count == 2, range[0] == 0, let last = range[1], let size = number(parts[1]) else { return false }
        return last < size && last + 1 == size
    }

    private static func number(_ text: ArraySlice<UInt8>) -> Int? {
        text.withUnsafeBytes { $0.trimmingOptionalWhitespace.decimalValue }
    }

    static func isFieldValue(_ bytes: [UInt8]) -> Bool { bytes.allSatisfy { $0.isMember(of: .fieldValue) } }

    /// Whether it is a media type, and not the `x-unknown` of some writers.
    private static func isMediaType(_ bytes: [UInt8]) -> Bool {
        guard isFieldValue(bytes) else { return false }
        let essence = bytes.prefix { $0 != UInt8(ascii: ";") }
        guard let slash = essence.firstIndex(of: UInt8(ascii: "/")) else { return false }
        let subtype = essence[(slash + 1)...]
        return essence[..<slash].withUnsafeBytes(\.isToken)
            && subtype.withUnsafeBytes { $0.trimmingOptionalWhitespace.isToken }
    }

    /// A Content-Type of a text that is UTF-8: another charset gives way, and types that take one get it.
    static func utf8(_ value: [UInt8]) -> [UInt8] {
        let charset = Array("charset=utf-8".utf8)
        let parts = split(value)
        var result: [UInt8] = []
        var isThere = false
        for (index, part) in parts.enumerated() {
            if index > 0 { result.append(UInt8(ascii: ";")) }
            guard index > 0, let name = parameterName(part), name.withUnsafeBytes({ $0.equalsIgnoringCase("charset") })
            else {
                result += part
                continue
            }
            isThere = true
            result += part.prefix { $0 == 0x20 || $0 == 0x09 }
            result += isUTF8(part) ? Array(part.drop { $0 == 0x20 || $0 == 0x09 }) : charset
        }
        if isThere { return result }
        let essence = parts.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        guard let type = MediaType(essence), type.takesCharset else { return value }
        while let last = result.last, last == UInt8(ascii: ";") || last == 0x20 || last == 0x09 { result.removeLast() }
        return result + [UInt8(ascii: ";"), 0x20] + charset
    }

    /// Whether the fields give a charset that is not UTF-8.
    static func hasOtherCharset(_ response: HARResponse) -> Bool {
        let field = response.fields.lines.first { $0.isNamed("content-type") }
        return split(field?.value ?? response.content.mediaType).dropFirst().contains { part in
            guard let name = parameterName(part) else { return false }
            return name.withUnsafeBytes { $0.equalsIgnoringCase("charset") } && !isUTF8(part)
        }
    }

    /// The parts between semicolons, those in quotes not counted.
    private static func split(_ value: [UInt8]) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var start = 0
        var isQuoted = false
        var isEscaped = false
        for (index, byte) in value.enumerated() {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\"), isQuoted {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if byte == UInt8(ascii: ";"), !isQuoted {
                parts.append(value[start..<index])
                start = index + 1
            }
        }
        parts.append(value[start...])
        return parts
    }

    private static func parameterName(_ part: ArraySlice<UInt8>) -> [UInt8]? {
        guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        return part[..<equals].withUnsafeBytes { Array($0.trimmingOptionalWhitespace) }
    }

    private static func isUTF8(_ part: ArraySlice<UInt8>) -> Bool {
        let value = part.drop { $0 != UInt8(ascii: "=") }.dropFirst()
        let text = value.withUnsafeBytes { $0.trimmingOptionalWhitespace.filter { $0 != UInt8(ascii: "\"") } }
        return text.withUnsafeBytes { $0.equalsIgnoringCase("utf-8") || $0.equalsIgnoringCase("utf8") }
    }

    /// Whether a body begins as the coding does that was applied last; of those that can be told.
    private static func begins(_ start: [UInt8], as codings: [String]) -> Bool {
        switch codings.last {
        case "gzip", "x-gzip": start.starts(with: [0x1F, 0x8B])
        case "zstd": start.starts(with: [0x28, 0xB5, 0x2F, 0xFD])
        default: false
        }
    }
}
