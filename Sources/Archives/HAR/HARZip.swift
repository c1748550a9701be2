import HTTPSemantics

/// A zip with one `*.har` at its top, and the files of bodies beside it: as Playwright writes them.
enum HARZip {
    /// A .har that is compressed is kept in memory, up to this many bytes.
    static let mostInflatedBytes = 1 << 26

    static func read(_ input: ArchiveInput, into contents: inout ArchiveContents) throws(ArchiveProblem) -> HARReader {
        let zip = try ZipDirectory(input.bytes)
        let index = try har(of: zip)
        let source: ArchiveBytes
        if let range = try zip.range(index) {
            source = input.bytes.slice(range)
        } else {
            source = try inflated(zip, index)
        }
        return try HARReader(input, source, files(of: zip), into: &contents)
    }

    /// Whether a zip has a .har at its top. Does I/O.
    static func isOne(_ bytes: ArchiveBytes) throws(ArchiveProblem) -> Bool {
        let zip = try ZipDirectory(bytes)
        return zip.entries.indices.contains { isHAR(zip.name($0)) }
    }

    private static func isHAR(_ name: some Collection<UInt8>) -> Bool {
        guard name.count > 4, !name.contains(UInt8(ascii: "/")), !name.starts(with: "._".utf8) else { return false }
        return Array(name.suffix(4)).withUnsafeBytes { $0.equalsIgnoringCase(".har") }
    }

    private static func har(of zip: ZipDirectory) throws(ArchiveProblem) -> Int {
        let found = zip.entries.indices.filter { isHAR(zip.name($0)) }
        let isWACZ = zip.entries.indices.contains { zip.name($0).starts(with: "archive/".utf8) }
        guard let har = found.first else {
            let hint = isWACZ ? ": it seems to be a WACZ, which has to be named .wacz" : ""
            throw .error("this zip has no .har at its top" + hint, at: 0)
        }
        guard found.count == 1 else {
            throw .error(
                "this zip has \(found.count) .har at its top: only one is read", at: zip.entries[found[1]].offset)
        }
        return har
    }

    private static func inflated(_ zip: ZipDirectory, _ index: Int) throws(ArchiveProblem) -> ArchiveBytes {
        let size = zip.entries[index].size
        guard size <= mostInflatedBytes else {
            let sizes = "\(size >> 20) MiB, more than \(mostInflatedBytes >> 20) MiB"
            throw .error(
                "the .har in this zip is \(sizes): 'unzip' it, and give the .har", at: zip.entries[index].offset)
        }
        var stream = try zip.open(index)
        return ArchiveBytes(try stream.readAll(limit: mostInflatedBytes))
    }

    private static func files(of zip: ZipDirectory) -> HARFiles {
        HARFiles { path throws(ArchiveProblem) in
            guard let index = zip.find(path.utf8) else { return nil }
            let entry = zip.entries[index]
            let isStored = entry.method == .stored
            return HARFile(
                count: entry.size, storedCount: entry.storedSize, isSeekable: isStored
            ) { () throws(ArchiveProblem) in
                try zip.open(index)
            }
        }
    }
}
