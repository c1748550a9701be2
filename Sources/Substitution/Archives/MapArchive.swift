public import Archives
import Files
import HTTPSemantics
import Synchronization

/// An archive that is in force: its entries, how they are found, and what the map says of it.
public final class MapArchive: Sendable {
    public let archive: Archive
    /// The entries with the URLs that they are answered at.
    public let table: EntryTable
    public let settings: ArchiveSettings
    /// What it has of a rule.
    public let options: RuleOptions
    public let mode: ArchiveMatchMode
    public let missing: ArchiveMissing
    /// The last component of its name, by which Cache-Status and the log name it.
    public let shortName: String
    /// The absolute path that it was opened by; of what was read once (``isStream``), its name.
    public let path: String
    /// Another number for each state of each file that was opened: what is kept in memory goes by it.
    public let generation: UInt64
    /// What it was opened with: where that is equal it is kept over a reload.
    let origin: ArchiveOrigin
    let index: ArchiveIndex
    /// The hosts of its entries.
    public let hosts: [NamedHost]

    private let file: ArchiveFile
    private let isUnchanged: @Sendable () -> Bool
    /// Of the table's URLs those that `urls` counts; empty where all do.
    private let counted: [Bool]
    private let details = Mutex(KeptDetails())
    /// The lengths of its large bodies.
    public let bodies = CountedBodies()
    /// What ``changes(around:)`` has found.
    let relatedChanges = Mutex<[Int: [Int]]>([:])

    private static let generations = Atomic<UInt64>(1)

    init(
        _ archive: Archive, _ file: ArchiveFile, _ origin: ArchiveOrigin, isUnchanged: @escaping @Sendable () -> Bool
    ) {
        self.archive = archive
        self.file = file
        self.origin = origin
        self.isUnchanged = isUnchanged
        let (settings, defaults) = (origin.settings, origin.defaults)
        self.settings = settings
        path = origin.path
        options = settings.options
        generation = MapArchive.generations.wrappingAdd(1, ordering: .relaxed).newValue
        let isPage = archive.format == .mhtml || archive.format == .webarchive
        mode = settings.match ?? defaults.match ?? (isPage ? .nearest : .tolerant)
        missing = defaults.missing ?? settings.missing ?? .forward
        shortName = PathText.lastComponent(archive.name)
        table = settings.moved.isEmpty ? archive.table : archive.table.moved { settings.moved($0) }
        let table = table
        counted =
            settings.urls.map { urls in
                (0..<table.urlCount).map { place in
                    ArchiveFinder.withURL(table.found(byURL: place)) { url, pathEnd in
                        urls.contains(UnsafeRawBufferPointer(rebasing: url[..<pathEnd]))
                    }
                }
            } ?? []
        var looks = 0
        index = ArchiveIndex(table, settings, mode: mode) { number in
            // A POST that can't be read is one that may change something; so is one of very many, or a large one.
            guard looks < 20_000 else { return false }
            looks += 1
            guard let exchange = try? archive.exchange(number), let body = exchange.requestBody,
                body.count <= EntryDetails.comparedBytes
            else { return false }
            return ComparedBody(body, type: []).isGraphQLQuery
        }
        hosts = MapArchive.hosts(of: table, counted, mode)
    }

    /// Whether the map counts an entry, or one by a further URL of it, which is told by the URL's place in the table.
    func counts(_ place: Int) -> Bool { counted.isEmpty || counted[place] }

    /// Whether the archive has entries, and `urls` counts none of them.
    var countsNothing: Bool { !counted.isEmpty && !counted.contains(true) }

    /// The URLs from which `as` moves entries, and below which none is that a longer one hasn't moved.
    var idleMoves: [[UInt8]] {
        var idle = settings.moved.map(\.from)
        for place in 0..<archive.table.urlCount where !idle.isEmpty {
            let url = archive.table.found(byURL: place).url
            guard let move = settings.move(of: url) else { continue }
            idle.removeAll { $0 == move.from }
        }
        return idle
    }

    /// Whether the map counts an entry (`urls`).
    public func isCounted(_ number: Int) -> Bool { counts(number) }

    /// The URL of the first entry that is a page: GET, 200, HTML by its type. Reads entries until one is; nil for none.
    public var firstPage: [UInt8]? {
        for number in 0..<min(table.count, 1000) where table[number].isUsable && counts(number) {
            let entry = table[number]
            guard entry.method == "GET", entry.status == 200, let exchange = try? archive.exchange(number),
                let type = exchange.value("content-type"),
                String(decoding: type.prefix(9), as: UTF8.self).lowercased() == "text/html"
            else { continue }
            return Array(entry.url)
        }
        return nil
    }

    /// Entries that the map counts, and those of them that can answer.
    public var entryCounts: (all: Int, usable: Int) {
        guard !counted.isEmpty else { return (table.count, table.usableCount) }
        let numbers = (0..<table.count).filter(counts)
        return (numbers.count, numbers.count { table[$0].isUsable })
    }

    /// An entry's place as Cache-Status and the log name it: `checkout.har#17`.
    public func position(_ number: Int) -> String { shortName + table.number(number) }

    /// A number that entries of the same method and recorded URL have, in whatever state of whatever archive.
    public func identity(of number: Int) -> UInt64 {
        let entry = archive.table[number]
        let method = Array(entry.method.utf8).withUnsafeBytes { URLHash.of($0) }
        return URLHash.combined(entry.url.withUnsafeBytes { URLHash.of($0) }, method)
    }

    /// A text that no other body of it has: ``ArchiveFile/state(of:_:)``.
    public func state(of number: Int, _ body: RecordedBody) -> String { file.state(of: number, body) }

    /// Whether it was read once, as standard input or a pipe: it can't change (``MapStream``).
    public var isStream: Bool { file.isStream }

    /// Whether the file is still the one whose index was read: else what is read from it may be other bytes.
    public var isIntact: Bool { isUnchanged() }

    /// The files beside it that have bodies of a HAR (`_file`), as absolute paths, up to ten thousand: an edit makes it
    /// another archive. Those of a recording are looked at when they are asked for.
    public var siblingFiles: [String] { archive.format == .har ? file.siblingPaths : [] }

    /// Whether they are as they were when the archive was opened, as far as their edits count: `retain: pinned` is for
    /// bodies as they were read first. Does I/O.
    var hasSameSiblings: Bool {
        archive.format != .har || file.hasSameSiblings(arePinned: options.retain == .pinned)
    }

    // MARK: Hosts

    private static func hosts(of table: EntryTable, _ counted: [Bool], _ mode: ArchiveMatchMode) -> [NamedHost] {
        var seen: Set<ArraySlice<UInt8>> = []
        // Mostly it is that of the entry before.
        var last: ArraySlice<UInt8> = []
        var hosts: [NamedHost] = []
        var secure: Set<String> = []
        for place in 0..<table.urlCount where counted.isEmpty || counted[place] {
            let url = table.found(byURL: place).url
            guard !url.isEmpty else { continue }
            if !last.isEmpty, url.count > last.count, url[url.startIndex + last.count] == UInt8(ascii: "/"),
                isPrefix(last, of: url)
            {
                continue
            }
            let start = url.startIndex + (url[url.startIndex + 4] == UInt8(ascii: "s") ? 8 : 7)
            let authority = url[..<(url[start...].firstIndex(of: UInt8(ascii: "/")) ?? url.endIndex)]
            last = authority
            guard seen.insert(authority).inserted, let host = NamedHost(String(decoding: authority, as: UTF8.self))
            else {
                continue
            }
            hosts.append(host)
            if host.scheme == "https" { secure.insert(host.host) }
        }
        guard mode != .strict else { return hosts }
        // What was recorded over http alone is answered over https too.
        for host in hosts where host.scheme == "http" && host.port == 80 && !secure.contains(host.host) {
            if let other = NamedHost("https://\(host.host)") { hosts.append(other) }
        }
        return hosts
    }

    private static func isPrefix(_ prefix: ArraySlice<UInt8>, of url: ArraySlice<UInt8>) -> Bool {
        prefix.withUnsafeBytes { prefix in url.withUnsafeBytes { URLText.hasPrefix($0, prefix) } }
    }

    /// Whether the archive has the host of a URL, whatever the scheme, and so can be missed by it.
    func isOwn(_ url: UnsafeRawBufferPointer, pathEnd: Int, host: String, port: UInt16) -> Bool {
        if let urls = settings.urls { return urls.contains(UnsafeRawBufferPointer(rebasing: url[..<pathEnd])) }
        // The default ports of the two schemes are one host's.
        let other: UInt16 = port == 80 ? 443 : port == 443 ? 80 : port
        return hosts.contains { $0.host == host && ($0.port == port || $0.port == other) }
    }

    // MARK: Details

    /// What is kept of some entries beside the index; the first that is asked for is read from the file. Does I/O.
    ///
    /// - Throws: ``Archives/ArchiveProblem`` where an entry can't be read.
    public func loadDetails(_ numbers: [Int]) throws(ArchiveProblem) -> [EntryDetails] {
        var found: [EntryDetails] = []
        var cost = 0
        for number in numbers {
            guard cost <= MapArchive.mostDetails else { break }
            defer { cost += found.last?.cost ?? 0 }
            if let kept = details.withLock({ $0.entries[number] }) {
                found.append(kept)
                continue
            }
            let made = EntryDetails(number, try archive.exchange(number), isPartial: table[number].isPartial)
            guard isIntact else { throw ArchiveProblem(.error, "the archive's file was changed") }
            details.withLock { $0.keep(made) }
            found.append(made)
        }
        return found
    }

    /// Bytes of details that are looked at for one request: entries beyond are passed over.
    private static let mostDetails = 64 << 20

    /// The same as far as all of them are in memory. Does no I/O.
    public func keptDetails(_ numbers: [Int]) -> [EntryDetails]? {
        details.withLock { kept in
            var found: [EntryDetails] = []
            found.reserveCapacity(numbers.count)
            for number in numbers {
                guard let entry = kept.entries[number] else { return nil }
                found.append(entry)
            }
            return found
        }
    }

    /// The details that are in memory, up to 16 MiB.
    private struct KeptDetails {
        var entries: [Int: EntryDetails] = [:]
        private var bytes = 0

        mutating func keep(_ made: EntryDetails) {
            if bytes + made.cost > 16 << 20 {
                entries = [:]
                bytes = 0
            }
            entries[made.number] = made
            bytes += made.cost
        }
    }
}

/// What the command line says of all archives.
public struct ArchiveDefaults: Sendable, Equatable {
    /// For archives that don't say (`--match`).
    public var match: ArchiveMatchMode?
    /// For all, whatever they say (`--missing`).
    public var missing: ArchiveMissing?
    public var limits = ArchiveLimits()
    /// Whether this program appends to the archives that it answers from: what was there stays as it was. The default
    /// is false.
    public var isAppended = false
    /// A file that this program writes: a map that names it as an archive is read as if it didn't. The default is none.
    public var written: String?

    public init() {}
}
