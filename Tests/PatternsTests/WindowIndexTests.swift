import Testing

@testable import Patterns

struct WindowIndexTests {
    private func window(_ text: String) -> UInt64 { text.utf8.reduce(0) { $0 << 8 | UInt64($1.foldingCase) } }

    private func found(_ index: WindowIndex, _ input: String) -> [Int] {
        var candidates = CandidateSet()
        candidates.reset(count: 200)
        index.collect(Array(input.utf8).span, into: &candidates)
        var found: [Int] = []
        while let next = candidates.next(from: (found.last ?? -1) + 1) { found.append(next) }
        return found
    }

    @Test(
        "an expression is found where one of its windows is in the input, in any case",
        arguments: [
            ("http://H/ITEM17.PNG?x", [0, 130]), ("item1", []), ("xitem17", []), ("item17.p", [0]), ("-z-", [2, 199]),
            ("", []), ("z", [2, 199]), ("a?x=1", [130]), ("/é/", [64]),
        ] as [(String, [Int])])
    func collect(input: String, expected: [Int]) {
        let index = WindowIndex([
            (window("item17.p"), 0), (window("?x"), 130), (window("z"), 2), (window("z"), 199), (window("é/"), 64),
        ])
        #expect(found(index, input) == expected)
    }

    @Test("a window knows its size", arguments: ["a", "ab", "abc", "abcdefg", "abcdefgh"])
    func size(text: String) {
        #expect(WindowIndex.size(of: window(text)) == text.utf8.count)
    }

    @Test("without windows nothing is found")
    func empty() {
        #expect(found(WindowIndex(), "abc") == [])
        #expect(found(WindowIndex([]), "abc") == [])
    }
}
