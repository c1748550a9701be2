import HTTPCaching
import HTTPSemantics
import NIOCore
import Testing

@Suite("Selecting one of several stored responses")
struct SelectionTests {
    /// A stored response with a Date some seconds after the epoch.
    static func candidate(
        _ seconds: Int64, vary: String? = nil, request lines: [String] = [], part: ContentPart? = nil,
        receivedAt received: Int64? = nil
    ) throws -> StoredResponse {
        let varyLine = vary.map { ["Vary: \($0)"] } ?? []
        let all = ["Date: \(date(seconds))", "Cache-Control: max-age=60"] + varyLine
        let range = part.map { "bytes \($0.range.lowerBound)-\($0.range.upperBound - 1)/\($0.completeLength ?? 100)" }
        return try #require(
            try stored(
                all + (range.map { ["Content-Range: \($0)"] } ?? []), status: part == nil ? 200 : 206,
                request: request(lines + (part == nil ? [] : ["Range: bytes=0-"])), at: received ?? seconds))
    }

    @Test("None of none, and none where no selecting field matches")
    func nothing() throws {
        #expect(Selection.select(request(), among: []) == nil)
        let candidate = try Self.candidate(0, vary: "X", request: ["X: a"])
        #expect(Selection.select(request("X: b"), among: [candidate]) == nil)
        #expect(Selection.select(request("X: a"), among: [candidate]) == 0)
    }

    @Test("The one with the latest Date, of equals the one received last")
    func latest() throws {
        let candidates = [try Self.candidate(1), try Self.candidate(3), try Self.candidate(2)]
        #expect(Selection.select(request(), among: candidates) == 1)
        let equals = [
            try Self.candidate(1, receivedAt: 5), try Self.candidate(1, receivedAt: 7),
            try Self.candidate(1, receivedAt: 6),
        ]
        #expect(Selection.select(request(), among: equals) == 1)
    }

    @Test("One with a Vary that matches comes before one without Vary, however new that is")
    func vary() throws {
        let candidates = [try Self.candidate(9), try Self.candidate(1, vary: "X", request: ["X: a"])]
        #expect(Selection.select(request("X: a"), among: candidates) == 1)
        #expect(Selection.select(request("X: b"), among: candidates) == 0)
    }

    @Test("A complete one comes before a newer part, unless the part has the range asked for")
    func parts() throws {
        let part = ContentPart(range: 10..<20, completeLength: 100)
        let candidates = [try Self.candidate(1), try Self.candidate(9, part: part)]
        #expect(Selection.select(request(), among: candidates) == 0)
        #expect(Selection.select(request("Range: bytes=12-15"), among: candidates) == 1)
        #expect(Selection.select(request("Range: bytes=12-25"), among: candidates) == 0)
        #expect(Selection.select(request("Range: bytes=12-15", method: .head), among: candidates) == 0)
        #expect(Selection.select(request(), among: [candidates[1]]) == 0)
    }
}
