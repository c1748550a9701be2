import HTTPSemantics

/// Reads HAR 1.2, as browsers and proxies write it.
///
/// An entry's place is that of its object in the text, in bytes.
struct HARReader: ArchiveReader {
    private let source: ArchiveBytes
    private let files: HARFiles
    private let limits: ArchiveLimits
    private let pages: HARPages

    /// Reads the index of a HAR.
    ///
    /// - Parameters:
    ///   - source: its text.
    ///   - files: where its `_file`s are.
    /// - Throws: ``ArchiveProblem`` where it is none, or a damaged one.
    init(
        _ input: ArchiveInput, _ source: ArchiveBytes, _ files: HARFiles, into contents: inout ArchiveContents
    ) throws(ArchiveProblem) {
        self.source = source
        self.files = files
        limits = input.limits
        var index = HARIndex(input, source, files)
        pages = try index.read(into: &contents)
    }

    /// Reads the index of a HAR, or of one in a zip.
    static func read(_ input: ArchiveInput, into contents: inout ArchiveContents) throws(ArchiveProblem) -> HARReader {
        let start = try input.bytes.read(at: 0, upTo: 4)
        if start == [0x50, 0x4B, 3, 4] || start == [0x50, 0x4B, 5, 6] {
            return try HARZip.read(input, into: &contents)
        }
        return try HARReader(input, input.bytes, .beside(input), into: &contents)
    }

    func exchange(at place: EntryPlace) throws(ArchiveProblem) -> RecordedExchange {
        let entry = try entry(at: place)
        let response = entry.response ?? HARResponse()
        var exchange = RecordedExchange()
        exchange.method = entry.request.method
        exchange.url = HARReader.withoutFragment(entry.request.url)
        exchange.requestFields = entry.request.fields.lines
        exchange.time = entry.time
        exchange.duration = entry.duration
        exchange.version = response.version.isEmpty ? entry.request.version : response.version
        exchange.serverAddress = entry.serverAddress
        exchange.page = pages[entry.page]
        exchange.status = response.status ?? 0
        exchange.reason = HARResponseRules.isFieldValue(response.reason) ? response.reason : []
        exchange.requestBody = try requestBody(entry.request)
        exchange.requestType = entry.request.body.mediaType
        let body = try body(of: entry)
        if exchange.status == 304, !body.isEmpty, !body.isMissing {
            exchange.status = 200
            exchange.reason = Array("OK".utf8)
        }
        exchange.body = try describe(body)
        let start = try start(of: body)
        let isText = try isUTF8(body, response)
        (exchange.fields, exchange.body.codings) = HARResponseRules.fields(response, start: start, isText: isText)
        return exchange
    }

    func body(at place: EntryPlace) throws(ArchiveProblem) -> any BodyStream {
        let body = try body(of: try entry(at: place))
        if let size = try describe(body).size { try LimitedStream.check(size, limit: limits.body) }
        return LimitedStream(try stream(body), limit: limits.body)
    }

    func verify(_ table: EntryTable, warn: (ArchiveProblem) -> Void) throws(ArchiveProblem) {
        var places = TextPlaces(source)
        for index in 0..<table.count {
            let place = table[index].place
            guard let content = try entry(at: place).response?.content, content.file == nil, let text = content.text
            else { continue }
            var stream = JSONStringStream(source, text, isBase64: content.isBase64)
            var bytes: [UInt8] = []
            var isMore = true
            while isMore {
                bytes.removeAll(keepingCapacity: true)
                isMore = try stream.read(1 << 16, into: &bytes)
            }
            if stream.strangers > 0 {
                let count = stream.strangers
                let message =
                    "its body has \(count) character\(count == 1 ? "" : "s") that \(count == 1 ? "is" : "are")"
                warn(
                    .init(
                        .warning, message + " not base64", at: try places.place(of: text.lowerBound), entry: index + 1))
            }
            if stream.faults > 0 {
                let message = "its body has escapes that stand for no character"
                warn(.init(.warning, message, at: try places.place(of: text.lowerBound), entry: index + 1))
            }
        }
    }

    // MARK: Entries

    private func entry(at place: EntryPlace) throws(ArchiveProblem) -> HAREntry {
        let (end, overflow) = place.offset.addingReportingOverflow(place.length)
        guard place.offset >= 0, !overflow, end <= source.count, place.length >= 0 else {
            throw .cutShort(at: place.offset)
        }
        var scanner = JSONScanner(source, place.offset..<end, room: HARIndex.room(limits))
        var reader = HAREntryReader(isWhole: true, limits: limits)
        do throws(JSONError) {
            return try reader.read(&scanner) ?? HAREntry()
        } catch {
            throw .error("the file has changed since it was read: \(error.message)", at: error.offset)
        }
    }

    private static func withoutFragment(_ url: [UInt8]) -> [UInt8] { Array(url.prefix { $0 != UInt8(ascii: "#") }) }

    // MARK: Bodies

    private func body(of entry: HAREntry) throws(ArchiveProblem) -> HARBody {
        let response = entry.response ?? HARResponse()
        let body = try HARBody(response.content, method: entry.request.method, status: response.status ?? 0)
        guard case .file(let path) = body, try files.file(path) == nil else { return body }
        return .missing
    }

    private func describe(_ body: HARBody) throws(ArchiveProblem) -> RecordedBody {
        var description = RecordedBody()
        switch body {
        case .missing: description.isMissing = true
        case .empty: description.size = 0
        case .text(let text, _): description.storedBytes = text.count
        case .file(let path):
            let file = try files.file(path)
            description.size = file?.count
            description.storedBytes = file?.storedCount ?? 0
            description.isSeekable = file?.isSeekable ?? false
            description.fileState = file?.state
        }
        return description
    }

    private func stream(_ body: HARBody) throws(ArchiveProblem) -> any BodyStream {
        switch body {
        case .missing, .empty: return MemoryStream([])
        case .text(let text, let isBase64): return JSONStringStream(source, text, isBase64: isBase64)
        case .file(let path): return try files.file(path)?.open() ?? MemoryStream([])
        }
    }

    /// The first bytes of a body.
    private func start(of body: HARBody) throws(ArchiveProblem) -> [UInt8] {
        var stream = try stream(body)
        var bytes: [UInt8] = []
        while bytes.count < 4, try stream.read(64, into: &bytes) {}
        return Array(bytes.prefix(4))
    }

    /// Whether a body is UTF-8 whatever its fields say: a string that isn't base64, and a file that has text in UTF-8
    /// for which the fields have another charset. Browsers hand texts to Playwright as characters, and it writes them
    /// so.
    private func isUTF8(_ body: HARBody, _ response: HARResponse) throws(ArchiveProblem) -> Bool {
        if body.isPlainText { return true }
        guard case .file = body, HARResponseRules.hasOtherCharset(response) else { return false }
        var stream = try stream(body)
        var probe = HARBodyProbe()
        var isASCII = true
        var isMore = true
        while isMore, probe.count < 1 << 18 {
            var bytes: [UInt8] = []
            isMore = try stream.read(1 << 16, into: &bytes)
            isASCII = isASCII && bytes.allSatisfy { $0 < 0x80 }
            probe.add(bytes)
        }
        return !isASCII && (isMore ? probe.isUTF8SoFar : probe.isUTF8)
    }

    private func requestBody(_ request: HARRequest) throws(ArchiveProblem) -> [UInt8]? {
        let content = request.body
        if let path = try content.filePath() {
            guard let file = try files.file(path) else { return nil }
            var stream = try file.open()
            return try HARReader.whole(&stream)
        }
        if let text = content.text, !text.isEmpty {
            var stream: any BodyStream = JSONStringStream(source, text, isBase64: content.isBase64)
            return try HARReader.whole(&stream)
        }
        return HARForm.body(content)
    }

    /// All of a request's body; nil where it is over the limit.
    private static func whole(_ stream: inout any BodyStream) throws(ArchiveProblem) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count <= RecordedExchange.mostRequestBytes, try stream.read(1 << 16, into: &bytes) {}
        return bytes.count > RecordedExchange.mostRequestBytes ? nil : bytes
    }
}

extension HARBody {
    var isMissing: Bool {
        if case .missing = self { true } else { false }
    }

    /// Whether it is a string that isn't base64.
    var isPlainText: Bool {
        if case .text(_, false) = self { true } else { false }
    }
}
