import Testing

@testable import Archives

@Suite("The end of gzip")
struct GzipEndTests {
    /// What was decoded, and why it failed.
    private struct Decoded: Equatable {
        var text: [UInt8]
        var problem: String?
    }

    /// Decodes piece by piece.
    private func decoded(_ bytes: [UInt8], pieces: Int) throws -> Decoded {
        let inflater = try Inflater(.gzip)
        var text: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 4096)
        var rest = bytes[...]
        while !rest.isEmpty {
            let step = rest.prefix(pieces).withUnsafeBytes { input in
                room.withUnsafeMutableBytes { inflater.decode(input, into: $0) }
            }
            text += room[..<step.produced]
            rest = rest.dropFirst(step.consumed)
            if case .failed(let problem) = step.state { return Decoded(text: text, problem: problem) }
            if step.state == .complete { break }
            guard step.consumed > 0 || step.produced > 0 else { break }
        }
        return Decoded(text: text)
    }

    @Test("is compared with what was decoded, in pieces of any size", arguments: [1, 3, 4, 7, 8, 9, 100_000])
    func checked(_ pieces: Int) throws {
        for count in [0, 1, 15, 16, 63, 64, 65, 79, 80, 127, 128, 1000, 4095, 20_000] {
            let text = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* $0 &+ $0 / 7) }
            let coded = try gzip(text)
            #expect(try decoded(coded, pieces: pieces) == Decoded(text: text))
            for (place, problem) in [
                (8, "incorrect data check"), (5, "incorrect data check"), (4, "incorrect length check"),
            ] {
                var wrong = coded
                wrong[wrong.count - place] ^= 0x40
                #expect(try decoded(wrong, pieces: pieces) == Decoded(text: text, problem: problem))
            }
        }
    }

    @Test("is compared where the header has a checksum of its own, and that too")
    func headerChecksum() throws {
        let text = Array("text with a header that has a checksum".utf8)
        let coded = try gzip(text)
        var head = coded[..<10]
        head[3] = 2
        let sum = head.withUnsafeBytes { bytes in
            var crc = CRC32()
            crc.update(bytes)
            return crc.value
        }
        var whole = head + [UInt8(truncatingIfNeeded: sum), UInt8(truncatingIfNeeded: sum >> 8)] + coded[10...]
        #expect(try decoded(Array(whole), pieces: 100_000) == Decoded(text: text))
        whole[whole.endIndex - 1] ^= 1
        #expect(try decoded(Array(whole), pieces: 100_000).problem == "incorrect length check")
        whole[10] ^= 1
        #expect(try decoded(Array(whole), pieces: 100_000).problem == "header crc mismatch")
    }

    @Test("has the checksum of RFC 1952, whatever the length")
    func crc() {
        let bytes = (0..<1200).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 3) }
        for (start, count) in (0..<400).map({ ($0 % 17, $0) }) + [(0, 1200), (3, 1197)] {
            var expected: UInt32 = .max
            for byte in bytes[start..<min(start + count, 1200)] {
                expected ^= UInt32(byte)
                for _ in 0..<8 { expected = expected & 1 == 1 ? expected >> 1 ^ 0xEDB8_8320 : expected >> 1 }
            }
            var crc = CRC32()
            bytes[start..<min(start + count, 1200)].withUnsafeBytes { crc.update($0) }
            #expect(crc.value == ~expected)
        }
    }
}
