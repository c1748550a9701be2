import HTTPCaching
import HTTPSemantics
import NIOCore
import Testing

@Suite("Combining parts")
struct CombinationTests {
    static func part(
        _ range: Range<Int>, of length: Int?, etag: String? = "\"a\"", _ more: [String] = [], at seconds: Int64 = 0
    ) throws -> StoredResponse {
        let contentRange = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length.map { "\($0)" } ?? "*")"
        let control =
            more.contains { $0.hasPrefix("Cache-Control") || $0.hasPrefix("Expires") }
            ? [] : ["Cache-Control: max-age=60"]
        return try #require(
            try stored(
                control + (etag.map { ["ETag: \($0)"] } ?? []) + more + ["Content-Range: \(contentRange)"], status: 206,
                request: request("Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)"), at: seconds))
    }

    static func whole(etag: String? = "\"a\"") throws -> StoredResponse {
        try #require(try stored(["Cache-Control: max-age=60"] + (etag.map { ["ETag: \($0)"] } ?? [])))
    }

    static let unions: [(Range<Int>, Int?, Range<Int>, Int?, ContentPart?)] = [
        (0..<10, 100, 10..<20, 100, ContentPart(range: 0..<20, completeLength: 100)),
        (10..<20, 100, 0..<10, 100, ContentPart(range: 0..<20, completeLength: 100)),
        (0..<10, 100, 5..<20, 100, ContentPart(range: 0..<20, completeLength: 100)),
        (0..<50, 100, 10..<20, 100, ContentPart(range: 0..<50, completeLength: 100)),
        (0..<10, nil, 10..<20, 100, ContentPart(range: 0..<20, completeLength: 100)),
        (0..<10, nil, 10..<20, nil, ContentPart(range: 0..<20, completeLength: nil)),
        (0..<10, 100, 11..<20, 100, nil),
        (11..<20, 100, 0..<10, 100, nil),
        (0..<10, 100, 10..<20, 101, nil),
        (0..<30, nil, 10..<20, 25, nil),
    ]

    @Test("Parts that meet or overlap are one part", arguments: unions)
    func union(_ one: Range<Int>, _ length: Int?, _ other: Range<Int>, _ otherLength: Int?, _ expected: ContentPart?)
        throws
    {
        let combined = Combination.combine(
            try Self.part(one, of: length), with: try Self.part(other, of: otherLength, at: 5), policy: CachePolicy())
        #expect(combined?.part == expected)
        #expect(combined?.status == expected.map { _ in 206 })
    }

    @Test("What is then everything is a 200")
    func complete() throws {
        let combined = try #require(
            Combination.combine(
                try Self.part(5..<10, of: 10), with: try Self.part(0..<5, of: nil, at: 5), policy: CachePolicy()))
        #expect(combined.part == nil && combined.status == 200)
        #expect(text(Array(combined.reason.readableBytesView)) == "OK")
        #expect(combined.receivedAt == at(5) && combined.date == epoch + 5)
    }

    @Test("A part freshens what is held in full")
    func held() throws {
        let combined = try #require(
            Combination.combine(
                try Self.whole(), with: try Self.part(0..<5, of: 10, ["X: new"], at: 5), policy: CachePolicy()))
        #expect(combined.part == nil && combined.status == 200)
        #expect(lines(combined.fields).contains("X: new"))
    }

    static let tags: [(String?, String?, Bool)] = [
        ("\"a\"", "\"a\"", true), ("\"a\"", "\"b\"", false), ("W/\"a\"", "W/\"a\"", false), ("W/\"a\"", "\"a\"", false),
        ("\"a\"", "W/\"a\"", false), (nil, nil, false), ("\"a\"", nil, false), (nil, "\"a\"", false), ("a", "a", false),
    ]

    @Test("Only parts with the same strong entity tag are combined", arguments: tags)
    func validators(_ one: String?, _ other: String?, _ isCombined: Bool) throws {
        let combined = Combination.combine(
            try Self.part(0..<10, of: 100, etag: one), with: try Self.part(10..<20, of: 100, etag: other),
            policy: CachePolicy())
        #expect((combined != nil) == isCombined)
        let full = Combination.combine(
            try Self.whole(etag: one), with: try Self.part(0..<10, of: 100, etag: other), policy: CachePolicy())
        #expect((full != nil) == isCombined)
    }

    @Test("The newer fields win, and those that only the older one has stay")
    func fields() throws {
        let older = try Self.part(0..<10, of: 100, ["X: old", "Y: old", "Content-Type: a/b"])
        let newer = try Self.part(10..<20, of: 100, ["X: new", "Cache-Control: max-age=5"], at: 5)
        let combined = try #require(Combination.combine(older, with: newer, policy: CachePolicy()))
        let all = lines(combined.fields)
        #expect(all.contains("X: new") && all.contains("Y: old") && all.contains("Content-Type: a/b"))
        #expect(!all.contains("X: old") && all.contains("Date: \(date(5))") && !all.contains("Date: \(date(0))"))
        #expect(combined.lifetime == FreshnessLifetime(seconds: 5, source: .maxAge))
        #expect(combined.directives.maxAge == .seconds(5))
    }

    @Test("A newer part that doesn't say how long it is fresh leaves what was said")
    func lifetime() throws {
        let newer = try #require(
            try stored(
                "ETag: \"a\"", "Last-Modified: \(date(-10_000))", "Content-Range: bytes 10-19/100", status: 206,
                request: request("Range: bytes=10-19"), at: 20))
        let byMaxAge = try #require(
            Combination.combine(try Self.part(0..<10, of: 100), with: newer, policy: CachePolicy()))
        #expect(byMaxAge.lifetime == FreshnessLifetime(seconds: 60, source: .maxAge))
        let expiring = try Self.part(0..<10, of: 100, ["Expires: \(date(60))"])
        let byExpires = try #require(Combination.combine(expiring, with: newer, policy: CachePolicy()))
        #expect(byExpires.lifetime == FreshnessLifetime(seconds: 40, source: .expires))
    }

    static let held = ContentPart(range: 10..<20, completeLength: 100)
    static let ranges: [(String, ContentPart, Range<Int>?)] = [
        ("bytes=10-19", held, 10..<20), ("bytes=12-15", held, 12..<16), ("bytes=9-19", held, nil),
        ("bytes=10-20", held, nil), ("bytes=12-13,14-15", held, 12..<16), ("bytes=12-13,15-16", held, nil),
        ("bytes=-85", held, nil), ("bytes=10-", held, nil), ("bytes=200-", held, nil), ("bytes=x", held, nil),
        ("items=10-19", held, nil),
        ("bytes=-10", ContentPart(range: 80..<100, completeLength: 100), 90..<100),
        ("bytes=90-", ContentPart(range: 80..<100, completeLength: 100), 90..<100),
        ("bytes=90-500", ContentPart(range: 80..<100, completeLength: 100), 90..<100),
        ("bytes=12-15", ContentPart(range: 10..<20, completeLength: nil), 12..<16),
        ("bytes=12-", ContentPart(range: 10..<20, completeLength: nil), nil),
        ("bytes=-5", ContentPart(range: 10..<20, completeLength: nil), nil),
        ("bytes=12-9223372036854775807", ContentPart(range: 10..<20, completeLength: nil), nil),
    ]

    @Test("A part answers one range that is inside it", arguments: ranges)
    func range(_ value: String, _ part: ContentPart, _ expected: Range<Int>?) {
        #expect(Combination.range(of: request("Range: \(value)"), within: part) == expected)
        #expect(Combination.range(of: request("Range: \(value)", method: .head), within: part) == nil)
    }

    @Test("Without a Range no part is an answer")
    func noRange() {
        #expect(Combination.range(of: request(), within: Self.held) == nil)
    }
}
