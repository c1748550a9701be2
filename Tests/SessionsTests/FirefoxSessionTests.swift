import Basics
import Testing

@testable import Sessions

@Suite("Firefox's files of sessions")
struct FirefoxSessionTests {
    /// Two windows, compressed by the lz4 package of Python: the second one's second tab is the selected one.
    private static let sample = """
        bW96THo0MAD3AQAA8yV7InZlcnNpb24iOiBbInNlc3Npb25yZXN0b3JlIiwgMV0sICJ3aW5kb3dzIjogW3sidGFiCgBjZW50cmllDQDxJXVybCI6\
        ICJhYm91dDpob21lIiwgInRpdGxlIjogIk5ldyBUYWIifV0sICJpbmRleCI6IDEOAIFzZWxlY3RlZBEALywgYQAN+QNodHRwOi8vZmlyc3QudGVz\
        dC9pAFxGaXJzdGcALywgrQAJlWJsYW5rIn0sIMUAkmh0dHBzOi8vYWEAeTE/eD0xI2ZoAKlPbmUgXHVkODNkOgAC/wBpY29uZmlnMAAZYycABGEA\
        EmJhABkyKwAzVHdvWwBvXHVkZTAwOgAJGjPrABwzUgEZMhEAsFdpbmRvdyI6IDJ9
        """

    private func sample() throws -> [UInt8] { try #require(Base64.decoded(Self.sample.utf8)) }

    /// A file whose JSON is not compressed: one sequence of literals.
    private func file(_ json: String, length: Int? = nil) -> [UInt8] {
        let bytes = Array(json.utf8)
        let length = length ?? bytes.count
        var file = Array("mozLz40\0".utf8) + (0..<4).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
        file.append(bytes.count < 15 ? UInt8(bytes.count << 4) : 0xF0)
        var rest = bytes.count - 15
        while rest >= 0 {
            file.append(UInt8(min(rest, 255)))
            rest -= 255
        }
        return file + bytes
    }

    @Test("the selected tab of the selected window is read, and what is no page is left out")
    func selected() throws {
        let tab = try FirefoxSession.tab(nil, of: sample())
        #expect(tab.session.entries.map(\.url) == ["https://a.test/1?x=1#f", "https://b.test/2", "https://b.test/3"])
        // Half a character in a title that was cut.
        #expect(tab.session.entries.map(\.title) == ["One \u{FFFD}", "Two 😀", ""])
        // The page that was shown is left out: the one before it stands in.
        #expect(tab.session.current == 0)
        #expect(tab.omitted == ["about:blank", "about:config"])
        #expect(try FirefoxSession.tab(1, of: sample()).session.entries.map(\.title) == ["First"])
    }

    @Test(
        "what is missing is said",
        arguments: [
            ("{}", nil, "the file has no windows"), ("[]", nil, "the file has no windows"),
            (#"{"windows": []}"#, nil, "the file has no windows"),
            (#"{"windows": [{}]}"#, nil, "the selected window has no tabs"),
            (
                #"{"windows": [{"tabs": [{"entries": [{"url": "http://a/"}]}]}]}"#, 2,
                "the selected window has no tab 2; it has 1"
            ),
            (#"{"windows": [{"tabs": [{"entries": []}]}]}"#, nil, "tab 1 has no pages"),
            (
                #"{"windows": [{"tabs": [{"entries": [{"url": "about:home"}]}]}]}"#, nil,
                "tab 1 has no http or https page"
            ),
            (#"{"windows": [{"tabs": [{"entries": [{}]}]}]}"#, nil, "page 1 of tab 1 has no URL"),
            (#"{"windows": ["#, nil, "its JSON can't be read: a value is missing"),
        ] as [(String, Int?, String)])
    func missing(_ json: String, _ tab: Int?, _ message: String) {
        let error = #expect(throws: SessionError.self) { try FirefoxSession.tab(tab, of: file(json)) }
        #expect(error?.message == message)
        #expect(error?.span == nil)
    }

    @Test("numbers that name nothing are those of the first window, and of the last page")
    func numbers() throws {
        let pages = #"[{"url": "http://a/"}, {"url": "http://b/"}]"#
        for (selected, index) in [("0", "0"), ("-9", "99999999999999999999"), ("\"1\"", "1.5")] {
            let json =
                #"{"selectedWindow": \#(selected), "windows": [{"tabs": [{"entries": \#(pages), "index": \#(index)}]}]}"#
            #expect(try FirefoxSession.tab(nil, of: file(json)).session.current == 1)
        }
    }

    @Test("each beginning of a file, and each with a bit turned over, is read or refused")
    func damaged() throws {
        let bytes = try sample()
        for count in bytes.indices {
            #expect(throws: SessionError.self) { try FirefoxSession.tab(nil, of: Array(bytes[..<count])) }
            for bit in 0..<8 {
                var damaged = bytes
                damaged[count] ^= 1 << bit
                _ = try? FirefoxSession.tab(nil, of: damaged)
            }
        }
        #expect(throws: SessionError.self) { try FirefoxSession.tab(nil, of: bytes + [0]) }
    }

    @Test("a length that the data can't have is refused before memory is taken")
    func bombs() {
        #expect(throws: SessionError.self) { try FirefoxSession.tab(nil, of: file("{}", length: 0xFFFF_FFFF)) }
        #expect(throws: SessionError.self) { try FirefoxSession.tab(nil, of: file("{}", length: 64 << 20)) }
    }
}

@Suite("Blocks of LZ4")
struct LZ4BlockTests {
    private func decompress(_ block: [UInt8], to length: Int) throws(LZ4Block.Failure) -> String {
        String(decoding: try LZ4Block.decompress(block[...], to: length), as: UTF8.self)
    }

    @Test("literals, matches, and matches that overlap themselves")
    func table() throws {
        #expect(try decompress([0x00], to: 0) == "")
        #expect(try decompress([0x30, 0x61, 0x62, 0x63], to: 3) == "abc")
        // "abc", and seven bytes from three before.
        #expect(try decompress([0x33, 0x61, 0x62, 0x63, 3, 0, 0x10, 0x21], to: 11) == "abcabcabca!")
        // One byte, repeated 19 + 255 + 1 times.
        #expect(
            try decompress([0x1F, 0x61, 1, 0, 255, 1, 0x00], to: 276) == String(repeating: "a", count: 276))
        let long = [UInt8](repeating: 0x62, count: 15 + 255 + 3)
        #expect(try decompress([0xF0, 255, 3] + long, to: long.count) == String(decoding: long, as: UTF8.self))
    }

    @Test(
        "a block that is cut short, copies from nowhere or has another length is refused",
        arguments: [
            ([], 0, .cutShort), ([0x10], 1, .cutShort), ([0xF0], 1, .cutShort), ([0xF0, 255], 300, .cutShort),
            ([0x10, 0x61, 1], 5, .cutShort), ([0x1F, 0x61, 1, 0], 5, .cutShort),
            ([0x10, 0x61, 0, 0, 0x00], 5, .badOffset), ([0x10, 0x61, 2, 0, 0x00], 5, .badOffset),
            ([0x00, 1, 0, 0x00], 4, .badOffset), ([0x10, 0x61], 2, .otherLength), ([0x10, 0x61], 0, .otherLength),
            ([0x10, 0x61, 1, 0, 0x00], 4, .otherLength), ([0x00], -1, .otherLength), ([0x00], 1 << 30, .otherLength),
        ] as [([UInt8], Int, LZ4Block.Failure)])
    func refusals(_ block: [UInt8], _ length: Int, _ failure: LZ4Block.Failure) {
        #expect(throws: failure) { try LZ4Block.decompress(block[...], to: length) }
    }
}
