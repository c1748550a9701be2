import Diagnostics
import YAML

extension [UInt8] {
    init(_ text: String) { self = Array(text.utf8) }
}

/// The events of a source in one line: brackets for collections, `'text'` for scalars, `---` and `...` for documents.
func events(_ bytes: [UInt8], limits: YAMLLimits = .init()) throws -> String {
    let parser = YAMLEventParser(bytes, limits: limits)
    var words: [String] = []
    while true {
        switch try parser.next() {
        case .documentStart: words.append("---")
        case .documentEnd: words.append("...")
        case .mappingStart: words.append("{")
        case .mappingEnd: words.append("}")
        case .sequenceStart: words.append("[")
        case .sequenceEnd: words.append("]")
        case .scalar(let scalar): words.append("'\(scalar.string)'")
        case .streamEnd: return words.joined(separator: " ")
        }
    }
}

func events(_ text: String) throws -> String { try events(Array(text.utf8)) }

/// The scalars of a source in its order.
func scalars(_ text: String) throws -> [YAMLScalar] {
    let parser = YAMLEventParser([UInt8](text))
    var scalars: [YAMLScalar] = []
    while true {
        switch try parser.next() {
        case .scalar(let scalar): scalars.append(scalar)
        case .streamEnd: return scalars
        default: continue
        }
    }
}

/// The error that reading a source to its end gives; nil if there is none.
func failure(_ bytes: [UInt8], limits: YAMLLimits = .init()) -> YAMLError? {
    let parser = YAMLEventParser(bytes, limits: limits)
    do throws(YAMLError) {
        while true {
            if case .streamEnd = try parser.next() { return nil }
        }
    } catch {
        return error
    }
}

func failure(_ text: String) -> YAMLError? { failure([UInt8](text)) }

/// The part of the source that a span covers.
func text(of span: TextSpan, in source: [UInt8]) -> String {
    String(decoding: source[span.start.offset..<span.end.offset], as: UTF8.self)
}
