import Basics
import HTTPSemantics
import JSON

/// A request's body in the forms in which it may be equal to another one.
struct ComparedBody: Sendable {
    /// In the order in which they are tried.
    enum Kind: CaseIterable {
        case bytes, json, form, multipart, graphQL
    }

    let bytes: [UInt8]
    let json: JSONValue?
    let isTooLarge: Bool
    private let type: [UInt8]
    /// Whether it begins as JSON does, whatever follows.
    private let mayBeJSON: Bool
    /// The body cut at its boundary; nil where it is no multipart one.
    private let parts: [ArraySlice<UInt8>]?
    private let graphQL: GraphQL?

    /// Roughly the bytes that it takes.
    var cost: Int { bytes.count * (json == nil ? 1 : 8) + (parts?.count ?? 0) * 32 }

    /// - Parameters:
    ///   - type: the value of Content-Type.
    ///   - isTooLarge: whether it was, so that it is not here, and is not compared.
    init(_ bytes: [UInt8], type: [UInt8], isTooLarge: Bool = false) {
        self.bytes = bytes
        self.type = type
        self.isTooLarge = isTooLarge
        let first = bytes.first { $0 != 0x20 && !(0x09...0x0D).contains($0) }
        mayBeJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        json = mayBeJSON ? try? JSONReader.value(bytes) : nil
        parts = ComparedBody.parts(bytes, type)
        graphQL = ComparedBody.graphQL(json)
    }

    /// Whether a request's body equals this recorded one.
    func equals(_ asked: ComparedBody, as kind: Kind, _ rules: ParameterRules) -> Bool {
        guard !isTooLarge else { return false }
        return switch kind {
        case .bytes: bytes == asked.bytes || equalsBetweenMarks(asked)
        case .json:
            if let json, let other = asked.json { ComparedBody.equals(json, other) } else { false }
        case .form: asked.withPairs(rules) { equals(form: $0, rules) } ?? false
        case .multipart:
            if let mine = parts, let other = asked.parts {
                mine.count == other.count && zip(mine, other).allSatisfy(ComparedBody.equalParts)
            } else {
                false
            }
        case .graphQL:
            if let mine = graphQL, let other = asked.graphQL { mine == other } else { false }
        }
    }

    /// Whether a request's body is this recorded one but for what was taken out of it, which is something.
    ///
    /// JSON was written anew when that was done, so that its members are in any order.
    func equalsButForMarks(_ asked: ComparedBody, _ rules: ParameterRules) -> Bool {
        guard bytes.firstRange(of: ParameterRules.redactedValue) != nil else { return false }
        if equals(asked, as: .json, rules) || equals(asked, as: .multipart, rules) { return true }
        return asked.withPairs(rules) { form in withPairs(rules) { $0.step(of: form) == 1 } ?? false } ?? false
    }

    /// Whether a text in which something was taken out, and that is none of the kinds below, is the same but for that.
    /// What begins as JSON, or has no pair, is no form, though it may be labelled one.
    private func equalsBetweenMarks(_ asked: ComparedBody) -> Bool {
        // What was broken may be JSON without the value that was taken out.
        guard json == nil || asked.json == nil, parts == nil, !hasPairs, !asked.hasPairs,
            asked.bytes.count >= bytes.count / 2
        else { return false }
        let pieces = ComparedBody.piecesBetweenMarks(bytes)
        guard pieces.count > 1, let first = pieces.first, let last = pieces.last, asked.bytes.starts(with: first) else {
            return false
        }
        var rest = asked.bytes[...].dropFirst(first.count)
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let found = rest.firstRange(of: piece) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.count >= last.count && rest.suffix(last.count).elementsEqual(last)
    }

    /// What stands between marks, without their quotes: the value may have had others, or none. A text that is nothing
    /// but a mark in quotes has them, so that it equals texts alone.
    private static func piecesBetweenMarks(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var pieces = bytes.cut(at: ParameterRules.redactedValue)
        guard bytes.count > ParameterRules.redactedValue.count + 2 else { return pieces }
        let quote = UInt8(ascii: "\"")
        for index in pieces.indices.dropLast() where pieces[index].last == quote && pieces[index + 1].first == quote {
            pieces[index].removeLast()
            pieces[index + 1].removeFirst()
        }
        return pieces
    }

    // MARK: JSON

    /// Members in any order; `REDACTED` equals any value.
    private static func equals(_ recorded: JSONValue, _ asked: JSONValue) -> Bool {
        switch (recorded, asked) {
        case (.string(let text), _) where text == ParameterRules.redactedValue: true
        case (.object(let mine), .object(let theirs)):
            mine.members.count == theirs.members.count
                && mine.members.allSatisfy { member in
                    theirs[member.name].map { equals(member.value, $0) } ?? false
                }
        case (.array(let mine), .array(let theirs)):
            mine.count == theirs.count && zip(mine, theirs).allSatisfy { equals($0, $1) }
        default: recorded == asked
        }
    }

    // MARK: Forms

    private var isForm: Bool { type.lowercasedText.hasPrefix("application/x-www-form-urlencoded") }

    private var hasPairs: Bool { isForm && !mayBeJSON && bytes.contains(UInt8(ascii: "=")) }

    /// Takes a form apart as if it were the query of a URL; nil where it is none.
    func withPairs<Result>(_ rules: ParameterRules, _ body: (SplitQuery) -> Result) -> Result? {
        guard isForm else { return nil }
        let pairs = [UInt8(ascii: "?")] + ComparedBody.decodedPairs(bytes)
        return pairs.withUnsafeBytes { body(SplitQuery($0, pathEnd: 0, rules)) }
    }

    /// Whether a request's form, which was taken apart, equals this recorded one.
    func equals(form asked: SplitQuery, _ rules: ParameterRules) -> Bool {
        guard !isTooLarge else { return false }
        return withPairs(rules) { $0.step(of: asked) != nil } ?? false
    }

    /// A form with `+` and escapes decoded, but for what would divide it otherwise (URL standard §5.1).
    private static func decodedPairs(_ form: [UInt8]) -> [UInt8] {
        var pairs: [UInt8] = []
        pairs.reserveCapacity(form.count)
        var index = 0
        while index < form.count {
            var byte = form[index]
            index += 1
            if byte == UInt8(ascii: "+") {
                byte = 0x20
            } else if byte == UInt8(ascii: "%"), index + 1 < form.count, let high = form[index].hexValue,
                let low = form[index + 1].hexValue
            {
                index += 2
                byte = high << 4 | low
                if byte == UInt8(ascii: "&") || byte == UInt8(ascii: "=") || byte == UInt8(ascii: "%") {
                    // Letters of one case, since they are compared as bytes.
                    pairs += [UInt8(ascii: "%"), Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte & 15)]
                    continue
                }
            }
            pairs.append(byte)
        }
        return pairs
    }

    // MARK: Multipart

    private static func parts(_ bytes: [UInt8], _ type: [UInt8]) -> [ArraySlice<UInt8>]? {
        guard type.lowercasedText.hasPrefix("multipart/") else { return nil }
        guard let parameter = type.lowercasedText.range(of: "boundary=") else { return nil }
        var boundary = Array(type[parameter...].prefix { $0 != UInt8(ascii: ";") })
        while boundary.last == 0x20 { boundary.removeLast() }
        if boundary.first == UInt8(ascii: "\""), boundary.last == UInt8(ascii: "\""), boundary.count > 1 {
            boundary = Array(boundary.dropFirst().dropLast())
        }
        // RFC 2046 §5.1.1. A long one would be compared at each byte of the body.
        guard (1...70).contains(boundary.count) else { return nil }
        return bytes.cut(at: Array("--".utf8) + boundary)
    }

    /// Whether parts are equal; a recorded content of `REDACTED` equals any, and one in which values were taken out
    /// what is the same but for these.
    private static func equalParts(_ recorded: ArraySlice<UInt8>, _ asked: ArraySlice<UInt8>) -> Bool {
        if recorded == asked { return true }
        guard recorded.firstRange(of: ParameterRules.redactedValue) != nil else { return false }
        var (mine, theirs) = (recorded, asked)
        // A part may have no head, or lines that end otherwise.
        if let kept = content(recorded), let sent = content(asked) {
            guard recorded[..<kept.startIndex] == asked[..<sent.startIndex] else { return false }
            if kept.elementsEqual(ParameterRules.redactedValue) { return true }
            (mine, theirs) = (kept, sent)
        }
        let (body, other) = (ComparedBody(Array(mine), type: []), ComparedBody(Array(theirs), type: []))
        if let json = body.json, let value = other.json { return equals(json, value) }
        return body.equalsBetweenMarks(other)
    }

    /// What stands between a part's head and the line break before the next boundary.
    private static func content(_ part: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard part.suffix(2).elementsEqual([0x0D, 0x0A]), let head = part.firstRange(of: Array("\r\n\r\n".utf8)),
            part.endIndex - head.upperBound >= 2
        else { return nil }
        return part[head.upperBound..<(part.endIndex - 2)]
    }

    // MARK: GraphQL

    /// What tells GraphQL requests apart: the operation's name and the variables, whatever the query's text.
    private struct GraphQL: Equatable {
        let operation: JSONValue?
        let variables: JSONValue?

        static func == (mine: GraphQL, theirs: GraphQL) -> Bool {
            equals(mine.operation ?? .null, theirs.operation ?? .null)
                && equals(mine.variables ?? .object(JSONObject()), theirs.variables ?? .object(JSONObject()))
        }

        private static func equals(_ mine: JSONValue, _ theirs: JSONValue) -> Bool { ComparedBody.equals(mine, theirs) }
    }

    private static func graphQL(_ json: JSONValue?) -> GraphQL? {
        guard case .object(let object)? = json else { return nil }
        let isPersisted =
            if case .object(let extensions)? = object["extensions"] { extensions["persistedQuery"] != nil } else {
                false
            }
        var name = object["operationName"] ?? .null
        if case .string(let query)? = object["query"] {
            if name == .null { name = GraphQLDocument(query).operations.first?.name.map { .string($0) } ?? .null }
        } else if !isPersisted {
            return nil
        }
        // Operations without a name are told apart by their text alone, which the comparison as JSON has done.
        guard case .string(let text) = name, !text.isEmpty else { return nil }
        let variables = object["variables"]
        return GraphQL(operation: name, variables: variables == .null ? nil : variables)
    }

    /// Whether it is a GraphQL operation that changes nothing.
    var isGraphQLQuery: Bool {
        guard case .object(let object)? = json else { return false }
        if case .string(let query)? = object["query"] {
            var name: [UInt8]?
            if case .string(let text)? = object["operationName"] { name = text }
            return GraphQLDocument(query).isQuery(name)
        }
        if case .object(let extensions)? = object["extensions"] { return extensions["persistedQuery"] != nil }
        return false
    }
}

extension [UInt8] {
    fileprivate var lowercasedText: [UInt8] { map(\.asciiLowercased) }

    fileprivate func hasPrefix(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { starts(with: $0) }
    }

    /// Where a text ends; nil where it isn't there.
    fileprivate func range(of text: StaticString) -> Int? {
        text.withUTF8Buffer { wanted in
            guard count >= wanted.count else { return nil }
            for start in 0...(count - wanted.count) where self[start..<start + wanted.count].elementsEqual(wanted) {
                return start + wanted.count
            }
            return nil
        }
    }

    /// What stands between the occurrences of a short text, which is compared wherever its first byte stands.
    fileprivate func cut(at text: [UInt8]) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var start = 0
        var index = 0
        while index < count {
            if self[index] == text[0], count - index >= text.count, self[index..<index + text.count].elementsEqual(text)
            {
                parts.append(self[start..<index])
                index += text.count
                start = index
            } else {
                index += 1
            }
        }
        return parts + [self[start...]]
    }
}
