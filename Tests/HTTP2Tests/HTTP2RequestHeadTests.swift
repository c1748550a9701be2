import HTTP1
import HTTPSemantics
import NIOCore
import NIOHPACK
import Testing

@testable import HTTP2

@Suite("Requests of HTTP/2 in the form of HTTP/1")
struct HTTP2RequestHeadTests {
    private func decode(_ block: [UInt8], with decoder: inout HPACKReader) throws -> FieldBlock {
        var fields = FieldBlock()
        try block.withRawBytes { bytes throws(HPACKReader.Failure) in try decoder.decode(bytes, into: &fields) }
        return fields
    }

    @Test("Cookie's crumbs are one field for the limit of fields, and count with all their bytes")
    func crumbs() throws {
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        var request: [(String, String)] = [
            (":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a.test"),
        ]
        request += (0..<190).map { ("cookie", "c\($0)=\($0)") } + (0..<20).map { ("x-\($0)", "y") }
        func encode(_ fields: [(String, String)]) throws -> [UInt8] {
            var block = ByteBuffer()
            try encoder.encode(headers: HPACKHeaders(fields), to: &block)
            return Array(buffer: block)
        }
        let bytes = try encode(request)
        var decoder = HPACKReader(maxBytes: 1 << 16, maxLines: 25)
        let block = try decode(bytes, with: &decoder)
        #expect(!block.isTooLarge)
        let head = try HTTP2RequestHead.make(block, hasContent: false, maxTargetBytes: 1 << 10)
        #expect(head.fields.count(of: .cookie) == 1)
        let cookie = (0..<190).map { "c\($0)=\($0)" }.joined(separator: "; ")
        #expect(head.fields.firstText(.cookie) == cookie)
        #expect(head.version == .http2)
        // One field more is one too many, and so are crumbs without end.
        let more = try encode(request + [("x-more", "y")])
        #expect(try decode(more, with: &decoder).isTooLarge)
        var small = HPACKReader(maxBytes: 190 * 38, maxLines: 25)
        encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        #expect(try decode(try encode(request), with: &small).isTooLarge)
    }

    @Test(
        "An empty crumb of Cookie adds nothing",
        arguments: [
            (["a=1", ""], "a=1"), (["", "a=1"], "a=1"), (["a=1", "", "b=2"], "a=1; b=2"), (["", ""], ""), ([""], ""),
        ])
    func emptyCrumbs(crumbs: [String], cookie: String) throws {
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        let fields =
            [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a.test")]
            + crumbs.map { ("cookie", $0) }
        var bytes = ByteBuffer()
        try encoder.encode(headers: HPACKHeaders(fields), to: &bytes)
        var decoder = HPACKReader(maxBytes: 1 << 16, maxLines: 25)
        let block = try decode(Array(buffer: bytes), with: &decoder)
        let head = try HTTP2RequestHead.make(block, hasContent: false, maxTargetBytes: 1 << 10)
        #expect(head.fields.firstText(.cookie) == cookie)
    }

    @Test(
        "A name that is longer than HTTP/1 allows is refused, and passes for no other",
        arguments: [65_535, 65_536, 65_550])
    func longName(length: Int) throws {
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        let name = "content-length" + String(repeating: "a", count: length - 14)
        let fields = [
            (":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a.test"), (name, "50"),
        ]
        var bytes = ByteBuffer()
        try encoder.encode(headers: HPACKHeaders(fields), to: &bytes)
        var decoder = HPACKReader(maxBytes: 1 << 18, maxLines: 25)
        let block = try decode(Array(buffer: bytes), with: &decoder)
        #expect(!block.isTooLarge)
        guard length > 65_535 else {
            let head = try HTTP2RequestHead.make(block, hasContent: false, maxTargetBytes: 1 << 10)
            #expect(head.fields.lines.contains { $0.nameLength == 65_535 })
            return
        }
        #expect(throws: HTTP2RequestError.tooLarge) {
            _ = try HTTP2RequestHead.make(block, hasContent: false, maxTargetBytes: 1 << 10)
        }
    }

    @Test("A trailer section has the limits of HTTP/1", arguments: [(64, 10, true), (65, 10, false), (2, 9000, false)])
    func trailers(count: Int, length: Int, isTaken: Bool) throws {
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        let fields = (0..<count).map { ("x-\($0)", String(repeating: "v", count: length)) }
        var bytes = ByteBuffer()
        try encoder.encode(headers: HPACKHeaders(fields), to: &bytes)
        var decoder = HPACKReader(maxBytes: 1 << 16, maxLines: 200)
        let block = try decode(Array(buffer: bytes), with: &decoder)
        if isTaken {
            #expect(try HTTP2RequestHead.trailers(block, limits: MessageLimits()).count == count)
        } else {
            #expect(throws: HTTP2RequestError.tooLarge) {
                try HTTP2RequestHead.trailers(block, limits: MessageLimits())
            }
        }
    }

    /// The head that fields make, written as HTTP/1 has it, or why there is none.
    private func head(_ fields: [(String, String)], hasContent: Bool) throws -> String {
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        var bytes = ByteBuffer()
        try encoder.encode(headers: HPACKHeaders(fields), to: &bytes)
        var decoder = HPACKReader(maxBytes: 1 << 16, maxLines: 200)
        let block = try decode(Array(buffer: bytes), with: &decoder)
        do throws(HTTP2RequestError) {
            let head = try HTTP2RequestHead.make(block, hasContent: hasContent, maxTargetBytes: 10)
            return String(buffer: head.fields.bytes)
        } catch {
            return "\(error)"
        }
    }

    private static let target = [(":method", "GET"), (":scheme", "https"), (":path", "/a"), (":authority", "h")]

    @Test(
        "A header section is a request or says why not",
        arguments: [
            ([], false, "GET /a HTTP/1.1\r\nhost: h\r\n"),
            ([("x", "y")], false, "GET /a HTTP/1.1\r\nhost: h\r\nx: y\r\n"),
            ([], true, "GET /a HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n"),
            ([("content-length", "3")], true, "GET /a HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\n"),
            ([("content-length", "3")], false, "malformed"), ([("content-length", "x")], true, "malformed"),
            ([("host", "h")], false, "GET /a HTTP/1.1\r\nhost: h\r\n"), ([("host", "i")], false, "malformed"),
            ([("connection", "close")], false, "malformed"), ([("te", "gzip")], false, "malformed"),
            ([("te", "trailers")], false, "GET /a HTTP/1.1\r\nhost: h\r\nte: trailers\r\n"),
            ([(":path", "/b")], false, "malformed"), ([(":protocol", "websocket")], false, "malformed"),
        ] as [([(String, String)], Bool, String)])
    func section(more: [(String, String)], hasContent: Bool, found: String) throws {
        #expect(try head(HTTP2RequestHeadTests.target + more, hasContent: hasContent) == found)
    }

    @Test(
        "The pseudo-header fields make the target, or say why there is none",
        arguments: [
            ("GET", "https", "/123456789", "GET /123456789 HTTP/1.1\r\nhost: h\r\n"),
            ("GET", "https", "/1234567890", "targetTooLong"), ("GET", "http", "/", "malformed"),
            ("GET", "https", "*", "malformed"), ("OPTIONS", "https", "*", "OPTIONS * HTTP/1.1\r\nhost: h\r\n"),
            ("GET", "https", "a", "malformed"), ("G T", "https", "/", "malformed"),
            ("GET", "https", "/a#b", "malformed"),
        ])
    func target(method: String, scheme: String, path: String, found: String) throws {
        let fields = [(":method", method), (":scheme", scheme), (":path", path), (":authority", "h")]
        #expect(try head(fields, hasContent: false) == found)
    }

    @Test("CONNECT has an authority alone, and opens nothing")
    func connect() throws {
        let connect = [(":method", "CONNECT"), (":authority", "h:1")]
        #expect(try head(connect, hasContent: true) == "connect")
        #expect(try head(connect + [(":path", "/")], hasContent: true) == "malformed")
    }
}
