import CYAML
import Diagnostics

/// An error of libyaml's own, and its sentence for a person.
///
/// libyaml describes what its scanner did ("while scanning a simple key: could not find expected ':'"); the sentences
/// here say what is wrong with the text and what may be done. Problems without one are passed on as libyaml words them.
struct SyntaxError {
    let problem: String
    let context: String
    /// Where libyaml stopped.
    let place: TextMark
    /// Where the construct began that libyaml was in, such as the opening quote.
    let beginning: TextMark
    /// Where the innermost collection begins.
    private let innermost: TextMark?
    private let source: [UInt8]

    init(_ parser: yaml_parser_t, _ source: [UInt8], _ cursor: inout CharacterCursor, innermost: TextMark?) {
        self.source = source
        self.innermost = innermost
        problem = parser.problem.map { String(cString: $0) } ?? ""
        context = parser.context.map { String(cString: $0) } ?? ""
        beginning = parser.context == nil ? .start : cursor.mark(parser.context_mark, in: source)
        let mark: TextMark
        switch parser.error {
        case YAML_SCANNER_ERROR, YAML_PARSER_ERROR: mark = cursor.mark(parser.problem_mark, in: source)
        default: mark = cursor.mark(parser.mark, in: source)
        }
        // At the end libyaml counts a line more, if the last one has no line break.
        place = mark.offset < source.count ? mark : TextMark(offset: source.count, in: source)
    }

    func translated() -> YAMLError {
        if let error = lexicalError() ?? quotationError() ?? propertyError() ?? structureError() { return error }
        if problem.isEmpty { return YAMLError("out of memory", at: TextSpan(at: place)) }
        return YAMLError(context.isEmpty ? problem : "\(problem) \(context)", at: character(place))
    }

    private func lexicalError() -> YAMLError? {
        switch problem {
        case "found a tab character that violates indentation",
            "found a tab character where an indentation space is expected":
            return tab(at: place)
        case "found character that cannot start any token":
            if byte(at: place) == UInt8(ascii: "\t") { return tab(at: place) }
            return YAMLError("a text can't begin with \(found); put it in quotes", at: character(place))
        case "mapping values are not allowed in this context":
            if place.column > Self.longestSimpleKey { return YAMLError(longKey, at: character(place)) }
            if let tab = tabInIndentation { return tab }
            return YAMLError(
                "a ':' is not expected here; if it belongs to a text, put that in quotes, else check the indentation,"
                    + " and that the key on the line before has a ': '",
                at: character(place))
        case "found unexpected ':'":
            return YAMLError("a ':' is not expected here; put the text in quotes", at: character(place))
        case "mapping keys are not allowed in this context":
            return YAMLError(
                "a '?' is not expected here; if it belongs to the text, put that in quotes", at: character(place))
        case "block sequence entries are not allowed in this context":
            return YAMLError(
                "a list entry is not expected here; begin it on a line of its own, and check the indentation",
                at: character(place))
        case "could not find expected ':'":
            let key = restOfLine(beginning)
            let isLong = key.end.column - key.start.column > Self.longestSimpleKey
            return YAMLError(isLong ? longKey : "no ': ' follows this key; it must stand on the same line", at: key)
        case "did not find expected comment or line break" where context.contains("block scalar"):
            return YAMLError("the text after '|' or '>' begins on the next line", at: character(place))
        case "found an indentation indicator equal to 0":
            return YAMLError("the number after '|' or '>' must be 1 to 9", at: character(place))
        default:
            return nil
        }
    }

    // YAML 1.2, 7.4.2; libyaml counts from the key's first character.
    private static let longestSimpleKey = 1024

    private var longKey: String {
        "a key of more than \(Self.longestSimpleKey) characters is written '? KEY' and, on the next line, ': VALUE'"
    }

    private func tab(at mark: TextMark) -> YAMLError {
        YAMLError("a tab is not allowed as indentation; use spaces", at: character(mark))
    }

    /// The error about a tab among the blanks that the place's line begins with, which libyaml took for folded text.
    private var tabInIndentation: YAMLError? {
        let isLineBreak = { (byte: UInt8) in byte == 0x0A || byte == 0x0D }
        let before = source[..<min(place.offset, source.count)]
        let line = before[(before.lastIndex(where: isLineBreak).map { $0 + 1 } ?? byteOrderMarkLength(source))...]
        let blanks = line.prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return blanks.firstIndex(of: UInt8(ascii: "\t")).map { tab(at: TextMark(offset: $0, in: source)) }
    }

    private func quotationError() -> YAMLError? {
        guard context.hasSuffix("a quoted scalar") else { return nil }
        let quote = byte(at: beginning) == UInt8(ascii: "'") ? "'" : "\""
        switch problem {
        case "found unexpected end of stream":
            return unclosed(quote)
        case "found unexpected document indicator":
            return YAMLError(
                "this quoted text does not end before the '\(documentIndicator)' on line \(place.line);"
                    + " add the closing \(quote)",
                at: character(beginning))
        case "found unknown escape character":
            guard let escaped = decodeUTF8(source, at: place.offset + 1) else { return unclosed(quote) }
            let text = visibleText(of: source[place.offset..<(place.offset + 1 + escaped.length)])
            return YAMLError(
                "'\(text)' is not an escape; write '\\\(text)', or use single quotes",
                at: TextSpan(start: place, end: place.advanced(columns: 2, bytes: 1 + escaped.length)))
        case "did not find expected hexdecimal number":
            return YAMLError("an escape \\x takes 2 hexadecimal digits, \\u 4, \\U 8", at: character(place))
        case "found invalid Unicode character escape code":
            return YAMLError(
                "this escape is not a character; surrogate pairs are not joined, so write \\U and 8 digits,"
                    + " or the character itself",
                at: character(place))
        default:
            return nil
        }
    }

    private func unclosed(_ quote: String) -> YAMLError {
        YAMLError("this quoted text does not end; add the closing \(quote)", at: character(beginning))
    }

    private func propertyError() -> YAMLError? {
        switch context {
        case "while scanning an alias":
            return Refusal.alias(source, TextSpan(at: beginning))
        case "while scanning an anchor", "while scanning a tag", "while parsing a tag", "while parsing a node":
            return Refusal.property(source, TextSpan(at: beginning))
        case "while scanning a %TAG directive", "while parsing a %TAG directive", "while scanning a tag directive",
            "while parsing a tag directive":
            return YAMLError("the directive %TAG is not accepted; remove it", at: restOfLine(beginning))
        case "while scanning a directive", "while scanning a %YAML directive":
            return YAMLError(
                "a line that begins with '%' is a YAML directive, and this one is not understood;"
                    + " remove it, or put the text in quotes",
                at: restOfLine(beginning))
        default:
            break
        }
        switch problem {
        case "found duplicate %YAML directive":
            return YAMLError("a second %YAML directive; remove it", at: restOfLine(place))
        case "found duplicate %TAG directive":
            return YAMLError("the directive %TAG is not accepted; remove it", at: restOfLine(place))
        case "found incompatible YAML document":
            return YAMLError("this version of YAML is not known; remove the directive", at: restOfLine(place))
        default:
            return nil
        }
    }

    private func structureError() -> YAMLError? {
        switch problem {
        case "did not find expected key":
            return YAMLError(
                "a key of the mapping that begins on line \(beginning.line) is expected here, not \(found);"
                    + " check the indentation and the quotes",
                at: character(place))
        case "did not find expected '-' indicator":
            return YAMLError(
                "a '-' of the list that begins on line \(beginning.line) is expected here, not \(found);"
                    + " check the indentation",
                at: character(place))
        case "did not find expected ',' or ']'":
            return unfinishedCollection(closing: "]")
        case "did not find expected ',' or '}'":
            return unfinishedCollection(closing: "}")
        case "did not find expected node content":
            if place.offset >= source.count, let innermost, let bracket = closingBracket(at: innermost) {
                return unclosed(bracket: bracket, at: innermost)
            }
            return YAMLError("a value is expected here, not \(found)", at: character(place))
        case "did not find expected <document start>":
            return YAMLError(
                "the document has ended before this; check the brackets and the indentation", at: character(place))
        default:
            return nil
        }
    }

    private func unfinishedCollection(closing bracket: String) -> YAMLError {
        guard place.offset < source.count else { return unclosed(bracket: bracket, at: beginning) }
        return YAMLError(
            "',' or '\(bracket)' is expected here, not \(found);"
                + " the bracket was opened on line \(beginning.line)",
            at: character(place))
    }

    private func unclosed(bracket: String, at mark: TextMark) -> YAMLError {
        YAMLError("this bracket is not closed; add the '\(bracket)'", at: character(mark))
    }

    private func closingBracket(at mark: TextMark) -> String? {
        switch byte(at: mark) {
        case UInt8(ascii: "["): return "]"
        case UInt8(ascii: "{"): return "}"
        default: return nil
        }
    }

    // MARK: - The source at a mark

    private func byte(at mark: TextMark) -> UInt8? {
        mark.offset < source.count ? source[mark.offset] : nil
    }

    /// What stands where libyaml stopped, in words.
    private var found: String {
        guard let byte = byte(at: place) else { return "the end of the file" }
        if byte == 0x0A || byte == 0x0D { return "the end of the line" }
        let length = decodeUTF8(source, at: place.offset)?.length ?? 1
        return "'\(visibleText(of: source[place.offset...].prefix(length)))'"
    }

    private var documentIndicator: String {
        byte(at: place) == UInt8(ascii: ".") ? "..." : "---"
    }

    /// The one character at a mark; an empty span at the end of a line.
    private func character(_ mark: TextMark) -> TextSpan {
        guard let byte = byte(at: mark), byte != 0x0A, byte != 0x0D else { return TextSpan(at: mark) }
        let length = decodeUTF8(source, at: mark.offset)?.length ?? 1
        return TextSpan(start: mark, end: mark.advanced(columns: 1, bytes: length))
    }

    /// From a mark to the end of its line, without blanks at the end.
    private func restOfLine(_ mark: TextMark) -> TextSpan {
        var rest = source[min(mark.offset, source.count)...].prefix { $0 != 0x0A && $0 != 0x0D }
        while let last = rest.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") { rest.removeLast() }
        let columns = rest.reduce(0) { $1 & 0xC0 == 0x80 ? $0 : $0 + 1 }
        return TextSpan(start: mark, end: mark.advanced(columns: columns, bytes: rest.count))
    }
}
