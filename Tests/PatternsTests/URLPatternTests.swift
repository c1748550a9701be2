import ProxyTestKit
import Testing

@testable import Patterns

struct URLPatternTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let pattern: String
        let url: String
        let groups: [String]?

        init(_ pattern: String, _ url: String, _ groups: [String]?) {
            self.pattern = pattern
            self.url = url
            self.groups = groups
        }

        var testDescription: String { "\(pattern) and \(url)" }
    }

    static let matches: [Row] = [
        Row("https://*.example.com/img/**/*.png", "https://a.example.com/img/b/c/d.png", ["a", "b/c", "d"]),
        Row("https://*.example.com/img/**/*.png", "https://a.b.example.com/img/d.png", ["a.b", "", "d"]),
        Row("https://*.example.com/img/**/*.png", "https://example.com/img/d.png", nil),
        Row("https://*.example.com/img/**/*.png", "https://.example.com/img/d.png", nil),
        Row("https://*.example.com/img/**/*.png", "https://a.example.com/img//d.png", ["a", "", "d"]),
        Row("https://*.example.com/img/**/*.png", "https://a.example.com/imgd.png", nil),
        Row("https://*.example.com/img/**/*.png", "http://a.example.com/img/d.png", nil),
        Row("https://*.example.com/img/**/*.png", "https://a.example.com/img/b/d.png/", nil),
        Row("https://*.example.com/img/**/*.png", "https://a/x.example.com/img/d.png", nil),
        Row("https://api-*.example.com/", "https://api-1.example.com/", ["1"]),
        Row("https://api-*.example.com/", "https://api-1.b.example.com/", ["1.b"]),
        Row("https://api-*.example.com/", "https://api-.example.com/", nil),
        Row("https://*/x", "https://a.b/x", ["a.b"]), Row("https://*/x", "https://a:8080/x", nil),
        Row("https://*/x", "https://[::1]/x", ["[::1]"]), Row("https://*:80/x", "https://[::1]:80/x", ["[::1]"]),
        Row("https://*:*/x", "https://[::1]:80/x", ["[::1]", "80"]), Row("https://*:*/x", "https://a:8/x", ["a", "8"]),
        Row("https://[::1]:*/x", "https://[::1]:80/x", ["80"]), Row("http://h:*/x", "http://h/x", nil),
        Row("http://h:*/x", "http://h:/x", nil), Row("http://h:*/x", "http://h:8a/x", nil),
        Row("http://h:8*/x", "http://h:80/x", ["0"]),
        Row("http://h:*8*/x", "http://h:18880/x", ["188", "0"]), Row("http://h:*8*/x", "http://h:18/x", nil),
        Row("http://*.*.c/", "http://a.b.d.c/", ["a.b", "d"]), Row("http://*.*.c/", "http://b.c/", nil),
        Row("http://h/*", "http://h/", [""]), Row("http://h/*", "http://h/a", ["a"]),
        Row("http://h/*", "http://h/a/b", nil),
        Row("http://h/*/", "http://h/a/", ["a"]), Row("http://h/**", "http://h/a/b", ["a/b"]),
        Row("http://h/**", "http://h/", [""]),
        Row("http://h/a/**", "http://h/a", nil), Row("http://h/**/", "http://h/", [""]),
        Row("http://h/**/", "http://h/a/b/", ["a/b"]),
        Row("http://h/**/", "http://h/a", nil), Row("http://h/**/x", "http://h/x", [""]),
        Row("http://h/**/x", "http://h/a/x", ["a"]),
        Row("http://h/**/x", "http://h/ax", nil), Row("http://h/**/x", "http://h/x/x/x", ["x/x"]),
        Row("http://h/**/**/x", "http://h/x", ["", ""]),
        Row("http://h/**/**/x", "http://h/a/b/x", ["a/b", ""]), Row("http://h/a**b", "http://h/a/b", ["/"]),
        Row("http://h/a**/b", "http://h/a/b", [""]), Row("http://h/a**/b", "http://h/ax/y/b", ["x/y"]),
        Row("http://h/**b/c", "http://h/a/b/c", ["a/"]),
        Row("http://h/*-*.js", "http://h/a-b-c.js", ["a-b", "c"]), Row("http://h/*a*", "http://h/aaa", ["aa", ""]),
        Row("http://h/**a*", "http://h/a/a/b", nil), Row("http://h/**a*", "http://h/b/ac", ["b/", "c"]),
        Row("http://h/x", "http://h/x", []),
        Row("http://h/x", "http://h/xy", nil), Row("http://h/x", "http://h/", nil),
        Row("http://h/*.*.*", "http://h/a.b.c.d", ["a.b", "c", "d"]),
        Row("http://h/**/a/**/b", "http://h/a/a/b/b", ["a", "b"]), Row("assets://*.jpg", "assets://test.jpg", ["test"]),
        Row("http://h/%2A*", "http://h/%2Ab", ["b"]), Row("http://h/a*a", "http://h/a", nil),
        Row("http://h/*?x", "http://h/a?x", ["a"]),
        Row("http://h*", "http://hi", ["i"]), Row("http://h*", "http://hi/", nil),
    ]

    @Test("Stars match what they say, and capture as much as they can", arguments: matches)
    func match(row: Row) throws {
        let pattern = try URLPattern(row.pattern)
        #expect(pattern.texts(in: row.url) == row.groups.map { [row.url] + $0 })
    }

    @Test("An empty URL matches nothing")
    func emptyURL() throws {
        var scratch = MatchScratch()
        var captures = CaptureList()
        let input = UnsafeRawBufferPointer(start: nil, count: 0)
        #expect(try !URLPattern("http://*/").wholeMatch(in: input, scratch: &scratch, captures: &captures))
        #expect(captures.count == 0)
    }

    @Test(
        "The literals at both ends are known",
        arguments: [
            ("https://*.example.com/img/**/*.png", "https://", ".png", 3), ("http://h/a/*", "http://h/a/", "", 1),
            ("http://h/a", "http://h/a", "http://h/a", 0), ("http://h/**/x", "http://h/", "x", 1),
        ])
    func literals(pattern: String, prefix: String, suffix: String, groups: Int) throws {
        let pattern = try URLPattern(pattern)
        #expect(pattern.literalPrefix == Array(prefix.utf8))
        #expect(pattern.literalSuffix == Array(suffix.utf8))
        #expect(pattern.groupCount == groups)
    }

    @Test(
        "A star where none can stand is an error there",
        arguments: [
            ("http://h/***", 9..<12, "'**' any text"), ("http://h/a****b", 10..<14, "'****'"),
            ("http://**.a/", 7..<9, "write '*'"),
            ("http://h:**/", 9..<11, "a port"), ("http*://h/", 4..<5, "begin with '//'"),
            ("*://h/", 0..<1, "the scheme"),
            ("http://[::*]/", 10..<11, "IPv6"), ("//h/*", 0..<1, "begins with a scheme"),
            ("", 0..<0, "begins with a scheme"),
            ("h/*", 0..<1, "begins with a scheme"), ("://h/*", 0..<1, "begins with a scheme"),
            ("http:/h/*", 0..<1, "begins with a scheme"),
        ])
    func error(pattern: String, range: Range<Int>, text: String) throws {
        let error = try #require(patternError { _ = try URLPattern(pattern) })
        #expect(error.range == range)
        #expect(error.message.contains(text), "\(error.message)")
    }

    @Test("There may be ninety-nine stars")
    func starCount() throws {
        let many = "http://h/" + String(repeating: "*a", count: 99)
        #expect(try URLPattern(many).groupCount == 99)
        #expect(try URLPattern(many).texts(in: "http://h/" + String(repeating: "ba", count: 99))?.count == 100)
        #expect(patternError { _ = try URLPattern(many + "*") }?.range == 207..<208)
    }

    // MARK: Agreement

    /// Matches by trying every length for each star, longest first.
    private struct Oracle {
        let pattern: [UInt8]
        let url: [UInt8]
        let authority = "http://".utf8.count
        static let (star, slash, colon) = (UInt8(ascii: "*"), UInt8(ascii: "/"), UInt8(ascii: ":"))

        func match(_ at: Int = 0, _ position: Int = 0) -> [Range<Int>]? {
            guard at < pattern.count else { return position == url.count ? [] : nil }
            guard pattern[at] == Self.star else {
                return position < url.count && url[position] == pattern[at] ? match(at + 1, position + 1) : nil
            }
            let isDouble = at + 1 < pattern.count && pattern[at + 1] == Self.star
            let after = at + (isDouble ? 2 : 1)
            for end in (position...url.count).reversed() where allows(at, isDouble, url[position..<end]) {
                if let rest = match(after, end) { return [position..<end] + rest }
            }
            if isDouble, pattern[at - 1] == Self.slash, after < pattern.count, pattern[after] == Self.slash,
                let rest = match(after + 1, position)
            {
                return [position..<position] + rest
            }
            return nil
        }

        private func allows(_ at: Int, _ isDouble: Bool, _ text: ArraySlice<UInt8>) -> Bool {
            let before = pattern[authority..<at]
            if before.contains(Self.slash) { return isDouble || !text.contains(Self.slash) }
            if before.contains(Self.colon) { return !text.isEmpty && text.allSatisfy { (0x30...0x39).contains($0) } }
            return !text.isEmpty && !text.contains(Self.slash) && !text.contains(Self.colon)
        }
    }

    @Test("Patterns agree with a matcher that tries everything", arguments: [21, 22, 23, 24] as [UInt64])
    func agreement(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        func text(_ pieces: [String], _ count: ClosedRange<Int>) -> String {
            (0..<Int.random(in: count, using: &generator)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &generator)]
            }.joined()
        }
        var scratch = MatchScratch()
        var captures = CaptureList()
        var matched = 0
        for _ in 0..<1500 {
            let host = text(["*.", "a.", "*a", "b", "*b."], 1...2) + ["", "", ":*", ":1*"][Int(generator.next() % 4)]
            let path = text(["*", "**", "/", "/**/", "/", "a", "b", "a*", "/*"], 0...6)
            let source = "http://\(host)/\(path)"
            guard !source.contains("***"), !host.contains("**"), let pattern = try? URLPattern(source) else { continue }
            for round in 0..<8 {
                let host = text(["a.", "b.", "ab", "b"], 1...3) + ["", "", ":1", ":12"][Int(generator.next() % 4)]
                var url = "http://\(host)/" + text(["/", "a", "b", "ab", "/a"], 0...6)
                if round < 4 {
                    // Most texts that are made up match nothing, so half are made from the pattern.
                    url = source.replacing("**", with: "*").split(separator: "*", omittingEmptySubsequences: false)
                        .joined(separator: text(["", "/", "a", "b", "1", "a/b"], 1...2))
                }
                let bytes = Array(url.utf8)
                let isMatch = bytes.withUnsafeBytes {
                    pattern.wholeMatch(in: $0, scratch: &scratch, captures: &captures)
                }
                let found = isMatch ? (1..<captures.count).compactMap { captures[$0] } : nil
                #expect(found == Oracle(pattern: Array(source.utf8), url: bytes).match(), "\(source) and \(url)")
                matched += isMatch ? 1 : 0
            }
        }
        #expect(matched > 1000)
    }
}
