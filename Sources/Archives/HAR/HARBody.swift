/// What a response's body is, by the members of its entry.
enum HARBody {
    /// None was recorded.
    case missing
    case empty
    /// A string of the file, as it is written there.
    case text(Range<Int>, isBase64: Bool)
    /// A file of its own, by its path below the archive's folder.
    case file(String)

    /// - Throws: ``ArchiveProblem`` for a `_file` outside.
    init(_ content: HARContent, method: String, status: Int) throws(ArchiveProblem) {
        let path = try content.filePath()
        if method == "HEAD" {
            self = .empty
        } else if let path {
            self = .file(path)
        } else if let text = content.text {
            // Chrome writes "" for a body that it could not get, beside the size that this had.
            let isEmpty = text.isEmpty && (HARBody.isEmpty(status) || (content.size ?? 0) <= 0)
            self = isEmpty ? .empty : text.isEmpty ? .missing : .text(text, isBase64: content.isBase64)
        } else if content.size == 0 || HARBody.isEmpty(status) {
            self = .empty
        } else {
            self = .missing
        }
    }

    var isEmpty: Bool {
        if case .empty = self { true } else { false }
    }

    /// Whether a response has no body, or none that matters: a redirect's.
    private static func isEmpty(_ status: Int) -> Bool {
        status == 204 || status == 205 || (300...399).contains(status)
    }
}

extension HARContent {
    /// The path of the file that has the body.
    ///
    /// - Throws: ``ArchiveProblem`` where it is outside of the archive's folder.
    func filePath() throws(ArchiveProblem) -> String? {
        guard let file else { return nil }
        guard let path = HARURL.path(file) else {
            let name = String(decoding: file.prefix(200), as: UTF8.self)
            throw .error("the _file '\(name)' is outside of the archive's folder", at: fileOffset)
        }
        return path
    }
}

/// Reads a string of JSON as the bytes that it stands for, decoded from base64 where it is in that.
struct JSONStringStream: BodyStream {
    private let source: ArchiveBytes
    private var range: Range<Int>
    private let isBase64: Bool
    private var escapes = JSONEscapes()
    private var base64 = LenientBase64()

    /// - Parameter range: what is between the quotes.
    init(_ source: ArchiveBytes, _ range: Range<Int>, isBase64: Bool) {
        self.source = source
        self.range = range
        self.isBase64 = isBase64
    }

    /// How many characters were no base64.
    var strangers: Int { base64.strangers }

    /// How many escapes were not JSON's, and halves of surrogate pairs.
    var faults: Int { escapes.faults }

    mutating func read(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Bool {
        let end = min(range.upperBound, range.lowerBound + max(count, 1))
        let written = try source.read(range.lowerBound..<end)
        range = end..<range.upperBound
        guard isBase64 else {
            unescape(written, into: &bytes)
            return !range.isEmpty
        }
        var text: [UInt8] = []
        unescape(written, into: &text)
        base64.decode(text, into: &bytes)
        if range.isEmpty { base64.finish(into: &bytes) }
        return !range.isEmpty
    }

    private mutating func unescape(_ written: [UInt8], into bytes: inout [UInt8]) {
        written.withUnsafeBytes { escapes.decode($0, into: &bytes) }
        if range.isEmpty { escapes.finish(into: &bytes) }
    }
}
