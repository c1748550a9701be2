import ProxyTestKit
import Testing

@testable import Patterns

/// That a set finds what trying one expression after the other finds.
struct ExpressionSetTests {
    /// Makes expressions and URLs of the same pieces, so that they often meet.
    struct Maker {
        var generator: SeededGenerator
        static let pieces = [
            "https?://", "http://", "h1", "h2", "example", #"\."#, "/", "/", "img", "IMG", "(?i)img", "(?i:Item)",
            "item",
            "item1", "17", #"\d"#, #"\d+"#, #"\d{2,4}"#, "[0-9]{3}$", "[a-z]+", "[^/]+", ".*", ".*?", ".", #"\b"#,
            #"\B"#,
            "(png|jpe?g)", "(?:x|yz)*", "(a|b)*a(?:a|b){3}", #"\.png$"#, "$", "^", "(?:^|/)", "(?:^|a)*b", "é", "_",
            "[_/]",
            "(?:(?:a|)b?)*", "{0}x",
        ]
        static let texts = [
            "http://", "https://", "h1", "h2", "example", ".", "/", "/", "img", "Img", "IMG", "item", "ITEM", "17", "1",
            "234",
            "png", "jpg", "jpeg", ".png", "a", "b", "ab", "x", "yz", "é", "_", "?q=", "\n",
        ]

        mutating func pattern() -> String {
            var pattern = Int.random(in: 0..<3, using: &generator) == 0 ? "^https?://" : ""
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let piece = Self.pieces[Int.random(in: 0..<Self.pieces.count, using: &generator)]
                pattern += piece.hasPrefix("{") ? "y" + piece : piece
            }
            return pattern
        }

        mutating func url() -> [UInt8] {
            var url = Int.random(in: 0..<3, using: &generator) > 0 ? "http://" : ""
            for _ in 0..<Int.random(in: 0...9, using: &generator) {
                url += Self.texts[Int.random(in: 0..<Self.texts.count, using: &generator)]
            }
            return Array(url.utf8)
        }
    }

    @Test(
        "every expression that matches is a candidate, and the first of them the first to match",
        arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func agreement(seed: UInt64) throws {
        var maker = Maker(generator: SeededGenerator(seed: seed))
        var shapes = LinearExpressionAgreementTests.Maker(generator: SeededGenerator(seed: seed))
        var scratch = MatchScratch()
        for count in [9, 12, 30, 80, 200, 200] {
            let expressions = try (0..<count).map { number in
                let pattern = number % 5 == 0 ? shapes.shape(depth: 3).pattern : maker.pattern()
                return try LinearExpression(pattern)
            }
            let set = ExpressionSet(expressions)
            for _ in 0..<60 {
                let url = maker.url()
                let matching = expressions.indices.filter { expressions[$0].isMatch(url, &scratch) }
                let found = set.candidates(url, &scratch)
                #expect(Set(found).isSuperset(of: matching), "\(String(decoding: url, as: UTF8.self))")
                #expect(found == found.sorted())
                #expect(found.first(where: matching.contains) == matching.first)
            }
        }
    }

    @Test("ten thousand expressions leave few candidates, by host, by path and without an anchor")
    func few() throws {
        let shapes: [(pattern: (Int) -> String, url: (Int) -> String)] = [
            ({ #"^https?://h\#($0)\.example/(.*)$"# }, { "https://h\($0).example/a/b" }),
            ({ #"^https?://api\.example/(\w+)/item\#($0)\.png$"# }, { "http://api.example/x/item\($0).png" }),
            ({ #"(?i)Item\#($0)/\d+"# }, { "http://h/ITEM\($0)/17" }),
            ({ "[0-9]{\($0 / 50 + 1)}[a-f]{\($0 % 50 + 1)}$" }, { _ in "http://h/1b" }),
        ]
        var scratch = MatchScratch()
        for (number, shape) in shapes.enumerated() {
            let expressions = try (0..<2000).map { try LinearExpression(shape.pattern($0)) }
            let set = ExpressionSet(expressions)
            let last = number < 3 ? 1999 : 0
            let found = set.candidates(Array(shape.url(last).utf8), &scratch)
            #expect(found.contains(last))
            #expect(found.count <= 4, "\(shape.pattern(1))")
            let none = set.candidates(Array("http://h/nothing".utf8), &scratch)
            #expect(none == [])
            #expect(set.byteCount < 2000 * 300)
        }
    }

    @Test("with few expressions there is no index")
    func few8() throws {
        let expressions = try (0..<ExpressionSet.directCount).map { try LinearExpression("item\($0)") }
        let set = ExpressionSet(expressions)
        #expect(!set.isSelective)
        #expect(ExpressionSet(expressions + [try LinearExpression("x")]).isSelective)
    }

    @Test("an expression for which there is no room always is a candidate")
    func noRoom() throws {
        let expressions = try (0..<20).map { try LinearExpression("[0-9]{\($0 + 1)}[a-z]$") }
        let set = ExpressionSet(expressions, maximumNodes: 10)
        var scratch = MatchScratch()
        let found = set.candidates(Array("x".utf8), &scratch)
        #expect(found.count > 5)
        #expect(found.last == 19)
        let matching = set.candidates(Array("1a".utf8), &scratch)
        #expect(matching.first == 0)
    }

    @Test("scratch memory may be used with one set after another")
    func change() throws {
        let first = ExpressionSet(try (0..<20).map { try LinearExpression("[0-9]{\($0 + 1)}$") })
        let second = ExpressionSet(try (0..<20).map { try LinearExpression("[a-z]{\($0 + 1)}$") })
        var scratch = MatchScratch()
        for _ in 0..<3 {
            let digits = first.candidates(Array("x12".utf8), &scratch)
            let letters = second.candidates(Array("2xyz".utf8), &scratch)
            #expect(digits == [0, 1])
            #expect(letters == [0, 1, 2])
        }
    }
}

extension ExpressionSet {
    func candidates(_ input: [UInt8], _ scratch: inout MatchScratch) -> [Int] {
        input.withUnsafeBytes { findCandidates(in: $0, scratch: &scratch) }
        var found: [Int] = []
        while let next = scratch.nextCandidate(from: (found.last ?? -1) + 1) { found.append(next) }
        return found
    }
}

extension LinearExpression {
    func isMatch(_ input: [UInt8], _ scratch: inout MatchScratch) -> Bool {
        input.withUnsafeBytes { matches($0, scratch: &scratch) }
    }
}
