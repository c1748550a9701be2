import Patterns

/// What a text has to have: asked by SQLite of each row.
final class TextMatcher {
    private enum Kind {
        case expression(LinearExpression)
        /// With the text in lower case.
        case contains([UInt8]), startsWith([UInt8]), endsWith([UInt8])
    }

    private let kind: Kind
    private var scratch = MatchScratch()

    /// A regular expression, found anywhere, without ASCII case.
    ///
    /// - Throws: 400 with the place of what is wrong.
    init(expression: [UInt8]) throws(Problem) {
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

    private func contains(_ text: UnsafeBufferPointer<UInt8>, _ part: [UInt8]) -> Bool {
        guard let first = part.first else { return true }
        guard text.count >= part.count else { return false }
        for start in 0...(text.count - part.count) where TextMatcher.lower(text[start]) == first {
            if isEqual(text[start..<(start + part.count)], part) { return true }
        }
        return false
    }

    private static func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}
