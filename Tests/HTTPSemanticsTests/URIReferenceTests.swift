import NIOCore
import ProxyTestKit
import Testing

@testable import HTTPSemantics

@Suite("Resolving references")
struct URIReferenceTests {
    static let base = "http://example.com/b/c/d?q"
    /// RFC 3986 §5.4, without those whose scheme has no authority; and more.
    static let cases: [(String, String?)] = [
        ("http://g/h", "http://g/h"), ("g", "http://example.com/b/c/g"), ("./g", "http://example.com/b/c/g"),
        ("g/", "http://example.com/b/c/g/"), ("/g", "http://example.com/g"), ("//g", "http://g/"),
        ("?y", "http://example.com/b/c/d?y"), ("g?y", "http://example.com/b/c/g?y"),
        ("#s", "http://example.com/b/c/d?q"),
        ("g#s", "http://example.com/b/c/g"), ("g?y#s", "http://example.com/b/c/g?y"),
        (";x", "http://example.com/b/c/;x"),
        ("", "http://example.com/b/c/d?q"), (".", "http://example.com/b/c/"), ("./", "http://example.com/b/c/"),
        ("..", "http://example.com/b/"), ("../", "http://example.com/b/"), ("../g", "http://example.com/b/g"),
        ("../..", "http://example.com/"), ("../../g", "http://example.com/g"), ("../../../g", "http://example.com/g"),
        ("/./g", "http://example.com/g"), ("/../g", "http://example.com/g"), ("g.", "http://example.com/b/c/g."),
        ("..g", "http://example.com/b/c/..g"), ("./../g", "http://example.com/b/g"),
        ("./g/.", "http://example.com/b/c/g/"),
        ("g/./h", "http://example.com/b/c/g/h"), ("g/../h", "http://example.com/b/c/h"),
        ("g?y/../x", "http://example.com/b/c/g?y/../x"), ("g#s/../x", "http://example.com/b/c/g"),
        ("http://g/a/../b", "http://g/b"), ("//g/a/./b?c", "http://g/a/b?c"), ("HTTPS://G:443/a", "https://g/a"),
        ("//g?y", "http://g/?y"), ("/%7Eg", "http://example.com/~g"), ("/a//b", "http://example.com/a//b"),
        (" /g\t", "http://example.com/g"), ("http:g", nil), ("http:", nil), ("mailto:a@b", nil), ("/g h", nil),
        ("//", nil), ("http://", nil), ("//g:99999/", nil), ("1:x", "http://example.com/b/c/1:x"),
    ]

    @Test("A reference means what RFC 3986 §5.2 says", arguments: cases)
    func resolve(_ reference: String, _ expected: String?) throws {
        let base = try TargetURI(Self.base)
        let resolved = withBytes(reference) { URIReference.resolve($0, against: base) }
        #expect(resolved?.description == expected)
    }

    @Test("Resolving takes time in proportion to the size", arguments: ["../", "a/", "/", "..", "a:", "?", "a/../"])
    func linear(_ unit: String) throws {
        let base = try TargetURI(Self.base)
        let growth = growth(from: 500) { size in
            let reference = String(repeating: unit, count: size / unit.utf8.count)
            _ = withBytes(reference) { URIReference.resolve($0, against: base) != nil }
        }
        #expect(growth < 64)
    }
}
