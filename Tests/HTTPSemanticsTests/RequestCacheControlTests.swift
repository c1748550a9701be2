import HTTPSemantics
import ProxyTestKit
import Testing

@Suite("Cache directives of requests")
struct RequestCacheControlTests {
    static func read(_ lines: String...) -> RequestCacheControl { RequestCacheControl(fields(lines)) }

    @Test("Without a field nothing is asked for")
    func absent() {
        #expect(Self.read() == RequestCacheControl())
        #expect(Self.read("Cache-Control:") == RequestCacheControl())
        #expect(!Self.read().isEndToEndReload)
        #expect(!Self.read().isRevalidation)
    }

    @Test(
        "A reload that ignores caches",
        arguments: [
            (["Cache-Control: no-cache"], true), (["cache-control: NO-CACHE"], true),
            (["Cache-Control: max-age=0, no-cache"], true), (["Cache-Control: foo", "Cache-Control: no-cache"], true),
            (["Cache-Control: foo=\"a, b\",no-cache"], true), (["Cache-Control: no-cache=\"x\""], true),
            (["Cache-Control: no-cache="], true), (["Cache-Control: ,, no-cache ,"], true),
            (["Pragma: no-cache"], true), (["Pragma: NO-Cache"], true), (["Pragma: x, no-cache"], true),
            (["Cache-Control: no-cache", "Pragma: x"], true),
            (["Cache-Control: max-age=0"], false), (["Cache-Control: no-store"], false),
            (["Cache-Control: foo=\"no-cache\""], false), (["Cache-Control: foo=\", no-cache\""], false),
            (["Cache-Control: x-no-cache, no-cachee"], false), (["Cache-Control: \"no-cache\""], false),
            (["Cache-Control: no cache"], false), (["Pragma: no-store"], false),
            // Pragma counts only where no Cache-Control is sent.
            (["Cache-Control: max-age=5", "Pragma: no-cache"], false), (["Cache-Control:", "Pragma: no-cache"], false),
        ] as [([String], Bool)])
    func reload(lines: [String], expected: Bool) {
        #expect(RequestCacheControl(fields(lines)).isEndToEndReload == expected)
    }

    @Test(
        "max-age in all its forms",
        arguments: [
            ("max-age=0", 0), ("MAX-AGE=60", 60), ("max-age=\"60\"", 60), ("max-age = 60", 60), ("max-age=007", 7),
            ("max-age=2147483648", 2_147_483_648), ("max-age=2147483649", 2_147_483_648),
            ("max-age=99999999999999999999", 2_147_483_648), ("max-age=18446744073709551616", 2_147_483_648),
            ("max-age=60, max-age=5", 5), ("max-age=5, max-age=60", 5), ("max-age=60, max-age=x", 0),
            ("max-age=-1", 0), ("max-age=+5", 0), ("max-age=1e3", 0), ("max-age=1.5", 0), ("max-age=", 0),
            ("max-age", 0), ("max-age=\"60", 0), ("max-age=6 0", 0), ("max-age=\u{FF15}", 0), ("s-maxage=5", nil),
            ("maxage=5", nil), ("x=\"max-age=5\"", nil),
        ] as [(String, UInt32?)])
    func maxAge(value: String, expected: UInt32?) {
        let read = Self.read("Cache-Control: \(value)")
        #expect(read.maxAge == expected)
        #expect(read.isRevalidation == (expected == 0))
    }

    @Test(
        "max-stale with and without a number",
        arguments: [
            ("max-stale", .any), ("max-stale=60", .seconds(60)), ("max-stale=\"60\"", .seconds(60)),
            ("Max-Stale, max-stale=60", .seconds(60)), ("max-stale=60, max-stale", .seconds(60)),
            ("max-stale=60,max-stale=5", .seconds(5)), ("max-stale=5,max-stale=60", .seconds(5)),
            ("max-stale=99999999999999999999", .seconds(2_147_483_648)), ("max-stale=-1", .none),
            ("max-stale=", .none), ("max-stale=x", .none), ("max-stalee", .none),
        ] as [(String, RequestCacheControl.MaxStale)])
    func maxStale(value: String, expected: RequestCacheControl.MaxStale) {
        #expect(Self.read("Cache-Control: \(value)").maxStale == expected)
    }

    @Test("The other directives")
    func others() {
        let read = Self.read(
            "Cache-Control: No-Store, only-if-cached,no-transform ,min-fresh=5", "Cache-Control: min-fresh=9",
            "Cache-Control: stale-if-error=\"20\", stale-if-error=30, min-fresh=x, stale-if-error=-1")
        #expect(read.noStore && read.onlyIfCached && read.noTransform && !read.noCache)
        #expect(read.minFresh == 9)
        #expect(read.staleIfError == 20)
        #expect(read.maxAge == nil)
        #expect(read.maxStale == .none)
    }

    @Test("A reload is no revalidation, even with max-age=0 beside it")
    func both() {
        #expect(!Self.read("Cache-Control: no-cache, max-age=0").isRevalidation)
    }

    @Test("The work grows linearly with the field", arguments: ["max-age=1,", "=", "\"", "a=\"", ",", "max-stale=9"])
    func linear(unit: String) {
        let ratio = growth(from: 1024) { size in
            _ = RequestCacheControl(fields("Cache-Control: " + String(repeating: unit, count: size)))
        }
        #expect(ratio < 90)
    }
}
