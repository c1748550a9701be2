@testable import Patterns

enum Engine: CaseIterable {
    case backtracker, parallelMatcher
}

extension LinearExpression {
    /// The groups of the first match, the whole match first; nil if there is none.
    func groups(in text: some Sequence<UInt8>, engine: Engine) -> [Range<Int>?]? {
        var scratch = MatchScratch()
        return groups(in: text, engine: engine, scratch: &scratch)
    }

    func groups(in text: some Sequence<UInt8>, engine: Engine, scratch: inout MatchScratch) -> [Range<Int>?]? {
        var captures = CaptureList()
        captures.reset(groups: groupCount + 1)
        let isMatch = Array(text).withUnsafeBytes { input in
            let span = Span<UInt8>(_unsafeBytes: input)
            return switch engine {
            case .backtracker: scratch.backtrack(program, span, slots: &captures.bounds)
            case .parallelMatcher: scratch.followAll(program, span, slots: &captures.bounds)
            }
        }
        return isMatch ? (0..<captures.count).map { captures[$0] } : nil
    }

    /// The texts of the groups through the public interface; nil if there is no match.
    func texts(in text: String) -> [String?]? {
        var scratch = MatchScratch()
        var captures = CaptureList()
        let bytes = Array(text.utf8)
        let isMatch = bytes.withUnsafeBytes { firstMatch(in: $0, scratch: &scratch, captures: &captures) }
        return isMatch ? captures.texts(of: bytes) : nil
    }
}

extension URLPattern {
    /// The whole URL and what the stars matched; nil if there is no match.
    func texts(in url: String) -> [String?]? {
        var scratch = MatchScratch()
        var captures = CaptureList()
        let bytes = Array(url.utf8)
        let isMatch = bytes.withUnsafeBytes { wholeMatch(in: $0, scratch: &scratch, captures: &captures) }
        return isMatch ? captures.texts(of: bytes) : nil
    }
}

extension CaptureList {
    func texts(of bytes: [UInt8]) -> [String?] {
        (0..<count).map { self[$0].map { String(decoding: bytes[$0], as: UTF8.self) } }
    }
}

/// The error that `body` throws.
func patternError(_ body: () throws -> Void) -> PatternError? {
    do {
        try body()
        return nil
    } catch {
        return error as? PatternError
    }
}
