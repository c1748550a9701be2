import HTTPSemantics
import Testing

@Suite("Conditional requests")
struct PreconditionsTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT
    static let modified: Int64 = 784_111_777
    static let now: Int64 = 1_749_988_800
    static let same = "Sun, 06 Nov 1994 08:49:37 GMT"
    static let before = "Sun, 06 Nov 1994 08:49:36 GMT"
    static let after = "Sun, 06 Nov 1994 08:49:38 GMT"
    static let future = "Fri, 31 Dec 9999 23:59:59 GMT"

    struct Case: Sendable, CustomTestStringConvertible {
        var lines: [String]
        var expected: Preconditions.Outcome
        var method = Method.get
        var etag: String? = "\"v1\""
        var modified: Int64? = PreconditionsTests.modified
        var exists = true

        var testDescription: String { "\(method) \(lines) → \(expected)" }
    }

    static let cases: [Case] = [
        Case(lines: [], expected: .proceed),
        Case(lines: ["Accept: */*"], expected: .proceed),
        // 1. If-Match
        Case(lines: ["If-Match: \"v1\""], expected: .proceed),
        Case(lines: ["If-Match: \"v0\", \"v1\""], expected: .proceed),
        Case(lines: ["If-Match: \"v0\"", "If-Match: \"v1\""], expected: .proceed),
        Case(lines: ["If-Match: \"v0\""], expected: .failed),
        Case(lines: ["If-Match: W/\"v1\""], expected: .failed),
        Case(lines: ["If-Match: \"v1\""], expected: .failed, etag: "W/\"v1\""),
        Case(lines: ["If-Match: *"], expected: .proceed),
        Case(lines: ["If-Match: *"], expected: .proceed, etag: nil),
        Case(lines: ["If-Match: *"], expected: .failed, method: .put, exists: false),
        Case(lines: ["If-Match: garbage"], expected: .failed),
        Case(lines: ["If-Match:"], expected: .failed),
        Case(lines: ["If-Match: \"v1\"", "If-Unmodified-Since: \(before)"], expected: .proceed),
        // 2. If-Unmodified-Since
        Case(lines: ["If-Unmodified-Since: \(same)"], expected: .proceed),
        Case(lines: ["If-Unmodified-Since: \(before)"], expected: .failed),
        Case(lines: ["If-Unmodified-Since: \(before)"], expected: .failed, method: .post),
        Case(lines: ["If-Unmodified-Since: \(before)"], expected: .proceed, modified: nil),
        Case(lines: ["If-Unmodified-Since: garbage"], expected: .proceed),
        Case(lines: ["If-Unmodified-Since: \(before)", "If-Unmodified-Since: \(before)"], expected: .proceed),
        // 3. If-None-Match
        Case(lines: ["If-None-Match: \"v1\""], expected: .notModified),
        Case(lines: ["If-None-Match: \"v1\""], expected: .notModified, method: .head),
        Case(lines: ["If-None-Match: \"v1\""], expected: .failed, method: .put),
        Case(lines: ["If-None-Match: W/\"v1\""], expected: .notModified),
        Case(lines: ["If-None-Match: \"v1\""], expected: .notModified, etag: "W/\"v1\""),
        Case(lines: ["If-None-Match: \"v0\""], expected: .proceed),
        Case(lines: ["If-None-Match: v1"], expected: .proceed),
        Case(lines: ["If-None-Match: *"], expected: .notModified),
        Case(lines: ["If-None-Match: *"], expected: .failed, method: .put),
        Case(lines: ["If-None-Match: *"], expected: .proceed, method: .put, exists: false),
        Case(lines: ["If-None-Match: \"v1\""], expected: .proceed, etag: nil),
        Case(
            lines: ["If-None-Match: " + (0..<1000).map { "\"t\($0)\"" }.joined(separator: ",") + ",\"v1\""],
            expected: .notModified),
        Case(lines: ["If-Match: \"v1\"", "If-None-Match: \"v1\""], expected: .notModified),
        Case(lines: ["If-Match: \"v0\"", "If-None-Match: \"v1\""], expected: .failed),
        Case(lines: ["If-None-Match: \"v0\"", "If-Modified-Since: \(same)"], expected: .proceed),
        // 4. If-Modified-Since
        Case(lines: ["If-Modified-Since: \(same)"], expected: .notModified),
        Case(lines: ["If-Modified-Since: \(after)"], expected: .notModified),
        Case(lines: ["If-Modified-Since: \(before)"], expected: .proceed),
        Case(lines: ["If-Modified-Since: \(same)"], expected: .notModified, method: .head),
        Case(lines: ["If-Modified-Since: \(same)"], expected: .proceed, method: .post),
        Case(lines: ["If-Modified-Since: \(same)"], expected: .proceed, modified: nil),
        Case(lines: ["If-Modified-Since: garbage"], expected: .proceed),
        Case(lines: ["If-Modified-Since: 0"], expected: .proceed),
        Case(lines: ["If-Modified-Since:"], expected: .proceed),
        Case(lines: ["If-Modified-Since: \(same)", "If-Modified-Since: \(same)"], expected: .proceed),
        Case(lines: ["If-Modified-Since: \(future)"], expected: .notModified),
        Case(lines: ["If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT"], expected: .notModified),
        Case(lines: ["If-Modified-Since: Sun Nov  6 08:49:37 1994"], expected: .notModified),
        // Methods that select no representation
        Case(lines: ["If-Match: \"v0\""], expected: .proceed, method: .options),
        Case(lines: ["If-None-Match: *"], expected: .proceed, method: .connect),
        Case(lines: ["If-Match: \"v0\""], expected: .proceed, method: .trace),
    ]

    @Test("The order is that of RFC 9110 §13.2.2", arguments: cases)
    func evaluate(_ test: Case) {
        let etag = test.etag.map { Array($0.utf8) } ?? []
        let outcome = etag.withUnsafeBytes {
            Preconditions.evaluate(
                method: test.method, fields: fields(test.lines), etag: test.etag == nil ? nil : $0,
                lastModified: test.modified, exists: test.exists, now: Self.now)
        }
        #expect(outcome == test.expected)
    }

    @Test(
        "If-Range holds for the same strong tag or date only",
        arguments: [
            ([], true), (["If-Range: \"v1\""], true), (["If-Range: \"v2\""], false), (["If-Range: W/\"v1\""], false),
            (["If-Range: \(same)"], true), (["If-Range: \(before)"], false), (["If-Range: \(after)"], false),
            (["If-Range: garbage"], false), (["If-Range:"], false), (["If-Range: *"], false),
            (["If-Range: \"v1\", \"v2\""], false), (["If-Range: \"v1\"", "If-Range: \"v1\""], false),
            (["If-Range: v1"], false), (["If-Range: Sunday, 06-Nov-94 08:49:37 GMT"], true),
        ] as [([String], Bool)])
    func ifRange(lines: [String], expected: Bool) {
        let holds = withBytes("\"v1\"") {
            Preconditions.ifRangeHolds(fields(lines), etag: $0, lastModified: Self.modified, date: Self.now)
        }
        #expect(holds == expected)
    }

    @Test("If-Range never holds by a weak tag, without a validator, or by a date of the same second")
    func weakValidators() {
        withBytes("W/\"v1\"") { etag in
            for line in ["If-Range: W/\"v1\"", "If-Range: \"v1\""] {
                #expect(!Preconditions.ifRangeHolds(fields(line), etag: etag, lastModified: nil, date: Self.now))
            }
        }
        let byDate = fields("If-Range: \(Self.same)")
        #expect(!Preconditions.ifRangeHolds(byDate, etag: nil, lastModified: nil, date: Self.now))
        let fresh = Self.modified
        #expect(!Preconditions.ifRangeHolds(byDate, etag: nil, lastModified: fresh, date: fresh))
        #expect(Preconditions.ifRangeHolds(byDate, etag: nil, lastModified: fresh, date: fresh + 1))
    }
}
