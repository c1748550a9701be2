import HTTPCaching
import HTTPSemantics
import NIOCore
import Testing

@testable import ForwardProxy

@Suite("The plan of an answer")
struct AnswerPlanTests {
    private static let content = "0123456789"
    private static let lastModified = "Mon, 12 Jan 1970 13:46:40 GMT"
    private static let later = "Mon, 12 Jan 1970 13:46:41 GMT"

    /// A representation of ten bytes that was changed at 1,000,000 s, and its answer at 2,000,000 s.
    private static func source(status: Int = 200) -> AnswerPlan.Source {
        var made = RepresentationBuilder(
            status: status, mediaType: Array("text/plain".utf8), size: content.utf8.count,
            body: BodySegments([ByteBuffer(string: "0123"), ByteBuffer(string: "456789")]),
            hasContent: status != 204 && status != 304)
        made.etag = Array("\"tag\"".utf8)
        made.lastModified = 1_000_000
        made.add("Content-Type", Array("text/plain".utf8), as: .type)
        made.add("Content-Language", Array("de".utf8), as: .content)
        made.add("Content-Digest", Array("x=:eA==:".utf8), as: .digest)
        made.add("ETag", Array("\"tag\"".utf8), as: .common)
        return AnswerPlan.Source(
            representation: ReadyRepresentation(made), status: status, tail: ByteBuffer(string: "Tail: 1\r\n"),
            now: 2_000_000, date: 2_000_000, modificationDate: 1_000_000, cors: [])
    }

    private static func text(_ plan: AnswerPlan) -> String {
        var out = ""
        for piece in plan.pieces {
            switch piece {
            case .bytes(let bytes): out += String(buffer: bytes)
            case .range(let range): plan.variant.body?.forEachSlice(of: range) { out += String(buffer: $0) }
            }
        }
        return out
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let method: String
        let fields: [String]
        let of: Int
        let status: Int
        let length: Int?
        let body: String
        let range: String?

        init(
            _ method: String, _ fields: String..., of: Int = 200, is status: Int, length: Int?, _ body: String = "",
            range: String? = nil
        ) {
            self.method = method
            self.fields = fields
            self.of = of
            self.status = status
            self.length = length
            self.body = body
            self.range = range
        }

        var testDescription: String { "\(method) \(fields) of a \(of) → \(status) \(body)" }
    }

    private static let part = "Range: bytes=2-4"

    static let cases: [Case] = [
        Case("GET", is: 200, length: 10, content), Case("POST", is: 200, length: 10, content),
        // Whoever sends it leaves the body of a HEAD out.
        Case("HEAD", is: 200, length: 10, content),
        // Preconditions.
        Case("GET", "If-None-Match: \"tag\"", is: 304, length: nil),
        Case("HEAD", "If-None-Match: W/\"tag\"", is: 304, length: nil),
        Case("GET", "If-None-Match: \"other\"", is: 200, length: 10, content),
        Case("PUT", "If-None-Match: \"tag\"", is: 412, length: 0),
        Case("GET", "If-Match: \"tag\"", is: 200, length: 10, content),
        Case("GET", "If-Match: \"other\"", is: 412, length: 0),
        Case("GET", "If-Modified-Since: \(lastModified)", is: 304, length: nil),
        Case("GET", "If-Modified-Since: \(lastModified)", "If-None-Match: \"other\"", is: 200, length: 10, content),
        Case("GET", "If-Unmodified-Since: Mon, 12 Jan 1970 13:46:39 GMT", is: 412, length: 0),
        Case("GET", "If-Unmodified-Since: \(later)", is: 200, length: 10, content),
        // Ranges.
        Case("GET", part, is: 206, length: 3, "234", range: "bytes 2-4/10"),
        Case("GET", "Range: bytes=-4", is: 206, length: 4, "6789", range: "bytes 6-9/10"),
        Case("GET", "Range: bytes=8-99", is: 206, length: 2, "89", range: "bytes 8-9/10"),
        Case("GET", "Range: bytes=10-", is: 416, length: 0, range: "bytes */10"),
        Case("GET", "Range: lines=1-2", is: 200, length: 10, content),
        Case("HEAD", part, is: 200, length: 10, content), Case("POST", part, is: 200, length: 10, content),
        Case("GET", part, "If-Range: \"tag\"", is: 206, length: 3, "234", range: "bytes 2-4/10"),
        Case("GET", part, "If-Range: \"other\"", is: 200, length: 10, content),
        Case("GET", part, "If-Range: \(lastModified)", is: 206, length: 3, "234", range: "bytes 2-4/10"),
        Case("GET", part, "If-Range: \(later)", is: 200, length: 10, content),
        Case("GET", part, "If-None-Match: \"tag\"", is: 304, length: nil),
        // Other statuses have neither.
        Case("GET", "If-None-Match: \"tag\"", of: 404, is: 404, length: 10, content),
        Case("GET", part, of: 404, is: 404, length: 10, content),
        Case("GET", of: 204, is: 204, length: nil), Case("GET", part, of: 304, is: 304, length: nil),
    ]

    @Test("says which status, length and bytes a request gets", arguments: cases)
    func plan(_ row: Case) throws {
        let request = try Request(row.method, "http://m.test/", row.fields)
        let plan = AnswerPlan.make(AnswerPlanTests.source(status: row.of), for: request)
        #expect(plan.status == row.status && plan.length == row.length)
        #expect(AnswerPlanTests.text(plan) == row.body)
        let lines = String(buffer: plan.lines).components("\r\n")
        #expect(lines.filter { $0.hasPrefix("Content-Range: ") } == (row.range.map { ["Content-Range: \($0)"] } ?? []))
        #expect(
            lines.filter { $0.hasPrefix("Content-Length: ") } == (row.length.map { ["Content-Length: \($0)"] } ?? []))
        #expect(lines.last == "Tail: 1" || row.range != nil && lines.contains("Tail: 1"))
        // Each kind of field is in the responses that it is true of.
        let hasContent = [200, 206, 404].contains(row.status)
        #expect(lines.contains("ETag: \"tag\""))
        #expect(lines.contains("Content-Type: text/plain") == (hasContent || row.of == 204 || row.of == 304))
        #expect(lines.contains("Content-Language: de") == (hasContent || row.of == 204 || row.of == 304))
        #expect(lines.contains("Content-Digest: x=:eA==:") == (row.status != 206 && row.status == row.of))
    }

    @Test("several ranges are parts of a body that says how long it is")
    func multipart() throws {
        let request = try Request("GET", "http://m.test/", ["Range: bytes=0-1, 7-9"])
        let plan = AnswerPlan.make(AnswerPlanTests.source(), for: request, random: { (1, 2) })
        let boundary = "00000000000000010000000000000002"
        let body = AnswerPlanTests.text(plan)
        #expect(
            body == "--\(boundary)\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n01"
                + "\r\n--\(boundary)\r\nContent-Type: text/plain\r\nContent-Range: bytes 7-9/10\r\n\r\n789"
                + "\r\n--\(boundary)--\r\n")
        #expect(plan.status == 206 && plan.length == body.utf8.count)
        let lines = String(buffer: plan.lines).components("\r\n")
        #expect(lines.first == "Content-Type: multipart/byteranges; boundary=\(boundary)")
        #expect(lines.contains("Content-Language: de") && lines.contains("Content-Length: \(body.utf8.count)"))
        #expect(!lines.contains { $0.hasPrefix("Content-Range") || $0.hasPrefix("Content-Digest") })
    }

    @Test(
        "a part of a stored part is counted from where that begins",
        arguments: [
            ([], 206, "345"), (["If-None-Match: \"tag\""], 304, ""), (["If-None-Match: \"other\""], 206, "345"),
        ])
    func part(fields: [String], status: Int, body: String) throws {
        let request = try Request("GET", "http://m.test/", ["Range: bytes=103-105"] + fields)
        let held = ContentPart(range: 100..<110, completeLength: 1000)
        let plan = AnswerPlan.part(AnswerPlanTests.source(), held: held, range: 103..<106, for: request)
        #expect(plan.status == status && AnswerPlanTests.text(plan) == body)
        #expect(plan.length == (status == 206 ? 3 : nil))
        let lines = String(buffer: plan.lines).components("\r\n")
        #expect(lines.contains("Content-Range: bytes 103-105/1000") == (status == 206))
    }
}

extension String {
    /// The lines that end with `separator`.
    fileprivate func components(_ separator: String) -> [String] { split(separator: separator).map { String($0) } }
}
