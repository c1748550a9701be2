import HTTP1
import HTTP1Invariants
import HTTPSemantics
import NIOCore
import Testing

@Suite("The parser of response heads by lines")
struct ResponseHeadParserTests {
    private func feed(_ parser: inout ResponseHeadParser, _ line: String) throws -> ResponseLineEvent {
        try Array(line.utf8).withUnsafeBytes { try parser.line($0) }
    }

    @Test("gives interim heads, the final head, and the trailers")
    func wholeResponse() throws {
        var parser = ResponseHeadParser()
        var events: [String] = []
        let lines = [
            "HTTP/1.1 103 Early Hints\r\n", "Link: </a>\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "Server: x\r\n",
            "Transfer-Encoding: chunked\r\n", "\r\n", "X-T: v\r\n", "X-U: w\r\n",
        ]
        for line in lines {
            switch try feed(&parser, line) {
            case .statusLine(let status): events.append("status \(status)")
            case .field: events.append("field")
            case .interimHead(let head):
                events.append("interim \(head.status) \(head.fields.count)")
                #expect(head.bytes == ByteBuffer(string: lines[0..<3].joined()))
            case .head(let head):
                events.append("head \(head.status) \(head.fields.count) \(head.isChunked) \(head.contentLength ?? -1)")
                #expect(head.fields.firstText(.transferEncoding) == "chunked")
            case .trailer: events.append("trailer")
            }
        }
        #expect(
            events == [
                "status 103", "field", "interim 103 1", "status 200", "field", "field", "head 200 2 true -1", "trailer",
                "trailer",
            ])
        #expect(
            parser.takeTrailers()?.traced
                == [("X-T", "v"), ("X-U", "w")].map { TracedField(Array($0.0.utf8), Array($0.1.utf8)) })
        #expect(parser.takeTrailers() == nil)
    }

    @Test("has no trailers before the final head, nor where none came")
    func noTrailers() throws {
        var parser = ResponseHeadParser()
        #expect(parser.takeTrailers() == nil)
        _ = try feed(&parser, "HTTP/1.1 200 OK\r\n")
        _ = try feed(&parser, "Content-Length: 7\r\n")
        #expect(parser.takeTrailers() == nil)
        guard case .head(let head) = try feed(&parser, "\r\n") else {
            Issue.record("no head")
            return
        }
        #expect(head.contentLength == 7 && head.framing(for: .get) == .length(7))
        #expect(parser.takeTrailers() == nil)
    }

    @Test(
        "refuses lines that libcurl lets through, and keeps on refusing",
        arguments: [
            (["hello\r\n"], .invalidStatusLine), (["HTTP/1.1 200 OK\n"], .bareLineFeed),
            (["HTTP/1.1 200 OK"], .unexpectedEnd), ([""], .unexpectedEnd),
            (["HTTP/1.1 200 OK\r\n", "X : y\r\n"], .whitespaceBeforeColon),
            (["HTTP/1.1 200 OK\r\n", "X: a\rY: b\r\n"], .bareCarriageReturn),
            (["HTTP/1.1 200 OK\r\n", "X: a\0\r\n"], .invalidFieldValue),
            (["HTTP/1.1 200 OK\r\n", "X: a\n"], .bareLineFeed), (["HTTP/1.1 200 OK\r\n", "X: a"], .unexpectedEnd),
            (["HTTP/1.1 200 OK\r\n", "X: a\r\n", " b\r\n"], .obsoleteLineFolding),
            (["HTTP/1.1 200 OK\r\n", "\n"], .bareLineFeed), (["HTTP/1.1 200 OK\r\n", "\r\nmore"], .invalidFieldValue),
            (["HTTP/1.1 200 OK\r\n", "Content-Length: 5\r\n", "Content-Length: 6\r\n"], .repeatedContentLength),
            (
                ["HTTP/1.1 200 OK\r\n", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"],
                .contentLengthWithTransferEncoding
            ),
            (["HTTP/1.1 200 OK\r\n", "\r\n", "X : y\r\n"], .whitespaceBeforeColon),
            (["HTTP/1.1 200 OK\r\n", "\r\n", "X: y\r\n", "\r\n", "X: y\r\n"], .invalidFieldName),
        ] as [([String], HTTP1Error)])
    func refusals(_ lines: [String], _ error: HTTP1Error) throws {
        var parser = ResponseHeadParser()
        for line in lines.dropLast() { _ = try feed(&parser, line) }
        #expect(throws: error) { try feed(&parser, lines.last ?? "") }
        #expect(throws: error) { try feed(&parser, "HTTP/1.1 200 OK\r\n") }
    }

    @Test("takes trailers that frame nothing any more, which are not passed on")
    func framingInTrailers() throws {
        var parser = ResponseHeadParser()
        let lines = [
            "HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n", "\r\n", "Content-Length: 5\r\n",
            "Content-Length: x\r\n", "Transfer-Encoding: gzip\r\n", "Host: a b\r\n", "\r\n",
        ]
        for line in lines { _ = try feed(&parser, line) }
    }

    @Test("holds to its limits")
    func limits() throws {
        var parser = ResponseHeadParser(
            limits: MessageLimits(headerSectionBytes: 100, fieldCount: 2, trailerFieldCount: 1))
        _ = try feed(&parser, "HTTP/1.1 200 OK\r\n")
        _ = try feed(&parser, "A: b\r\n")
        _ = try feed(&parser, "A: b\r\n")
        var other = parser
        #expect(throws: HTTP1Error.tooManyFields) { try feed(&other, "A: b\r\n") }
        _ = try feed(&parser, "\r\n")
        _ = try feed(&parser, "A: b\r\n")
        #expect(throws: HTTP1Error.tooManyTrailerFields) { try feed(&parser, "A: b\r\n") }
        parser = ResponseHeadParser(limits: MessageLimits(headerSectionBytes: 100))
        _ = try feed(&parser, "HTTP/1.1 200 OK\r\n")
        #expect(throws: HTTP1Error.headerSectionTooLarge) {
            try feed(&parser, "A: \(String(repeating: "b", count: 100))\r\n")
        }
    }
}
