import HTTPSemantics

/// Reads the records of WARC files into a table.
struct WARCIndex {
    private let limits: ArchiveLimits
    /// The request of each entry.
    private(set) var requests: ContiguousArray<RecordPlace> = []
    private var pairs = RecordPairs()
    private var revisits = RecordRevisits()
    /// The last date, and the time that it is: entries that follow each other often have the same.
    private var date: (text: [UInt8], time: Int64?) = ([], nil)

    /// What the scan of a response's block showed.
    private struct Response {
        var status = 200
        var isPartial = false
        var varies = false
        var unusable: Unusable?
        /// Whether there is a head of HTTP at all.
        var hasHead = false
    }

    init(_ limits: ArchiveLimits) { self.limits = limits }

    /// Reads one file. Does I/O.
    mutating func read(
        _ source: RecordSource, into contents: inout ArchiveContents, progress: (Int) -> Void
    ) throws(ArchiveProblem) {
        let scanner = RecordScanner(source)
        var count = 0
        while let record = try scanner.next() {
            switch record.head.kind {
            case .request: try addRequest(record, scanner, &contents)
            case .response, .revisit, .resource: try addEntry(record, scanner, &contents)
            case .other: _ = try scanner.finish()
            }
            for warning in scanner.takeWarnings() { contents.warn(warning) }
            count += 1
            if count % 1024 == 0 { progress(source.filePosition) }
        }
        for warning in scanner.takeWarnings() { contents.warn(warning) }
    }

    /// Finds what revisits stand for, when all files are read.
    ///
    /// - Returns: for each revisit the entry that has its body.
    func resolveRevisits(_ table: inout EntryTable) -> [Int: Int] {
        let resolved = revisits.resolved(table)
        for revisit in revisits.revisits {
            guard let target = resolved[revisit.entry] else {
                table.mark(revisit.entry, unusable: .unresolvedRevisit)
                continue
            }
            let other = table[target]
            if revisit.status == 0 {
                table.update(
                    revisit.entry, status: other.status, isPartial: other.isPartial, varies: other.varies)
            }
            switch other.unusable {
            case .bodyNotRecorded, .bodyTruncated, .notModified:
                table.mark(revisit.entry, unusable: .unresolvedRevisit)
            default: break
            }
        }
        return resolved
    }

    // MARK: Requests

    private mutating func addRequest(
        _ record: RecordScanner.Record, _ scanner: RecordScanner, _ contents: inout ArchiveContents
    ) throws(ArchiveProblem) {
        let start = try WARCIndex.head(scanner, limits) { bytes, isWhole in
            HTTPRequestScan(bytes, isWhole: isWhole)
        }
        let hasBody = start.map { $0.length < scanner.rest } ?? false
        guard try scanner.finish(), let start else { return }
        guard pairs.count < 2 * ArchiveLimits.entries else {
            throw .error("more than \(2 * ArchiveLimits.entries) requests", at: record.offset)
        }
        let place = RecordPlace(offset: record.offset, inner: record.inner)
        let request = RecordPairs.Request(place: place, method: start.method, hasBody: hasBody)
        let id = record.head.key
        guard let entry = pairs.add(request, id, concurrentTo: record.head.concurrentTo) else { return }
        pair(entry, request, &contents)
    }

    private mutating func pair(_ entry: Int, _ request: RecordPairs.Request, _ contents: inout ArchiveContents) {
        requests[entry] = request.place
        contents.table.update(entry, method: request.method, hasRequestBody: request.hasBody)
    }

    // MARK: Entries

    private mutating func addEntry(
        _ record: RecordScanner.Record, _ scanner: RecordScanner, _ contents: inout ArchiveContents
    ) throws(ArchiveProblem) {
        let response = try scan(record.head, scanner)
        guard try scanner.finish() else { return }
        let head = record.head
        let entry = contents.table.count
        var found = FoundEntry(
            at: EntryPlace(offset: record.offset, length: record.inner, extra: UInt32(clamping: entry)))
        found.status = response.status
        found.isPartial = response.isPartial
        found.varies = response.varies
        found.unusable = response.unusable
        found.time = head[head.date].flatMap { time($0) }
        let id = head.key
        if head.kind == .revisit { found.status = response.status == 0 ? 200 : response.status }
        try contents.table.add(found, url: head[head.url] ?? [], limits: limits)
        requests.append(.none)
        revisits.add(id, digest: head[head.payloadDigest].flatMap { RecordKey(digest: $0) })
        if head.kind == .revisit { addRevisit(entry, head, response) }
        if let request = pairs.add(response: entry, id, concurrentTo: head.concurrentTo) {
            pair(entry, request, &contents)
        }
    }

    private mutating func time(_ text: ArraySlice<UInt8>) -> Int64? {
        let isSame = text.withUnsafeBytes { text in date.text.withUnsafeBytes { text.equals($0) } }
        if !isSame {
            date.text.removeAll(keepingCapacity: true)
            date.text += text
            date.time = RecordTime.milliseconds(text)
        }
        return date.time
    }

    private mutating func addRevisit(_ entry: Int, _ head: RecordHead, _ response: Response) {
        var revisit = RecordRevisits.Revisit(entry: entry, status: response.status)
        revisit.refersTo = head.refersToKey
        revisit.date = head[head.refersToDate].flatMap { RecordTime.milliseconds($0) }
        revisit.digest = head[head.payloadDigest].flatMap { RecordKey(digest: $0) }
        if revisit.date != nil, let url = head[head.refersToURL] ?? head[head.url] {
            var unusable: Unusable?
            revisit.url = EntryTable.normalForm(Array(url), limits, &unusable).bytes
        }
        revisits.add(revisit)
    }

    private func scan(_ head: RecordHead, _ scanner: RecordScanner) throws(ArchiveProblem) -> Response {
        var response = Response()
        if head.kind != .resource {
            let hasHead = try scanner.peek(5).begins(with: "HTTP/")
            if hasHead || head.isHTTP || head.kind == .revisit { response = try scanHTTP(head, scanner) }
        }
        if head.isSegment { response.unusable = response.unusable ?? .bodyNotRecorded }
        if head.isTruncated, !WARCIndex.needsNoBody(response.status) {
            response.unusable = response.unusable ?? .bodyTruncated
        }
        return response
    }

    /// Whether a response says all by its fields: one that leads to another URL, or has no content.
    static func needsNoBody(_ status: Int) -> Bool { [204, 301, 302, 303, 307, 308].contains(status) }

    private func scanHTTP(_ head: RecordHead, _ scanner: RecordScanner) throws(ArchiveProblem) -> Response {
        var response = Response(status: 0, hasHead: scanner.rest > 0)
        let scan = try WARCIndex.head(scanner, limits) { bytes, isWhole in MessageScan(bytes, isWhole: isWhole) }
        guard let scan else {
            if response.hasHead { response.unusable = .longFields }
            return response
        }
        response.status = scan.status
        response.isPartial = scan.status == 206 && scan.isPart
        response.varies = scan.varies
        if scan.length > limits.headerBytes { response.unusable = .longFields }
        guard scan.status == 304 else { return response }
        // Of a revisit it says that the other record has the body, and the status too.
        if head.kind == .revisit { response.status = 0 } else { response.unusable = response.unusable ?? .notModified }
        return response
    }

    /// Reads as much of a block as its head needs.
    ///
    /// - Returns: nil where there is none, or it is far longer than the limit.
    static func head<Head>(
        _ scanner: RecordScanner, _ limits: ArchiveLimits, _ parse: (UnsafeRawBufferPointer, Bool) -> Head?
    ) throws(ArchiveProblem) -> Head? {
        let most = max(limits.headerBytes, 0) + 65_536
        // What is there already is looked at first: mostly it is enough.
        var wanted = 1
        while true {
            let bytes = try scanner.peek(wanted)
            if let head = parse(bytes, bytes.count >= scanner.rest) { return head }
            guard bytes.count >= wanted, wanted < most else { return nil }
            wanted = min(max(bytes.count * 2, 2048), most)
        }
    }
}

/// What an index needs of a request: its method, and where its body begins.
private struct HTTPRequestScan {
    let method: String
    let length: Int

    init?(_ bytes: UnsafeRawBufferPointer, isWhole: Bool) {
        var lines = HeadLines(bytes)
        guard let first = lines.next() ?? (isWhole ? lines.rest() : nil) else { return nil }
        while lines.next() != nil {}
        guard lines.isComplete || isWhole else { return nil }
        length = lines.isComplete ? lines.position : bytes.count
        let name = bytes[first].prefix { $0 != 0x20 && $0 != 0x09 }
        method = UnsafeRawBufferPointer(rebasing: name).equals("GET") ? "GET" : String(decoding: name, as: UTF8.self)
    }
}

extension RecordHead {
    /// Whether the block is said to be a message of HTTP.
    var isHTTP: Bool { begins(mediaType, with: "application/http") }
}
