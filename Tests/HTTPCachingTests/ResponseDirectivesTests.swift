import HTTPCaching
import HTTPSemantics
import Testing

@Suite("Where the directives of a response are from")
struct ResponseDirectivesTests {
    static let policy = CachePolicy(
        targetedFields: ["example-cache-control", "cdn-cache-control"].map { Array($0.utf8) })

    @Test("The first targeted field that is valid and not empty takes the place of Cache-Control")
    func precedence() {
        let general = "Cache-Control: max-age=1"
        func maxAge(_ lines: String...) -> ResponseDirectives.Argument? {
            ResponseDirectives(fields(lines), policy: Self.policy).maxAge
        }
        #expect(maxAge(general) == .seconds(1))
        #expect(maxAge(general, "CDN-Cache-Control: max-age=2") == .seconds(2))
        #expect(maxAge("CDN-Cache-Control: max-age=2", "Example-Cache-Control: max-age=3", general) == .seconds(3))
        #expect(maxAge("CDN-Cache-Control: max-age=2", "Example-Cache-Control: Max-Age=3", general) == .seconds(2))
        #expect(maxAge("CDN-Cache-Control: max-age=2", "Example-Cache-Control:", general) == .seconds(2))
        #expect(maxAge("CDN-Cache-Control: &", general) == .seconds(1))
        #expect(maxAge("CDN-Cache-Control: none", general) == nil)
        #expect(maxAge("Other-Cache-Control: max-age=2", general) == .seconds(1))
    }

    @Test("A cache without targeted fields passes over them")
    func untargeted() {
        let directives = ResponseDirectives(
            fields(["CDN-Cache-Control: max-age=2", "Cache-Control: no-store"]), policy: CachePolicy())
        #expect(directives.noStore && !directives.isTargeted && directives.maxAge == nil)
    }

    @Test("With a targeted field neither Cache-Control nor Expires counts")
    func expires() throws {
        let lines = ["CDN-Cache-Control: public", "Cache-Control: no-store", "Expires: \(date(60))"]
        let stored = try #require(try stored(lines, policy: Self.policy))
        #expect(stored.directives.isTargeted)
        #expect(stored.lifetime == FreshnessLifetime(seconds: 0, source: .none))
    }
}
