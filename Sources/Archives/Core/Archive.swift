/// What reading archives may cost.
public struct ArchiveLimits: Sendable, Equatable {
    /// The most entries of an archive.
    static let entries = 4_000_000
    /// The bytes of a URL (`--max-target-bytes`). The default is 32 KiB.
    public var targetBytes = 32_768
    /// The bytes of a header section (`--max-header-bytes`). The default is 64 KiB.
    public var headerBytes = 65_536
    /// The bytes of a decoded body (`--max-entry-body`). The default is 1 GiB.
    public var body = 1 << 30

    public init() {}
}

/// A page that an archive was made of.
public struct ArchivePage: Sendable, Equatable {
    /// As recorded.
    public var url: [UInt8]
    public var title: String?
    /// When it was begun: Unix milliseconds; nil where the archive doesn't say.
    public var time: Int64?

    public init(url: [UInt8], title: String? = nil) {
        self.url = url
        self.title = title
    }
}

/// What an archive's file is read by.
public struct ArchiveInput: Sendable {
    /// The name as its user wrote it.
    public var name: String
    public var bytes: ArchiveBytes
    /// Opens a file below the archive's folder, by a path that was checked: nothing outside, no links; nil where there
    /// is none.
    public var sibling: @Sendable (_ path: String) -> ArchiveBytes?
    /// Whether a path below the archive's folder is a symbolic link, or leads through one.
    public var isLink: @Sendable (_ path: String) -> Bool
    public var limits = ArchiveLimits()
    /// Whether a HAR without entries is one, as a recorder begins it. The default is false.
    public var mayBeEmpty = false
    /// Called now and then with how many bytes have been read.
    public var progress: @Sendable (Int) -> Void = { _ in }

    public init(
        name: String, bytes: ArchiveBytes,
        sibling: @escaping @Sendable (_ path: String) -> ArchiveBytes? = { _ in nil },
        isLink: @escaping @Sendable (_ path: String) -> Bool = { _ in false }
    ) {
        self.name = name
        self.bytes = bytes
        self.sibling = sibling
        self.isLink = isLink
    }
}

/// What a reader gathers while it reads a file from its beginning to its end.
public struct ArchiveContents: Sendable {
    public var table = EntryTable()
    public var pages: [ArchivePage] = []
    /// Of a page that was saved: what its parts are resolved against, and what is opened first.
    public var document: [UInt8]?
    public private(set) var warnings: [ArchiveProblem] = []
    /// Warnings beyond the first thousand.
    public private(set) var furtherWarnings = 0

    public init() {}

    mutating func warn(_ problem: ArchiveProblem) {
        if warnings.count < 1000 { warnings.append(problem) } else { furtherWarnings += 1 }
    }

    /// Counts warnings that a reader has not kept.
    mutating func warnOfMore(_ count: Int) { furtherWarnings += count }
}

/// Knows one format: reads the index, and entries by it. All functions do I/O.
protocol ArchiveReader: Sendable {
    /// The exchange of an entry, without the response's body.
    func exchange(at place: EntryPlace) throws(ArchiveProblem) -> RecordedExchange
    /// The response's body: without transfer codings, with the content codings that the exchange tells.
    func body(at place: EntryPlace) throws(ArchiveProblem) -> any BodyStream
    /// The response's body as it was recorded, where ``body(at:)`` writes anything otherwise.
    func storedBody(at place: EntryPlace) throws(ArchiveProblem) -> any BodyStream
    /// The response's body as it belongs into another archive: what it names has URLs that are entries of the table.
    func portableBody(at place: EntryPlace, _ table: EntryTable) throws(ArchiveProblem) -> any BodyStream
    /// Checks what only reading everything shows (digests), beyond decoding every body: for `check`.
    func verify(_ table: EntryTable, warn: (ArchiveProblem) -> Void) throws(ArchiveProblem)
    /// Decodes every body of a usable entry, and verifies: for `check`.
    func check(
        _ table: EntryTable, _ limits: ArchiveLimits, warn: (ArchiveProblem) -> Void
    ) throws(ArchiveProblem)
}

extension ArchiveReader {
    func storedBody(at place: EntryPlace) throws(ArchiveProblem) -> any BodyStream { try body(at: place) }

    func portableBody(at place: EntryPlace, _ table: EntryTable) throws(ArchiveProblem) -> any BodyStream {
        try body(at: place)
    }

    func verify(_ table: EntryTable, warn: (ArchiveProblem) -> Void) throws(ArchiveProblem) {}

    func check(
        _ table: EntryTable, _ limits: ArchiveLimits, warn: (ArchiveProblem) -> Void
    ) throws(ArchiveProblem) {
        for number in 0..<table.count where table[number].isUsable {
            do throws(ArchiveProblem) {
                try decodeBody(of: table[number], limits)
            } catch {
                warn(error.ofEntry(number + 1))
            }
        }
        try verify(table, warn: warn)
    }

    /// Reads a body to its end, decodes it, and throws it away.
    private func decodeBody(of entry: EntryTable.Entry, _ limits: ArchiveLimits) throws(ArchiveProblem) {
        let described = try exchange(at: entry.place).body
        guard !described.isMissing else { return }
        let stream = try ContentDecoder.stream(
            try body(at: entry.place), codings: entry.isPart ? [] : described.codings,
            storedBytes: described.storedBytes, limits: limits)
        try stream.discard()
    }
}

/// An archive that is open: its entries are known, their bodies are read when they are asked for.
public final class Archive: Sendable {
    /// The name as its user wrote it.
    public let name: String
    public let format: ArchiveFormat
    public let table: EntryTable
    public let pages: [ArchivePage]
    public let document: [UInt8]?
    public let warnings: [ArchiveProblem]
    /// Warnings beyond those.
    public let furtherWarnings: Int
    public let limits: ArchiveLimits
    let reader: any ArchiveReader

    init(_ input: ArchiveInput, _ format: ArchiveFormat, _ contents: ArchiveContents, _ reader: any ArchiveReader) {
        name = input.name
        limits = input.limits
        self.format = format
        self.reader = reader
        table = contents.table
        pages = contents.pages
        document = contents.document
        warnings = contents.warnings
        furtherWarnings = contents.furtherWarnings
    }

    /// Reads the index of an archive. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where the file is no archive, or a damaged one.
    public static func open(_ input: ArchiveInput) throws(ArchiveProblem) -> Archive {
        let format = try ArchiveFormat(of: input)
        var contents = ArchiveContents()
        let reader = try format.read(input, into: &contents)
        return Archive(input, format, contents, reader)
    }

    /// The exchange of an entry, without the response's body. Does I/O.
    ///
    /// - Parameter index: from 0.
    /// - Throws: ``ArchiveProblem`` where the file is not what it was when its index was read.
    public func exchange(_ index: Int) throws(ArchiveProblem) -> RecordedExchange {
        try reader.exchange(at: table[index].place)
    }

    /// Reads the response's body: with the content codings that the exchange tells, without transfer codings, up to
    /// the limits. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where it can't be read.
    public func openBody(_ index: Int) throws(ArchiveProblem) -> any BodyStream {
        try reader.body(at: table[index].place)
    }

    /// Reads the response's body as ``openBody(_:)`` does, but as it was recorded: nothing in it is rewritten. Does
    /// I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where it can't be read.
    public func openStoredBody(_ index: Int) throws(ArchiveProblem) -> any BodyStream {
        try reader.storedBody(at: table[index].place)
    }

    /// Reads the response's body as it belongs into another archive: MHTML's parts are named by their own URLs, and not
    /// by those that only this archive answers (``ContentIDs``). Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where it can't be read.
    public func openPortableBody(_ index: Int) throws(ArchiveProblem) -> any BodyStream {
        try reader.portableBody(at: table[index].place, table)
    }

    /// Checks what only reading everything shows. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where the file can't be read.
    public func verify(warn: (ArchiveProblem) -> Void) throws(ArchiveProblem) { try reader.verify(table, warn: warn) }

    /// Reads the whole archive: decodes the bodies of usable entries, and verifies. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where the file can't be read.
    public func check(warn: (ArchiveProblem) -> Void) throws(ArchiveProblem) {
        try reader.check(table, limits, warn: warn)
    }
}
