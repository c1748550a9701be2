/// Reads saved pages in MHTML (RFC 2557), as Chromium, Internet Explorer and UnMHT write them.
///
/// An entry's place is where its part begins, with all of its header block, and how long it is; `extra` is the number
/// of the base that surrounds it.
struct MHTMLReader: ArchiveReader {
    /// Bodies up to this many coded bytes are decoded to tell whether anything in them is rewritten, and how long they
    /// are.
    private static let telling = 1 << 20

    private let bytes: ArchiveBytes
    private let limits: ArchiveLimits
    private let ids: ContentIDs
    private let locations: PageLocations
    /// Where the document's part begins.
    private let document: Int

    private struct Part {
        var header: MIMEHeader
        var body: Range<Int>
        var encoding: TransferEncoding
        var kind: MHTMLKind
        var url: [UInt8]
        /// Whether the body is written otherwise than it is stored, as far as its type tells.
        var isRewritable: Bool
        /// Whether the body stands in the file as it is.
        var isPlain: Bool { encoding == .binary && !isRewritable }
    }

    /// Reads the index of a file.
    ///
    /// - Throws: ``ArchiveProblem`` where it has no part, a multipart without boundary, or is beyond limits.
    static func read(_ input: ArchiveInput, into contents: inout ArchiveContents) throws(ArchiveProblem) -> MHTMLReader
    {
        let scan = try MHTMLScanner(input.bytes, progress: input.progress)
        let document = documentIndex(scan)
        let locations = locations(scan, document)
        for warning in scan.warnings { contents.warn(warning) }
        for (index, part) in scan.parts.enumerated() {
            var found = FoundEntry(
                at: EntryPlace(offset: part.start, length: part.end - part.start, extra: part.base))
            let (location, id) = (scan.text(part.location), scan.text(part.id))
            found.url =
                index == document
                ? locations.document
                : locations.url(location: location, ownBase: scan.text(part.ownBase), base: part.base, id: id)
            try contents.table.add(found, limits: input.limits)
            contents.table.contentIDs.add(id, entry: index)
            if location.starts(withIgnoringCase: "cid:") {
                contents.table.contentIDs.add(Array(location.dropFirst(4)), entry: index)
            }
        }
        contents.table.markRepeated()
        let repeated = (0..<contents.table.count).filter { contents.table[$0].unusable == .repeated }
        contents.table.portableURLs = contents.table.contentIDs.identifiers(of: Set(repeated)).mapValues { id in
            PageLocations.folder(of: locations.document) + ContentIDs.segment(id)
        }
        contents.document = locations.document
        let title = scan.message?[.subject].map(EncodedWords.decoded)
        contents.pages = [ArchivePage(url: locations.document, title: title)]
        return MHTMLReader(
            bytes: input.bytes, limits: input.limits, ids: contents.table.contentIDs, locations: locations,
            document: scan.parts[document].start)
    }

    /// The part that is the page: the one that `start` names, else the one at Snapshot-Content-Location, else the first
    /// HTML, XHTML or SVG part.
    private static func documentIndex(_ scan: MHTMLScanner) -> Int {
        if let start = scan.startID, let index = scan.parts.firstIndex(where: { scan.text($0.id) == start }) {
            return index
        }
        if let snapshot = scan.message?[.snapshotLocation].map(RecordedURL.repaired), !snapshot.isEmpty,
            let index = scan.parts.firstIndex(where: { RecordedURL.repaired(scan.text($0.location)) == snapshot })
        {
            return index
        }
        return scan.parts.firstIndex { $0.kind.isDocument } ?? 0
    }

    private static func locations(_ scan: MHTMLScanner, _ document: Int) -> PageLocations {
        let part = scan.parts[document]
        let message = [scan.message?[.snapshotLocation], scan.message?[.contentLocation]]
        return PageLocations(
            document: scan.text(part.location), ownBase: scan.text(part.ownBase), base: part.base, bases: scan.bases,
            fallbacks: message.compactMap { $0 }.filter { !$0.isEmpty })
    }

    func exchange(at place: EntryPlace) throws(ArchiveProblem) -> RecordedExchange {
        let part = try part(at: place)
        var exchange = RecordedExchange()
        exchange.url = part.url
        exchange.body.storedBytes = part.body.count
        if part.isPlain {
            exchange.body.size = part.body.count
            exchange.body.isSeekable = true
        }
        if part.isRewritable { try tellRewriting(part, &exchange) }
        if let type = try contentType(part) { exchange.fields = [RecordedField(Array("Content-Type".utf8), type)] }
        return exchange
    }

    private func tellRewriting(_ part: Part, _ exchange: inout RecordedExchange) throws(ArchiveProblem) {
        exchange.body.isRewritten = true
        guard part.body.count <= MHTMLReader.telling else { return }
        var stream = stream(part, isRewriting: true)
        var size = 0
        var isMore = true
        while isMore {
            var piece: [UInt8] = []
            isMore = try stream.read(65_536, into: &piece)
            size += piece.count
        }
        exchange.body.isRewritten = stream.isRewritten
        exchange.body.size = size
    }

    /// The Content-Type as it is written; one that says nothing is told by the body.
    private func contentType(_ part: Part) throws(ArchiveProblem) -> [UInt8]? {
        let written = part.header[.contentType]
        if let written, !written.isEmpty, MIMEType(written).essence != Array("application/octet-stream".utf8) {
            return written
        }
        var stream = stream(part, isRewriting: false)
        var start: [UInt8] = []
        while start.count < BodySniffing.length, try stream.read(256, into: &start) {}
        return BodySniffing.type(start).map { Array($0.utf8) } ?? written
    }

    func body(at place: EntryPlace) throws(ArchiveProblem) -> any BodyStream {
        let part = try part(at: place)
        if part.isPlain { try LimitedStream.check(part.body.count, limit: limits.body) }
        return stream(part, isRewriting: part.isRewritable)
    }

    func storedBody(at place: EntryPlace) throws(ArchiveProblem) -> any BodyStream {
        stream(try part(at: place), isRewriting: false)
    }

    func portableBody(at place: EntryPlace, _ table: EntryTable) throws(ArchiveProblem) -> any BodyStream {
        let part = try part(at: place)
        let ids = ids
        return stream(part, isRewriting: part.isRewritable) { id in
            ids.entry(id: id).map { table.portableURLs[$0] ?? Array(table[$0].url) } ?? ContentIDs.segment(id)
        }
    }

    private func stream(
        _ part: Part, isRewriting: Bool, url: (@Sendable ([UInt8]) -> [UInt8])? = nil
    ) -> MHTMLStream {
        var rewriter: ContentIDRewriter?
        if isRewriting {
            let folder = PageLocations.folder(of: part.url)
            rewriter = ContentIDRewriter(
                ids, isHTML: part.kind == .html || part.kind == .xhtml,
                url: url ?? { folder + ContentIDs.segment($0) })
        }
        return MHTMLStream(bytes, part.body, part.encoding, rewriter: rewriter, limits: limits)
    }

    private func part(at place: EntryPlace) throws(ArchiveProblem) -> Part {
        // The body's own bytes are not needed: most header blocks are short.
        var length = min(place.length, 4096)
        var header: MIMEHeader?
        while header == nil {
            let start = try bytes.read(place.offset..<place.offset + length)
            header = start.withUnsafeBytes { MIMEHeader($0, isWhole: length == place.length) }
            guard header == nil, length < place.length, length <= MIMEHeader.limit else { break }
            length = min(place.length, length * 16)
        }
        guard let header, header.length <= place.length else {
            throw .error("the part is not what it was when the file was read", at: place.offset)
        }
        let location = header[.contentLocation] ?? []
        let kind = MHTMLKind(header[.contentType])
        let url =
            place.offset == document
            ? locations.document
            : locations.url(
                location: location, ownBase: header[.contentBase] ?? [], base: place.extra, id: header.contentID ?? [])
        return Part(
            header: header, body: place.offset + header.length..<place.offset + place.length,
            encoding: TransferEncoding(header[.transferEncoding]) ?? .binary, kind: kind, url: url,
            isRewritable: kind == .html || kind == .xhtml || kind != .other && !ids.isEmpty)
    }

    func verify(_ table: EntryTable, warn: (ArchiveProblem) -> Void) throws(ArchiveProblem) {
        for index in 0..<table.count {
            let place = table[index].place
            let part = try part(at: place)
            if TransferEncoding(part.header[.transferEncoding]) == nil {
                warn(
                    .warning(
                        "the transfer encoding is unknown, and taken as binary", at: place.offset, entry: index + 1))
            }
            var stream = stream(part, isRewriting: part.kind != .other)
            stream.readThrough()
            if let wrong = stream.wrong {
                let name = part.encoding == .base64 ? "base64" : "quoted-printable"
                warn(.warning("this is no \(name), and decoded as far as it goes", at: wrong, entry: index + 1))
            }
            for id in (stream.rewriter?.unresolved ?? []).map({ String(decoding: $0, as: UTF8.self) }).sorted() {
                warn(.warning("no part has cid:\(id)", at: part.body.lowerBound, entry: index + 1))
            }
        }
    }
}
