import Testing

@testable import Archives

@Suite("Content codings")
struct ContentDecoderTests {
    static let text = "hello hello hello hello"
    static let brotli: [UInt8] = [
        27, 22, 0, 248, 141, 148, 110, 222, 68, 85, 134, 150, 108, 32, 111, 33, 79, 28, 224, 56,
    ]
    static let zstandard: [UInt8] = [
        40, 181, 47, 253, 32, 23, 101, 0, 0, 48, 104, 101, 108, 108, 111, 32, 1, 0, 153, 75, 17,
    ]
    static let zlib: [UInt8] = [120, 156, 203, 72, 205, 201, 201, 87, 200, 64, 39, 1, 104, 3, 8, 177]
    static let raw: [UInt8] = [203, 72, 205, 201, 201, 87, 200, 64, 39, 1]

    /// 3 MiB and 1 MiB of zeros in 14 bytes of Brotli.
    static let threeMebibytes: [UInt8] = [155, 255, 255, 47, 248, 39, 0, 226, 177, 64, 32, 247, 254, 5]
    static let oneMebibyte: [UInt8] = [91, 255, 255, 143, 127, 2, 32, 30, 11, 4, 114, 239, 31, 0]

    private func decode(
        _ coded: [UInt8], _ codings: [String], step: Int = 65_536, limits: ArchiveLimits = ArchiveLimits()
    ) throws -> [UInt8] {
        var stream = try ContentDecoder.stream(
            MemoryStream(coded), codings: codings, storedBytes: coded.count, limits: limits)
        var bytes: [UInt8] = []
        var count = 0
        while try stream.read(step, into: &bytes) {
            #expect(bytes.count - count < 2 * step)
            count = bytes.count
        }
        return bytes
    }

    @Test("are taken off in parts of any length", arguments: [1, 7, 1000])
    func decoded(_ step: Int) throws {
        let text = Array(Self.text.utf8)
        #expect(try decode(try gzip(text), ["gzip"], step: step) == text)
        #expect(try decode(try gzip(Array(text[..<9])) + gzip(Array(text[9...])), ["X-GZIP"], step: step) == text)
        #expect(try decode(try gzip(text) + [0, 0, 0], ["gzip"], step: step) == text)
        #expect(try decode(Self.brotli, ["br"], step: step) == text)
        #expect(try decode(Self.zstandard, ["zstd"], step: step) == text)
        #expect(try decode(Self.zstandard + Self.zstandard, ["zstd"], step: step) == text + text)
        #expect(try decode(Self.zlib, ["deflate"], step: step) == text)
        #expect(try decode(Self.raw, ["deflate"], step: step) == text)
        #expect(try decode(try gzip(Self.brotli), ["br", "identity", "gzip"], step: step) == text)
        #expect(try decode(text, [], step: step) == text)
        for coding in ContentCoding.allCases { #expect(try decode([], [coding.rawValue]) == []) }
    }

    @Test("that are not known, or too many, are refused")
    func unknown() throws {
        #expect(ContentDecoder.canDecode(["gzip", "BR", "identity"]) && !ContentDecoder.canDecode(["compress"]))
        #expect(throws: ArchiveProblem.self) { try decode([1], ["compress"]) }
        #expect(throws: ArchiveProblem.self) { try decode([1], ["gzip", "gzip", "gzip", "gzip", "gzip"]) }
    }

    @Test("of damaged bodies throw, and of those that are cut short")
    func damaged() throws {
        let coded = [
            ("gzip", try gzip(Array(Self.text.utf8))), ("br", Self.brotli), ("zstd", Self.zstandard),
            ("deflate", Self.zlib),
            ("deflate", Self.raw),
        ]
        for (coding, bytes) in coded {
            // Of gzip the eight bytes behind the text may be missing.
            for count in 1..<(coding == "gzip" ? bytes.count - 8 : bytes.count) {
                #expect(throws: ArchiveProblem.self, "\(coding) \(count)") {
                    try decode(Array(bytes[..<count]), [coding])
                }
            }
        }
        #expect(throws: ArchiveProblem.self) { try decode([0x1F, 0x8B, 9, 0], ["gzip"]) }
        #expect(throws: ArchiveProblem.self) { try decode(Array("plain".utf8), ["zstd"]) }
        // Its window is 16 MiB.
        let wide: [UInt8] = [40, 181, 47, 253, 0, 112, 101, 0, 0, 48, 104, 101, 108, 108, 111, 32, 1, 0, 153, 75, 17]
        #expect(throws: ArchiveProblem.self) { try decode(wide, ["zstd"]) }
    }

    @Test(
        "are read without the end of gzip, or a part of it, but not with a wrong one", arguments: [1, 3, 100, 1 << 20])
    func endOfGzip(_ step: Int) throws {
        for text in [Array(Self.text.utf8), [], [UInt8](repeating: 7, count: 70_000)] {
            let coded = try gzip(text)
            for missing in 1...8 {
                let cut = Array(coded.dropLast(missing))
                #expect(try decode(cut, ["gzip"], step: step) == text, "\(missing)")
                guard missing < 8 else { continue }
                for place in 1...(8 - missing) {
                    var wrong = cut
                    wrong[wrong.count - place] ^= 0x10
                    #expect(throws: ArchiveProblem.self, "\(missing) \(place)") {
                        try decode(wrong, ["gzip"], step: step)
                    }
                }
            }
            #expect(throws: ArchiveProblem.self) { try decode(Array(coded.dropLast(9)), ["gzip"], step: step) }
        }
    }

    @Test("give no more than 1 MiB and 1,100 times the coded bytes, and no more than --max-entry-body")
    func bombs() throws {
        #expect(try decode(Self.oneMebibyte, ["br"]).count == 1 << 20)
        #expect(ArchiveProblem.thrown { try decode(Self.threeMebibytes, ["br"]) }?.message.contains("1,100") == true)
        #expect(try decode(try gzip(Self.oneMebibyte), ["br", "gzip"]).count == 1 << 20)
        #expect(throws: ArchiveProblem.self) { try decode(try gzip(Self.threeMebibytes), ["br", "gzip"]) }
        let zeros = [UInt8](repeating: 0, count: 5 << 20)
        #expect(try decode(try gzip(zeros), ["gzip"]) == zeros)
        var limits = ArchiveLimits()
        limits.body = 23
        #expect(try decode(Self.brotli, ["br"], limits: limits).count == 23)
        limits.body = 22
        let problem = ArchiveProblem.thrown { try decode(Self.brotli, ["br"], limits: limits) }
        #expect(problem?.message.contains("--max-entry-body") == true)
    }
}
