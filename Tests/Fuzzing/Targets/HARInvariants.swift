// What is tested here is internal to its module, which is built for that when it is built for debugging or fuzzing.
#if DEBUG || FUZZING
import HTTP1Invariants

@testable import Archives

/// Properties of HAR, whatever bytes it is read from: what is read and written again reads as the same.
enum HARInvariants {
    private struct Entry: Equatable {
        var method: String
        var url: [UInt8]
        var requestFields: [RecordedField]
        var requestBody: [UInt8]?
        var status: Int
        var fields: [RecordedField]
        var time: Int64?
        var isMissing: Bool
        var body: [UInt8]
    }

    static func check(_ bytes: [UInt8]) throws {
        guard let archive = try open(bytes, isOurs: false) else { return }
        let entries = try read(archive)
        let again = try written(entries)
        try require(again == (try written(again)), "what was written reads otherwise")
        for (entry, other) in zip(entries, again) {
            try require(entry.body == other.body || entry.method == "HEAD", "\(entry.body) became \(other.body)")
            try require(entry.status == other.status, "\(entry.status) became \(other.status)")
        }
    }

    /// The archive; nil where the bytes are none.
    private static func open(_ bytes: [UInt8], isOurs: Bool) throws -> Archive? {
        var input = ArchiveInput(name: "a.har", bytes: ArchiveBytes(bytes)) {
            $0 == "file" ? ArchiveBytes(Array("content".utf8)) : nil
        }
        input.limits.body = 1 << 20
        do throws(ArchiveProblem) {
            var contents = ArchiveContents()
            let reader = try HARReader.read(input, into: &contents)
            let archive = Archive(input, .har, contents, reader)
            try archive.verify { _ in }
            return archive
        } catch {
            guard !isOurs else { throw InvariantViolation("what was written is no HAR: \(error)") }
            if case .offset(let offset) = error.place {
                try require(0...bytes.count ~= offset, "offset \(offset) of \(bytes.count)")
            }
            return nil
        }
    }

    private static func read(_ archive: Archive) throws -> [Entry] {
        var entries: [Entry] = []
        for index in 0..<min(archive.table.count, 50) {
            let exchange = try archive.exchange(index)
            var stream = try archive.openBody(index)
            let body = try stream.readAll(limit: 1 << 24)
            entries.append(
                Entry(
                    method: exchange.method, url: exchange.url, requestFields: exchange.requestFields,
                    requestBody: exchange.requestBody, status: exchange.status, fields: exchange.fields,
                    time: exchange.time, isMissing: exchange.body.isMissing, body: body))
        }
        return entries
    }

    /// The entries as they read after they have been written.
    private static func written(_ entries: [Entry]) throws -> [Entry] {
        var bytes = HARWriter.beginning(name: "a", version: "b")
        for (index, entry) in entries.enumerated() {
            if index > 0 { bytes += HARWriter.separator }
            var exchange = RecordedExchange()
            exchange.method = entry.method
            exchange.url = entry.url
            exchange.requestFields = entry.requestFields
            exchange.requestBody = entry.requestBody
            exchange.status = entry.status
            exchange.fields = entry.fields
            exchange.time = entry.time
            exchange.body.isMissing = entry.isMissing
            bytes += HARWriter.entry(exchange, body: entry.body)
        }
        guard let archive = try open(bytes + HARWriter.end, isOurs: true) else { return [] }
        try require(archive.table.count == entries.count, "\(archive.table.count) of \(entries.count) entries")
        return try read(archive)
    }
}
#endif
