import HTTPSemantics
import ProxyTestKit
import Testing

@testable import HTTPCaching

@Suite("Selecting fields")
struct SelectingFieldsTests {
    static let nominations: [([String], SelectingFields.Nomination)] = [
        ([], .fields([])), (["Vary:"], .fields([])), (["Vary: , "], .fields([])),
        (["Vary: Accept"], .fields([Array("accept".utf8)])),
        (["vary: b, A,, a", "Vary: B,C"], .fields(["a", "b", "c"].map { Array($0.utf8) })),
        (["Vary: *"], .any), (["Vary: a, *"], .any), (["Vary: a", "Vary: *, b"], .any), (["Vary: a b"], .any),
        (["Vary: a;b"], .any), (["Vary: \"a\""], .any), (["Vary: (a)"], .any),
        (
            ["Vary: " + (0..<16).map { "a\($0)" }.joined(separator: ",")],
            .fields((0..<16).map { "a\($0)" }.sorted().map { Array($0.utf8) })
        ),
        (["Vary: " + (0..<17).map { "a\($0)" }.joined(separator: ",")], .tooMany),
        (["Vary: " + (0..<17).map { "a\($0)" }.joined(separator: ",") + ", *"], .any),
        (["Vary: " + String(repeating: "a,", count: 1000)], .fields([Array("a".utf8)])),
    ]

    @Test("Vary names fields, none of them twice, or anything", arguments: nominations)
    func nomination(_ lines: [String], _ expected: SelectingFields.Nomination) {
        #expect(SelectingFields.nomination(by: fields(lines)) == expected)
    }

    static func selection(_ vary: String, _ lines: [String]) -> SelectingFields {
        guard case .fields(let names) = SelectingFields.nomination(by: fields(["Vary: \(vary)"])) else { return .never }
        return SelectingFields(names: names, of: request(lines))
    }

    static let matches: [(String, [String], [String], Bool)] = [
        ("X", ["X: a"], ["x: a"], true),
        ("X", ["X: a"], ["X: b"], false),
        ("X", ["X: a"], ["X: A"], false),
        ("X", ["X: a"], [], false),
        ("X", [], ["X: a"], false),
        ("X", [], [], true),
        ("X", [], ["X:"], false),
        ("X", ["X:"], ["X:"], true),
        ("X", ["X: a"], ["X: a", "Y: b"], true),
        ("X", ["X: a"], ["XX: a"], false),
        ("X, Y", ["X: a", "Y: b"], ["Y: b", "X: a"], true),
        ("X, Y", ["X: a", "Y: b"], ["X: a"], false),
        ("X", ["X: a", "X: b"], ["X: a, b"], false),
        ("X", ["X: a", "X: b"], ["x: a", "X: b"], true),
        ("X", ["X: a", "X: b"], ["X: b, a"], false),
        ("X", ["X: a,b"], ["X: a, b"], false),
        ("X", ["X: a"], ["X: aa"], false),
        ("X", ["X: aa"], ["X: a"], false),
        ("Accept-Encoding", ["Accept-Encoding: gzip,br"], ["Accept-Encoding: gzip , br"], true),
        ("Accept-Encoding", ["Accept-Encoding: gzip", "Accept-Encoding: br"], ["Accept-Encoding: gzip,, br"], false),
        ("Accept-Encoding", ["Accept-Encoding: gzip, br"], ["Accept-Encoding: gzip,, br"], true),
        ("Accept-Language", ["Accept-Language: de"], ["Accept-Language: de", "Accept-Language:"], false),
        ("Accept-Encoding", ["Accept-Encoding: gzip;q=0.5"], ["Accept-Encoding: GZIP ; q=0.5"], true),
        ("Accept-Encoding", ["Accept-Encoding: gzip"], ["Accept-Encoding: br"], false),
        // No language ranges: an origin may answer as if there was no field.
        ("Accept-Language", ["Accept-Language: de"], ["Accept-Language: de;"], false),
        ("Accept-Language", ["Accept-Language: de"], ["Accept-Language: ;de"], false),
        ("Accept-Language", ["Accept-Language: de;q=0.1"], ["Accept-Language: de;;q=0.1"], false),
        ("Accept-Language", ["Accept-Language: de;;q=0.1"], ["Accept-Language: DE ; ;q=0.1"], true),
        ("Accept-Encoding", ["Accept-Encoding: gzip;q=0"], ["Accept-Encoding: gzip;;q=0"], false),
        ("Accept-Encoding", ["Accept-Encoding:"], [], false),
        ("Accept-Language", ["Accept-Language: en, de"], ["accept-language: EN,de"], true),
        ("Accept-Language", ["Accept-Language: en, de"], ["Accept-Language: de, en"], false),
        ("Accept-Charset", ["Accept-Charset: utf-8"], ["Accept-Charset: UTF-8"], true),
        ("Accept", ["Accept: text/html, */*;q=0.1"], ["Accept: text/html,*/*; q=0.1"], true),
        ("Accept", ["Accept: a/b;x=\"1, 2\""], ["Accept: a/b;x=\"1,2\""], false),
        ("Accept", ["Accept: a/b;x=\"1; 2\""], ["Accept: a/b;x=\"1;2\""], false),
        ("Accept", ["Accept: a/b;x=A"], ["Accept: a/b;x=a"], false),
        ("Cookie", ["Cookie: a=1; b=2"], ["Cookie: a=1", "Cookie: b=2"], false),
        ("Cookie", ["Cookie: a=1; b=2"], ["cookie: a=1; b=2"], true),
        ("Host", ["Host: a"], ["Host: b"], true),
        ("Connection, Keep-Alive", ["Connection: close"], ["Keep-Alive: 5"], true),
        ("TE", ["TE: trailers, gzip;q=0"], ["TE: trailers"], true), ("TE", ["TE: gzip"], [], true),
        ("TE", ["TE: trailers"], [], false),
        ("Cookie", ["Cookie: a=1, b=2"], ["Cookie: a=1", "Cookie: b=2"], false),
        ("User-Agent", ["User-Agent: x/1 (a, b)"], ["User-Agent: x/1 (a,b)"], false),
        ("", ["X: a"], ["X: b"], true),
        ("*", [], [], false),
        ("*", ["X: a"], ["X: a"], false),
    ]

    @Test("A request matches where every named field has the same value", arguments: matches)
    func match(_ vary: String, _ one: [String], _ other: [String], _ expected: Bool) {
        #expect(Self.selection(vary, one).matches(request(other)) == expected)
        #expect(Self.selection(vary, other).matches(request(one)) == expected)
    }

    /// A request as it is received.
    struct Received: Sendable {
        var lines: [String]
        var version = HTTPVersion.http1_1
        var hasContent = false

        init(_ lines: [String], _ version: HTTPVersion = .http1_1, hasContent: Bool = false) {
            self.lines = lines
            self.version = version
            self.hasContent = hasContent
        }

        var request: CacheRequest {
            CacheRequest(
                method: hasContent ? .post : .get, fields: fields(lines), hasContent: hasContent, version: version)
        }
    }

    static let rewritten: [(String, Received, Received, Bool)] = [
        // The proxy's own entry says in which version a request was received.
        ("Via", Received([]), Received([]), true), ("Via", Received([], .http2), Received([], .http2), true),
        ("Via", Received([]), Received([], .http2), false), ("Via", Received([]), Received([], .http1_0), false),
        ("Via", Received(["Via: 1.1 a"]), Received(["Via: 1.1 a"]), true),
        ("Via", Received(["Via: 1.1 a"]), Received(["Via: 1.1 b"]), false),
        ("Via", Received(["Via: 1.1 a"]), Received([]), false), ("Via", Received(["Via:"]), Received([]), false),
        ("Via", Received(["Via: 1.1 a"]), Received(["Via: 1.1 a"], .http2), false),
        // A Vary that doesn't name it doesn't ask for it.
        ("X", Received([]), Received([], .http2), true),
        // Without content there is nothing to wait for, so Expect is not forwarded; in HTTP/1.0 it means nothing.
        ("Expect", Received(["Expect: 100-continue"]), Received([]), true),
        ("Expect", Received(["Expect: 100-continue"], hasContent: true), Received(["Expect: 100-continue"]), false),
        ("Expect", Received(["Expect: 100-continue"], hasContent: true), Received([]), false),
        ("Expect", Received(["Expect: 100-continue"], .http1_0, hasContent: true), Received([]), true),
    ]

    @Test("A request matches by what the origin gets of fields that the proxy rewrites", arguments: rewritten)
    func rewrittenFields(_ vary: String, _ one: Received, _ other: Received, _ expected: Bool) throws {
        for (stored, asked) in [(one, other), (other, one)] {
            let selection = SelectingFields(names: [Array(vary.lowercased().utf8)], of: stored.request)
            #expect(selection.matches(asked.request) == expected)
        }
    }

    @Test("Equal values make equal selections")
    func equality() {
        let one = Self.selection("Accept, X", ["Accept: a/b , c/d", "X: y"])
        #expect(one == Self.selection("x,accept", ["x: y", "Accept: a/b,c/d"]))
        #expect(one != Self.selection("x,accept", ["x: z", "Accept: a/b,c/d"]))
        #expect(one.names.map { text($0) } == ["accept", "x"])
        #expect(one.values.map { $0.map { text($0) } } == ["a/b,c/d", "y"])
    }

    @Test("A selection whose names and values don't pair suits nothing")
    func unpaired() {
        #expect(!SelectingFields(names: [Array("x".utf8)], values: []).matches(request([])))
        #expect(SelectingFields.none.matches(request("X: a")))
    }

    @Test("Reading and matching take time in proportion to the size", arguments: [",", "a,", "*,", "\"", "a;", "a\","])
    func linear(_ unit: String) {
        let growth = growth(from: 500) { size in
            let value = String(repeating: unit, count: size / unit.utf8.count)
            _ = SelectingFields.nomination(by: fields(["Vary: \(value)"]))
            let asked = request("Accept: \(value)", "X: \(value)")
            _ = Self.selection("Accept, X", ["Accept: \(value)", "X: \(value)"]).matches(asked)
        }
        #expect(growth < 64)
    }
}
