import HTTPSemantics
import Patterns
import YAML

/// Reads what answers for a rule: a file's name, a body, a URL.
struct SourceReader {
    let builder: MapBuilder
    let diagnostics: FileDiagnostics
    /// The key; nil where it is refused, and what depends on it is not checked.
    let key: RuleKey?
    /// The place of what the value belongs to.
    let keySpan: YAMLSpan

    /// Reads a source by its option; without a text where it is refused.
    func read(_ name: OptionName, _ entry: YAMLNode.Entry) -> (kind: SourceKind, text: RuleBody.Text?) {
        // Without a value at all, the place of the option is what can be shown.
        let reader = SourceReader(builder: builder, diagnostics: diagnostics, key: key, keySpan: entry.key.span)
        return reader.read(name, entry.value)
    }

    private func read(_ name: OptionName, _ value: YAMLNode) -> (kind: SourceKind, text: RuleBody.Text?) {
        switch name {
        case .text:
            guard let scalar = text(name, value) else { return (.text, nil) }
            return (.text, scalar.withBytes { builder.append($0) })
        case .json:
            do throws(YAMLError) {
                return (.json, builder.append(try value.jsonBytes()))
            } catch {
                diagnostics.error(error)
                return (.json, nil)
            }
        case .base64:
            guard let scalar = text(name, value) else { return (.base64, nil) }
            guard let bytes = Base64.decoded(scalar.bytes) else {
                diagnostics.error("this is no Base64 (RFC 4648)", at: scalar.span)
                return (.base64, nil)
            }
            return (.base64, builder.append(bytes))
        case .forward:
            if let boolean = value.scalar?.boolValue {
                guard boolean else { return (.forwardAsAsked, refuseFalse(name, value)) }
                return (.forwardAsAsked, builder.append([UInt8]()))
            }
            return (.forward, url(name, value, "'forward' is true or a URL"))
        case .redirect:
            return (.redirect, url(name, value, "'redirect' is a URL"))
        case .block:
            guard let boolean = value.scalar?.boolValue else {
                let isWord = value.scalar?.isYAML11Boolean ?? false
                diagnostics.error(
                    isWord ? "'block' is true; for \(value.scalar?.description ?? "") write true" : "'block' is true",
                    at: span(value))
                return (.block, nil)
            }
            guard boolean else { return (.block, refuseFalse(name, value)) }
            return (.block, builder.append([UInt8]()))
        default:
            guard let scalar = value.scalar else {
                diagnostics.error("'file' is a path, not \(value.kind)", at: value.span)
                return (.file, nil)
            }
            return (.file, file(scalar))
        }
    }

    private func refuseFalse(_ name: OptionName, _ value: YAMLNode) -> RuleBody.Text? {
        diagnostics.error("'\(name.rawValue)' is true or left out", at: value.span)
        return nil
    }

    /// The value's place, or the key's where there is no value at all.
    private func span(_ value: YAMLNode) -> YAMLSpan {
        value.span.start.offset == value.span.end.offset ? keySpan : value.span
    }

    /// A scalar that is text by the core schema.
    private func text(_ name: OptionName, _ value: YAMLNode) -> YAMLScalar? {
        guard let scalar = value.scalar, scalar.value == .text else {
            let hint = value.scalar.map { $0.isNull ? "" : "; put it in quotes" } ?? ""
            diagnostics.error("'\(name.rawValue)' is text, not \(value.kind)\(hint)", at: span(value))
            return nil
        }
        return scalar
    }

    // MARK: Files

    /// The path of a file's name.
    func file(_ scalar: YAMLScalar) -> RuleBody.Text? {
        if let key, key.kind == .exact, SourceReader.isText(scalar), scalar.withBytes(FileValue.isPlain) {
            return scalar.withBytes { builder.append($0) }
        }
        if scalar.isNull {
            diagnostics.error(
                "nothing answers here; a file name, a rule or a list of rules is expected",
                at: scalar.count == 0 ? keySpan : scalar.span)
            return nil
        }
        guard scalar.value == .text else {
            diagnostics.error(
                "a file name is text, not \(YAMLNode.scalar(scalar).kind); put it in quotes", at: scalar.span)
            return nil
        }
        do throws(KeyError) {
            return try fileText(scalar)
        } catch {
            diagnostics.error(error.message, at: error.range.map(scalar.span(ofBytes:)) ?? scalar.span)
            return nil
        }
    }

    /// Whether the core schema takes it for text, found out by its first byte in most cases.
    private static func isText(_ scalar: YAMLScalar) -> Bool {
        guard scalar.isPlain, let first = scalar.bytes.first else { return !scalar.isPlain }
        switch first {
        case UInt8(ascii: "~"), UInt8(ascii: "n"), UInt8(ascii: "N"), UInt8(ascii: "t"), UInt8(ascii: "T"),
            UInt8(ascii: "f"), UInt8(ascii: "F"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            0x30...0x39:
            return scalar.value == .text
        default: return true
        }
    }

    private func fileText(_ scalar: YAMLScalar) throws(KeyError) -> RuleBody.Text {
        let written = Array(scalar.bytes)
        let template = try template(written)
        let value = try FileValue(template.constant ?? written)
        try checkFolder(value, scalar)
        guard template.constant == nil else { return builder.append(value.path) }
        // What the map says is literal while captures are decoded, so its "%" is made one that is decoded too.
        var escaped: [UInt8] = []
        for byte in value.path {
            if byte == UInt8(ascii: "%") { escaped += "%25".utf8 } else { escaped.append(byte) }
        }
        return .template(builder.append(try self.template(escaped), text: scalar.string))
    }

    /// Reports a folder that is mapped to a file, and a file to a folder.
    private func checkFolder(_ value: FileValue, _ scalar: YAMLScalar) throws(KeyError) {
        guard let key else { return }
        switch (key.kind, value.isFolder) {
        case (.folder, false):
            builder.folderChecks.append((value.path, scalar.span))
        case (.exact, true) where key.isBareAuthority:
            throw KeyError("one URL is mapped to a folder: without a '/' at its end the key is the root page alone")
        case (.exact, true):
            throw KeyError("one URL is mapped to a folder; end the key in '/' to map all that is below it")
        default: break
        }
    }

    // MARK: Captures

    /// A text's captures, all of which the key has.
    private func template(_ text: [UInt8]) throws(KeyError) -> CaptureTemplate {
        var template: CaptureTemplate
        do throws(PatternError) {
            template = try CaptureTemplate(text)
        } catch {
            throw KeyError(error.message, at: error.range)
        }
        guard let key else { return template }
        let missing = template.missing(groupCount: key.captureCount, names: key.captureNames)
        if let first = missing.first {
            throw KeyError(Self.missing(first, key), at: first.range)
        }
        template.resolve(names: key.captureNames)
        return template
    }

    private static func missing(_ reference: CaptureTemplate.Reference, _ key: RuleKey) -> String {
        let count = key.captureCount
        let name: String
        switch reference.group {
        case .number(let number): name = "$\(number)"
        case .name(let text): name = "${\(text)}"
        }
        let owned =
            switch key.kind {
            case .exact: "an exact URL has none; write '$$' for a dollar"
            case .folder: "a folder has none, and the rest of the path is appended by itself"
            case .pattern: count == 1 ? "the pattern has one star" : "the pattern has \(count) stars"
            case .expression: count == 1 ? "the expression has one group" : "the expression has \(count) groups"
            }
        return "there is no capture \(name): \(owned)"
    }

    // MARK: URLs

    /// The text of `forward` or `redirect`.
    private func url(_ name: OptionName, _ value: YAMLNode, _ expected: String) -> RuleBody.Text? {
        guard let scalar = value.scalar, scalar.value == .text, scalar.count > 0 else {
            let word = value.scalar.flatMap { $0.isYAML11Boolean ? "; for \($0) write true or false" : nil } ?? ""
            diagnostics.error(expected + word, at: span(value))
            return nil
        }
        if name == .forward, scalar.isYAML11Boolean {
            diagnostics.error("\(expected); for \(scalar) write true", at: scalar.span)
            return nil
        }
        do throws(KeyError) {
            let written = Array(scalar.bytes)
            let template = try template(written)
            try SourceReader.checkURL(
                template.constant ?? SourceReader.sample(written, template), isForward: name == .forward)
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

    private static func checkURL(_ text: [UInt8], isForward: Bool) throws(KeyError) {
        if let byte = text.first(where: { $0 <= 0x20 || $0 >= 0x7F }) {
            throw KeyError(
                byte >= 0x80
                    ? "a URL is written in ASCII; percent-encode other characters"
                    : "a URL has no blanks and no control characters; percent-encode them")
        }
        var text = text
        // A reference to another path of the same host, or to another host with the same scheme, is allowed in Location
        // (RFC 9110 §10.2.2).
        if !isForward, text.first == UInt8(ascii: "/") {
            guard text.dropFirst().first != UInt8(ascii: "\\") else {
                throw KeyError("a path does not begin with a backslash, which browsers take for a slash")
            }
            guard text.starts(with: "//".utf8) else { return }
            text = Array("http:".utf8) + text
        }
        let uri: TargetURI
        do throws(TargetError) {
            uri = try TargetURI(String(decoding: text, as: UTF8.self))
        } catch {
            throw KeyError(error.description)
        }
        if isForward, uri.scheme == .other {
            throw KeyError("requests are forwarded to http and https URLs only")
        }
    }
}
