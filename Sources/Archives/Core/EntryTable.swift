import HTTPSemantics

/// Why an entry can't answer.
public enum Unusable: UInt8, Sendable, CaseIterable {
    case failed, status, connect, bodyNotRecorded, bodyTruncated, notModified, unresolvedRevisit, noURL, scheme,
        malformedURL, longURL, longFields, method, repeated

    /// Behind the entry in `archive list`, in parentheses.
    public var words: String {
        switch self {
        case .failed: "the exchange failed"
        case .status: "the status is none of a final response"
        case .connect: "CONNECT has no response to send again"
        case .bodyNotRecorded: "the body was not recorded"
        case .bodyTruncated: "the body was not recorded to its end"
        case .notModified: "304 without the body that it stands for"
        case .unresolvedRevisit: "what it revisits is not in the archive"
        case .noURL: "it has no URL"
        case .scheme: "its URL is none of http or https"
        case .malformedURL: "its URL is malformed"
        case .longURL: "its URL is longer than --max-target-bytes"
        case .longFields: "its fields are longer than --max-header-bytes"
        case .method: "its method is none"
        case .repeated: "an earlier entry has its URL"
        }
    }
}

/// Where an entry is in its file; only the reader that found it knows what the numbers mean.
public struct EntryPlace: Sendable, Equatable {
    public var offset: Int
    public var length: Int
    public var extra: UInt32

    public init(offset: Int, length: Int = 0, extra: UInt32 = 0) {
        self.offset = offset
        self.length = length
        self.extra = extra
    }
}

/// What a reader says of an entry when it finds it: all that is kept in memory of it.
public struct FoundEntry: Sendable {
    public var place: EntryPlace
    public var method = "GET"
    /// As recorded; empty where there is none. A fragment is dropped when it is added.
    public var url: [UInt8] = []
    /// 0 where there is none.
    public var status = 200
    /// Why it can't answer, where the reader knows. What the URL says against it, ``EntryTable`` finds out.
    public var unusable: Unusable?
    /// Whether it is a part (206) that is not the whole: it answers the same Range alone. One whose range was not there
    /// (416) does so in any case.
    public var isPartial = false
    public var hasRequestBody = false
    /// Whether the recorded response has a Vary field: its names are read when it is needed.
    public var varies = false
    /// Unix milliseconds.
    public var time: Int64?

    public init(at place: EntryPlace) { self.place = place }
}

/// The entries of an archive in the order of their file, with what finding them takes: some 60 bytes an entry beside
/// its URL.
public struct EntryTable: Sendable {
    struct Record {
        var place: EntryPlace
        var time: Int64
        var url: Int
        var urlLength: UInt32
        var pathEnd: UInt32
        var status: UInt16
        var method: UInt8
        var unusable: UInt8
        var flags: UInt8
    }

    /// A further URL of an entry.
    private struct Alias {
        var entry: Int
        var url: Int
        var urlLength: UInt32
        var pathEnd: UInt32
    }

    /// A view of one entry.
    public struct Entry {
        fileprivate var record: Record
        fileprivate let arena: [UInt8]
        public let method: String

        public var place: EntryPlace { record.place }
        public var status: Int { Int(record.status) }
        public var unusable: Unusable? { Unusable(rawValue: record.unusable) }
        public var isUsable: Bool { record.unusable == .max }
        public var isPartial: Bool { record.flags & 1 != 0 }
        /// Whether its body is a part of another one (206): what coding that has can't be taken off it.
        var isPart: Bool { isPartial && status == 206 }
        public var hasRequestBody: Bool { record.flags & 2 != 0 }
        public var varies: Bool { record.flags & 4 != 0 }
        /// Unix milliseconds; nil where the archive doesn't say.
        public var time: Int64? { record.time == .min ? nil : record.time }
        /// The URL in the map's normal form; empty where it has none that is of http or https.
        public var url: ArraySlice<UInt8> { arena[record.url..<record.url + Int(record.urlLength)] }
        /// Where in ``url`` the query begins (`?`), or its end.
        public var pathEnd: Int { Int(record.pathEnd) }
    }

    public private(set) var arena: [UInt8] = []
    private static let mostBytes = 2 << 30
    private(set) var records: ContiguousArray<Record> = []
    private(set) var methods: [String] = []
    /// Further URLs by which entries are found, one an entry at most, in their order: those that redirects led to.
    private var further: [Alias] = []
    /// What the parts of an MHTML file are named by beside their URLs: a request of the archive's hosts whose last
    /// segment is ``ContentIDs/entry(segment:)`` is answered by that entry.
    public internal(set) var contentIDs = ContentIDs()
    /// Of parts that only their identifier names, since an earlier one has their URL: the URL that they have in another
    /// archive, by their index.
    var portableURLs: [Int: [UInt8]] = [:]
    /// The files inside of a WACZ, each with the index of its first entry.
    public private(set) var members: [(name: String, first: Int)] = []
    public private(set) var usableCount = 0
    /// Whether `extra` of an entry's place is the line that it stands on.
    var isNumberedByLine = false

    public init() {}

    public var count: Int { records.count }

    /// - Parameter index: from 0; the number that people see is one more.
    public subscript(index: Int) -> Entry {
        let record = records[index]
        return Entry(record: record, arena: arena, method: methods[Int(record.method)])
    }

    /// How many URLs there are by which entries are found: that of each entry, in their order, and further ones.
    public var urlCount: Int { records.count + further.count }

    /// The entry that a URL is of.
    ///
    /// - Parameter place: the URL's, from 0 to ``urlCount``.
    public func index(ofURL place: Int) -> Int { place < records.count ? place : further[place - records.count].entry }

    /// The entry that a URL is of, with that URL.
    public func found(byURL place: Int) -> Entry {
        guard place >= records.count else { return self[place] }
        let alias = further[place - records.count]
        var entry = self[alias.entry]
        entry.record.url = alias.url
        entry.record.urlLength = alias.urlLength
        entry.record.pathEnd = alias.pathEnd
        return entry
    }

    /// Calls `body` with the place of each URL, the URL, and where in it the query begins (`?`), or its end: the last
    /// one first. Entries without a URL are passed over.
    public func forEachURLFromLast(_ body: (_ place: Int, _ url: UnsafeRawBufferPointer, _ pathEnd: Int) -> Void) {
        arena.withUnsafeBytes { arena in
            func tell(_ place: Int, _ start: Int, _ length: UInt32, _ pathEnd: UInt32) {
                guard length > 0 else { return }
                body(place, UnsafeRawBufferPointer(rebasing: arena[start..<start + Int(length)]), Int(pathEnd))
            }
            for (index, alias) in further.enumerated().reversed() {
                tell(records.count + index, alias.url, alias.urlLength, alias.pathEnd)
            }
            for index in records.indices.reversed() {
                tell(index, records[index].url, records[index].urlLength, records[index].pathEnd)
            }
        }
    }

    /// The entries that have one of these methods, in their order.
    public func indices(ofMethods names: Set<String>) -> [Int] {
        let numbers = methods.indices.filter { names.contains(methods[$0]) }
        guard !numbers.isEmpty else { return [] }
        return records.indices.filter { numbers.contains(Int(records[$0].method)) }
    }

    /// The place of an entry's further URL; nil where it has none.
    public func placeOfFurtherURL(_ index: Int) -> Int? {
        // In the order of the entries, so it is found by halves.
        var (low, high) = (0, further.count)
        while low < high {
            let middle = (low + high) / 2
            if further[middle].entry < index { low = middle + 1 } else { high = middle }
        }
        return low < further.count && further[low].entry == index ? records.count + low : nil
    }

    /// Further URLs in normal form by which entries are found. An entry's own comes before it, and of the same one the
    /// first.
    public var aliases: [(url: [UInt8], entry: Int)] {
        (records.count..<urlCount).map { (Array(found(byURL: $0).url), index(ofURL: $0)) }
    }

    /// What is behind `FILE` in an entry's position: `#17`, `:data.warc.gz#12` in a WACZ, `:LINE` in a recording.
    public func number(_ index: Int) -> String {
        if isNumberedByLine { return ":\(records[index].place.extra)" }
        // The last one that begins there or before: they begin in their order.
        var (low, high) = (0, members.count)
        while low < high {
            let middle = (low + high) / 2
            if members[middle].first <= index { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return "#\(index + 1)" }
        let member = members[low - 1]
        return ":\(member.name)#\(index - member.first + 1)"
    }

    /// The entry whose ``number(_:)`` is one of these.
    public func entry(numbered texts: [String]) -> Int? { (0..<count).first { texts.contains(number($0)) } }

    mutating func begin(member: String) { members.append((member, count)) }

    /// Adds an entry.
    ///
    /// - Throws: ``ArchiveProblem`` beyond 4,000,000.
    mutating func add(_ found: FoundEntry, limits: ArchiveLimits) throws(ArchiveProblem) {
        try add(found, url: found.url[...], limits: limits)
    }

    /// Adds an entry whose URL stands elsewhere.
    mutating func add(_ found: FoundEntry, url: ArraySlice<UInt8>, limits: ArchiveLimits) throws(ArchiveProblem) {
        guard count < ArchiveLimits.entries else {
            throw .error("more than \(ArchiveLimits.entries) entries", at: found.place.offset)
        }
        // Relative URLs of a short file may be long ones in normal form.
        guard arena.count < EntryTable.mostBytes else {
            throw .error("the URLs have more than \(EntryTable.mostBytes >> 30) GiB together", at: found.place.offset)
        }
        var unusable = found.unusable
        let start = arena.count
        let pathEnd = url.withUnsafeBytes { append($0, limits, &unusable) }
        if unusable == nil, !(200...999).contains(found.status) { unusable = .status }
        if found.method == "CONNECT" { unusable = .connect }
        let number = number(ofMethod: found.method)
        if number == nil {
            unusable = unusable ?? .method
            if methods.isEmpty { methods.append("GET") }
        }
        records.append(
            Record(
                place: found.place, time: found.time ?? .min, url: start,
                urlLength: UInt32(clamping: arena.count - start), pathEnd: UInt32(clamping: pathEnd),
                status: UInt16(clamping: found.status), method: UInt8(clamping: number ?? 0),
                unusable: unusable?.rawValue ?? .max,
                flags: EntryTable.partialFlag(found.status, found.isPartial) | (found.hasRequestBody ? 2 : 0)
                    | (found.varies ? 4 : 0)))
        if unusable == nil { usableCount += 1 }
    }

    /// Appends the normal form of a URL to ``arena``.
    ///
    /// - Returns: where the path ends in it.
    private mutating func append(
        _ url: UnsafeRawBufferPointer, _ limits: ArchiveLimits, _ unusable: inout Unusable?
    ) -> Int {
        // Nearly all are in that form already.
        if RecordedURL.isPlain(url), url.count <= limits.targetBytes, EntryTable.isWeb(url),
            let normal = try? TargetURI.normalForm(of: url), normal.bytes == nil
        {
            arena.append(contentsOf: url)
            return normal.pathEnd
        }
        let normal = EntryTable.normalForm(Array(url), limits, &unusable)
        arena += normal.bytes
        return normal.pathEnd
    }

    /// Says that the entry added last is found by another URL too.
    mutating func addAlias(_ url: [UInt8], limits: ArchiveLimits) {
        var unusable: Unusable?
        let normal = EntryTable.normalForm(url, limits, &unusable)
        guard unusable == nil, count > 0, arena.count < EntryTable.mostBytes else { return }
        further.append(
            Alias(
                entry: count - 1, url: arena.count, urlLength: UInt32(clamping: normal.bytes.count),
                pathEnd: UInt32(clamping: normal.pathEnd)))
        arena += normal.bytes
    }

    /// What the reader found out about an entry after it had added it.
    mutating func mark(_ index: Int, unusable reason: Unusable) {
        guard records[index].unusable == .max else { return }
        records[index].unusable = reason.rawValue
        usableCount -= 1
    }

    /// Marks the entries whose URL an earlier usable one has: in saved pages the first of a URL answers. Further URLs
    /// are dropped where a usable entry has them for its own, or an earlier one that is usable too.
    mutating func markRepeated() {
        var urls: Set<ArraySlice<UInt8>> = []
        for index in records.indices where records[index].unusable == .max {
            let url = self[index].url
            if !url.isEmpty, !urls.insert(url).inserted { mark(index, unusable: .repeated) }
        }
        further.removeAll { alias in
            guard records[alias.entry].unusable == .max else { return true }
            return !urls.insert(arena[alias.url..<alias.url + Int(alias.urlLength)]).inserted
        }
    }

    mutating func update(_ index: Int, place: EntryPlace) { records[index].place = place }

    /// The same entries, some of them with another URL.
    ///
    /// - Parameter move: the new URL in normal form; nil for the old one.
    public func moved(_ move: (ArraySlice<UInt8>) -> [UInt8]?) -> EntryTable {
        var copy = self
        for index in records.indices {
            let entry = self[index]
            guard !entry.url.isEmpty, let url = move(entry.url) else { continue }
            copy.records[index].url = copy.arena.count
            copy.records[index].urlLength = UInt32(clamping: url.count)
            copy.records[index].pathEnd = UInt32(clamping: EntryTable.pathEnd(url))
            copy.arena += url
        }
        for index in further.indices {
            guard let url = move(found(byURL: records.count + index).url) else { continue }
            copy.further[index].url = copy.arena.count
            copy.further[index].urlLength = UInt32(clamping: url.count)
            copy.further[index].pathEnd = UInt32(clamping: EntryTable.pathEnd(url))
            copy.arena += url
        }
        return copy
    }

    private static func pathEnd(_ url: [UInt8]) -> Int { url.firstIndex(of: UInt8(ascii: "?")) ?? url.count }

    /// What the request of an entry says, where it was found after the response.
    mutating func update(_ index: Int, method: String, hasRequestBody: Bool) {
        if hasRequestBody { records[index].flags |= 2 }
        if method == "CONNECT" { mark(index, unusable: .connect) }
        guard let number = number(ofMethod: method) else {
            mark(index, unusable: .method)
            return
        }
        records[index].method = UInt8(clamping: number)
    }

    private static func partialFlag(_ status: Int, _ isPartial: Bool) -> UInt8 { isPartial || status == 416 ? 1 : 0 }

    /// What the response of an entry says, where only another entry tells.
    mutating func update(_ index: Int, status: Int, isPartial: Bool, varies: Bool) {
        records[index].status = UInt16(clamping: status)
        records[index].flags = records[index].flags & 2 | EntryTable.partialFlag(status, isPartial) | (varies ? 4 : 0)
        if !(200...999).contains(status) { mark(index, unusable: .status) }
    }

    /// The number of a method, which it gets where it is new; nil where there are too many.
    private mutating func number(ofMethod method: String) -> Int? {
        if let number = methods.firstIndex(of: method) { return number }
        guard methods.count < 250, method.utf8.count <= 64 else { return nil }
        methods.append(method)
        return methods.count - 1
    }

    private static func isWeb(_ url: UnsafeRawBufferPointer) -> Bool {
        url.count >= 5 && url.rebased(0..<5).equalsIgnoringCase("http:")
            || url.count >= 6 && url.rebased(0..<6).equalsIgnoringCase("https:")
    }

    static func normalForm(
        _ url: [UInt8], _ limits: ArchiveLimits, _ unusable: inout Unusable?
    ) -> (bytes: [UInt8], pathEnd: Int) {
        let repaired = RecordedURL.repaired(url)
        guard !repaired.isEmpty else {
            unusable = unusable ?? .noURL
            return ([], 0)
        }
        guard repaired.withUnsafeBytes(EntryTable.isWeb) else {
            unusable = unusable ?? .scheme
            return ([], 0)
        }
        guard url.count <= limits.targetBytes else {
            unusable = unusable ?? .longURL
            return ([], 0)
        }
        do {
            let normal = try repaired.withUnsafeBytes { try TargetURI.normalForm(of: $0) }
            return (normal.bytes ?? repaired, normal.pathEnd)
        } catch {
            unusable = unusable ?? .malformedURL
            return ([], 0)
        }
    }
}

extension [UInt8] {
    /// Whether they begin as a text does, whatever the case of ASCII letters.
    func starts(withIgnoringCase text: StaticString) -> Bool {
        count >= text.utf8CodeUnitCount
            && text.withUTF8Buffer {
                zip($0, self).allSatisfy { $0 == $1 || ($0 | 0x20 == $1 | 0x20 && $0 | 0x20 >= 0x61) }
            }
    }
}
