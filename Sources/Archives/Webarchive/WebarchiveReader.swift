import HTTPSemantics

/// Reads webarchives, as Safari writes them (WebKit: LegacyWebArchive.cpp).
///
/// An entry's place is where its resource's dictionary begins; `extra` is the dictionary's index in a binary property
/// list.
struct WebarchiveReader: ArchiveReader {
    /// The most subframe archives that are in each other.
    static let depthLimit = 16

    private let bytes: ArchiveBytes
    private let limits: ArchiveLimits
    private let isBinary: Bool
    private let locations: PageLocations
    private let document: EntryPlace

    /// A resource, of which all but its data is in memory.
    struct Resource {
        var url: [UInt8]
        var type: [UInt8]?
        var charset: [UInt8]?
        var data: PropertyData
        var response: ArchivedResponse?
        /// Whether there is a response that can't be read.
        var isResponseBroken = false
    }

    /// Reads the index of a file.
    ///
    /// - Throws: ``ArchiveProblem`` where it is no property list, or has no main resource.
    static func read(
        _ input: ArchiveInput, into contents: inout ArchiveContents
    ) throws(ArchiveProblem) -> WebarchiveReader {
        let file = try PropertyListFile(input.bytes)
        var scan = try WebarchiveScan(file, input)
        try scan.read(into: &contents)
        contents.table.markRepeated()
        contents.document = scan.locations.document
        contents.pages = [ArchivePage(url: scan.locations.document)]
        let isBinary = try input.bytes.read(at: 0, upTo: 7) == Array("bplist0".utf8)
        return WebarchiveReader(
            bytes: input.bytes, limits: input.limits, isBinary: isBinary, locations: scan.locations,
            document: scan.document)
    }

    private func resource(at place: EntryPlace) throws(ArchiveProblem) -> Resource {
        let value: PropertyList
        var file: PropertyListFile
        if isBinary {
            file = try PropertyListFile(unchecked: bytes)
            value = .reference(Int(place.extra))
        } else {
            var parser = try XMLPropertyList(bytes, at: place.offset)
            value = try parser.element()
            file = PropertyListFile(root: value, bytes)
        }
        guard let members = try file.members(value), let resource = try Resource(members, &file) else {
            throw .error("the resource is not what it was when the file was read", at: place.offset)
        }
        return resource
    }

    func exchange(at place: EntryPlace) throws(ArchiveProblem) -> RecordedExchange {
        let resource = try resource(at: place)
        var exchange = RecordedExchange()
        exchange.url =
            place == document
            ? locations.document : locations.url(location: resource.url, ownBase: [], base: 0, id: [])
        exchange.status = resource.status
        exchange.time = resource.response?.time
        exchange.fields = resource.fields
        exchange.body.storedBytes = resource.data.range.count
        if !resource.data.isBase64 {
            exchange.body.size = resource.data.range.count
            exchange.body.isSeekable = true
        }
        return exchange
    }

    func body(at place: EntryPlace) throws(ArchiveProblem) -> any BodyStream {
        let data = try resource(at: place).data
        if !data.isBase64 { try LimitedStream.check(data.range.count, limit: limits.body) }
        return stream(data)
    }

    private func stream(_ data: PropertyData) -> MHTMLStream {
        MHTMLStream(bytes, data.range, data.isBase64 ? .base64 : .binary, rewriter: nil, limits: limits)
    }

    func verify(_ table: EntryTable, warn: (ArchiveProblem) -> Void) throws(ArchiveProblem) {
        for index in 0..<table.count {
            var stream = stream(try resource(at: table[index].place).data)
            stream.readThrough()
            if let wrong = stream.wrong {
                warn(.warning("this is no base64, and decoded as far as it goes", at: wrong, entry: index + 1))
            }
        }
    }
}

extension WebarchiveReader.Resource {
    /// - Returns: nil where there is no data.
    init?(_ members: [String: PropertyList], _ file: inout PropertyListFile) throws(ArchiveProblem) {
        guard case .data(let data) = members["WebResourceData"] else { return nil }
        self.data = data
        url = []
        if case .string(let text) = members["WebResourceURL"] { url = Self.withoutPrefix(text) }
        if case .string(let text) = members["WebResourceMIMEType"], !text.isEmpty { type = text }
        if case .string(let text) = members["WebResourceTextEncodingName"], !text.isEmpty { charset = text }
        guard case .data(let archived) = members["WebResourceResponse"] else {
            isResponseBroken = members["WebResourceResponse"] != nil
            return
        }
        try file.charge(archived.range.count)
        guard archived.range.count <= ArchivedResponse.limit else {
            isResponseBroken = true
            return
        }
        do throws(ArchiveProblem) {
            let encoding: TransferEncoding = archived.isBase64 ? .base64 : .binary
            var stream = MHTMLStream(file.bytes, archived.range, encoding, rewriter: nil, limits: ArchiveLimits())
            response = try ArchivedResponse.read(try stream.readAll(limit: ArchivedResponse.limit))
            isResponseBroken = response == nil
        } catch {
            isResponseBroken = true
        }
    }

    /// Without `webarchive+`, which WebKit puts before the scheme.
    static func withoutPrefix(_ url: [UInt8]) -> [UInt8] {
        url.starts(withIgnoringCase: "webarchive+") ? Array(url.dropFirst(11)) : url
    }

    var status: Int {
        guard let response, response.isHTTP else { return 200 }
        return response.status ?? 200
    }

    /// The recorded fields but those that don't hold for the data, which is never coded, and a Content-Type where the
    /// resource has one.
    var fields: [RecordedField] {
        var fields = response.map { $0.isHTTP ? $0.fields : [] } ?? []
        if fields.contains(where: { $0.isNamed("Content-Encoding") }) {
            fields.removeAll { $0.isNamed("content-encoding") || $0.isDigest }
        }
        if let type, !fields.contains(where: { $0.isNamed("Content-Type") }) {
            fields.append(RecordedField(Array("Content-Type".utf8), contentType(type)))
        }
        return fields
    }

    private func contentType(_ type: [UInt8]) -> [UInt8] {
        guard let charset, MIMEType(type)["charset"] == nil, charset.allSatisfy({ $0.isMember(of: .token) }) else {
            return type
        }
        return type + Array("; charset=".utf8) + charset
    }
}
