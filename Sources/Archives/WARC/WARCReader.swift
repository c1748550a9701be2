import HTTPSemantics

/// WARC 1.0 and 1.1, plain and gzip, and the WARC files of a WACZ.
struct WARCReader: ArchiveReader {
    /// A WARC file: a part of the archive's bytes.
    struct File {
        /// In a WACZ.
        var name: String?
        var range: Range<Int>
    }

    let bytes: ArchiveBytes
    let limits: ArchiveLimits
    /// In the order of their ranges.
    let files: [(range: Range<Int>, isCompressed: Bool)]
    /// The first entry of each file, and how many entries there are.
    private let firsts: [Int]
    private let requests: ContiguousArray<RecordPlace>
    /// Where the record is that has the body of a revisit.
    private let revisits: [Int: RecordPlace]
    let marks: MemberMarks

    /// Reads the index of a file. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where it is no WARC, or has no entry.
    init(_ input: ArchiveInput, into contents: inout ArchiveContents) throws(ArchiveProblem) {
        try self.init(input, [File(range: 0..<input.bytes.count)], into: &contents)
    }

    /// Reads the index of several files, in their order.
    init(_ input: ArchiveInput, _ parts: [File], into contents: inout ArchiveContents) throws(ArchiveProblem) {
        bytes = input.bytes
        limits = input.limits
        var files: [(range: Range<Int>, isCompressed: Bool)] = []
        var index = WARCIndex(input.limits)
        var firsts: [Int] = []
        let marks = MemberMarks()
        for part in parts {
            firsts.append(contents.table.count)
            if let name = part.name { contents.table.begin(member: name) }
            let isCompressed = try WARCReader.isCompressed(input.bytes, part.range)
            files.append((part.range, isCompressed))
            let source = try RecordSource(
                input.bytes, part.range, isCompressed: isCompressed, room: 262_144, marks: marks, goesBack: true)
            try index.read(source, into: &contents, progress: input.progress)
        }
        guard contents.table.count > 0 else {
            let reason = contents.warnings.first.map { ": \($0.message)" } ?? ""
            throw ArchiveProblem(.error, "there is no record of a response in it" + reason, at: .file)
        }
        self.files = files
        self.marks = marks
        self.firsts = firsts + [contents.table.count]
        let targets = index.resolveRevisits(&contents.table)
        revisits = targets.mapValues { WARCReader.place(contents.table[$0].place) }
        requests = index.requests
    }

    private static func isCompressed(_ bytes: ArchiveBytes, _ range: Range<Int>) throws(ArchiveProblem) -> Bool {
        let start = try bytes.read(at: range.lowerBound, upTo: min(4, range.count))
        if start.starts(with: [0x28, 0xB5, 0x2F, 0xFD]) {
            throw .error(".warc.zst is not read: 'zstd -d FILE' makes a .warc of it, which is", at: range.lowerBound)
        }
        return start.starts(with: [0x1F, 0x8B])
    }

    /// Compares the digests of all records, and looks for broken chunks.
    func verify(_ table: EntryTable, warn: (ArchiveProblem) -> Void) throws(ArchiveProblem) {
        try verify(table, isDecoding: false, warn: warn)
    }

    /// Decodes the bodies in the same pass: so each record is read once, however many are in one gzip member.
    func check(
        _ table: EntryTable, _ limits: ArchiveLimits, warn: (ArchiveProblem) -> Void
    ) throws(ArchiveProblem) {
        try verify(table, isDecoding: true, warn: warn)
    }

    private func verify(
        _ table: EntryTable, isDecoding: Bool, warn: (ArchiveProblem) -> Void
    ) throws(ArchiveProblem) {
        for (index, file) in files.enumerated() {
            let source = try RecordSource(
                bytes, file.range, isCompressed: file.isCompressed, room: 262_144, goesBack: true)
            let entries = firsts[index]..<(firsts[index + 1])
            var verifier = WARCVerifier(source, limits, entries: entries, isDecoding: isDecoding)
            try verifier.run(table, warn: warn)
        }
    }

    // MARK: Records

    /// A record that is read: its head, and that of its message, behind which its body is.
    struct OpenRecord {
        let scanner: RecordScanner
        let record: RecordScanner.Record
        /// Nil where its block is no message of HTTP.
        var message: MessageHead?
        /// How long the body is as it is stored.
        var count: Int { scanner.rest }
    }

    /// - Throws: ``ArchiveProblem`` where the file is not what it was when its index was read.
    func open(_ place: RecordPlace, room: Int = 32_768) throws(ArchiveProblem) -> OpenRecord {
        guard let file = files.last(where: { $0.range.lowerBound <= place.offset }),
            place.offset < file.range.upperBound
        else { throw .error("the record is not there", at: place.offset) }
        let source = try source(place, file, room: room)
        let scanner = RecordScanner(source)
        guard try source.fill(5), source.window.begins(with: "WARC/"),
            let record = try scanner.next(), record.offset == place.offset, record.inner == place.inner
        else { throw .error("the record is not there any more: the file was changed", at: place.offset) }
        var open = OpenRecord(scanner: scanner, record: record)
        let isResponse = try scanner.peek(5).begins(with: "HTTP/")
        guard record.head.kind != .resource, isResponse || record.head.isHTTP || record.head.kind != .response else {
            return open
        }
        open.message = try WARCIndex.head(scanner, limits) { MessageHead($0, isWhole: $1) }
        try scanner.advance(open.message?.length ?? 0)
        return open
    }

    /// What reads a record from its beginning on.
    private func source(
        _ place: RecordPlace, _ file: (range: Range<Int>, isCompressed: Bool), room: Int
    ) throws(ArchiveProblem) -> RecordSource {
        let range = place.offset..<file.range.upperBound
        guard place.inner > 0 else {
            return try RecordSource(bytes, range, isCompressed: file.isCompressed, room: room)
        }
        let mark = marks.nearest(place)
        let source =
            if let mark { try RecordSource(bytes, range, from: mark, room: room) } else {
                try RecordSource(bytes, range, isCompressed: file.isCompressed, room: room)
            }
        let distance = place.inner - (mark?.position ?? 0)
        // Where it ends before, the record is not there.
        if try source.skip(distance), distance > room, let reached = try source.mark() { marks.note(reached) }
        return source
    }

    /// The body of a record's message, without the chunked coding.
    func stream(_ open: OpenRecord) -> any BodyStream {
        let source = open.scanner.source
        let body: any BodyStream =
            source.isCompressed
            ? BlockStream(source, count: open.count)
            : RangeStream(bytes, source.position..<source.position + open.count)
        return open.message?.isChunked == true ? ChunkedStream(body) : body
    }

    static func place(_ place: EntryPlace) -> RecordPlace { RecordPlace(offset: place.offset, inner: place.length) }

    // MARK: Entries

    func exchange(at place: EntryPlace) throws(ArchiveProblem) -> RecordedExchange {
        var exchange = try response(at: WARCReader.place(place)).exchange
        let entry = Int(place.extra)
        if let target = revisits[entry] { try revisit(&exchange, target) }
        if requests.indices.contains(entry), requests[entry] != .none { try addRequest(requests[entry], to: &exchange) }
        return exchange
    }

    func body(at place: EntryPlace) throws(ArchiveProblem) -> any BodyStream {
        let target = revisits[Int(place.extra)] ?? WARCReader.place(place)
        let open = try open(target)
        if open.message?.isChunked != true { try LimitedStream.check(open.count, limit: limits.body) }
        return LimitedStream(stream(open), limit: limits.body)
    }

    private func response(
        at place: RecordPlace
    ) throws(ArchiveProblem) -> (exchange: RecordedExchange, isTruncated: Bool) {
        let open = try open(place)
        var exchange = try response(open)
        // A revisit's is another record's, and of a segment there is more.
        let head = open.record.head
        exchange.body.isMissing = head.kind == .revisit || head.isSegment
        let isTruncated = head.isTruncated && !WARCIndex.needsNoBody(exchange.status)
        if exchange.body.isMissing || isTruncated { exchange.body.size = nil }
        return (exchange, isTruncated)
    }

    private func response(_ open: OpenRecord) throws(ArchiveProblem) -> RecordedExchange {
        let head = open.record.head
        var exchange = RecordedExchange()
        exchange.url = WARCReader.url(head)
        exchange.time = head[head.date].flatMap { RecordTime.milliseconds($0) }
        exchange.body.storedBytes = open.count
        guard let message = open.message else {
            // A resource, and a response of another protocol: its block is what was asked for.
            if head.kind == .revisit { exchange.status = 0 }
            if let type = head[head.mediaType] { exchange.fields = [.init(Array("Content-Type".utf8), Array(type))] }
            exchange.body.size = open.count
            exchange.body.isSeekable = !open.scanner.source.isCompressed
            return exchange
        }
        exchange.status = message.status
        exchange.reason = message.reason
        exchange.fields = message.fields
        exchange.body.size = message.isChunked ? nil : open.count
        exchange.body.isSeekable = !open.scanner.source.isCompressed && !message.isChunked
        exchange.body.codings = message.codings
        try dropWrongCoding(&exchange, open)
        return exchange
    }

    /// The target URI as the index has it, but for its normal form.
    private static func url(_ head: RecordHead) -> [UInt8] {
        RecordedURL.repaired(Array(head[head.url] ?? []))
    }

    /// A Content-Encoding that doesn't hold, since the writer has decoded the body, is dropped: not that of a part from
    /// within, where a coding can't be told.
    private func dropWrongCoding(_ exchange: inout RecordedExchange, _ open: OpenRecord) throws(ArchiveProblem) {
        guard let coding = exchange.body.codings.last.flatMap({ ContentCoding(name: $0) }), open.count > 0,
            !OutgoingFields.isFromWithin(exchange)
        else { return }
        var body = stream(open)
        var start: [UInt8] = []
        var isMore = true
        while start.count < ContentCoding.telling, isMore {
            isMore = try body.read(ContentCoding.telling, into: &start)
        }
        guard coding.isWrong(for: start, isWhole: !isMore) else { return }
        exchange.removeCodings()
    }

    private func addRequest(_ place: RecordPlace, to exchange: inout RecordedExchange) throws(ArchiveProblem) {
        let open = try open(place)
        guard let message = open.message else { return }
        if !message.method.isEmpty { exchange.method = message.method }
        exchange.requestFields = message.fields
        guard open.count > 0, open.count <= RecordedExchange.mostRequestBytes else { return }
        var body = stream(open)
        exchange.requestBody = try body.readAll(limit: RecordedExchange.mostRequestBytes)
    }

    /// Gives a revisit what it stands for: the body, and the fields that it hasn't of its own.
    private func revisit(_ exchange: inout RecordedExchange, _ target: RecordPlace) throws(ArchiveProblem) {
        let (other, isTruncated) = try response(at: target)
        let own = exchange
        exchange.body = other.body
        // A part stands for no other response.
        if isTruncated { exchange.body.isMissing = true }
        guard own.status != 0 else {
            exchange.status = other.status
            exchange.reason = other.reason
            exchange.fields = other.fields
            return
        }
        if own.status == 304 {
            exchange.status = other.status
            exchange.reason = other.reason
        }
        // How the body is coded, the record that has it knows.
        exchange.fields.removeAll { $0.isNamed("content-encoding") || $0.isNamed("transfer-encoding") }
        for field in other.fields {
            let isOfBody = Array(field.name.prefix(8)).starts(withIgnoringCase: "content-")
            let isMissing = !own.fields.contains { $0.hasName(of: field) }
            if field.isNamed("content-encoding") || isMissing && (isOfBody || own.status == 304) {
                exchange.fields.append(field)
            }
        }
    }
}

extension RecordedField {
    fileprivate func hasName(of other: RecordedField) -> Bool {
        name.count == other.name.count
            && zip(name, other.name).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
    }
}
