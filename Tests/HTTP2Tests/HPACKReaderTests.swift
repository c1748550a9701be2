import Basics
import NIOCore
import NIOHPACK
import Testing

@testable import HTTP2

@Suite("Compressed fields of HTTP/2")
struct HPACKReaderTests {
    private func lines(_ block: FieldBlock) -> [[String]] {
        block.lines.map { line in
            [
                String(decoding: block.bytes[line.name], as: UTF8.self),
                String(decoding: block.bytes[line.value], as: UTF8.self),
            ]
        }
    }

    private func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.utf8.compactMap(\.hexValue)
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private func decode(_ block: [UInt8], with decoder: inout HPACKReader) throws -> FieldBlock {
        var fields = FieldBlock()
        try block.withRawBytes { bytes throws(HPACKReader.Failure) in try decoder.decode(bytes, into: &fields) }
        return fields
    }

    @Test(
        "The requests of RFC 7541 Appendix C.3 and C.4 are read on one connection each",
        arguments: [
            [
                "828684410f7777772e6578616d706c652e636f6d", "828684be58086e6f2d6361636865",
                "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
            ],
            [
                "828684418cf1e3c2e5f23a6ba0ab90f4ff", "828684be5886a8eb10649cbf",
                "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
            ],
        ])
    func examples(blocks: [String]) throws {
        var decoder = HPACKReader(maxBytes: 1 << 16, maxLines: 200)
        let first = [[":method", "GET"], [":scheme", "http"], [":path", "/"], [":authority", "www.example.com"]]
        #expect(lines(try decode(bytes(blocks[0]), with: &decoder)) == first)
        #expect(lines(try decode(bytes(blocks[1]), with: &decoder)) == first + [["cache-control", "no-cache"]])
        #expect(
            lines(try decode(bytes(blocks[2]), with: &decoder)) == [
                [":method", "GET"], [":scheme", "https"], [":path", "/index.html"], [":authority", "www.example.com"],
                ["custom-key", "custom-value"],
            ])
    }

    @Test("What another encoder writes is read, with its indexes, evictions and Huffman code")
    func otherEncoder() throws {
        var state: UInt64 = 7
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let alphabet = (0..<0x250).compactMap { Unicode.Scalar($0) }.filter { $0.value >= 0x20 && $0.value != 0x7f }
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        var decoder = HPACKReader(maxBytes: 1 << 20, maxLines: 1000)
        for _ in 0..<300 {
            var headers = HPACKHeaders()
            for _ in 0..<random(20) {
                var value = ""
                for _ in 0..<random(random(10) == 0 ? 3000 : 40) {
                    value.unicodeScalars.append(alphabet[random(alphabet.count)])
                }
                headers.add(name: "x-\(random(60))", value: value, indexing: [.indexable, .nonIndexable][random(2)])
            }
            var block = ByteBuffer()
            try encoder.beginEncoding(allocator: ByteBufferAllocator())
            try encoder.append(headers: headers)
            block = try encoder.endEncoding()
            let fields = try decode(Array(block.readableBytesView), with: &decoder)
            #expect(lines(fields) == headers.map { [$0.name, $0.value] })
        }
    }

    @Test("Fields over the limits are left out, and the table goes on")
    func limits() throws {
        var decoder = HPACKReader(maxBytes: 1000, maxLines: 3)
        // x-a: 900 bytes, put into the table and named four times more.
        let value = [UInt8](repeating: 0x62, count: 900)
        let block = bytes("4003782d61") + [0x7f, 0x85, 0x06] + value
        #expect(try decode(block, with: &decoder).lines.count == 1)
        let bomb = try decode([UInt8](repeating: 0xbe, count: 1000), with: &decoder)
        #expect(bomb.isTooLarge)
        #expect(bomb.lines.count == 1)
        let many = try decode(bytes("8284878282"), with: &decoder)
        #expect(many.isTooLarge)
        #expect(many.lines.count == 3)
        #expect(try decode(bytes("be"), with: &decoder).lines.first?.valueLength == 900)
    }

    @Test(
        "A block that breaks RFC 7541 is refused",
        arguments: [
            "80", "c6", "ff", "7f0700", "ffffffffffffff", "40", "4001", "000361", "8221", "3fe21f", "00016184ffffffff",
            "0001618149", "0001618100",
        ])
    func malformed(block: String) {
        var decoder = HPACKReader(maxBytes: 1 << 16, maxLines: 200)
        #expect(throws: HPACKReader.Failure.self) { try decode(bytes(block), with: &decoder) }
    }
}
