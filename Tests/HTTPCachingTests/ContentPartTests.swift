import HTTPSemantics
import NIOCore
import Testing

@testable import HTTPCaching

@Suite("Parts of representations")
struct ContentPartTests {
    static let ranges: [(String, ContentPart?)] = [
        ("bytes 0-9/100", ContentPart(range: 0..<10, completeLength: 100)),
        ("Bytes 5-5/6", ContentPart(range: 5..<6, completeLength: 6)),
        (" bytes 0-9/* ", ContentPart(range: 0..<10, completeLength: nil)),
        ("bytes 0-9/10", ContentPart(range: 0..<10, completeLength: 10)),
        ("bytes 0-9/9", nil), ("bytes 9-0/100", nil), ("bytes */100", nil), ("bytes */*", nil), ("bytes 0-/100", nil),
        ("bytes -9/100", nil), ("bytes 0-9", nil), ("bytes 0-9/", nil), ("bytes 0-9/ 100", nil), ("bytes=0-9/100", nil),
        ("items 0-9/100", nil), ("bytes  0-9/100", nil), ("bytes 0-9/100, bytes 0-9/100", nil), ("bytes 0-9/-1", nil),
        ("bytes 0-9223372036854775807/*", nil), ("bytes 0-9223372036854775808/*", nil), ("bytes +0-9/100", nil),
        ("bytes 0-9/1e2", nil), ("bytes", nil), ("", nil), ("bytes 0/9-1", nil),
    ]

    @Test("Content-Range names bytes inside a representation", arguments: ranges)
    func parse(_ value: String, _ expected: ContentPart?) {
        #expect(withBytes(value) { ContentPart($0) } == expected)
    }

    /// The request's Range, the response's lines, what is held.
    static let stored: [(String?, [String], ContentPart?)] = [
        ("bytes=0-9", ["Content-Range: bytes 0-9/100"], ContentPart(range: 0..<10, completeLength: 100)),
        ("bytes=0-9", ["Content-Range: bytes 0-9/*"], ContentPart(range: 0..<10, completeLength: nil)),
        ("bytes=-10", ["Content-Range: bytes 90-99/100"], ContentPart(range: 90..<100, completeLength: 100)),
        ("bytes=-10", ["Content-Range: bytes 90-99/*"], ContentPart(range: 90..<100, completeLength: nil)),
        ("bytes=5-", ["Content-Range: bytes 5-49/100"], ContentPart(range: 5..<50, completeLength: 100)),
        (
            "bytes=0-9", ["Content-Range: bytes 0-9/100", "Content-Length: 10"],
            ContentPart(range: 0..<10, completeLength: 100)
        ),
        ("bytes=0-9", ["Content-Range: bytes 0-9/100", "Content-Length: 9"], nil),
        ("bytes=0-9", ["Content-Range: bytes 0-9/100", "Content-Length: x"], nil),
        ("bytes=0-9", ["Content-Range: bytes 10-19/100"], nil),
        ("bytes=200-", ["Content-Range: bytes 10-19/100"], nil),
        ("bytes=0-9", ["Content-Range: bytes 0-9/100", "Content-Range: bytes 0-9/100"], nil),
        ("bytes=0-9", ["Content-Range: bytes */100"], nil),
        ("bytes=0-9,20-29", ["Content-Type: multipart/byteranges;boundary=a"], nil),
        ("bytes=0-9", [], nil),
        ("items=0-9", ["Content-Range: items 0-9/100"], nil),
        (nil, ["Content-Range: bytes 0-9/100"], nil),
    ]

    @Test("A 206 is stored as the part that it is, and only as the answer to a range", arguments: stored)
    func storing(_ range: String?, _ received: [String], _ expected: ContentPart?) throws {
        let request = request(range.map { ["Range: \($0)"] } ?? [])
        let result = try HTTPCachingTests.stored(
            ["Cache-Control: max-age=60"] + received, status: 206, request: request)
        #expect(result?.part == expected)
        #expect(result?.status == (expected == nil ? nil : 206))
        #expect(result?.fields.contains(.contentRange) != true)
    }

    @Test("A 206 that holds everything is stored as a 200")
    func whole() throws {
        let result = try #require(
            try HTTPCachingTests.stored(
                "Cache-Control: max-age=60", "Content-Range: bytes 0-9/10", status: 206,
                request: request("Range: bytes=0-")))
        #expect(result.part == nil && result.status == 200)
        #expect(text(Array(result.reason.readableBytesView)) == "OK")
    }

    @Test("A part is complete where it begins at 0 and ends where everything ends")
    func completeness() {
        #expect(ContentPart(range: 0..<10, completeLength: 10).isComplete)
        #expect(!ContentPart(range: 0..<10, completeLength: 11).isComplete)
        #expect(!ContentPart(range: 0..<10, completeLength: nil).isComplete)
        #expect(!ContentPart(range: 1..<10, completeLength: 10).isComplete)
    }
}
