import HTTPSemantics

/// Cache directives for one kind of cache, as in CDN-Cache-Control (RFC 9213 §2).
///
/// The field is a Dictionary of structured fields: keys in lower case, of a key that is repeated the last value, and
/// one error makes the whole field count for nothing. Numbers are Integers, field names are in a String or Token;
/// `false` is as if the directive were not there; parameters are passed over.
enum TargetedField {
    /// The directives of the field of that name; nil where there is none, it is empty or it doesn't parse.
    static func directives(named name: [UInt8], in fields: FieldSection) -> ResponseDirectives? {
        var first: FieldSection.Line?
        var combined: [UInt8]?
        for line in fields.lines where Int(line.nameLength) == name.count {
            let isNamed = fields.withName(line) { received in
                received.elementsEqual(name) { $0.asciiLowercased == $1.asciiLowercased }
            }
            guard isNamed else { continue }
            guard let earlier = first else {
                first = line
                continue
            }
            if combined == nil { combined = fields.withValue(earlier) { Array($0) } }
            combined?.append(UInt8(ascii: ","))
            fields.withValue(line) { combined?.append(contentsOf: $0) }
        }
        guard let first else { return nil }
        guard let combined else { return fields.withValue(first) { directives(in: $0) } }
        return combined.withUnsafeBytes { directives(in: $0) }
    }

    /// The directives of a whole field value.
    static func directives(in value: UnsafeRawBufferPointer) -> ResponseDirectives? {
        var last = [DirectiveArgument?](repeating: nil, count: DirectiveName.allCases.count)
        var dictionary = StructuredDictionary(value)
        var isEmpty = true
        while true {
            switch dictionary.next() {
            case .member(let key, let value):
                isEmpty = false
                if let name = DirectiveName(key) { last[Int(name.rawValue)] = argument(value) }
            case .end:
                guard !isEmpty else { return nil }
                var directives = ResponseDirectives()
                directives.isTargeted = true
                for name in DirectiveName.allCases {
                    if let argument = last[Int(name.rawValue)] { directives.add(name, argument) }
                }
                return directives
            case .failure: return nil
            }
        }
    }

    /// nil for `false`.
    private static func argument(_ value: StructuredDictionary.Value) -> DirectiveArgument? {
        switch value {
        case .boolean(true): DirectiveArgument.none
        case .boolean(false): nil
        case .integer(let number): .integer(number)
        // A number in quotes is of the wrong type; a list of names can't be written otherwise.
        case .string(let text), .token(let text): text.first?.isMember(of: .digit) == true ? .malformed : .text(text)
        case .other: .malformed
        }
    }
}
