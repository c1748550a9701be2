import Diagnostics

/// The errors about YAML that is well-formed and yet not accepted.
enum Refusal {
    /// Whether a byte begins an anchor or a tag where a node begins.
    static func isProperty(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "&") || byte == UInt8(ascii: "!")
    }

    /// An anchor or tag; `span` is the node's, which begins with it.
    static func property(_ source: [UInt8], _ span: TextSpan) -> YAMLError {
        let isTag = span.start.offset < source.count && source[span.start.offset] == UInt8(ascii: "!")
        return YAMLError(
            isTag
                ? "YAML tags are not accepted here; if the '!' belongs to the text, put it in quotes"
                : "YAML anchors are not accepted here; if the '&' belongs to the text, put it in quotes",
            at: wordSpan(source, from: span.start))
    }

    static func alias(_ source: [UInt8], _ span: TextSpan) -> YAMLError {
        YAMLError(
            "YAML aliases are not accepted here; if the '*' belongs to the text, put it in quotes",
            at: wordSpan(source, from: span.start))
    }

    static func mergeKey(_ span: TextSpan) -> YAMLError {
        YAMLError("the YAML merge key '<<' is not accepted here; write the keys out", at: span)
    }

    static func secondDocument(_ span: TextSpan) -> YAMLError {
        YAMLError("a second YAML document begins here; only one is accepted in a file", at: span)
    }

    static func deepNesting(limit: Int, _ span: TextSpan) -> YAMLError {
        YAMLError("nested too deeply; at most \(limit) levels are accepted", at: span)
    }

    static func longScalar(_ length: Int, limit: Int, _ span: TextSpan) -> YAMLError {
        YAMLError("this text has \(length) bytes; at most \(limit) are accepted", at: TextSpan(at: span.start))
    }

    /// A `%TAG` line between the start of the directives and the `---`.
    static func tagDirective(_ source: [UInt8], _ span: TextSpan) -> YAMLError {
        let message = "the directive %TAG is not accepted; remove it"
        let word = Array("%TAG".utf8)
        for offset in span.start.offset..<max(span.start.offset, min(span.end.offset, source.count)) {
            if source[offset...].starts(with: word) {
                let start = TextMark(offset: offset, in: source)
                return YAMLError(
                    message, at: TextSpan(start: start, end: start.advanced(columns: word.count, bytes: word.count)))
            }
        }
        return YAMLError(message, at: span)
    }

    /// From a mark up to the next blank, line break or bracket.
    static func wordSpan(_ source: [UInt8], from start: TextMark) -> TextSpan {
        let rest = source[min(start.offset, source.count)...]
        let word = rest.prefix { byte in
            switch byte {
            case 0x00...0x20, UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"),
                UInt8(ascii: "}"):
                return false
            default:
                return true
            }
        }
        let columns = word.reduce(0) { $1 & 0xC0 == 0x80 ? $0 : $0 + 1 }
        return TextSpan(start: start, end: start.advanced(columns: columns, bytes: word.count))
    }
}
