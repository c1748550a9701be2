import Diagnostics
import JSON
import YAML

/// Reads JSON as a tree that knows its places, by their offsets: JSON's own reader is stricter than YAML's is about it,
/// and knows escapes that YAML 1.1 has not.
enum JSONTree {
    static func parse(_ bytes: [UInt8]) throws(SessionError) -> YAMLNode {
        do throws(JSONError) {
            var reader = try JSONReader(bytes, byteOrderMark: .skipped)
            let node = try node(&reader)
            try reader.end()
            return node
        } catch {
            throw SessionError(error.message, at: TextSpan(at: TextMark(line: 1, column: 1, offset: error.offset)))
        }
    }

    private static func node(_ reader: inout JSONReader) throws(JSONError) -> YAMLNode {
        let first = reader.peek()
        let start = reader.offset
        switch first {
        case UInt8(ascii: "{"):
            try reader.open()
            var entries: [YAMLNode.Entry] = []
            while let (name, place) = try reader.nextName(isFirst: entries.isEmpty) {
                let key = YAMLScalar(name, style: .doubleQuoted, span: span(place, place &+ 1))
                entries.append(YAMLNode.Entry(key: .scalar(key), value: try node(&reader)))
            }
            return .mapping(entries, span(start, reader.offset))
        case UInt8(ascii: "["):
            try reader.open()
            var elements: [YAMLNode] = []
            while try reader.nextElement(isFirst: elements.isEmpty) { elements.append(try node(&reader)) }
            return .sequence(elements, span(start, reader.offset))
        default:
            let value = try reader.value()
            let place = span(start, reader.offset)
            if case .string(let text) = value { return .scalar(YAMLScalar(text, style: .doubleQuoted, span: place)) }
            return .scalar(YAMLScalar(value.text, span: place))
        }
    }

    private static func span(_ start: Int, _ end: Int) -> TextSpan {
        TextSpan(
            start: TextMark(line: 1, column: 1, offset: start), end: TextMark(line: 1, column: 1, offset: end))
    }
}
