import Diagnostics
import HTTPSemantics
import NIOCore
import YAML

/// An archive that a map names, before its file is opened.
struct NamedArchive {
    var path: String
    var span: TextSpan
    var settings: ArchiveSettings
}

/// Reads an item of `archives`: a file name, or a mapping of options.
struct ArchiveItemReader {
    let diagnostics: FileDiagnostics

    private static let own = ["file", "urls", "match", "ignore-query", "sequence", "missing", "as", "freshness"]
    private static let shared: [OptionName] = [.bypass, .when, .cors, .headers, .delay, .rate, .retain]

    /// The archives of the list; those that are refused are left out.
    func read(_ node: YAMLNode) -> [NamedArchive] {
        guard let elements = node.elements else {
            diagnostics.error(
                "'archives' is a list of files, as in [checkout.har, { file: page.mhtml, missing: 404 }]", at: node.span
            )
            return []
        }
        return elements.compactMap(item)
    }

    private func item(_ node: YAMLNode) -> NamedArchive? {
        if let scalar = node.scalar {
            return path(scalar, node.span).map { NamedArchive(path: $0, span: node.span, settings: ArchiveSettings()) }
        }
        guard let entries = node.entries else {
            diagnostics.error("an archive is a file's name, or a mapping with 'file'", at: node.span)
            return nil
        }
        let options = OptionReader(diagnostics: diagnostics)
        options.reportDuplicates(node, "the option")
        var settings = ArchiveSettings()
        var file: (path: String, span: TextSpan)?
        var hasFile = false
        for entry in entries {
            guard let key = entry.key.scalar else {
                diagnostics.error("an option's name is a word, not \(entry.key.kind)", at: entry.key.span)
                continue
            }
            if key == "file" {
                hasFile = true
                file = path(entry.value.scalar, entry.value.span).map { ($0, entry.value.span) }
            } else if let name = OptionName(key), ArchiveItemReader.shared.contains(name) || name == .missing {
                if name == .missing {
                    settings.missing = choice("missing", entry.value)
                } else {
                    options.read(name, entry.value, into: &settings.given)
                }
            } else {
                read(key, entry.value, into: &settings)
            }
        }
        guard hasFile else {
            diagnostics.error("this archive does not say which file it is: 'file'", at: node.span)
            return nil
        }
        return file.map { NamedArchive(path: $0.path, span: $0.span, settings: settings) }
    }

    private func path(_ scalar: YAMLScalar?, _ span: TextSpan) -> String? {
        guard let scalar, scalar.count > 0, !scalar.isNull, !scalar.bytes.contains(0) else {
            diagnostics.error("an archive is named by its path", at: span)
            return nil
        }
        return scalar.string
    }

    private func read(_ key: YAMLScalar, _ value: YAMLNode, into settings: inout ArchiveSettings) {
        switch key.string {
        case "urls": settings.urls = urls(value)
        case "match": settings.match = choice("match", value)
        case "freshness": settings.freshness = choice("freshness", value) ?? .none
        case "sequence":
            guard let isSequence = value.scalar?.boolValue else {
                diagnostics.error("'sequence' is true or false", at: value.span)
                return
            }
            settings.isSequence = isSequence
        case "ignore-query": settings.ignoredParameters = names(value)
        case "as": settings.moved = moves(value)
        default:
            let names = ArchiveItemReader.own + ArchiveItemReader.shared.map(\.rawValue)
            diagnostics.error(OptionName.refusal(key, among: names), at: key.span)
        }
    }

    private func choice<Choice: RawRepresentable<String> & CaseIterable>(_ name: String, _ value: YAMLNode) -> Choice? {
        let text = value.scalar?.string
        if let text, let choice = Choice(rawValue: text) { return choice }
        let words = Choice.allCases.map(\.rawValue)
        let listed = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        let known = text.flatMap { didYouMean($0, among: words) }.map { "; did you mean '\($0)'?" } ?? ""
        diagnostics.error("'\(name)' of an archive is \(listed)\(known)", at: value.span)
        return nil
    }

    private func names(_ value: YAMLNode) -> [WildcardText] {
        guard let elements = value.elements else {
            diagnostics.error("'ignore-query' is a list of parameters, as in [stamp, \"nonce*\"]", at: value.span)
            return []
        }
        return elements.compactMap { element in
            guard let scalar = element.scalar, scalar.count > 0, !scalar.isNull else {
                diagnostics.error("a parameter's name is text", at: element.span)
                return nil
            }
            return WildcardText(scalar.bytes)
        }
    }

    private func urls(_ value: YAMLNode) -> ArchiveURLs? {
        guard let elements = value.elements else {
            diagnostics.error("'urls' is a list of URLs, as in [https://www.example.com/]", at: value.span)
            return nil
        }
        var urls = ArchiveURLs()
        var reader = KeyReader()
        for element in elements {
            guard let scalar = element.scalar else {
                diagnostics.error("a URL here is text, not \(element.kind)", at: element.span)
                continue
            }
            var arena: [UInt8] = []
            do throws(KeyError) {
                let key = try scalar.withBytes { bytes throws(KeyError) in try reader.read(bytes, arena: &arena) }
                urls.keys += ArchiveItemReader.keys(key, arena)
                if key.kind == .expression {
                    diagnostics.error("'urls' has no regular expressions; a pattern with '*' may do", at: scalar.span)
                }
            } catch {
                diagnostics.error(error.message, at: error.range.map(scalar.span(ofBytes:)) ?? scalar.span)
            }
        }
        return urls
    }

    private static func keys(_ key: RuleKey, _ arena: [UInt8]) -> [ArchiveURLs.Key] {
        let texts = [key.text] + (key.secondText.map { [$0] } ?? [])
        switch key.kind {
        case .exact:
            // A key covers every query of its path.
            return texts.map { .exact(Array(arena[$0].prefix { $0 != UInt8(ascii: "?") })) }
        case .folder: return texts.map { .folder(Array(arena[$0])) }
        case .pattern: return [key.pattern, key.secondPattern].compactMap { $0.map { .pattern($0) } }
        case .expression: return []
        }
    }

    private func moves(_ value: YAMLNode) -> [ArchiveSettings.Move] {
        guard let entries = value.entries else {
            diagnostics.error(
                "'as' is a mapping from URLs to URLs, as in { https://www.example.com/: http://localhost:3000/ }",
                at: value.span)
            return []
        }
        var moves: [ArchiveSettings.Move] = []
        for entry in entries {
            guard let from = folder(entry.key), let to = folder(entry.value) else { continue }
            guard !moves.contains(where: { $0.from == from }) else {
                diagnostics.error("'as' names this URL twice", at: entry.key.span)
                continue
            }
            moves.append(ArchiveSettings.Move(from: from, to: to))
        }
        // Of a folder and one in it, the one in it counts.
        return moves.sorted { $0.from.count > $1.from.count }
    }

    private func folder(_ node: YAMLNode) -> [UInt8]? {
        guard let scalar = node.scalar, scalar.bytes.last == UInt8(ascii: "/"), !scalar.bytes.contains(0x3f),
            let uri = try? TargetURI(absolute: ByteBuffer(bytes: scalar.bytes)), uri.scheme != .other
        else {
            diagnostics.error("a URL in 'as' is one of http or https that ends in '/'", at: node.span)
            return nil
        }
        return uri.withBytes { Array($0) }
    }
}
