import HTTPSemantics
import ProxyTestKit
import Testing

@Suite("Content codings")
struct AcceptEncodingTests {
    static let all: ContentCodingSet = [.brotli, .zstandard, .gzip, .identity]

    @Test(
        "The client's weights decide, then our order",
        arguments: [
            ("gzip, deflate, br, zstd", .brotli), ("gzip, deflate, br", .brotli), ("gzip, zstd", .zstandard),
            ("gzip", .gzip), ("x-gzip", .gzip), ("GZIP", .gzip), ("deflate", .identity), ("", .identity),
            ("br;q=0.5, gzip;q=0.8", .gzip), ("br;q=0.5, gzip;q=0.5", .brotli), ("gzip;q=1.0, br;q=0", .gzip),
            ("identity, gzip;q=0.5", .identity), ("identity;q=0.5, gzip;q=0.5", .gzip), ("gzip;q=0.001", .gzip),
            ("gzip;q=0", .identity), ("*", .brotli), ("*;q=0", .identity), ("br;q=0, *", .zstandard),
            ("gzip;q=1.0, identity; q=0.5, *;q=0", .gzip), ("compress;q=0.5, gzip;q=1.0", .gzip),
            ("identity;q=0", .identity), ("identity;q=0, br;q=0, *;q=0", .identity), ("identity;q=0, br", .brotli),
            ("gzip;q=1.5", .identity), ("gzip;q=abc, br;q=0.1", .brotli), ("gzip;q=0.5, gzip;q=0", .identity),
            ("gzip, gzip;q=0.1, zstd;q=0.2", .zstandard), ("brx, gzipp, zst", .identity), ("\"br\"", .identity),
            ("identity;q=1, *;q=0", .identity), ("*;q=0.1, gzip;q=0.05", .brotli),
        ] as [(String, ContentCoding)])
    func preferred(value: String, expected: ContentCoding) {
        let section = fields("Accept-Encoding: \(value)")
        #expect(AcceptEncoding(section).preferred(among: Self.all) == expected)
        #expect(withBytes(value) { AcceptEncoding($0) } == AcceptEncoding(section))
    }

    @Test("Without the field only identity is accepted")
    func absent() {
        #expect(AcceptEncoding(fields()).preferred(among: Self.all) == .identity)
    }

    @Test("Only what is there is chosen")
    func available() {
        let accept = AcceptEncoding(fields("Accept-Encoding: br", "Accept-Encoding: gzip;q=0.2"))
        #expect(accept.preferred(among: [.gzip, .identity]) == .gzip)
        #expect(accept.preferred(among: [.zstandard, .identity]) == .identity)
        #expect(accept.preferred(among: []) == .identity)
        #expect(accept.weight(of: .gzip) == 200)
        #expect(accept.weight(of: .zstandard) == 0)
    }

    @Test("Names are those of Content-Encoding")
    func names() {
        #expect(ContentCoding.allCases.map { "\($0.name)" } == ["br", "zstd", "gzip", "deflate", "identity"])
        for coding in ContentCoding.allCases { #expect(withBytes("\(coding.name)") { ContentCoding($0) } == coding) }
    }

    @Test(
        "Codings that are there together have the weight of the one that is accepted least",
        arguments: [
            ("gzip, br;q=0.5", ["gzip", "br"], 500), ("gzip", ["gzip", "br"], 0), ("*", ["foo", "gzip"], 1000),
            ("*;q=0.3, FOO", ["foo"], 1000), ("*, foo;q=0", ["foo"], 0), ("x-gzip", ["gzip"], 1000),
            ("compress", ["x-compress"], 1000), ("foo;q=x", ["foo"], 0), ("foo;q=0.1, foo;q=0.2", ["foo"], 100),
            ("", ["foo"], 0), ("foo", [], 0),
        ])
    func together(value: String, names: [String], weight: Int) {
        #expect(AcceptEncoding.weight(ofAll: names, fields("Accept-Encoding: \(value)")) == weight)
        #expect(AcceptEncoding.weight(ofAll: names, fields()) == 0)
    }

    @Test("The work grows linearly with the field", arguments: ["gzip;q=0.1,", ";", "q;", "a;q=,", "\"", "*,"])
    func linear(unit: String) {
        let ratio = growth(from: 1024) { size in
            let bytes = Array(String(repeating: unit, count: size).utf8)
            bytes.withUnsafeBytes { _ = AcceptEncoding($0).preferred(among: Self.all) }
        }
        #expect(ratio < 90)
    }
}
