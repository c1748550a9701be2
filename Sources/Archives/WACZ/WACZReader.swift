/// WACZ 1.1: a zip with WARC files, which are stored in it and read in place, and with what is known of them.
struct WACZReader: ArchiveReader {
    private let zip: ZipDirectory
    private let warcs: WARCReader

    /// Reads the index. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where it is no zip, or has no WARC that can be read in place.
    init(_ input: ArchiveInput, into contents: inout ArchiveContents) throws(ArchiveProblem) {
        zip = try ZipDirectory(input.bytes)
        var files: [WARCReader.File] = []
        for index in zip.entries.indices {
            guard let name = try WACZReader.warc(zip, index) else { continue }
            guard let range = try zip.range(index) else {
                throw .error(
                    "\(name) is compressed once more by the zip: 'zip -0' stores it", at: zip.entries[index].offset)
            }
            files.append(WARCReader.File(name: name, range: range))
        }
        guard !files.isEmpty else {
            throw ArchiveProblem(.error, "there is no archive/*.warc or archive/*.warc.gz in it", at: .file)
        }
        files.sort { $0.range.lowerBound < $1.range.lowerBound }
        warcs = try WARCReader(input, files, into: &contents)
        WACZPages.read(zip, into: &contents)
    }

    /// The name of a WARC file below `archive/`; nil for other files.
    private static func warc(_ zip: ZipDirectory, _ index: Int) throws(ArchiveProblem) -> String? {
        let folder = Array("archive/".utf8)
        guard zip.name(index).starts(with: folder) else { return nil }
        let name = String(decoding: zip.name(index).dropFirst(folder.count), as: UTF8.self)
        let lowercased = name.lowercased()
        if lowercased.hasSuffix(".warc.zst") {
            throw .error(
                "\(name): .warc.zst is not read: 'zstd -d FILE' makes a .warc of it, which is",
                at: zip.entries[index].offset)
        }
        return lowercased.hasSuffix(".warc") || lowercased.hasSuffix(".warc.gz") ? name : nil
    }

    /// Whether a zip is a WACZ, by the names in it.
    static func isWACZ(_ bytes: ArchiveBytes) throws(ArchiveProblem) -> Bool {
        let zip = try ZipDirectory(bytes)
        return zip.find("datapackage.json".utf8) != nil
            && zip.entries.indices.contains { zip.name($0).starts(with: "archive/".utf8) }
    }

    func exchange(at place: EntryPlace) throws(ArchiveProblem) -> RecordedExchange { try warcs.exchange(at: place) }

    func body(at place: EntryPlace) throws(ArchiveProblem) -> any BodyStream { try warcs.body(at: place) }

    func verify(_ table: EntryTable, warn: (ArchiveProblem) -> Void) throws(ArchiveProblem) {
        WACZPackage.verify(zip, warn: warn)
        try warcs.verify(table, warn: warn)
    }

    func check(
        _ table: EntryTable, _ limits: ArchiveLimits, warn: (ArchiveProblem) -> Void
    ) throws(ArchiveProblem) {
        WACZPackage.verify(zip, warn: warn)
        try warcs.check(table, limits, warn: warn)
    }
}
