import Testing

@testable import Archives

@Suite("The head of a record")
struct RecordHeadTests {
    private static let fields: [(name: String, value: String)] = [
        ("WARC-Type", "response"), ("WARC-Record-ID", "<urn:uuid:1>"), ("WARC-Date", "2026-01-01T00:00:00Z"),
        ("WARC-Target-URI", "http://a.example/"), ("WARC-Payload-Digest", "sha1:P"), ("WARC-Block-Digest", "sha1:B"),
        ("WARC-Concurrent-To", "<urn:uuid:2>"), ("WARC-Refers-To", "<urn:uuid:3>"),
        ("WARC-Refers-To-Target-URI", "http://b.example/"), ("WARC-Refers-To-Date", "2025-01-01T00:00:00Z"),
        ("WARC-IP-Address", "127.0.0.1"), ("Content-Type", "application/http"), ("Content-Length", "17"),
    ]

    private func head(_ lines: [String]) throws -> RecordHead {
        let bytes = Array((["WARC/1.1"] + lines).map { $0 + "\r\n" }.joined().utf8) + [0x0D, 0x0A]
        return try #require(bytes.withUnsafeBytes { RecordHead($0) })
    }

    private func values(_ head: RecordHead) -> [String] {
        [
            head.id, head.date, head.url, head.payloadDigest, head.blockDigest, head.refersTo, head.refersToURL,
            head.refersToDate, head.mediaType,
        ].map { head[$0].map { String(decoding: $0, as: UTF8.self) } ?? "-" }
            + ["\(head.kind)", "\(head.contentLength)", "\(head.concurrentTo.count)"]
    }

    @Test("is the same in whatever case its names are written, and however many blanks are around its values")
    func names() throws {
        let plain = values(try head(Self.fields.map { "\($0): \($1)" }))
        #expect(plain[2] == "http://a.example/" && !plain.contains("-") && plain.suffix(3) == ["response", "17", "1"])
        #expect(values(try head(Self.fields.map { "\($0.lowercased()): \($1)" })) == plain)
        #expect(values(try head(Self.fields.map { "\($0.uppercased()):\($1)" })) == plain)
        #expect(values(try head(Self.fields.map { "\($0): \t \($1) \t" })) == plain)
        #expect(values(try head(Self.fields.map { "\($0) : \($1)" })) == plain)
        #expect(values(try head(Self.fields.reversed().map { "\($0): \($1)" })) == plain)
        #expect(values(try head(Self.fields.map { "\($0):\r\n \($1)" })) == plain)
    }

    @Test("has no field whose name is another one's beginning, or has one for its own")
    func otherNames() throws {
        let others = Self.fields.flatMap { ["\($0)s: \($1)", "x\($0): \($1)", "\($0.dropLast()): \($1)", "\($0)"] }
        let none = values(try head(others))
        #expect(none == Array(repeating: "-", count: 9) + ["other", "-1", "0"])
    }

    @Test(
        "keeps sixteen of the records that it names as written at once with it",
        arguments: ["WARC-Concurrent-To", "warc-concurrent-to"])
    func targets(_ name: String) throws {
        #expect(try head((1...40).map { "\(name): <urn:uuid:\($0)>" }).concurrentTo.count == 16)
    }

    @Test("takes nothing from the one that was parsed in its memory before")
    func again() throws {
        var head = try head(Self.fields.map { "\($0): \($1)" } + ["WARC-Truncated: length", "WARC-Segment-Number: 2"])
        #expect(head.isTruncated && head.isSegment)
        let kept = head
        let next = Array("WARC/1.1\r\nWARC-Date: 2024\r\n\r\n".utf8)
        #expect(next.withUnsafeBytes { head.parse($0) })
        #expect(values(head) == ["-", "2024"] + Array(repeating: "-", count: 7) + ["other", "-1", "0"])
        #expect(!head.isTruncated && !head.isSegment && head.bytes == next)
        #expect(values(kept) == values(try self.head(Self.fields.map { "\($0): \($1)" })))
    }
}
