import Testing

@testable import Patterns

struct WindowChooserTests {
    private func choice(_ patterns: [String]) throws -> (windows: [String], others: [UInt32]) {
        var chooser = WindowChooser()
        for pattern in patterns {
            chooser.add(LiteralAnalysis.requiredSets(in: try #require(LinearExpression(pattern).tree)))
        }
        let (entries, others) = chooser.choose()
        return (entries.map { text($0.window) + " \($0.number)" }.sorted(), others)
    }

    private func text(_ window: UInt64) -> String {
        let bytes = (0..<8).reversed().map { UInt8(truncatingIfNeeded: window >> UInt64(8 * $0)) }
        return String(decoding: bytes.drop { $0 == 0 }, as: UTF8.self)
    }

    @Test("the text that fewest expressions have is chosen, a text for each alternative")
    func rarest() throws {
        let beginning = #"^https?://h\.example/x/\d+/"#
        let ends = ["one-one-one$", "(?:two-two-two|three-three)$", "four-four$", "five-five$"]
        let found = try choice(ends.map { beginning + $0 })
        #expect(found.windows == ["-one-one 0", "-two-two 1", "ee-three 1", "ive-five 3", "our-four 2"])
        #expect(try choice((0..<50).map { #"^https?://h\#($0)\.example/.*\.png$"# }).windows.count == 50)
    }

    @Test("an expression that has no text, or only those that too many others have, is left over")
    func others() throws {
        let same = (1...40).map { "^http://h/[0-9]{\($0)}" }
        #expect(try choice(same + [".*", "[0-9]+", "xyz"]).others == Array(0..<42))
        #expect(try choice(["a", "[a-c]/b"]).others == [0])
    }

    @Test(
        "short texts may stand for fewer expressions",
        arguments: [(0x61, 0), (0x6162, 1), (0x61_6263, 4), (0x6162_6364, 16), (0x6162_6364_6566_6768, 16)]
            as [(UInt64, Int)])
    func share(window: UInt64, expected: Int) {
        #expect(WindowChooser.maximumShare(window) == expected)
    }

    @Test("a text longer than all windows is found by its beginning")
    func long() throws {
        let path = String(repeating: "abcdefgh", count: 200)
        let found = try choice([path + "1", path + "2"])
        #expect(found.others == [])
        #expect(found.windows.count == 2)
    }
}
