import Diagnostics
import HTTPSemantics
import YAML

/// Reads a recording: `recording.yaml`, a list of entries, with the bodies in files beside it.
///
/// The list is kept in memory, as maps are, so that an edit of it is in force from the next reload on and not before;
/// files are opened when they are asked for, so that an edit of one counts at once. An entry's place has its line in
/// `extra`.
struct RecordingReader: ArchiveReader {
    /// The most bytes of a list.
    static let sizeLimit = YAMLLimits().inputBytes

    private let source: [UInt8]
    private let sibling: @Sendable (_ path: String) -> ArchiveBytes?
    private var places: [EntryPlace] = []
    /// Where the last entry begins, if its recorder was killed before it was written; it is not read.
    let tornEntry: Int?

    /// Reads the places of the entries, and checks each.
    ///
    /// - Parameter hasFile: whether a file is there, by its path below the recording's folder.
    /// - Throws: ``ArchiveProblem`` with the first error.
    init(_ source: [UInt8], hasFile: (String) -> Bool) throws(ArchiveProblem) {
        tornEntry = RecordingReader.tornEntry(source, hasFile)
        let source = tornEntry.map { Array(source[..<$0]) } ?? source
        self.source = source
        sibling = { _ in nil }
        var places: [EntryPlace] = []
        try RecordingReader.forEachEntry(source) { place, node throws(YAMLError) in
            _ = try RecordingEntryReader.entry(node)
            places.append(place)
        }
        self.places = places
    }

    private init(_ source: [UInt8], _ input: ArchiveInput) {
        tornEntry = nil
        self.source = source
        sibling = input.sibling
    }

    /// Reads the index of a recording.
    static func read(
        _ input: ArchiveInput, into contents: inout ArchiveContents
    ) throws(ArchiveProblem) -> RecordingReader {
        guard input.bytes.count <= sizeLimit else {
            throw ArchiveProblem(.error, "the recording has more than \(sizeLimit) bytes, the most that is read")
        }
        var source = try input.bytes.read(at: 0, upTo: input.bytes.count)
        if let torn = tornEntry(source, { input.sibling($0) != nil }) {
            let span = TextSpan(at: TextMark(offset: torn, in: source))
            contents.warn(
                warning("the last entry is cut short, and left out: no line's end is behind it", at: span, source))
            source.removeSubrange(torn...)
        }
        let reader = RecordingReader(source, input)
        var table = EntryTable()
        table.isNumberedByLine = true
        var warnings: [ArchiveProblem] = []
        var refusal: ArchiveProblem?
        try forEachEntry(source) { place, node throws(YAMLError) in
            guard refusal == nil else { return }
            let entry = try RecordingEntryReader.entry(node)
            if place.offset % 65_536 < place.length { input.progress(place.offset) }
            do throws(ArchiveProblem) {
                let found = reader.found(entry, place) { warnings.append(RecordingReader.warning($0, at: $1, source)) }
                try table.add(found, limits: input.limits)
            } catch {
                refusal = error
            }
        }
        if let refusal { throw refusal }
        contents.table = table
        for warning in warnings { contents.warn(warning) }
        return reader
    }

    // MARK: Entries

    /// Where the last entry begins, if no line's end is behind it and it is none, or has no body. A recorder ends each
    /// entry with a line; what people write may end without one, and is whole where it says a body.
    private static func tornEntry(_ source: [UInt8], _ hasFile: (String) -> Bool) -> Int? {
        guard let last = source.last, last != 0x0A, last != 0x0D else { return nil }
        var start = source.count
        repeat {
            start = source[..<start].lastIndex(of: UInt8(ascii: "-")) ?? -1
            guard start >= 0 else { return nil }
        } while start > 0 && source[start - 1] != 0x0A && source[start - 1] != 0x0D
        guard !source[start...].starts(with: "---".utf8) else { return nil }
        do throws(YAMLError) {
            guard let node = try YAMLNode.parse(Array(source[start...]))?.elements?.first else { return start }
            switch try RecordingEntryReader.entry(node).body {
            case .empty, .missing: return start
            case .file(let path, _): return hasFile(path) ? nil : start
            case .bytes: return nil
            }
        } catch {
            return start
        }
    }

    /// Reads the list, entry by entry.
    private static func forEachEntry(
        _ source: [UInt8], _ body: (EntryPlace, YAMLNode) throws(YAMLError) -> Void
    ) throws(ArchiveProblem) {
        do throws(YAMLError) {
            let parser = YAMLEventParser(source)
            while true {
                switch try parser.next() {
                case .streamEnd: return
                case .documentStart, .documentEnd: continue
                case .sequenceStart(let start):
                    try readList(parser, source, isFlow: ends(start, UInt8(ascii: "["), source), body)
                case .scalar(let scalar) where scalar.isNull: continue
                case let event:
                    throw YAMLError("a recording is a list of entries, each with a 'url'", at: event.span)
                }
            }
        } catch {
            throw problem(error, source)
        }
    }

    /// Whether a span's last byte is this one.
    private static func ends(_ span: TextSpan, _ byte: UInt8, _ source: [UInt8]) -> Bool {
        source.indices.contains(span.end.offset - 1) && source[span.end.offset - 1] == byte
    }

    /// - Parameter isFlow: whether the list stands in brackets.
    private static func readList(
        _ parser: YAMLEventParser, _ source: [UInt8], isFlow isFlowList: Bool,
        _ body: (EntryPlace, YAMLNode) throws(YAMLError) -> Void
    ) throws(YAMLError) {
        while true {
            let event = try parser.next()
            switch event {
            case .sequenceEnd: return
            case .mappingStart(let start):
                // Where it is read again by itself, it would be one of a block, whose texts have other limits.
                guard !isFlowList || ends(start, UInt8(ascii: "{"), source) else {
                    throw YAMLError("an entry in brackets stands in braces, as in [{ url: … }]", at: start)
                }
                var entries: [YAMLNode.Entry] = []
                while true {
                    let event = try parser.next()
                    if case .mappingEnd(let end) = event {
                        let isFlow = end.end.offset > end.start.offset
                        let last = isFlow ? end.end : end.start
                        let offset = start.start.offset
                        let place = EntryPlace(
                            offset: offset, length: max(0, last.offset - offset),
                            extra: UInt32(clamping: start.start.line))
                        let span = TextSpan(
                            start: start.start, end: isFlow ? end.end : entries.last?.value.span.end ?? start.end)
                        try body(place, .mapping(entries, span))
                        break
                    }
                    let key = try parser.node(startingWith: event)
                    entries.append(.init(key: key, value: try parser.node(startingWith: try parser.next())))
                }
            default:
                let node = try parser.node(startingWith: event)
                throw YAMLError(
                    "this list is a recording, whose entries are mappings with a 'url', not \(node.kind); a map is a"
                        + " mapping with 'substitutions'", at: node.span)
            }
        }
    }

    /// What is kept of an entry.
    private func found(
        _ entry: RecordingEntryReader.Entry, _ place: EntryPlace, warn: (String, TextSpan) -> Void
    ) -> FoundEntry {
        let exchange = entry.exchange
        var found = FoundEntry(at: place)
        found.method = exchange.method
        found.url = exchange.url
        found.status = exchange.status
        found.hasRequestBody = exchange.requestBody != nil || entry.requestFile != nil
        found.varies = exchange.value("vary") != nil
        found.isPartial = OutgoingFields.isPart(exchange)
        if exchange.status == 0 { found.unusable = .failed }
        switch entry.body {
        case .missing: found.unusable = found.unusable ?? .bodyNotRecorded
        case .empty where exchange.status == 304: found.unusable = .notModified
        case .file(let path, let span):
            guard file(path) == nil else { break }
            warn("the file '\(path)' is missing", span)
            found.unusable = found.unusable ?? .bodyNotRecorded
        default: break
        }
        if let (path, span) = entry.requestFile, file(path) == nil {
            warn("the file '\(path)' is missing", span)
            found.hasRequestBody = false
        }
        return found
    }

    private func file(_ path: String) -> ArchiveBytes? { sibling(path) }

    /// The entry at a place, read anew from the text in memory.
    private func entry(at place: EntryPlace) throws(ArchiveProblem) -> RecordingEntryReader.Entry {
        let (end, overflow) = place.offset.addingReportingOverflow(place.length)
        guard !overflow, place.offset >= 0, end <= source.count, place.offset <= end else {
            throw .cutShort(at: place.offset)
        }
        // A mapping in a block goes on in lines that are indented as its first one.
        var start = place.offset
        if source[start..<end].first != UInt8(ascii: "{") {
            while start > 0, source[start - 1] != 0x0A, source[start - 1] != 0x0D { start -= 1 }
        }
        let indentation = [UInt8](repeating: 0x20, count: place.offset - start)
        do throws(YAMLError) {
            guard let node = try YAMLNode.parse(indentation + source[place.offset..<end]) else {
                throw YAMLError("the entry is empty", at: TextSpan(at: .start))
            }
            return try RecordingEntryReader.entry(node)
        } catch {
            throw .error(error.message, at: place.offset)
        }
    }

    func exchange(at place: EntryPlace) throws(ArchiveProblem) -> RecordedExchange {
        let entry = try entry(at: place)
        var exchange = entry.exchange
        if let (path, _) = entry.requestFile, let file = file(path), file.count <= RecordedExchange.mostRequestBytes {
            exchange.requestBody = try file.read(at: 0, upTo: file.count)
        }
        switch entry.body {
        case .missing: exchange.body.isMissing = true
        case .empty: exchange.body.size = 0
        case .bytes(let bytes):
            exchange.body.size = bytes.count
            exchange.body.storedBytes = bytes.count
        case .file(let path, _):
            let file = file(path)
            exchange.body.isMissing = file == nil
            exchange.body.size = file?.count
            exchange.body.isSeekable = file != nil
            exchange.body.fileState = file?.version
            exchange.body.fileMayChange = true
            exchange.body.storedBytes = file?.count ?? 0
        }
        try readCodings(entry, &exchange)
        return exchange
    }

    /// A coding is believed where the body begins as it does, or it has no mark to begin with, and of a part from
    /// within, where it can't be told.
    private func readCodings(
        _ entry: RecordingEntryReader.Entry, _ exchange: inout RecordedExchange
    ) throws(ArchiveProblem) {
        let codings = exchange.fields.filter { $0.isNamed("content-encoding") }.flatMap { field in
            field.value.split(separator: UInt8(ascii: ",")).map { name in
                String(decoding: name.filter { $0 > 0x20 }, as: UTF8.self).lowercased()
            }
        }.filter { !$0.isEmpty && $0 != "identity" }
        guard !codings.isEmpty else { return }
        guard !OutgoingFields.isFromWithin(exchange) else {
            exchange.body.codings = codings
            return
        }
        var start: [UInt8] = []
        var stream = try body(entry)
        while start.count < 4, try stream.read(4, into: &start) {}
        let outermost = codings.last.flatMap { ContentCoding(name: $0) }
        if !start.isEmpty, outermost?.canBegin(with: start) ?? true {
            exchange.body.codings = codings
        } else {
            exchange.fields.removeAll { $0.isNamed("content-encoding") }
        }
    }

    func body(at place: EntryPlace) throws(ArchiveProblem) -> any BodyStream { try body(try entry(at: place)) }

    private func body(_ entry: RecordingEntryReader.Entry) throws(ArchiveProblem) -> any BodyStream {
        switch entry.body {
        case .missing, .empty: return MemoryStream([])
        case .bytes(let bytes): return MemoryStream(bytes)
        case .file(let path, _):
            guard let file = file(path) else { throw ArchiveProblem(.error, "the file '\(path)' is missing") }
            return RangeStream(file, 0..<file.count)
        }
    }

    // MARK: For the writer

    var entryCount: Int { places.count }

    /// Calls `body` with each file that an entry names, and the Content-Type of what is in it.
    func forEachFile(_ body: ([UInt8], [UInt8]) -> Void) throws(ArchiveProblem) {
        for place in places {
            let entry = try entry(at: place)
            if case .file(let path, _) = entry.body {
                body(Array(path.utf8), entry.exchange.value("content-type") ?? [])
            }
            if let (path, _) = entry.requestFile {
                body(Array(path.utf8), Redaction.type(entry.exchange.requestFields))
            }
        }
    }

    // MARK: Problems

    private static func problem(_ error: YAMLError, _ source: [UInt8]) -> ArchiveProblem {
        var problem = ArchiveProblem(
            .error, error.message, at: .line(error.span.start.line, column: error.span.start.column))
        problem.excerpt = excerpt(error.span, source)
        return problem
    }

    private static func warning(_ message: String, at span: TextSpan, _ source: [UInt8]) -> ArchiveProblem {
        var problem = ArchiveProblem(.warning, message, at: .line(span.start.line, column: span.start.column))
        problem.excerpt = excerpt(span, source)
        return problem
    }

    /// The line of the source, and the mark under what is meant.
    private static func excerpt(_ span: TextSpan, _ source: [UInt8]) -> String {
        let rendered = Diagnostic(.error, "", file: "", span: span).rendered(source: source)
        return rendered.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().joined(separator: "\n")
    }
}
