import HTTPCaching
import HTTPSemantics
import ProxyTestKit
import Testing

@Suite("Response directives")
struct CacheControlDirectivesTests {
    static func read(_ lines: [String]) -> ResponseDirectives {
        ResponseDirectives(fields(lines.map { "Cache-Control: \($0)" }), policy: CachePolicy())
    }

    static let seconds: [(String, ResponseDirectives.Argument?)] = [
        ("max-age=60", .seconds(60)),
        ("MAX-AGE=60", .seconds(60)),
        ("max-age=0", .seconds(0)),
        ("max-age=0060", .seconds(60)),
        ("max-age=\"60\"", .seconds(60)),
        ("max-age=2147483648", .seconds(1 << 31)),
        ("max-age=2147483649", .seconds(1 << 31)),
        ("max-age=18446744073709551616", .seconds(1 << 31)),
        ("max-age=99999999999999999999999999999", .seconds(1 << 31)),
        ("max-age", .invalid),
        ("max-age=", .invalid),
        ("max-age=\"\"", .invalid),
        ("max-age=-1", .invalid),
        ("max-age=+1", .invalid),
        ("max-age=1.5", .invalid),
        ("max-age=1e3", .invalid),
        ("max-age=60s", .invalid),
        ("max-age=0x10", .invalid),
        ("max-age='60'", .invalid),
        ("max-age=\"60", .invalid),
        ("max-age=\"60\"1", .invalid),
        ("max-age=\"6\\0\"", .invalid),
        ("max-age =60", .invalid),
        ("max-age= 60", .invalid),
        ("max-age=60 foo", .invalid),
        ("max-age=60;foo", .invalid),
        ("max-age=6\u{660}", .invalid),
        (", ,\t, max-age=60 ,,", .seconds(60)),
        ("public,max-age=60,foo", .seconds(60)),
        ("max-age=60, max-age=30", .seconds(60)),
        ("max-age=30, max-age=60", .seconds(30)),
        ("max-age=x, max-age=60", .invalid),
        ("max-age=60, max-age=x", .seconds(60)),
        ("x-max-age=60", nil),
        ("max-agee=60", nil),
        ("\"max-age=60\"", nil),
        ("foo=\"max-age=60\"", nil),
        ("foo=\"a, max-age=60\"", nil),
        ("foo=\"\\\", max-age=60\"", nil),
        ("foo=\"\\\\\", max-age=60", .seconds(60)),
        ("foo=bar=max-age=60", nil),
        ("foo=\"bar, max-age=60", nil),
        ("max age=60", nil),
        ("", nil),
    ]

    @Test("max-age is a non-negative integer of at most 2³¹, or invalid", arguments: seconds)
    func maxAge(_ value: String, _ expected: ResponseDirectives.Argument?) {
        #expect(Self.read([value]).maxAge == expected)
    }

    @Test("s-maxage is read like max-age", arguments: seconds)
    func sMaxAge(_ value: String, _ expected: ResponseDirectives.Argument?) {
        let renamed = value.replacing("max-age", with: "s-maxage").replacing("MAX-AGE", with: "S-MAXAGE")
        let directives = Self.read([renamed])
        #expect(directives.sMaxAge == expected)
        #expect(directives.maxAge == nil)
    }

    @Test("Several lines are one list, whose first max-age counts")
    func severalLines() {
        let directives = Self.read(["no-transform", "max-age=1", "", "max-age=2, must-revalidate"])
        #expect(directives.maxAge == .seconds(1))
        #expect(directives.mustRevalidate && directives.noTransform)
    }

    @Test(
        "A directive without arguments counts whether or not it is given one",
        arguments: ["%", "%=", "%=x", "%=\"x\"", "foo, %", "%, %", "foo=\"a,b\",%"])
    func flags(_ form: String) {
        func has(_ name: String, _ flag: KeyPath<ResponseDirectives, Bool>) -> Bool {
            let value = form.replacing("%", with: name)
            return Self.read([value])[keyPath: flag] && Self.read([value.uppercased()])[keyPath: flag]
        }
        #expect(has("no-store", \.noStore))
        #expect(has("must-understand", \.mustUnderstand))
        #expect(has("public", \.isPublic))
        #expect(has("must-revalidate", \.mustRevalidate))
        #expect(has("proxy-revalidate", \.proxyRevalidate))
        #expect(has("no-transform", \.noTransform))
        #expect(has("immutable", \.immutable))
    }

    static let restrictions: [(String, ResponseDirectives.Restriction?)] = [
        ("%", .all),
        ("%=\"Set-Cookie\"", .fields(["set-cookie"].map { Array($0.utf8) })),
        ("%=set-cookie", .fields(["set-cookie"].map { Array($0.utf8) })),
        ("%=\"a, B,,c\"", .fields(["a", "b", "c"].map { Array($0.utf8) })),
        ("%=\"a\", %=\"b\"", .fields(["a", "b"].map { Array($0.utf8) })),
        ("%=\"a\", %", .all),
        ("%, %=\"a\"", .all),
        ("%=", .all),
        ("%=\"\"", .all),
        ("%=\" , \"", .all),
        ("%=\"a b\"", .all),
        ("%=\"a\\b\"", .all),
        ("%=\"a", .all),
        ("% = \"a\"", .all),
        ("%; max-age=60", .all),
        ("max-age=60;%", .all),
        ("foo=\"bar, %", .all),
        ("foo=\"%\"", nil),
        ("foo=\"a, %\"", nil),
        ("x-%", nil),
        ("%-x", nil),
        ("%=\"" + (0..<33).map { "a\($0)" }.joined(separator: ",") + "\"", .all),
    ]

    @Test("no-cache and private apply to the named fields, or in doubt to the whole response", arguments: restrictions)
    func restriction(_ form: String, _ expected: ResponseDirectives.Restriction?) {
        #expect(Self.read([form.replacing("%", with: "no-cache")]).noCache == expected)
        #expect(Self.read([form.replacing("%", with: "Private")]).isPrivate == expected)
        #expect(Self.read([form.replacing("%", with: "no-cache")]).isPrivate == nil)
    }

    @Test("Behind a quote that is never closed, no-store counts and max-age doesn't")
    func unclosedQuote() {
        let directives = Self.read(["foo=\"bar, max-age=60, public, no-store"])
        #expect(directives.noStore)
        #expect(directives.maxAge == nil)
        #expect(!directives.isPublic)
    }

    @Test(
        "stale-while-revalidate and stale-if-error are seconds, and ignored where they are none",
        arguments: [
            ("=5", 5), ("=\"5\"", 5), ("=0", 0), ("=99999999999", 1 << 31), ("", nil), ("=-5", nil), ("=x", nil),
        ] as [(String, Int64?)])
    func staleness(_ argument: String, _ expected: Int64?) {
        #expect(Self.read(["stale-while-revalidate\(argument)"]).staleWhileRevalidate == expected)
        #expect(Self.read(["stale-if-error\(argument)"]).staleIfError == expected)
    }

    @Test("Pragma of a response is no directive")
    func pragma() {
        let directives = ResponseDirectives(fields(["Pragma: no-cache, max-age=60"]), policy: CachePolicy())
        #expect(directives == ResponseDirectives())
    }

    @Test(
        "Reading takes time in proportion to the size, whatever the bytes",
        arguments: [",", "\"", "a,", "private=\"a\",", "a=\"", ";", "no-store;", "\\\"", " ", "private=\"a,"])
    func linear(_ unit: String) {
        let growth = growth(from: 500) { size in
            let value = String(repeating: unit, count: size / unit.utf8.count)
            _ = Self.read([value])
        }
        #expect(growth < 64)
    }
}
