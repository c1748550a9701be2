import Synchronization
import Testing

@testable import Archives

@Suite("A .warc.gz whose records are in one member")
struct SharedMemberTests {
    /// Bytes that don't get shorter by compression, in characters of one byte each.
    private static func noise(_ count: Int, _ seed: Int) -> String {
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        let bytes = (0..<count).map { _ -> UInt8 in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(0x20 + state % 0x5F)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Records whose requests come behind all responses, the last first.
    private static func text(_ count: Int, bodies: Int) -> WARCText {
        var text = WARCText()
        for number in 1...count {
            text.respond(
                "http://a.example/\(number)", id: number, "HTTP/1.1 200 OK\r\n\r\n\(noise(bodies, number))")
        }
        for number in (1...count).reversed() {
            text.add(
                "request", id: count + number, with: ["WARC-Concurrent-To: \(WARCText.id(number))"],
                "GET /\(number) HTTP/1.1\r\nX-Number: \(number)\r\n\r\n")
        }
        return text
    }

    /// Bytes that count how many of them are read.
    private final class Counted: Sendable {
        private let source: ArchiveBytes
        private let count = Mutex(0)

        init(_ bytes: [UInt8]) { source = ArchiveBytes(bytes) }

        var bytes: ArchiveBytes {
            ArchiveBytes(count: source.count) { buffer, offset in
                guard let piece = try? self.source.read(at: offset, upTo: buffer.count) else { return -1 }
                buffer.copyBytes(from: piece)
                self.count.withLock { $0 += piece.count }
                return piece.count
            }
        }

        /// How many were read since the last time.
        func take() -> Int {
            count.withLock { count in
                defer { count = 0 }
                return count
            }
        }
    }

    @Test("is checked in one pass, and answers without decoding all before a record")
    func linear() throws {
        let compressed = try gzip(Self.text(200, bodies: 20_000).plain)
        let counted = Counted(compressed)
        let archive = try Archive.open(ArchiveInput(name: "a.warc.gz", bytes: counted.bytes))
        #expect(archive.table.count == 200 && counted.take() < compressed.count * 11 / 10)
        var problems: [ArchiveProblem] = []
        try archive.check { problems.append($0) }
        #expect(problems.isEmpty)
        #expect(counted.take() < compressed.count * 11 / 10)
        for index in [199, 3, 100, 198, 0] {
            #expect(try archive.text(index) == Self.noise(20_000, index + 1))
            #expect(counted.take() < 400_000)
            #expect(try archive.exchange(index).requestFields == [RecordedField("X-Number", "\(index + 1)")])
            #expect(counted.take() < 800_000)
        }
    }

    @Test("is read in time in proportion to it where the lengths of its records are wrong", arguments: [true, false])
    func wrongLengths(_ isBeyondEnd: Bool) throws {
        var records = Self.text(200, bodies: 20_000).records
        for number in 50..<200 {
            let text = String(decoding: records[number], as: UTF8.self)
            let length = isBeyondEnd ? 1 << 40 : 31_000
            records[number] = Array(text.replacing("Content-Length: 20019", with: "Content-Length: \(length)").utf8)
        }
        let compressed = try gzip(records.flatMap { $0 })
        let counted = Counted(compressed)
        let archive = try Archive.open(ArchiveInput(name: "a.warc.gz", bytes: counted.bytes))
        #expect(archive.table.count == 50)
        // A length beyond the end is found out once; of others what they cover is decoded again, from a state before
        // it.
        #expect(counted.take() < compressed.count * (isBeyondEnd ? 3 : 60))
        var problems: [ArchiveProblem] = []
        try archive.check { problems.append($0) }
        #expect(problems.filter { $0.entry != nil }.isEmpty)
        #expect(try archive.text(49) == Self.noise(20_000, 50))
    }

    @Test("is read from each of its records as it is from the first, in any order")
    func places() throws {
        let text = Self.text(300, bodies: 3000)
        let shared = try ReadArchive(try gzip(text.plain), name: "a.warc.gz")
        let plain = try ReadArchive(text.plain, name: "a.warc")
        #expect(shared.lines == plain.lines)
        for index in (0..<300).map({ $0 * 7 % 300 }) {
            #expect(try shared.bytes(index, step: 1000) == plain.bytes(index, step: 1000))
        }
    }

    @Test("takes no more than 16 MiB for that, however long it is, and however long its first record")
    func memory() throws {
        for lengths in [[Int](repeating: 600_000, count: 150), [50_000_000, 10, 10, 600_000, 10]] {
            var text = WARCText()
            for (number, length) in lengths.enumerated() {
                text.respond(
                    "http://a.example/\(number)", "HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: length))
            }
            let compressed = try gzip(text.plain)
            let archive = try openArchive(compressed, "a.warc.gz")
            let marks = try #require((archive.reader as? WARCReader)?.marks)
            #expect(marks.size.count > 0 && marks.size.bytes <= 16 << 20)
            for index in [0, 1, lengths.count / 2, lengths.count - 1] {
                #expect(try archive.body(index).count == lengths[index])
                // The first is read from the beginning, and the others from a state not far before them.
                let place = WARCReader.place(archive.table[index].place)
                let distance = place.inner - (marks.nearest(place)?.position ?? 0)
                #expect(distance <= 2_000_000, "record \(index)")
            }
        }
    }

    // MARK: Members that are cut anywhere

    /// Gzip as `bgzip` and `split` make it: each piece is a member, wherever records begin.
    private static func members(_ bytes: [UInt8], of length: Int) throws -> [UInt8] {
        try stride(from: 0, to: bytes.count, by: length).flatMap { start in
            try gzip(Array(bytes[start..<min(start + length, bytes.count)]))
        }
    }

    @Test(
        "has the same records where they go on in further members",
        arguments: [1, 2, 3, 5, 7, 64, 150, 151, 1000, 4096, 70_000])
    func cut(_ length: Int) throws {
        var text = Self.text(6, bodies: length < 100 ? 50 : 9000)
        text.add("resource", with: ["WARC-Target-URI: http://a.example/r"], "r")
        let plain = try ReadArchive(text.plain, name: "a.warc")
        // An empty member is what bgzip ends with.
        let cut = try ReadArchive(try Self.members(text.plain, of: length) + gzip([]), name: "a.warc.gz")
        #expect(cut.lines == plain.lines && cut.lines.count == 7)
        #expect(cut.warnings.allSatisfy { $0.hasPrefix("several records are in one gzip member") })
        for index in [6, 3, 0, 5, 1, 4, 2] {
            #expect(try cut.bytes(index, step: 1000) == plain.bytes(index, step: 1000))
            #expect(
                try cut.archive.exchange(index).requestFields == plain.archive.exchange(index).requestFields)
        }
        #expect(try cut.archive.verified().isEmpty)
    }

    @Test("has a record that is whole behind one that goes on, each in members of its own")
    func cutEach() throws {
        let text = Self.text(3, bodies: 9000)
        let bytes = try text.records.flatMap { try Self.members($0, of: 5000) + gzip([]) }
        let read = try ReadArchive(bytes, name: "a.warc.gz")
        #expect(read.lines.count == 3 && read.warnings.isEmpty)
        for index in 0..<3 { #expect(try read.body(index) == Self.noise(9000, index + 1)) }
    }

    /// The same as `bgzip` writes it, with the length of each member in an extra field.
    private static func blocks(_ bytes: [UInt8], of length: Int) throws -> [[UInt8]] {
        try stride(from: 0, to: bytes.count, by: length).map { start in
            var block = try gzip(Array(bytes[start..<min(start + length, bytes.count)]))
            block[3] = 4
            let size = block.count + 7
            block.insert(contentsOf: [6, 0, 0x42, 0x43, 2, 0, UInt8(size & 0xFF), UInt8(size >> 8)], at: 10)
            return block
        }
    }

    @Test(
        "has no damage where the empty lines behind a record are members of their own",
        arguments: [
            ["\r\n\r\n"], ["\r\n", "\r\n"], ["", "\r\n\r\n", ""], ["\r", "\n", "\r", "\n"],
        ])
    func separateLines(_ lines: [String]) throws {
        let text = Self.text(3, bodies: 9000)
        let ends = try lines.flatMap { try gzip(Array($0.utf8)) }
        let bytes = try text.records.flatMap { try gzip($0.dropLast(4)) + ends }
        let read = try ReadArchive(bytes, name: "a.warc.gz")
        #expect(read.lines.count == 3 && read.warnings.isEmpty, "\(read.warnings)")
        for index in 0..<3 { #expect(try read.body(index) == Self.noise(9000, index + 1)) }
        #expect(try read.archive.verified().isEmpty)
    }

    @Test(
        "goes on behind a damaged block of bgzip at the next record, wherever that begins in a block",
        arguments: [
            2, 3, 7,
        ])
    func damagedBlock(_ number: Int) throws {
        let text = Self.text(8, bodies: 9000)
        var blocks = try Self.blocks(text.plain, of: 5000)
        let whole = try ReadArchive(blocks.flatMap { $0 }, name: "a.warc.gz")
        #expect(whole.lines.count == 8)
        blocks[number][200] ^= 0xFF
        let read = try ReadArchive(blocks.flatMap { $0 }, name: "a.warc.gz")
        let damaged = Set((number * 5000 / 9256 + 1)...((number * 5000 + 4999) / 9256 + 1))
        let left = read.lines.compactMap { $0.last.flatMap { Int(String($0)) } }
        #expect(
            left.count >= 6 && left == left.sorted()
                && Set(left).isSuperset(of: [7, 8].filter { !damaged.contains($0) }))
        for (index, record) in left.enumerated() where !damaged.contains(record) {
            #expect(try read.body(index) == Self.noise(9000, record))
        }
    }

    @Test("goes on behind damage at a record whose member has extra fields")
    func extraFields() throws {
        let text = Self.text(3, bodies: 9000)
        var members = try text.records.flatMap { try Self.blocks($0, of: 1 << 20) }
        members[1][100] ^= 0xFF
        // Extra fields of another kind, as some crawlers write them.
        members[2][12] = UInt8(ascii: "s")
        members[2][13] = UInt8(ascii: "l")
        let read = try ReadArchive(members.flatMap { $0 }, name: "a.warc.gz")
        #expect(read.lines.first?.hasSuffix("/1") == true && read.lines.last?.hasSuffix("/3") == true, "\(read.lines)")
    }

    @Test("goes on at the next record where one that goes on has a wrong length", arguments: [9100, 20_000, 1 << 40])
    func cutWrong(_ length: Int) throws {
        var records = Self.text(8, bodies: 9000).records
        let second = String(decoding: records[1], as: UTF8.self)
        records[1] = Array(second.replacing("Content-Length: 9019", with: "Content-Length: \(length)").utf8)
        let read = try ReadArchive(try Self.members(records.flatMap { $0 }, of: 5000), name: "a.warc.gz")
        #expect(read.lines.first?.hasSuffix("http://a.example/1") == true)
        #expect(read.lines.suffix(6).map { $0.suffix(1) } == ["3", "4", "5", "6", "7", "8"])
        #expect(Set(read.lines).count == read.lines.count && !read.lines.contains { $0.hasSuffix("/2") })
        #expect(read.warnings.count >= 2)
        for index in read.lines.indices {
            let number = try #require(Int(read.lines[index].suffix(1)))
            #expect(try read.body(index) == Self.noise(9000, number))
        }
    }

    @Test("is read in time in proportion to it where many that go on are longer than the file")
    func cutLinear() throws {
        var records = Self.text(200, bodies: 20_000).records
        for number in 50..<200 {
            let text = String(decoding: records[number], as: UTF8.self)
            records[number] = Array(text.replacing("Content-Length: 20019", with: "Content-Length: \(1 << 40)").utf8)
        }
        let members = try Self.members(records.flatMap { $0 }, of: 65_280)
        let counted = Counted(members)
        let archive = try Archive.open(ArchiveInput(name: "a.warc.gz", bytes: counted.bytes))
        #expect(archive.table.count == 50 && counted.take() < members.count * 60)
        #expect(try archive.text(49) == Self.noise(20_000, 50))
    }
}
