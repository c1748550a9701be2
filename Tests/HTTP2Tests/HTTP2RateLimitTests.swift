import Testing

@testable import HTTP2

@Suite("What may happen so often on an HTTP/2 connection")
struct HTTP2RateLimitTests {
    @Test("Events are counted by the half minute")
    func rates() throws {
        var limit = HTTP2RateLimit(3)
        for _ in 0..<3 { try limit.count(at: 40_000_000_000) }
        #expect(throws: HTTP2Violation.connection(.enhanceYourCalm)) { try limit.count(at: 69_000_000_000) }
        try limit.count(at: 71_000_000_000)
    }

    @Test("What is forgiven is counted anew")
    func forgiveness() throws {
        var limit = HTTP2RateLimit(2)
        for _ in 0..<2 { try limit.count(at: 40_000_000_000) }
        limit.forgive()
        for _ in 0..<2 { try limit.count(at: 40_000_000_000) }
        #expect(throws: HTTP2Violation.connection(.enhanceYourCalm)) { try limit.count(at: 40_000_000_000) }
    }
}
