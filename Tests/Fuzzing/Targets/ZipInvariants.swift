// What is tested here is internal to its module, which is built for that when it is built for debugging or fuzzing.
#if DEBUG || FUZZING
import HTTP1Invariants

@testable import Archives

/// Properties of zips, whatever bytes they are read from, and of the archives in them.
enum ZipInvariants {
    static func check(_ bytes: [UInt8]) throws {
        for name in ["a.wacz", "a.zip"] {
            var input = ArchiveInput(name: name, bytes: ArchiveBytes(bytes))
            input.limits.body = 1 << 20
            guard let archive = try? Archive.open(input) else { continue }
            try? archive.verify { _ in }
            for index in 0..<min(archive.table.count, 50) {
                guard var stream = try? archive.openBody(index) else { continue }
                _ = try? stream.readAll(limit: 1 << 20)
            }
        }
        let zip: ZipDirectory
        do throws(ArchiveProblem) {
            zip = try ZipDirectory(ArchiveBytes(bytes))
        } catch {
            if case .offset(let offset) = error.place {
                try require(0...bytes.count ~= offset, "offset \(offset) of \(bytes.count)")
            }
            return
        }
        try check(zip, bytes.count)
    }

    private static func check(_ zip: ZipDirectory, _ count: Int) throws {
        var stored = 0
        for index in zip.entries.indices {
            let entry = zip.entries[index]
            try require(entry.offset + entry.storedSize <= count, "an entry beyond the end")
            stored += entry.storedSize
            try require(zip.find(zip.name(index)).map { $0 >= index } == true, "a name that is not found")
            guard var stream = try? zip.open(index), let file = try? stream.readAll(limit: 8 << 20) else { continue }
            try require(file.count == entry.size, "\(file.count) bytes of \(entry.size)")
        }
        try require(stored <= count, "entries overlap")
    }
}
#endif
