/// What a writer is told before the first entry.
public struct ConversionPlan: Sendable {
    /// The program that writes, and its version.
    public var program: String
    public var version: String
    /// When it is written, in Unix milliseconds.
    public var time: Int64
    /// The pages that the entries belong to; of a saved page the first is the document.
    public internal(set) var pages: [ArchivePage] = []
    /// Of pages whose archives say which entries belong to them, their places in that list.
    var origins: [PageOrigin: Int] = [:]
    /// Of others, by the URLs with which they begin.
    var openers: [[UInt8]: Int] = [:]
    /// The entry that the first page was made of, which no archive has for one.
    var chosen: (archive: Int, entry: Int)?
    /// Whether nobody else may read the files that are made. (open(2), mode 600)
    public var isPrivate = false

    public init(program: String, version: String, time: Int64) {
        self.program = program
        self.version = version
        self.time = time
    }

    /// Adds a page, to which the entry of its URL belongs, and those behind that.
    public mutating func add(_ page: ArchivePage) {
        if openers[page.url] == nil { openers[page.url] = pages.count }
        pages.append(page)
    }
}

/// A page of one of the archives that are converted; both numbers are from 0.
struct PageOrigin: Hashable {
    var archive: Int
    var page: Int
}

/// Why an archive can't be written.
public enum ConversionFailure: Error {
    /// A file of it can't be written.
    case writing(String)
    /// An entry can't be read.
    case reading(ArchiveProblem)
}

/// Writes an archive, entry by entry. All functions do I/O.
public protocol ArchiveWriter: AnyObject {
    /// Writes an entry.
    ///
    /// - Returns: why the entry's body could not be decoded, where that is so: then it is left out, or written with its
    ///   coding; nil where it is written as it is to be.
    /// - Throws: ``ConversionFailure`` where the entry can't be read, or a file not be written.
    func append(_ entry: ConvertedEntry) throws(ConversionFailure) -> ArchiveProblem?
    /// Writes what stands behind the last entry.
    ///
    /// - Throws: ``ConversionFailure`` where a file can't be written.
    func finish() throws(ConversionFailure)
}

/// A kind of archive that is written, by the extension that its name has.
public struct ArchiveKind: Sendable {
    public let format: ArchiveFormat
    public let extensions: [String]
    /// Whether it is one page: the document comes first, and has to be known.
    public let isPage: Bool
    private let make: @Sendable (String, ConversionPlan) throws(ConversionFailure) -> any ArchiveWriter

    /// All that are written.
    public static let all: [ArchiveKind] = [
        ArchiveKind(.har, ["har"]) { (path, plan) throws(ConversionFailure) in try HARFileWriter(path, plan) },
        ArchiveKind(.mhtml, ["mhtml", "mht"], isPage: true) { (path, plan) throws(ConversionFailure) in
            try PageFileWriter(path, plan, PageFileWriter.mhtml(plan))
        },
        ArchiveKind(.webarchive, ["webarchive"], isPage: true) { (path, plan) throws(ConversionFailure) in
            try PageFileWriter(path, plan, WebarchiveWriter())
        },
        ArchiveKind(.warc, ["warc"]) { (path, plan) throws(ConversionFailure) in
            try WARCFileWriter(path, plan, isCompressed: false)
        },
        ArchiveKind(.warc, ["warc.gz"]) { (path, plan) throws(ConversionFailure) in
            try WARCFileWriter(path, plan, isCompressed: true)
        },
        recording,
    ]

    /// A folder.
    public static let recording = ArchiveKind(.recording, []) { (path, plan) throws(ConversionFailure) in
        try RecordingFolderWriter(path, plan)
    }

    private init(
        _ format: ArchiveFormat, _ extensions: [String], isPage: Bool = false,
        make: @escaping @Sendable (String, ConversionPlan) throws(ConversionFailure) -> any ArchiveWriter
    ) {
        self.format = format
        self.extensions = extensions
        self.isPage = isPage
        self.make = make
    }

    /// The kind of a file by its name: nil for one that is not written. A name without an extension is a folder's.
    public static func named(_ name: String) -> ArchiveKind? {
        let file = name.lowercased().split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard file.dropFirst().contains(".") else { return recording }
        return all.first { kind in kind.extensions.contains { file.hasSuffix(".\($0)") && file.count > $0.count + 1 } }
    }

    /// Begins an archive; where it is a file, one that is not there yet.
    ///
    /// - Throws: ``ConversionFailure`` where the file or folder can't be made.
    public func begin(_ path: String, _ plan: ConversionPlan) throws(ConversionFailure) -> any ArchiveWriter {
        try make(path, plan)
    }
}
