// What is tested here is internal to its module, which is built for that when it is built for debugging or fuzzing.
#if DEBUG || FUZZING
import HTTP1Invariants

@testable import Archives

/// Properties of saved pages, whatever bytes they are read from: what is read is inside of limits, and what is written
/// of it reads as the same.
enum SavedPageInvariants {
    static func checkMHTML(_ bytes: [UInt8]) throws { try check(bytes, "page.mhtml", .mhtml) }

    static func checkWebarchive(_ bytes: [UInt8]) throws { try check(bytes, "page.webarchive", .webarchive) }

    private typealias Page = [(exchange: RecordedExchange, body: [UInt8])]

    private static func check(_ bytes: [UInt8], _ name: String, _ format: ArchiveFormat) throws {
        guard let page = try read(bytes, name, format) else { return }
        var mhtml = MHTMLWriter(document: page.document, title: "ä", boundary: "5f0c9a7be1d24c3881f6")
        try checkWritten(mhtml.write(page.exchanges), "page.mhtml", .mhtml, page.exchanges)
        var webarchive = WebarchiveWriter()
        try checkWritten(webarchive.write(page.exchanges), "page.webarchive", .webarchive, page.exchanges)
    }

    /// What another archive would have of a page: the usable entries, the document first; nil where nothing can be
    /// read.
    private static func read(
        _ bytes: [UInt8], _ name: String, _ format: ArchiveFormat
    ) throws -> (document: [UInt8], exchanges: Page)? {
        var input = ArchiveInput(name: name, bytes: ArchiveBytes(bytes))
        input.limits.body = 1 << 20
        var contents = ArchiveContents()
        let archive: Archive
        do throws(ArchiveProblem) {
            let reader = try format.read(input, into: &contents)
            archive = Archive(input, format, contents, reader)
        } catch {
            try require(error.severity == .error, "\(error) is no error")
            if case .offset(let offset) = error.place { try require(0...bytes.count ~= offset, "place \(offset)") }
            return nil
        }
        try require(archive.table.count > 0 && archive.table.count <= bytes.count, "\(archive.table.count) entries")
        try archive.verify { _ in }
        guard let document = archive.document else { throw InvariantViolation("no document") }
        var page: Page = []
        for index in 0..<archive.table.count {
            let body = try checkBody(archive, index)
            var exchange = try archive.exchange(index)
            guard archive.table[index].isUsable else { continue }
            exchange.url = Array(archive.table[index].url)
            page.append((exchange, body))
        }
        if let first = page.firstIndex(where: { $0.exchange.url == normal(document) }) { page.swapAt(0, first) }
        return page.isEmpty ? nil : (page[0].exchange.url, page)
    }

    private static func normal(_ url: [UInt8]) -> [UInt8] {
        var table = EntryTable()
        var found = FoundEntry(at: EntryPlace(offset: 0))
        found.url = url
        guard (try? table.add(found, limits: ArchiveLimits())) != nil else { return [] }
        return Array(table[0].url)
    }

    /// A body is the same in pieces of any size, and as long as the exchange says.
    private static func checkBody(_ archive: Archive, _ index: Int) throws -> [UInt8] {
        let exchange = try archive.exchange(index)
        var stream = try archive.openBody(index)
        let body = try stream.readAll(limit: 1 << 20)
        try require(exchange.body.size ?? body.count == body.count, "\(body.count) bytes")
        var pieces: [UInt8] = []
        stream = try archive.openBody(index)
        while try stream.read(3, into: &pieces) {}
        try require(pieces == body, "another body in pieces")
        stream = try archive.openStoredBody(index)
        _ = try stream.readAll(limit: 1 << 20)
        return body
    }

    private static func checkWritten(_ bytes: [UInt8], _ name: String, _ format: ArchiveFormat, _ page: Page) throws {
        var input = ArchiveInput(name: name, bytes: ArchiveBytes(bytes))
        input.limits.body = 2 << 20
        var contents = ArchiveContents()
        let reader = try format.read(input, into: &contents)
        let archive = Archive(input, format, contents, reader)
        try require(contents.warnings.isEmpty, "\(contents.warnings)")
        try require(archive.table.count == page.count, "\(archive.table.count) entries of \(page.count)")
        for (index, (exchange, body)) in page.enumerated() {
            try require(archive.table[index].isUsable, "entry \(index) can't answer any more")
            try require(Array(archive.table[index].url) == exchange.url, "another URL than \(exchange.url)")
            var stream = try archive.openStoredBody(index)
            try require(try stream.readAll(limit: 2 << 20) == body, "another body of entry \(index)")
        }
    }
}
#endif
