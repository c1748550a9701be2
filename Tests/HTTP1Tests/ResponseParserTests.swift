import HTTP1
import HTTP1Invariants
import HTTPSemantics
import NIOCore
import Testing

@Suite("The response parser")
struct ResponseParserTests {
    /// Parses whole, cut at each line's ends, and byte by byte; the traces are expected to be one.
    private func parseInEachWay(_ text: String, to method: HTTPSemantics.Method = .get) -> MessageTrace {
        // Scalars below 256 stand for bytes.
        let bytes = text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        let whole = responseTrace([ByteBuffer(bytes: bytes)], to: method)
        let ends = bytes.indices.flatMap { bytes[$0] == 0x0d || bytes[$0] == 0x0a ? [$0, $0 + 1] : [] }
        #expect(responseTrace(pieces(bytes, cutAt: ends), to: method) == whole)
        #expect(responseTrace(pieces(bytes, cutAt: bytes.indices), to: method) == whole)
        return whole
    }

    @Test(
        "accepts or refuses a head",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", nil),
            ("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", nil),
            ("HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok", nil), ("HTTP/1.0 200 OK\r\n\r\nclose-delimited", nil),
            ("HTTP/1.1 999 Denied \t caf\u{e9}\r\n\r\n", nil), ("HTTP/1.2 200 OK\r\n\r\n", nil),
            ("HTTP/1.1 200 OK\r\nX-L: caf\u{e9}\r\nContent-Length: 0\r\n\r\n", nil),
            ("HTTP/1.1 200 OK\r\nHost: a\r\nHost: b/c\r\nContent-Length: 0\r\n\r\n", nil),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", nil),
            ("hello there, no HTTP\r\n", .invalidStatusLine), ("\r\nHTTP/1.1 200 OK\r\n\r\n", .invalidStatusLine),
            ("HTTP/1.1  200 OK\r\n\r\n", .invalidStatusLine), ("HTTP/1.1 2000 OK\r\n\r\n", .invalidStatusLine),
            ("HTTP/1.1 20 OK\r\n\r\n", .invalidStatusLine), ("HTTP/1.1 099 OK\r\n\r\n", .invalidStatusLine),
            ("HTTP/1.1 -20 OK\r\n\r\n", .invalidStatusLine), ("HTTP/1.1 200OK\r\n\r\n", .invalidStatusLine),
            ("HTTP/1.1\t200 OK\r\n\r\n", .invalidStatusLine), ("HTTP/1.10 200 OK\r\n\r\n", .invalidStatusLine),
            ("ICY 200 OK\r\n\r\n", .invalidStatusLine), ("http/1.1 200 OK\r\n\r\n", .invalidStatusLine),
            ("HTTP/2 200 OK\r\n\r\n", .unsupportedVersion), ("HTTP/1.1 200 O\0K\r\n\r\n", .invalidStatusLine),
            ("HTTP/1.1 200 OK\n\n", .bareLineFeed), ("HTTP/1.1 200\n\n", .bareLineFeed),
            ("HTTP/1.1 200 OK\rX\r\n\r\n", .bareCarriageReturn),
            ("HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: evil=1\r\n\r\n", .bareCarriageReturn),
            ("HTTP/1.1 200 OK\r\nX: a\0\r\n\r\n", .invalidFieldValue),
            ("HTTP/1.1 200 OK\r\nX : a\r\n\r\n", .whitespaceBeforeColon),
            ("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", .obsoleteLineFolding),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello", .invalidContentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", .repeatedContentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", .repeatedContentLength),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                .contentLengthWithTransferEncoding
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", .unsupportedTransferCoding),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
                .repeatedTransferEncoding
            ),
            ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .transferEncodingInHTTP10),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n", .invalidChunkSize),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nhello", .chunkTooLarge),
            ("", .unexpectedEnd), ("HTTP/1.1 200 OK\r\n", .unexpectedEnd),
            ("HTTP/1.1 100 Continue\r\n\r\n", .unexpectedEnd),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", .unexpectedEnd),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", .unexpectedEnd),
        ] as [(String, HTTP1Error?)])
    func heads(_ text: String, _ error: HTTP1Error?) {
        let trace = parseInEachWay(text)
        #expect(trace.error == error)
        #expect((trace.completeCount == 1) == (error == nil))
    }

    @Test(
        "finds the end of the body by method, status and fields",
        arguments: [
            (.get, "200", "Content-Length: 2", .length(2)), (.get, "200", "Transfer-Encoding: chunked", .chunked),
            (.get, "200", "X: y", .untilClose), (.head, "200", "Content-Length: 2", .none),
            (.head, "200", "Transfer-Encoding: chunked", .none), (.get, "204", "Content-Length: 5", .none),
            (.get, "304", "Content-Length: 5", .none), (.get, "101", "Upgrade: x", .none),
            (.connect, "200", "Content-Length: 2", .none), (.connect, "299", "Transfer-Encoding: chunked", .none),
            (.connect, "407", "Content-Length: 2", .length(2)), (.post, "500", "X: y", .untilClose),
        ] as [(HTTPSemantics.Method, String, String, BodyFraming)])
    func framing(_ method: HTTPSemantics.Method, _ status: String, _ field: String, _ framing: BodyFraming) {
        var parser = ResponseParser(respondingTo: method)
        var buffer = ByteBuffer(string: "HTTP/1.1 \(status) x\r\n\(field)\r\n\r\n")
        parser.feed(&buffer)
        guard case .head(let head, framing)? = try? parser.next() else {
            Issue.record("another head")
            return
        }
        #expect(head.status == Int(status))
        #expect(head.contentLength == (field.hasPrefix("Content-Length") ? Int(field.suffix(1)) : nil))
        #expect(head.isChunked == field.hasSuffix("chunked"))
    }

    @Test("leaves the bytes after the end, and expects another response only when told")
    func remaining() throws {
        var parser = ResponseParser(respondingTo: .head)
        var buffer = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nHTTP/1.1 204 No\r\n\r\npoison")
        parser.feed(&buffer)
        guard case .head? = try parser.next(), case .end? = try parser.next() else {
            Issue.record("no first response")
            return
        }
        #expect(try parser.next() == nil)
        #expect(parser.hasEnded && parser.hasBufferedBytes)
        parser.expectResponse(to: .get)
        guard case .head(let head, .none)? = try parser.next(), case .end? = try parser.next() else {
            Issue.record("no second response")
            return
        }
        #expect(head.status == 204)
        #expect(head.withReason { Array($0) } == Array("No".utf8))
        #expect(parser.takeRemaining() == ByteBuffer(string: "poison"))
    }

    @Test("gives interim heads before the final one, and the bytes of another protocol after a 101")
    func interim() throws {
        let trace = parseInEachWay("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 x\r\n\r\n")
        #expect(trace.steps.count == 3)
        var parser = ResponseParser(respondingTo: .get)
        var buffer = ByteBuffer(string: "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw")
        parser.feed(&buffer)
        guard case .head(let head, .none)? = try parser.next() else {
            Issue.record("no head")
            return
        }
        #expect(head.status == 101 && !head.isInterim)
        #expect(parser.takeRemaining() == ByteBuffer(string: "raw"))
    }
}
