import Basics
import Diagnostics
import HTTPSemantics
import YAML

/// Reads an entry of a recording: a mapping with the options of a rule.
enum RecordingEntryReader {
    /// Where a response's body is.
    enum Body {
        case empty, missing
        case bytes([UInt8])
        /// A path below the recording's folder, and where it stands.
        case file(String, TextSpan)
    }

    struct Entry {
        var exchange = RecordedExchange()
        var body = Body.empty
        /// The file of the request's body.
        var requestFile: (path: String, span: TextSpan)?
    }

    private static let options = [
        "url", "method", "request", "status", "headers", "type", "file", "text", "json", "base64",
    ]

    static func entry(_ node: YAMLNode) throws(YAMLError) -> Entry {
        let entries = try mapping(node, "an entry is a mapping with a 'url'", options)
        var entry = Entry()
        guard let url = node["url"] else { throw YAMLError("this entry does not say its 'url'", at: node.span) }
        entry.exchange.url = try self.url(url)
        if let method = node["method"] { entry.exchange.method = try self.method(method) }
        if let status = node["status"] { entry.exchange.status = try self.status(status) }
        if let request = node["request"] { try readRequest(request, into: &entry) }
        var hasType = false
        if let headers = node["headers"] {
            (entry.exchange.fields, hasType) = try fields(headers)
        }
        let type = try readBody(entries, into: &entry)
        if let node = node["type"] {
            guard let scalar = node.scalar, let media = MediaType(scalar.string) else {
                throw YAMLError("'type' is a media type such as image/png", at: node.span)
            }
            entry.exchange.fields.removeAll { $0.isNamed("content-type") }
            entry.exchange.fields.append(RecordedField(Array("Content-Type".utf8), media.bytes))
        } else if !hasType, let type {
            entry.exchange.fields.append(RecordedField(Array("Content-Type".utf8), type))
        }
        return entry
    }

    private static func mapping(
        _ node: YAMLNode, _ expected: String, _ names: [String]
    ) throws(YAMLError) -> [YAMLNode.Entry] {
        guard let entries = node.entries else { throw YAMLError("\(expected), not \(node.kind)", at: node.span) }
        if let (first, repeated) = node.duplicateKeys().first {
            throw YAMLError(
                "the option \(repeated) comes twice; it is on line \(first.span.start.line) already", at: repeated.span)
        }
        for entry in entries {
            guard let key = entry.key.scalar else {
                throw YAMLError("an option's name is a word, not \(entry.key.kind)", at: entry.key.span)
            }
            guard names.contains(key.string) else {
                let known = didYouMean(key.string, among: names).map { "; did you mean '\($0)'?" } ?? ""
                throw YAMLError("unknown option \(key)\(known)", at: key.span)
            }
        }
        return entries
    }

    // MARK: What was asked

    private static func url(_ node: YAMLNode) throws(YAMLError) -> [UInt8] {
        if let bytes = try bytes(node) { return bytes }
        guard let scalar = node.scalar else { throw YAMLError("'url' is a URL, not \(node.kind)", at: node.span) }
        let text = scalar.isNull ? [] : Array(scalar.bytes)
        return text.firstIndex(of: UInt8(ascii: "#")).map { Array(text[..<$0]) } ?? text
    }

    private static func method(_ node: YAMLNode) throws(YAMLError) -> String {
        guard let scalar = node.scalar, !scalar.isNull, scalar.count > 0,
            scalar.bytes.allSatisfy({ $0.isMember(of: .token) })
        else { throw YAMLError("'method' is a word such as POST", at: node.span) }
        return scalar.string
    }

    private static func readRequest(_ node: YAMLNode, into entry: inout Entry) throws(YAMLError) {
        let names = ["headers", "json", "text", "base64", "file"]
        let entries = try mapping(node, "'request' is a mapping with 'headers' or a body", names)
        if let headers = node["headers"] { (entry.exchange.requestFields, _) = try fields(headers) }
        guard let source = try source(entries) else { return }
        switch try body(source) {
        case .file(let path, let span): entry.requestFile = (path, span)
        case .bytes(let bytes): entry.exchange.requestBody = bytes.isEmpty ? nil : bytes
        case .empty, .missing: break
        }
    }

    // MARK: What was answered

    private static func status(_ node: YAMLNode) throws(YAMLError) -> Int {
        guard let number = node.scalar?.intValue, (0...999).contains(number) else {
            throw YAMLError("'status' is a number from 200 to 599", at: node.span)
        }
        return number
    }

    /// Reads a list of fields, each a mapping of one name, or a mapping; whether a Content-Type is said, or is said to
    /// be none by null.
    private static func fields(_ node: YAMLNode) throws(YAMLError) -> (fields: [RecordedField], hasType: Bool) {
        let expected = "'headers' is a list of fields, as in [Content-Type: text/plain], or a mapping"
        var pairs: [YAMLNode.Entry] = []
        if let elements = node.elements {
            for element in elements {
                guard let entries = element.entries, entries.count == 1 else {
                    throw YAMLError(expected, at: element.span)
                }
                pairs += entries
            }
        } else if let entries = node.entries {
            pairs = entries
        } else if node.scalar?.isNull != true {
            throw YAMLError("\(expected), not \(node.kind)", at: node.span)
        }
        var fields: [RecordedField] = []
        var hasType = false
        for pair in pairs {
            guard let name = pair.key.scalar, name.count > 0, name.bytes.allSatisfy({ $0.isMember(of: .token) }) else {
                throw YAMLError(
                    "\(pair.key.scalar.map { "\($0)" } ?? pair.key.kind) is no field name", at: pair.key.span)
            }
            let value = try value(pair.value)
            let field = RecordedField(Array(name.bytes), value ?? [])
            if field.isNamed("content-type") { hasType = true }
            if value != nil { fields.append(field) }
        }
        return (fields, hasType)
    }

    /// A field's value; nil for null, which is none.
    private static func value(_ node: YAMLNode) throws(YAMLError) -> [UInt8]? {
        if let bytes = try bytes(node) { return bytes }
        guard let scalar = node.scalar else {
            throw YAMLError("a field's value is one text, not \(node.kind)", at: node.span)
        }
        guard !scalar.isNull else { return nil }
        guard scalar.bytes.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else {
            throw YAMLError("a field's value has no line break and no control character", at: scalar.span)
        }
        return scalar.withBytes { Array(UnsafeRawBufferPointer($0).trimmingOptionalWhitespace) }
    }

    /// The bytes of `{ base64: … }`, which stands where a text would be none of YAML's; nil for anything else.
    private static func bytes(_ node: YAMLNode) throws(YAMLError) -> [UInt8]? {
        guard let entries = node.entries, entries.count == 1, let value = node["base64"] else { return nil }
        return try base64(value)
    }

    // MARK: Bodies

    private static let sources = ["file", "text", "json", "base64"]

    /// The one option that says where a body is.
    private static func source(_ entries: [YAMLNode.Entry]) throws(YAMLError) -> (name: String, value: YAMLNode)? {
        var found: (name: String, value: YAMLNode)?
        for entry in entries {
            guard let name = entry.key.scalar?.string, sources.contains(name) else { continue }
            if let found {
                throw YAMLError("'\(found.name)' and '\(name)': a body is in one of them", at: entry.key.span)
            }
            found = (name, entry.value)
        }
        return found
    }

    /// Reads the response's body; the type that it has where the fields have none.
    private static func readBody(_ entries: [YAMLNode.Entry], into entry: inout Entry) throws(YAMLError) -> [UInt8]? {
        guard let source = try source(entries) else { return nil }
        entry.body = try body(source)
        switch source.name {
        case "text": return Array("text/plain; charset=utf-8".utf8)
        case "json": return Array("application/json".utf8)
        case "base64": return Array("application/octet-stream".utf8)
        default:
            guard case .file(let path, _) = entry.body else { return nil }
            return ExtensionTable.builtIn.type(forPath: Array(path.utf8)).withDefaultCharset.bytes
        }
    }

    private static func body(_ source: (name: String, value: YAMLNode)) throws(YAMLError) -> Body {
        let node = source.value
        switch source.name {
        case "json": return .bytes(try node.jsonBytes())
        case "base64": return .bytes(try base64(node))
        case "text":
            guard let scalar = node.scalar, scalar.value == .text else {
                let hint = node.scalar.map { $0.isNull ? "" : "; put it in quotes" } ?? ""
                throw YAMLError("'text' is text, not \(node.kind)\(hint)", at: node.span)
            }
            return .bytes(Array(scalar.bytes))
        default:
            if node.scalar?.isNull == true { return .missing }
            return .file(try path(node), node.span)
        }
    }

    private static func base64(_ node: YAMLNode) throws(YAMLError) -> [UInt8] {
        guard let scalar = node.scalar, let bytes = Base64.decoded(scalar.bytes) else {
            throw YAMLError("this is no Base64 (RFC 4648)", at: node.span)
        }
        return bytes
    }

    /// The path of a file below the recording's folder.
    private static func path(_ node: YAMLNode) throws(YAMLError) -> String {
        guard let scalar = node.scalar, scalar.count > 0 else {
            throw YAMLError("'file' is a path, not \(node.kind)", at: node.span)
        }
        let parts = scalar.bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isInside = parts.allSatisfy { part in
            !part.isEmpty && !part.elementsEqual(".".utf8) && !part.elementsEqual("..".utf8) && !part.contains(0)
        }
        guard isInside, scalar.count < 4000 else {
            throw YAMLError("a recording's file is below its folder, by a path without '.' and '..'", at: scalar.span)
        }
        return scalar.string
    }
}
