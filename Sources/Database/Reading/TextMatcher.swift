import Patterns

/// What a text has to have: asked by SQLite of each row.
final class TextMatcher {
    private enum Kind {
        case expression(LinearExpression)
        /// With the text in lower case.
        case contains([UInt8]), startsWith([UInt8]), endsWith([UInt8])
    }

    /// What it was made from: two that were made from the same match the same.
    struct Asked: Hashable, Sendable {
        let operation: Operator
        let text: [UInt8]
    }

    let asked: Asked
    /// The text as the request has it.
    let written: [UInt8]
    private let kind: Kind
    private var scratch = MatchScratch()
    /// What the search for a part goes back by.
    private let borders: [Int]

    /// Bytes of a text that an expression is looked for in: the time that it takes can't be bounded meanwhile.
    static let longestText = 1 << 16

    /// Whether it is a regular expression, which may take thousands of steps for each byte of a text.
    var isExpression: Bool {
        if case .expression = kind { true } else { false }
    }

    /// Whether a text is too long for it.
    func isTooLong(_ text: UnsafeBufferPointer<UInt8>) -> Bool { isExpression && text.count > TextMatcher.longestText }

    /// A regular expression, found anywhere, without ASCII case.
    ///
    /// - Throws: 400 with the place of what is wrong.
    init(expression: [UInt8]) throws(Problem) {
        asked = Asked(operation: .like, text: expression)
        written = expression
        borders = []
        let flags = Array("(?i)".utf8)
        do throws(PatternError) {
            kind = .expression(try LinearExpression(flags + expression))
        } catch {
            let place = max(0, error.range.lowerBound - flags.count)
            throw .badValue(
                "the expression '\(String(decoding: expression, as: UTF8.self))' is wrong at character \(place + 1): \(error.message)"
            )
        }
    }

    /// A text without ASCII case.
    init(_ operation: Operator, _ text: [UInt8]) {
        let lowered = text.map(TextMatcher.lower)
        asked = Asked(operation: operation, text: lowered)
        written = text
        borders = operation == .contains ? TextMatcher.borders(of: lowered) : []
        switch operation {
        case .startsWith: kind = .startsWith(lowered)
        case .endsWith: kind = .endsWith(lowered)
        default: kind = .contains(lowered)
        }
    }

    func matches(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        switch kind {
        case .expression(let expression): expression.matches(UnsafeRawBufferPointer(text), scratch: &scratch)
        case .startsWith(let start): isEqual(text.prefix(start.count), start)
        case .endsWith(let end): isEqual(text.suffix(end.count), end)
        case .contains(let part): contains(text, part)
        }
    }

    private func isEqual(_ text: Slice<UnsafeBufferPointer<UInt8>>, _ lowered: [UInt8]) -> Bool {
        text.count == lowered.count && zip(text, lowered).allSatisfy { TextMatcher.lower($0) == $1 }
    }

    /// Searches in linear time, by the algorithm of Knuth, Morris and Pratt.
    private func contains(_ text: UnsafeBufferPointer<UInt8>, _ part: [UInt8]) -> Bool {
        guard !part.isEmpty else { return true }
        var matched = 0
        for byte in text {
            let byte = TextMatcher.lower(byte)
            while matched > 0, part[matched] != byte { matched = borders[matched &- 1] }
            if part[matched] == byte { matched &+= 1 }
            if matched == part.count { return true }
        }
        return false
    }

    /// For each prefix of a text the length of its longest border: a shorter prefix that it ends with.
    private static func borders(of text: [UInt8]) -> [Int] {
        var borders = [Int](repeating: 0, count: text.count)
        var length = 0
        for index in text.indices.dropFirst() {
            while length > 0, text[length] != text[index] { length = borders[length - 1] }
            if text[length] == text[index] { length += 1 }
            borders[index] = length
        }
        return borders
    }

    private static func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}
