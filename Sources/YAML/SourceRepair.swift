import Diagnostics

/// A source in which what is not allowed has given way, so that what else is wrong with it is told too.
public struct SourceRepair {
    /// As long as the source, and with as many characters.
    public private(set) var text: [UInt8]
    /// What was not allowed, in order.
    public private(set) var errors: [YAMLError] = []

    /// A source with more of it is no text.
    private static let most = 20

    /// Nil where there is nothing to repair, or too much: then the source's first error says all.
    public init?(_ source: [UInt8]) {
        text = source
        while true {
            do throws(YAMLError) {
                _ = try ValidatedSource(text)
                guard !errors.isEmpty else { return nil }
                return
            } catch {
                let (start, end) = (error.span.start.offset, error.span.end.offset)
                guard end > start, end <= text.count, errors.count < SourceRepair.most else { return nil }
                errors.append(error)
                // A control character alone on its line, or at the end of it, was to stand for nothing.
                let rest = text[end...].prefix { $0 != 0x0A && $0 != 0x0D }
                let isBlank = text[start] < 0x80 && rest.allSatisfy { $0 <= 0x20 || $0 == 0x7F }
                text.replaceSubrange(start..<end, with: isBlank ? [0x20] : SourceRepair.character(ofBytes: end - start))
            }
        }
    }

    /// A character that stands nowhere for anything in YAML.
    private static func character(ofBytes count: Int) -> [UInt8] {
        switch count {
        case 2: Array("\u{BF}".utf8)
        case 3: Array("\u{FFFD}".utf8)
        default: [UInt8](repeating: UInt8(ascii: "_"), count: count)
        }
    }
}
