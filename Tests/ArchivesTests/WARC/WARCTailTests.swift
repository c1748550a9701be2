import Testing

@testable import Archives

@Suite("The tail of a WARC")
struct WARCTailTests {
    private let records: [[UInt8]]

    init() {
        var text = WARCText()
        for number in 1...3 {
            text.respond(
                "http://a.example/\(number)", id: number,
                "HTTP/1.1 200 OK\r\n\r\n" + (0..<300).map { "\($0 * number % 97)" }.joined())
        }
        records = text.records
    }

    private func tail(_ bytes: [UInt8], isCompressed: Bool = false) throws -> WARCTail {
        try WARCTail(ArchiveBytes(bytes), isCompressed: isCompressed)
    }

    @Test("is within the last record of a plain file wherever that is cut, and behind it where all is there")
    func plain() throws {
        let whole = Array(records.joined())
        let start = records[0].count + records[1].count
        for cut in 0..<records[2].count {
            let expected: WARCTail =
                switch cut {
                case 0: .whole
                case 1...4: .unterminated(at: whole.count - 4, missing: Array("\r\n\r\n".utf8))
                default: .torn(at: start)
                }
            let found = try tail(Array(whole.dropLast(cut)))
            #expect(found == expected, "\(cut)")
        }
        #expect(try tail(Array(whole.prefix(start))) == .whole)
        #expect(try tail([]) == .unclear && tail(Array("\r\n".utf8)) == .unclear)
    }

    @Test(
        "is within the last member of a compressed file wherever that is cut, whose end is known if all else is there")
    func compressed() throws {
        let members = try records.map { try gzip($0) }
        let whole = Array(members.joined())
        let start = members[0].count + members[1].count
        #expect(try tail(whole, isCompressed: true) == .whole)
        for cut in 1..<members[2].count {
            let found = try tail(Array(whole.dropLast(cut)), isCompressed: true)
            let expected: WARCTail =
                cut > 8 ? .torn(at: start) : .unterminated(at: whole.count - cut, missing: Array(whole.suffix(cut)))
            #expect(found == expected, "\(cut)")
        }
    }

    @Test("is not clear where records would go with what is torn, or stand behind it, and where there is damage")
    func unclear() throws {
        let all = Array(records.joined())
        func with(_ old: String, _ new: String) -> [UInt8] {
            records[0] + Array(String(decoding: records[1], as: UTF8.self).replacing(old, with: new).utf8) + records[2]
        }
        let shared = try gzip(all)
        let members = try records.map { try gzip($0) }
        var damaged = members[1]
        damaged[20] ^= 0xFF
        let plain: [[UInt8]] = [
            with("Content-Length: ", "Content-Length: 9"), with("Content-Length: ", "Content-Length: -"),
            with("WARC/1.1", "XXXX/1.1"), all + Array("hello".utf8), all + [0, 0],
            Array(#"{"log":{"entries":[]}}"#.utf8),
        ]
        for bytes in plain { #expect(try tail(bytes) == .unclear, "\(bytes.count)") }
        let compressed: [[UInt8]] = [
            Array(shared.dropLast(60)), members[0] + damaged + members[2], members[0] + damaged,
            members.joined() + (try gzip(Array("hello".utf8))), members.joined() + [0], members.joined() + [0x0A],
            [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + [UInt8](repeating: 0xFF, count: 5000), all,
        ]
        for bytes in compressed { #expect(try tail(bytes, isCompressed: true) == .unclear, "\(bytes.count)") }
    }

    @Test("is known of records that go through several members, and of members with several records")
    func pieces() throws {
        let all = Array(records.joined())
        let pieces = stride(from: 0, to: all.count, by: 500).map { Array(all[$0..<min($0 + 500, all.count)]) }
        let members = try pieces.map { try gzip($0) }
        #expect(try tail(Array(members.joined()), isCompressed: true) == .whole)
        #expect(try tail(try gzip(all), isCompressed: true) == .whole)
        // The last record begins within a member.
        #expect(try tail(Array(members.dropLast().joined()), isCompressed: true) == .unclear)
        // A file that was torn, and packed then.
        let (one, two) = (try gzip(records[0]), try gzip(Array(records[1].dropLast(30))))
        #expect(try tail(one + two, isCompressed: true) == .torn(at: one.count))
        let half = try gzip(Array(records[1].prefix(200)))
        #expect(try tail(one + half + two.prefix(15), isCompressed: true) == .torn(at: one.count))
        #expect(try tail(one + [0x1F], isCompressed: true) == .torn(at: one.count))
        let end = try gzip(records[1])
        #expect(
            try tail(Array(try gzip(all).dropLast(3)), isCompressed: true)
                == .unterminated(at: try gzip(all).count - 3, missing: Array(try gzip(all).suffix(3))))
        #expect(
            try tail(one + end.dropLast(8), isCompressed: true)
                == .unterminated(
                    at: one.count + end.count - 8, missing: Array(end.suffix(8))))
    }
}
