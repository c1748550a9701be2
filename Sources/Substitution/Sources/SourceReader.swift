import Diagnostics
import HTTPSemantics
import Patterns
import YAML

/// What reads a source's value: where its text goes, where errors go, and the key that it stands behind.
struct SourceReader {
    let builder: MapBuilder
    let diagnostics: FileDiagnostics
    /// The key; nil where it is refused, and what depends on it is not checked.
    let key: RuleKey?
    /// The place of what the value belongs to.
    let keySpan: TextSpan
    /// The option whose value is read.
    let option: String

    /// Refuses `false` for an option that can be left out.
    func refuseFalse(_ value: YAMLNode) -> RuleBody.Text? {
        diagnostics.error("'\(option)' is true or left out", at: value.span)
        return nil
    }

    /// The value's place, or the key's where there is no value at all.
    func span(_ value: YAMLNode) -> TextSpan {
        value.span.start.offset == value.span.end.offset ? keySpan : value.span
    }

    /// Whether a key is of http or https.
    func isOfHTTP(_ key: RuleKey) -> Bool {
        let text = builder.storage.arena[key.text].prefix(8)
        return text.starts(with: "http://".utf8) || text.starts(with: "https://".utf8)
    }

    /// A scalar that is text by the core schema; nil where the value is none, which is reported.
    func text(_ value: YAMLNode) -> YAMLScalar? {
        guard let scalar = value.scalar, scalar.value == .text else {
            let hint = value.scalar.map { $0.isNull ? "" : "; put it in quotes" } ?? ""
            diagnostics.error("'\(option)' is text, not \(value.kind)\(hint)", at: span(value))
            return nil
        }
        return scalar
    }

    // MARK: URLs

    /// A URL with its captures; nil where it is refused, which is reported.
    ///
    /// - Parameter check: what the URL has to be, asked with a figure in the place of each capture.
    func url(
        _ value: YAMLNode, _ expected: String, _ check: ([UInt8]) throws(KeyError) -> Void
    ) -> RuleBody.Text? {
        guard let scalar = value.scalar, scalar.value == .text, scalar.count > 0 else {
            let word = value.scalar.flatMap { $0.isYAML11Boolean ? "; for \($0) write true or false" : nil } ?? ""
            diagnostics.error(expected + word, at: span(value))
            return nil
        }
        do throws(KeyError) {
            let written = Array(scalar.bytes)
            let template = try template(written)
            let sample = template.constant ?? SourceReader.sample(written, template)
            if let byte = sample.first(where: { $0 <= 0x20 || $0 >= 0x7F }) {
                throw KeyError(
                    byte >= 0x80
                        ? "a URL is written in ASCII; percent-encode other characters"
                        : "a URL has no blanks and no control characters; percent-encode them")
            }
            try check(sample)
            if let constant = template.constant { return builder.append(constant) }
            return .template(builder.append(template, text: scalar.string))
        } catch {
            diagnostics.error(error.message, at: error.range.map(scalar.span(ofBytes:)) ?? scalar.span)
            return nil
        }
    }

    /// The text with each capture replaced by a figure, which may stand anywhere in a URL but at its beginning.
    private static func sample(_ written: [UInt8], _ template: CaptureTemplate) -> [UInt8] {
        var text = written
        for reference in template.references.reversed() {
            let isFirst = reference.range.lowerBound == 0
            text.replaceSubrange(reference.range, with: isFirst ? Array("http".utf8) : [UInt8(ascii: "1")])
        }
        return text
    }

    // MARK: Captures

    /// A text's captures, all of which the key has.
    ///
    /// - Parameter message: what is said of one that the key hasn't, by how it is written; nil for what it has.
    func template(
        _ text: [UInt8], missing message: ((String) -> String)? = nil
    ) throws(KeyError) -> CaptureTemplate {
        var template: CaptureTemplate
        do throws(PatternError) {
            template = try CaptureTemplate(text)
        } catch {
            throw KeyError(error.message, at: error.range)
        }
        guard let key else { return template }
        let missing = template.missing(groupCount: key.captureCount, names: key.captureNames)
        if let first = missing.first {
            let said = message.map { $0(Self.name(first)) } ?? Self.missing(first, key)
            throw KeyError(said, at: first.range)
        }
        template.resolve(names: key.captureNames)
        return template
    }

    private static func name(_ reference: CaptureTemplate.Reference) -> String {
        switch reference.group {
        case .number(let number): "$\(number)"
        case .name(let text): "${\(text)}"
        }
    }

    private static func missing(_ reference: CaptureTemplate.Reference, _ key: RuleKey) -> String {
        let count = key.captureCount
        let owned =
            switch key.kind {
            case .exact: "an exact URL has none; write '$$' for a dollar"
            case .folder: "a folder has none, and the rest of the path is appended by itself"
            case .pattern: count == 1 ? "the pattern has one star" : "the pattern has \(count) stars"
            case .expression: count == 1 ? "the expression has one group" : "the expression has \(count) groups"
            }
        return "there is no capture \(name(reference)): \(owned)"
    }
}
