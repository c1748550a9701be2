// What is tested here is internal to its module, which is built for that when it is built for debugging or fuzzing.
#if DEBUG || FUZZING
import HTTP1Invariants

@testable import Archives

/// Properties of WARC, whatever bytes it is read from: what is read and written again reads as the same.
enum WARCInvariants {
    private struct Entry: Equatable {
        var exchange: RecordedExchange
        var body: [UInt8]

        static func == (first: Entry, second: Entry) -> Bool {
            first.body == second.body && first.exchange.method == second.exchange.method
                && first.exchange.url == second.exchange.url && first.exchange.status == second.exchange.status
                && first.exchange.fields == second.exchange.fields && first.exchange.time == second.exchange.time
                && first.exchange.requestFields == second.exchange.requestFields
                && first.exchange.requestBody ?? [] == second.exchange.requestBody ?? []
        }
    }

    /// Counts, so that what is written is the same each time.
    private struct Counter: RandomNumberGenerator {
        var value: UInt64 = 0

        mutating func next() -> UInt64 {
            value += 1
            return value
        }
    }

    static func check(_ bytes: [UInt8]) throws {
        guard let entries = try read(bytes, isOurs: false) else { return }
        guard !entries.isEmpty, let once = try read(try written(entries, false), isOurs: true) else { return }
        try require(once.count == entries.count, "\(entries.count) entries became \(once.count)")
        for (entry, other) in zip(entries, once) {
            try require(entry.body == other.body, "\(entry.body) became \(other.body)")
            try require(entry.exchange.status == other.exchange.status, "another status")
        }
        for isCompressed in [false, true] {
            let twice = try read(try written(once, isCompressed), isOurs: true)
            try require(once == twice, "\(once) reads otherwise when it is written")
        }
    }

    /// The usable entries; nil where the bytes are no WARC.
    private static func read(_ bytes: [UInt8], isOurs: Bool) throws -> [Entry]? {
        var input = ArchiveInput(name: "a.warc", bytes: ArchiveBytes(bytes))
        input.limits.body = 1 << 20
        let archive: Archive
        do throws(ArchiveProblem) {
            var contents = ArchiveContents()
            let reader = try WARCReader(input, into: &contents)
            archive = Archive(input, .warc, contents, reader)
            var problems: [ArchiveProblem] = []
            try archive.verify { problems.append($0) }
            guard !isOurs || problems.isEmpty && archive.warnings.isEmpty else { throw problems[0] }
        } catch {
            if case .offset(let offset) = error.place {
                try require(0...bytes.count ~= offset, "offset \(offset) of \(bytes.count)")
            }
            try require(!isOurs, "what was written is no WARC: \(error)")
            return nil
        }
        for case .offset(let offset) in archive.warnings.map(\.place) {
            try require(0...bytes.count ~= offset, "offset \(offset) of \(bytes.count)")
        }
        var entries: [Entry] = []
        for index in 0..<min(archive.table.count, 50) where archive.table[index].isUsable {
            let exchange = try archive.exchange(index)
            var stream = try archive.openBody(index)
            guard let body = try? stream.readAll(limit: 1 << 20) else { continue }
            try require(exchange.body.size ?? body.count == body.count, "a body of \(body.count) bytes")
            var decoded = try? ContentDecoder.stream(
                MemoryStream(body), codings: exchange.body.codings, storedBytes: body.count, limits: input.limits)
            _ = try? decoded?.readAll(limit: 1 << 20)
            entries.append(Entry(exchange: exchange, body: body))
        }
        return entries
    }

    private static func written(_ entries: [Entry], _ isCompressed: Bool) throws -> [UInt8] {
        var writer = try WARCWriter(isCompressed: isCompressed, randomness: Counter())
        var bytes = writer.information(software: "fuzzing", time: 0)
        for entry in entries { bytes += try writer.records(entry.exchange, time: 0, body: entry.body) }
        return bytes
    }
}
#endif
