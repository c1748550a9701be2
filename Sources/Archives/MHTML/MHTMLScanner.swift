import Glibc
import HTTPSemantics

/// What a part's type means to a reader.
enum MHTMLKind: UInt8 {
    case other, html, xhtml, svg, css

    init(_ contentType: [UInt8]?) {
        guard let contentType else {
            self = .other
            return
        }
        let type = contentType.prefix { $0 != 0x3B }
        self = type.withUnsafeBytes {
            let type = $0.trimmingOptionalWhitespace
            if type.equalsIgnoringCase("text/html") { return .html }
            if type.equalsIgnoringCase("application/xhtml+xml") { return .xhtml }
            if type.equalsIgnoringCase("image/svg+xml") { return .svg }
            return type.equalsIgnoringCase("text/css") ? .css : .other
        }
    }

    var isDocument: Bool { self == .html || self == .xhtml || self == .svg }
}

/// A part that is no multipart: all that is kept of it while a file is read.
struct MHTMLPart {
    /// Where its header block begins.
    var start: Int
    /// Where its body ends.
    var end: Int
    /// In ``MHTMLScanner/arena``; empty where there is none.
    var location: Range<Int>
    var ownBase: Range<Int>
    var id: Range<Int>
    /// In ``MHTMLScanner/bases``.
    var base: UInt32
    var kind: MHTMLKind
}

/// Finds the parts of a message, from its beginning to its end (RFC 2046 §5.1.1, RFC 2557).
struct MHTMLScanner {
    /// The most multiparts that are in each other.
    static let depthLimit = 8
    /// The most bytes of a boundary (RFC 2046 has 70).
    static let boundaryLimit = 1024

    private struct Multipart {
        var boundary: [UInt8]
        var base: UInt32
        var offset: Int
    }

    private struct Delimiter {
        /// Where what is before it ends.
        var bodyEnd: Int
        /// Where the line behind it begins.
        var next: Int
        /// The multipart that it belongs to.
        var level: Int
        var isClosing: Bool
    }

    private(set) var parts: ContiguousArray<MHTMLPart> = []
    private(set) var arena: [UInt8] = []
    /// What parts' locations are relative to, beside their own Content-Base; the first is none.
    private(set) var bases: [[UInt8]] = [[]]
    /// The message's own header block.
    private(set) var message: MIMEHeader?
    /// The Content-ID that the outermost multipart names as its document.
    private(set) var startID: [UInt8]?
    private(set) var warnings: [ArchiveProblem] = []

    private var window: ByteWindow
    private var open: [Multipart] = []
    private var pending: MHTMLPart?
    private let progress: @Sendable (Int) -> Void

    /// Reads all.
    ///
    /// - Throws: ``ArchiveProblem`` for a multipart without boundary, no part, what is too deep or too long.
    init(_ bytes: ArchiveBytes, progress: @escaping @Sendable (Int) -> Void = { _ in }) throws(ArchiveProblem) {
        window = ByteWindow(bytes)
        self.progress = progress
        var position = try beginning()
        position = try header(at: position)
        let isEmpty =
            open.isEmpty && position >= bytes.count && message?[.contentType] == nil
            && message?[.contentLocation] == nil
        while !open.isEmpty, let delimiter = try delimiter(from: position) {
            finish(at: delimiter.bodyEnd)
            for unclosed in open[(delimiter.level + 1)...] { warnUnclosed(unclosed, delimiter.bodyEnd) }
            open.removeSubrange((delimiter.level + 1)...)
            position = delimiter.next
            if delimiter.isClosing {
                open.removeLast()
            } else {
                position = try header(at: position)
            }
        }
        if let last = open.last { warnUnclosed(last, bytes.count) }
        finish(at: bytes.count)
        guard !parts.isEmpty, !isEmpty else { throw .error("the message has no part", at: 0) }
    }

    /// The bytes of a range in ``arena``.
    func text(_ range: Range<Int>) -> [UInt8] { Array(arena[range]) }

    /// Where the header begins: behind a byte-order mark and empty lines.
    private mutating func beginning() throws(ArchiveProblem) -> Int {
        try window.require(4096, at: 0)
        var position = window.buffer.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while position < window.end, [0x0D, 0x0A].contains(window.buffer[position]) { position += 1 }
        return position
    }

    private mutating func warnUnclosed(_ multipart: Multipart, _ offset: Int) {
        guard warnings.count < 1000 else { return }
        warnings.append(
            .warning("the multipart that begins at \(multipart.offset) has no closing boundary", at: offset))
    }

    private mutating func finish(at end: Int) {
        guard var part = pending else { return }
        part.end = max(part.end, end)
        parts.append(part)
        pending = nil
    }

    /// Reads the header block of the message or a part.
    ///
    /// - Returns: Where its body begins.
    private mutating func header(at start: Int) throws(ArchiveProblem) -> Int {
        try window.require(MIMEHeader.limit + MHTMLScanner.boundaryLimit + 8, at: start)
        let (offset, isWhole) = (start - window.start, window.isLast)
        let header: MIMEHeader? = window.buffer.withUnsafeBytes { all in
            let offset = min(offset, all.count)
            return MIMEHeader(UnsafeRawBufferPointer(rebasing: all[offset...]), isWhole: isWhole) {
                match(all, at: offset + $0) != nil
            }
        }
        guard let header else { throw .error("the header block is longer than \(MIMEHeader.limit) bytes", at: start) }
        let type = header[.contentType].map(MIMEType.init)
        if let type, type.isMultipart {
            try begin(type, header, at: start)
        } else {
            guard parts.count < ArchiveLimits.entries else {
                throw .error("more than \(ArchiveLimits.entries) entries", at: start)
            }
            pending = MHTMLPart(
                start: start, end: start + header.length, location: keep(header[.contentLocation]),
                ownBase: keep(header[.contentBase]), id: keep(header.contentID), base: open.last?.base ?? 0,
                kind: MHTMLKind(header[.contentType]))
        }
        if message == nil { message = header }
        return start + header.length
    }

    private mutating func keep(_ value: [UInt8]?) -> Range<Int> {
        let start = arena.count
        if let value { arena += value }
        return start..<arena.count
    }

    /// Goes into a multipart.
    private mutating func begin(_ type: MIMEType, _ header: MIMEHeader, at start: Int) throws(ArchiveProblem) {
        guard open.count < MHTMLScanner.depthLimit else {
            throw .error("more than \(MHTMLScanner.depthLimit) multiparts in each other", at: start)
        }
        guard let boundary = type["boundary"], !boundary.isEmpty else {
            throw .error("the multipart has no boundary", at: start)
        }
        guard boundary.count <= MHTMLScanner.boundaryLimit else {
            throw .error("the boundary is longer than \(MHTMLScanner.boundaryLimit) bytes", at: start)
        }
        var base = open.last?.base ?? 0
        if let url = header[.contentBase] ?? header[.contentLocation], !url.isEmpty {
            base = UInt32(clamping: bases.count)
            bases.append(url)
        }
        if open.isEmpty, let start = type["start"] { startID = MIMEHeader.withoutBrackets(start) }
        open.append(Multipart(boundary: boundary, base: base, offset: start))
    }

    /// The next line that is a boundary of one of the open multiparts.
    ///
    /// - Parameter start: where a line begins.
    private mutating func delimiter(from start: Int) throws(ArchiveProblem) -> Delimiter? {
        var line = start
        while line < window.source.count {
            try window.require(MHTMLScanner.boundaryLimit * 2 + 8, at: line)
            let (windowStart, isLast) = (window.start, window.isLast)
            var delimiter: Delimiter?
            line = window.buffer.withUnsafeBytes { all in
                var index = line - windowStart
                // A boundary is looked at only where all of it is in the window.
                let end = isLast ? all.count : all.count - MHTMLScanner.boundaryLimit * 2
                while index < end {
                    if let (level, isClosing, next) = match(all, at: index) {
                        var bodyEnd = index
                        if index + windowStart > start {
                            bodyEnd -= 1
                            if bodyEnd + windowStart > start, bodyEnd > 0, all[bodyEnd - 1] == 0x0D { bodyEnd -= 1 }
                        }
                        delimiter = Delimiter(
                            bodyEnd: bodyEnd + windowStart, next: next + windowStart, level: level,
                            isClosing: isClosing)
                        return next + windowStart
                    }
                    guard let base = all.baseAddress, let found = memchr(base + index, 0x0A, all.count - index) else {
                        return all.count + windowStart
                    }
                    index = UnsafeRawPointer(found) - base + 1
                }
                return index + windowStart
            }
            if let delimiter { return delimiter }
            // A line that goes on behind the window begins nowhere in it.
            if line == window.end, !window.isLast { line = try lineBehindWindow() }
            progress(line)
        }
        return nil
    }

    /// Where the first line begins behind the end of the window.
    private mutating func lineBehindWindow() throws(ArchiveProblem) -> Int {
        var position = window.end
        if window.buffer.last == 0x0A { return position }
        while position < window.source.count {
            try window.require(1, at: position)
            let found = window.buffer[(position - window.start)...].firstIndex(of: 0x0A)
            if let found { return window.start + found + 1 }
            position = window.end
        }
        return position
    }

    /// Whether a boundary of one of the open multiparts stands at an offset: `--`, the boundary, `--` for the last one,
    /// white space.
    private func match(_ bytes: UnsafeRawBufferPointer, at index: Int) -> (level: Int, isClosing: Bool, next: Int)? {
        guard index + 2 < bytes.count, bytes[index] == 0x2D, bytes[index + 1] == 0x2D else { return nil }
        for level in open.indices.reversed() {
            let boundary = open[level].boundary
            var end = index + 2 + boundary.count
            guard end <= bytes.count, bytes.rebased(index + 2..<end).elementsEqual(boundary) else { continue }
            if let next = MHTMLScanner.lineEnd(bytes, at: end) { return (level, false, next) }
            end += 2
            guard end <= bytes.count, bytes[end - 2] == 0x2D, bytes[end - 1] == 0x2D else { continue }
            if let next = MHTMLScanner.lineEnd(bytes, at: end) { return (level, true, next) }
        }
        return nil
    }

    /// Where the next line begins, if but white space is before it.
    private static func lineEnd(_ bytes: UnsafeRawBufferPointer, at index: Int) -> Int? {
        var index = index
        let limit = min(bytes.count, index + boundaryLimit)
        while index < limit {
            switch bytes[index] {
            case 0x0A: return index + 1
            case 0x20, 0x09, 0x0D: index += 1
            default: return nil
            }
        }
        return index == bytes.count ? index : nil
    }
}
