import Diagnostics
import HTTPSemantics
import YAML

extension SavedSession {
    /// Bytes of a session's text: 50 URLs of the greatest length, and as much again.
    public static let mostBytes = 4 << 20

    /// Reads a session as it is saved (YAML), the same as JSON, `{"history", "currentPage"}` of Firefox for iOS, or
    /// `{"urls", "titles", "offset"}` of Chromium for iOS.
    ///
    /// - Throws: what is wrong with it, with line and column.
    public init(_ bytes: [UInt8]) throws(SessionError) {
        guard bytes.count <= SavedSession.mostBytes else {
            throw SessionError("a session has at most \(SavedSession.mostBytes >> 20) MiB")
        }
        do throws(SessionError) {
            self = try SessionReader(root: try SavedSession.tree(bytes)).session()
        } catch {
            throw error.placed(in: bytes)
        }
    }

    private static func tree(_ bytes: [UInt8]) throws(SessionError) -> YAMLNode {
        var rest = bytes[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        rest = rest.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        // A mapping of YAML may begin with a brace too, but then its names have no quotes.
        if rest.first == UInt8(ascii: "{") {
            let second = rest.dropFirst().first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
            if second == UInt8(ascii: "\"") || second == UInt8(ascii: "}") { return try JSONTree.parse(bytes) }
        }
        let limits = YAMLLimits(
            inputBytes: mostBytes, nestingDepth: 16, scalarBytes: mostBytes, treeNodes: 10_000)
        do throws(YAMLError) {
            if let node = try YAMLNode.parse(bytes, limits: limits) { return node }
        } catch {
            throw SessionError(error.message, at: error.span)
        }
        throw SessionError("the text is empty; \(SessionReader.expected)", at: TextSpan(at: .start))
    }
}

/// Makes a session of a tree, in whichever of its forms.
struct SessionReader {
    static let expected = "a session is a mapping with 'entries', a list of { url, title }, and 'current'"

    let root: YAMLNode

    func session() throws(SessionError) -> SavedSession {
        guard let members = root.entries else { throw SessionError(SessionReader.expected, at: root.span) }
        if let repeated = root.duplicateKeys().first?.repeated {
            throw SessionError("\(repeated) comes twice", at: repeated.span)
        }
        if let history = root["history"] {
            let urls = try limited(history, "history")
            return try session(urls, titles: [], offset: root["currentPage"], named: "currentPage", history.span)
        }
        if let list = root["urls"] {
            let urls = try limited(list, "urls")
            let titles = try root["titles"].map { node throws(SessionError) in try elements(node, "titles") } ?? []
            guard titles.count <= urls.count else {
                throw SessionError("there are more titles than URLs", at: titles[urls.count].span)
            }
            return try session(urls, titles: titles, offset: root["offset"], named: "offset", list.span)
        }
        return try own(members)
    }

    // MARK: The form that is saved

    private func own(_ members: [YAMLNode.Entry]) throws(SessionError) -> SavedSession {
        for member in members {
            guard let name = member.key.scalar, ["saved", "current", "entries"].contains(name.string) else {
                let known = member.key.scalar.flatMap { didYouMean($0.string, among: ["saved", "current", "entries"]) }
                let hint = known.map { "; did you mean '\($0)'?" } ?? "; \(SessionReader.expected)"
                throw SessionError("a session has no such member\(hint)", at: member.key.span)
            }
        }
        guard let list = root["entries"] else { throw SessionError(SessionReader.expected, at: root.span) }
        var entries: [SavedSession.Entry] = []
        for node in try limited(list, "entries") { entries.append(try entry(node)) }
        var current = entries.count &- 1
        if let node = root["current"] {
            guard let number = node.scalar?.intValue else {
                throw SessionError("'current' is the number of an entry, from 0", at: node.span)
            }
            guard entries.indices.contains(number) else {
                throw SessionError("'current' is a number from 0 to \(entries.count - 1)", at: node.span)
            }
            current = number
        }
        return try made(saved: try time(), current, entries, list.span)
    }

    private func entry(_ node: YAMLNode) throws(SessionError) -> SavedSession.Entry {
        let wanted = "an entry is a mapping with 'url' and 'title'"
        guard let members = node.entries else { throw SessionError(wanted, at: node.span) }
        if let repeated = node.duplicateKeys().first?.repeated {
            throw SessionError("\(repeated) comes twice", at: repeated.span)
        }
        for member in members {
            guard let name = member.key.scalar, name == "url" || name == "title" else {
                throw SessionError(wanted, at: member.key.span)
            }
        }
        guard let url = node["url"] else { throw SessionError(wanted, at: node.span) }
        return SavedSession.Entry(url: try self.url(url), title: try node["title"].map(text) ?? "")
    }

    private func time() throws(SessionError) -> String? {
        guard let node = root["saved"], node.scalar?.isNull != true else { return nil }
        guard let text = node.scalar?.string, SavedSession.isTime(text) else {
            throw SessionError("'saved' is a time in UTC, as in 2026-11-22T14:02:11Z", at: node.span)
        }
        return text
    }

    // MARK: The forms of others

    /// - Parameters:
    ///   - titles: those of the first URLs.
    ///   - offset: where the current entry is, counted from the last one: 0 or less.
    private func session(
        _ urls: [YAMLNode], titles: [YAMLNode], offset: YAMLNode?, named name: String, _ span: TextSpan
    ) throws(SessionError) -> SavedSession {
        var entries: [SavedSession.Entry] = []
        for (index, node) in urls.enumerated() {
            let title = titles.indices.contains(index) ? try text(titles[index]) : ""
            entries.append(SavedSession.Entry(url: try url(node), title: title))
        }
        var current = entries.count &- 1
        if let offset {
            guard let number = offset.scalar?.intValue else {
                throw SessionError("'\(name)' is a number", at: offset.span)
            }
            guard number <= 0, number > -entries.count else {
                throw SessionError(
                    "'\(name)' leads outside of the list; it is counted from the last page: 0, -1 …", at: offset.span)
            }
            current += number
        }
        return try made(saved: nil, current, entries, span)
    }

    // MARK: Parts

    private func made(
        saved: String?, _ current: Int, _ entries: [SavedSession.Entry], _ span: TextSpan
    ) throws(SessionError) -> SavedSession {
        guard let session = SavedSession(saved: saved, current: current, entries: entries) else {
            throw SessionError("a session has from 1 to \(SavedSession.mostEntries) entries", at: span)
        }
        return session
    }

    private func elements(_ node: YAMLNode, _ name: String) throws(SessionError) -> [YAMLNode] {
        guard let elements = node.elements else { throw SessionError("'\(name)' is a list", at: node.span) }
        return elements
    }

    private func limited(_ node: YAMLNode, _ name: String) throws(SessionError) -> [YAMLNode] {
        let elements = try elements(node, name)
        guard !elements.isEmpty else { throw SessionError("'\(name)' is empty", at: node.span) }
        guard elements.count <= SavedSession.mostEntries else {
            throw SessionError(
                "'\(name)' has \(elements.count) entries; at most \(SavedSession.mostEntries) can be restored",
                at: elements[SavedSession.mostEntries].span)
        }
        return elements
    }

    private func text(_ node: YAMLNode) throws(SessionError) -> String {
        guard let scalar = node.scalar else { throw SessionError("a title is text", at: node.span) }
        return scalar.isNull ? "" : scalar.string
    }

    private func url(_ node: YAMLNode) throws(SessionError) -> SessionURL {
        guard let scalar = node.scalar, !scalar.isNull else { throw SessionError("a URL is text", at: node.span) }
        do throws(SessionURLError) {
            return try SessionURL(scalar.string)
        } catch {
            throw SessionError(error.description, at: scalar.span)
        }
    }
}

extension SavedSession {
    /// Whether a text is a time of RFC 3339 in UTC, by its form.
    static func isTime(_ text: String) -> Bool {
        let form = Array("0000-00-00T00:00:00".utf8)
        let bytes = Array(text.utf8)
        guard bytes.count > form.count, bytes.count < 32, bytes.last == UInt8(ascii: "Z") else { return false }
        let isInForm = zip(bytes, form).allSatisfy { $1 == UInt8(ascii: "0") ? 0x30...0x39 ~= $0 : $0 == $1 }
        let fraction = bytes[form.count...].dropLast()
        let isFraction =
            fraction.first == UInt8(ascii: ".") && fraction.count > 1
            && fraction.dropFirst().allSatisfy { 0x30...0x39 ~= $0 }
        return isInForm && (fraction.isEmpty || isFraction)
    }
}
