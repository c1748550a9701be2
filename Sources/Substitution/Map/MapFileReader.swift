import Basics
import Diagnostics
import HTTPSemantics
import YAML

/// A further map that a file names, with what an error about it needs when the file's text is gone.
struct IncludedMap {
    var path: String
    /// The place in the file, of which `offset` counts in `excerpt`.
    var span: TextSpan
    /// The line of the file that names it.
    var excerpt: [UInt8]
}

/// Reads one map file, event by event: no tree is made of anything but single rules.
struct MapFileReader {
    private let parser: YAMLEventParser
    private let builder: MapBuilder
    private let diagnostics: FileDiagnostics
    private var keyReader = KeyReader()
    /// The keys at the top level, each with the line of its first.
    private var seen: [ByBytes<String>: Int] = [:]

    /// What the file says beside its rules.
    private(set) var root: (path: String, span: TextSpan)?
    private(set) var includes: [IncludedMap] = []
    private(set) var defaults = GivenOptions()
    /// The place of the default `values`, where these are no mapping.
    private(set) var unnamedValues: TextSpan?
    private(set) var intercept: [(host: String, line: Int)] = []
    private(set) var archives: [NamedArchive] = []
    /// Whether the file was read to its end, and says where its files are: else nothing can be said of those.
    private(set) var knowsRoot = true

    private static let names = ["root", "include", "defaults", "intercept", "archives", "substitutions"]

    init(_ parser: YAMLEventParser, _ builder: MapBuilder, _ diagnostics: FileDiagnostics) {
        self.parser = parser
        self.builder = builder
        self.diagnostics = diagnostics
    }

    /// Reads the whole file; every error is reported, the first one of YAML's own ends it.
    mutating func read() {
        do throws(YAMLError) {
            try readDocument()
        } catch {
            diagnostics.error(error)
            knowsRoot = false
        }
    }

    private mutating func readDocument() throws(YAMLError) {
        let expected = "a map is a mapping with 'substitutions', from URLs to what answers them"
        while true {
            switch try parser.next() {
            case .documentStart, .documentEnd: continue
            case .streamEnd(let span):
                if seen.isEmpty, !diagnostics.hasErrors {
                    diagnostics.error(
                        "the map is empty; \(expected). 'substitutions: {}' is a map without rules",
                        at: TextSpan(at: .start))
                } else if !diagnostics.hasErrors,
                    !seen.keys.contains(where: { !["root", "defaults"].contains($0.wrappedValue) })
                {
                    diagnostics.error("there are no 'substitutions' here; \(expected)", at: TextSpan(at: span.start))
                }
                return
            case .mappingStart: try readTopLevel()
            case .scalar(let scalar) where scalar.isNull:
                continue
            case let event:
                let node = try parser.node(startingWith: event)
                diagnostics.error("\(expected), not \(node.kind)", at: node.span)
            }
        }
    }

    private mutating func readTopLevel() throws(YAMLError) {
        while true {
            let event = try parser.next()
            if case .mappingEnd = event { return }
            guard case .scalar(let key) = event else {
                let node = try parser.node(startingWith: event)
                diagnostics.error("a key here is a word, not \(node.kind)", at: node.span)
                try parser.skipNode(startingWith: try parser.next())
                continue
            }
            let name = key.string
            if let first = seen[ByBytes(name)] {
                diagnostics.error("'\(name)' comes twice; it is on line \(first) already", at: key.span)
            } else {
                seen[ByBytes(name)] = key.span.start.line
            }
            let value = try parser.next()
            switch name {
            case "root": readRoot(try parser.node(startingWith: value))
            case "include": readIncludes(try parser.node(startingWith: value))
            case "defaults": readDefaults(try parser.node(startingWith: value))
            case "intercept": readIntercept(try parser.node(startingWith: value))
            case "archives":
                archives = ArchiveItemReader(diagnostics: diagnostics).read(try parser.node(startingWith: value))
            case "substitutions": try readSubstitutions(value, key)
            default:
                try parser.skipNode(startingWith: value)
                let hint: String
                if name.utf8.contains(UInt8(ascii: "/")) {
                    hint = "; URLs stand below 'substitutions'"
                } else {
                    hint = didYouMean(name, among: MapFileReader.names).map { "; did you mean '\($0)'?" } ?? ""
                }
                diagnostics.error("unknown key \(key)\(hint)", at: key.span)
            }
        }
    }

    // MARK: Beside the rules

    private mutating func readRoot(_ node: YAMLNode) {
        guard let scalar = node.scalar, scalar.value == .text, scalar.count > 0, !scalar.bytes.contains(0) else {
            diagnostics.error("'root' is the path of a folder", at: node.span)
            knowsRoot = false
            return
        }
        root = (scalar.string, scalar.span)
    }

    private mutating func readIncludes(_ node: YAMLNode) {
        guard let elements = node.elements else {
            diagnostics.error("'include' is a list of files, as in [icons.yaml]", at: node.span)
            return
        }
        for element in elements {
            guard let scalar = element.scalar, scalar.value == .text, scalar.count > 0, !scalar.bytes.contains(0) else {
                diagnostics.error("an included map is named by its path", at: element.span)
                continue
            }
            includes.append(included(scalar))
        }
    }

    private func included(_ scalar: YAMLScalar) -> IncludedMap {
        let source = parser.source
        var start = min(scalar.span.start.offset, source.count)
        var end = start
        while start > 0, source[start - 1] != 0x0A, source[start - 1] != 0x0D { start -= 1 }
        while end < source.count, source[end] != 0x0A, source[end] != 0x0D { end += 1 }
        func moved(_ mark: TextMark) -> TextMark {
            TextMark(line: mark.line, column: mark.column, offset: min(mark.offset, end) - start)
        }
        return IncludedMap(
            path: scalar.string, span: TextSpan(start: moved(scalar.span.start), end: moved(scalar.span.end)),
            excerpt: Array(source[start..<end]))
    }

    private mutating func readDefaults(_ node: YAMLNode) {
        guard let entries = node.entries else {
            diagnostics.error("'defaults' is a mapping of options, as in { query: ignore }", at: node.span)
            return
        }
        let reader = OptionReader(diagnostics: diagnostics)
        reader.reportDuplicates(node, "the option")
        for entry in entries {
            guard let key = entry.key.scalar else {
                diagnostics.error("an option's name is a word, not \(entry.key.kind)", at: entry.key.span)
                continue
            }
            guard SourceID(option: key.string) == nil else {
                diagnostics.error("\(key) can't be a default: it is what answers for one rule", at: key.span)
                continue
            }
            if let name = CompanionName(rawValue: key.string) {
                CompanionReader(diagnostics: diagnostics).read(name, entry.value, into: &defaults)
                if name == .values, entry.value.entries == nil { unnamedValues = entry.value.span }
                continue
            }
            guard let name = OptionName(key) else {
                let names = OptionName.allCases.map(\.rawValue) + CompanionName.allCases.map(\.rawValue)
                diagnostics.error(OptionName.refusal(key, among: names), at: key.span)
                continue
            }
            reader.read(name, entry.value, into: &defaults)
        }
    }

    private mutating func readIntercept(_ node: YAMLNode) {
        guard let elements = node.elements else {
            diagnostics.error("'intercept' is a list of hosts, as in [\"*.corp.example\"]", at: node.span)
            return
        }
        for element in elements {
            guard let scalar = element.scalar, scalar.value == .text,
                let pattern = HostPatternText.normalised(scalar.bytes)
            else {
                diagnostics.error(
                    "\(element.scalar.map { "\($0)" } ?? element.kind) is no host; write one as in www.example.com or"
                        + " \"*.example.com\"", at: element.span)
                continue
            }
            intercept.append((pattern, element.span.start.line))
        }
    }

    // MARK: The rules

    private mutating func readSubstitutions(_ event: YAMLEvent, _ name: YAMLScalar) throws(YAMLError) {
        guard case .mappingStart = event else {
            let node = try parser.node(startingWith: event)
            if let scalar = node.scalar, scalar.isNull {
                // A recording's map has its archive, and room for rules.
                if archives.isEmpty { diagnostics.warning("there are no substitutions here", at: name.span) }
                return
            }
            // YAML takes a longer line for text, whatever follows it.
            let length = node.span.end.offset - node.span.start.offset
            let isLongKey = node.span.start.line == node.span.end.line && length > 1024
            diagnostics.error(
                "'substitutions' is a mapping from URLs to what answers them, not \(node.kind)"
                    + (isLongKey
                        ? "; a key of more than 1024 characters is written '? KEY' and, on the next line, ': VALUE'"
                        : ""),
                at: node.span)
            return
        }
        while true {
            let event = try parser.next()
            switch event {
            case .mappingEnd: return
            case .scalar(let key): try readRule(key)
            default:
                let node = try parser.node(startingWith: event)
                diagnostics.error("a key is a URL, not \(node.kind)", at: node.span)
                try parser.skipNode(startingWith: try parser.next())
            }
        }
    }

    private mutating func readRule(_ scalar: YAMLScalar) throws(YAMLError) {
        var key: RuleKey?
        do throws(KeyError) {
            key = try scalar.withBytes { bytes throws(KeyError) in
                try keyReader.read(bytes, arena: &builder.storage.arena)
            }
        } catch {
            diagnostics.error(error.message, at: error.range.map(scalar.span(ofBytes:)) ?? scalar.span)
        }
        let reader = RuleReader(builder: builder, diagnostics: diagnostics, key: key, keySpan: scalar.span)
        let event = try parser.next()
        if case .scalar(let value) = event {
            let body = reader.readFileName(value)
            guard let key else { return }
            builder.append(key, body ?? builder.refusedRule(scalar.span), at: scalar.span)
        } else {
            let bodies = reader.read(try parser.node(startingWith: event))
            guard let key else { return }
            // A key without a rule is one that may come twice as well.
            builder.append(key, bodies.isEmpty ? [builder.refusedRule(scalar.span)] : bodies, at: scalar.span)
        }
        if let key { warn(key, scalar) }
    }

    private func warn(_ key: RuleKey, _ scalar: YAMLScalar) {
        if key.hasFragment {
            diagnostics.warning("the fragment, from '#' on, takes no part: no request has it", at: scalar.span)
        }
        if key.hasUserInformation {
            diagnostics.warning("the user information, before '@', takes no part", at: scalar.span)
        }
    }
}
