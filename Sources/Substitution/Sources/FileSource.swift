import Diagnostics
import Patterns
import YAML

/// `file`: a file below the map's root; what a mere file name in a map stands for.
///
/// A folder's rule answers with its folder and the rest of the URL's path, decoded segment by segment; captures in a
/// file's path are decoded likewise. A path that is empty or ends in `/` becomes that of its `index.html`.
struct FileSource: SourceKind {
    let option = "file"
    let traits: SourceTraits = [.namesFile, .dependsOnPath, .isShown]
    func methods(_ given: GivenOptions) -> MethodSet { .retrieval }

    func read(_ value: YAMLNode, _ reader: SourceReader) -> RuleBody.Text? {
        guard let scalar = value.scalar else {
            reader.diagnostics.error("'file' is a path, not \(value.kind)", at: value.span)
            return nil
        }
        return path(scalar, reader)
    }

    func effect(of option: OptionName, in given: GivenOptions) -> OptionEffect { .some }

    func answer(_ request: SourceRequest) -> SourceAnswer {
        do throws(RefusalReason) {
            return .file(root: request.root, path: try FileSource.path(request))
        } catch {
            return .refused(error)
        }
    }

    static func path(_ request: SourceRequest) throws(RefusalReason) -> [UInt8] {
        var path: [UInt8] = []
        if request.template != nil {
            let raw = request.expanded()
            // A capture may begin or end in "/" where the template has one too: no empty segment comes of it.
            for part in raw.split(separator: UInt8(ascii: "/")) {
                if !path.isEmpty { path.append(UInt8(ascii: "/")) }
                try FilePathDecoding.append(segment: part, to: &path)
            }
            if raw.last == UInt8(ascii: "/"), !path.isEmpty { path.append(UInt8(ascii: "/")) }
        } else {
            path = request.written
            // A folder that exists may be named without the slash at its end.
            if request.kind == .folder, !path.isEmpty, path.last != UInt8(ascii: "/") { path.append(UInt8(ascii: "/")) }
            try FilePathDecoding.append(rest: request.rest, to: &path)
        }
        return withIndex(path)
    }

    /// The path of a file, where a folder's is that of its `index.html`.
    static func withIndex(_ path: [UInt8]) -> [UInt8] {
        path.isEmpty || path.last == UInt8(ascii: "/") ? path + Array("index.html".utf8) : path
    }

    // MARK: Reading

    /// The path of a file's name; nil where it is refused, which is reported.
    func path(_ scalar: YAMLScalar, _ reader: SourceReader) -> RuleBody.Text? {
        if reader.key?.kind == .exact, FileSource.isText(scalar), scalar.withBytes(FileValue.isPlain) {
            return scalar.withBytes { reader.builder.append($0) }
        }
        if scalar.isNull {
            reader.diagnostics.error(
                "nothing answers here; a file name, a rule or a list of rules is expected",
                at: scalar.count == 0 ? reader.keySpan : scalar.span)
            return nil
        }
        guard scalar.value == .text else {
            reader.diagnostics.error(
                "a file name is text, not \(YAMLNode.scalar(scalar).kind); put it in quotes", at: scalar.span)
            return nil
        }
        do throws(KeyError) {
            return try text(scalar, reader)
        } catch {
            reader.diagnostics.error(error.message, at: error.range.map(scalar.span(ofBytes:)) ?? scalar.span)
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

    private func text(_ scalar: YAMLScalar, _ reader: SourceReader) throws(KeyError) -> RuleBody.Text {
        let written = Array(scalar.bytes)
        let template = try reader.template(written)
        let value = try FileValue(template.constant ?? written)
        try checkFolder(value, scalar, reader)
        if template.isConstant { warnOfPattern(value, scalar, reader) }
        guard template.constant == nil else { return reader.builder.append(value.path) }
        // What the map says is literal while captures are decoded, so its "%" is made one that is decoded too.
        var escaped: [UInt8] = []
        for byte in value.path {
            if byte == UInt8(ascii: "%") { escaped += "%25".utf8 } else { escaped.append(byte) }
        }
        return .template(reader.builder.append(try reader.template(escaped), text: scalar.string))
    }

    /// Warns of a pattern that looks like a folder and is mapped to one: it is for one URL at a time.
    private func warnOfPattern(_ value: FileValue, _ scalar: YAMLScalar, _ reader: SourceReader) {
        guard let key = reader.key, key.kind == .pattern, value.isFolder,
            reader.builder.storage.arena[key.text].last == UInt8(ascii: "/"),
            !reader.builder.storage.arena[key.text].contains(0x3f)
        else { return }
        reader.diagnostics.warning(
            "a pattern is no folder: this answers with the folder's index.html, and nothing below the URL; end the key"
                + " in '/**' and this in '$\(key.captureCount + 1)' for all that is below it", at: scalar.span)
    }

    /// Reports a folder that is mapped to a file, and a file to a folder.
    private func checkFolder(_ value: FileValue, _ scalar: YAMLScalar, _ reader: SourceReader) throws(KeyError) {
        guard let key = reader.key else { return }
        switch (key.kind, value.isFolder) {
        case (.folder, false):
            reader.builder.folderChecks.append((value.path, scalar.span))
        case (.exact, true) where key.isBareAuthority:
            throw KeyError("one URL is mapped to a folder: without a '/' at its end the key is the root page alone")
        case (.exact, true):
            throw KeyError("one URL is mapped to a folder; end the key in '/' to map all that is below it")
        default: break
        }
    }
}

/// Makes a path below a folder of a URL's path.
enum FilePathDecoding {
    /// Appends what follows a folder's key, segment by segment; a `/` at its end stays.
    static func append(rest: [UInt8], to path: inout [UInt8]) throws(RefusalReason) {
        var index = 0
        while index < rest.count {
            var end = index
            while end < rest.count, rest[end] != UInt8(ascii: "/") { end += 1 }
            guard end > index else { throw .emptySegment }
            try append(segment: rest[index..<end], to: &path)
            if end < rest.count { path.append(UInt8(ascii: "/")) }
            index = end + 1
        }
    }

    /// Appends one segment, decoded.
    static func append(segment: ArraySlice<UInt8>, to path: inout [UInt8]) throws(RefusalReason) {
        let start = path.count
        PercentDecoding.append(segment, to: &path)
        let decoded = path[start...]
        if decoded.contains(UInt8(ascii: "/")) { throw .encodedSlash }
        if decoded.contains(0) { throw .nulByte }
        if decoded.elementsEqual("..".utf8) || decoded.elementsEqual(".".utf8) { throw .dotSegment }
    }
}
