import HTTPSemantics
import Testing

@testable import HTTPCaching

@Suite("Targeted fields (RFC 9213)")
struct TargetedFieldTests {
    static func read(_ lines: String...) -> ResponseDirectives? {
        TargetedField.directives(
            named: Array("cdn-cache-control".utf8), in: fields(lines.map { "CDN-Cache-Control: \($0)" }))
    }

    static let maxAges: [(String, ResponseDirectives.Argument?)] = [
        ("max-age=60", .seconds(60)),
        ("max-age=0060", .seconds(60)),
        ("max-age=999999999999999", .seconds(1 << 31)),
        ("max-age=-1", .invalid),
        ("max-age=60.5", .invalid),
        ("max-age=\"60\"", .invalid),
        ("max-age", .invalid),
        ("max-age=?1", .invalid),
        ("max-age=:AA==:", .invalid),
        ("max-age=(60)", .invalid),
        ("max-age=x", .invalid),
        ("max-age=?0", nil),
        ("max-age=60;foo=bar;baz", .seconds(60)),
        ("max-age=60, max-age=30", .seconds(30)),
        ("max-age=x, max-age=30", .seconds(30)),
        ("foo=\"a, max-age=60\"", nil),
    ]

    @Test("max-age is an Integer that is not negative; the last one counts", arguments: maxAges)
    func maxAge(_ value: String, _ expected: ResponseDirectives.Argument?) throws {
        let directives = try #require(Self.read(value))
        #expect(directives.maxAge == expected)
        #expect(directives.isTargeted)
    }

    @Test(
        "A field that is empty or no Dictionary counts for nothing",
        arguments: [
            "", "  ", "Max-Age=60", "max-age=60,", "max-age=60,,public", ",max-age=60", "max-age=60 public",
            "max-age=9999999999999999", "max-age = 60", "max-age=60s", "max-age='60'", "max-age=\"60", "max-age=60, &",
            "no-store; Foo", "\tmax-age=60", "max-age=", "max-age=+1", "private=\"\u{e4}\"",
        ])
    func malformed(_ value: String) {
        #expect(Self.read(value) == nil)
    }

    @Test("Flags are true without a value and absent with ?0, and names of fields are text")
    func members() throws {
        let directives = try #require(
            Self.read(
                "no-store=?0, must-revalidate, public=?1, no-cache=\"A, b\", private=token, immutable;q=1, unknown"))
        #expect(!directives.noStore)
        #expect(directives.mustRevalidate && directives.isPublic && directives.immutable)
        #expect(directives.noCache == .fields([Array("a".utf8), Array("b".utf8)]))
        #expect(directives.isPrivate == .fields([Array("token".utf8)]))
        #expect(Self.read("private=1")?.isPrivate == .all)
        #expect(Self.read("private")?.isPrivate == .all)
        #expect(Self.read("private=(a b)")?.isPrivate == .all)
    }

    @Test("Several lines are one Dictionary")
    func severalLines() throws {
        let directives = try #require(Self.read("max-age=60", "no-store ", " max-age=30"))
        #expect(directives.noStore)
        #expect(directives.maxAge == .seconds(30))
        #expect(Self.read("max-age=60", "") == nil)
    }

    @Test("A field that is not there has no directives")
    func absent() {
        #expect(Self.read() == nil)
        #expect(TargetedField.directives(named: Array("cdn".utf8), in: fields(["CDN-Cache-Control: public"])) == nil)
    }
}
