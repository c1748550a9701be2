import Basics
import Diagnostics

extension YAMLNode {
    /// The value as JSON text (RFC 8259), without blanks, members in the order of the source.
    ///
    /// Plain scalars are read by the core schema (see ``YAMLScalar/value``). A number is written as in the source where
    /// that is JSON, else in JSON's form: `0x10` as `16`, `+1` as `1`, `.5` as `0.5`.
    ///
    /// - Throws: What JSON can't express or can't express without doubt: `.inf` and `.nan`, a `0x` or `0o` number of
    ///   more than 64 bits, a key that is a collection, a key that comes twice.
    public func jsonBytes() throws(YAMLError) -> [UInt8] {
        var json: [UInt8] = []
        try appendJSON(to: &json)
        return json
    }

    private func appendJSON(to json: inout [UInt8]) throws(YAMLError) {
        switch self {
        case .scalar(let scalar):
            try scalar.appendJSON(to: &json)
        case .sequence(let elements, _):
            json.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { json.append(UInt8(ascii: ",")) }
                try element.appendJSON(to: &json)
            }
            json.append(UInt8(ascii: "]"))
        case .mapping(let entries, _):
            if let (first, repeated) = duplicateKeys().first {
                throw YAMLError(
                    "the key \(repeated) comes twice; it is on line \(first.span.start.line) already",
                    at: repeated.span)
            }
            json.append(UInt8(ascii: "{"))
            for (index, entry) in entries.enumerated() {
                guard let key = entry.key.scalar else {
                    throw YAMLError("a key in JSON is text, not \(entry.key.kind)", at: entry.key.span)
                }
                if index > 0 { json.append(UInt8(ascii: ",")) }
                JSONText.append(string: key.bytes, to: &json)
                json.append(UInt8(ascii: ":"))
                try entry.value.appendJSON(to: &json)
            }
            json.append(UInt8(ascii: "}"))
        }
    }
}

extension YAMLScalar {
    fileprivate func appendJSON(to json: inout [UInt8]) throws(YAMLError) {
        if isNull {
            json += "null".utf8
        } else if let boolean = boolValue {
            json += (boolean ? "true" : "false").utf8
        } else if let number {
            try append(number, to: &json)
        } else {
            JSONText.append(string: bytes, to: &json)
        }
    }

    private func append(_ number: NumberForm, to json: inout [UInt8]) throws(YAMLError) {
        switch number {
        case .decimal(let decimal):
            json += decimal.json
        case .prefixed(let radix, let digits):
            guard let value = UInt64(String(decoding: digits, as: UTF8.self), radix: radix) else {
                throw YAMLError("this number has more than 64 bits; write it as a decimal number", at: span)
            }
            json += String(value).utf8
        case .infinity, .notANumber:
            throw YAMLError("JSON has no number \(self); use null, or put it in quotes", at: span)
        }
    }
}
