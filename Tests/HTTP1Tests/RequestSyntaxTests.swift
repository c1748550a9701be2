import HTTP1
import HTTP1Invariants
import HTTPSemantics
import Testing

/// Bytes that begin a connection, and what they are: nil for a request that is right.
struct SyntaxCase: Sendable, CustomTestStringConvertible {
    let text: [UInt8]
    let error: HTTP1Error?

    init(_ text: String, _ error: HTTP1Error?) {
        // Scalars below 256 stand for bytes, so that obs-text can be written.
        self.text = text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        self.error = error
    }

    var testDescription: String { String(decoding: text.prefix(80), as: UTF8.self).debugDescription }

    static func line(_ line: String, _ error: HTTP1Error?) -> SyntaxCase {
        SyntaxCase("\(line)\r\nHost: 127.0.0.1:9001\r\n\r\n", error)
    }

    static func field(_ field: String, _ error: HTTP1Error?) -> SyntaxCase {
        SyntaxCase("GET http://127.0.0.1:9001/c HTTP/1.1\r\nHost: 127.0.0.1:9001\r\n\(field)\r\n\r\n", error)
    }

    static func host(_ value: String, _ error: HTTP1Error?) -> SyntaxCase {
        SyntaxCase("GET http://127.0.0.1:9001/c HTTP/1.1\r\nHost:\(value)\r\n\r\n", error)
    }

    static func framed(_ fields: String, _ error: HTTP1Error?, body: String = "hello") -> SyntaxCase {
        SyntaxCase("POST http://127.0.0.1:9001/c HTTP/1.1\r\nHost: 127.0.0.1:9001\r\n\(fields)\r\n\r\n\(body)", error)
    }

    static func chunks(_ body: String, _ error: HTTP1Error?) -> SyntaxCase {
        framed("Transfer-Encoding: chunked", error, body: body)
    }
}

@Suite("The syntax of requests")
struct RequestSyntaxTests {
    private func check(_ syntaxCase: SyntaxCase) {
        let trace = parseInEachWay(syntaxCase.text)
        #expect(trace.error == syntaxCase.error)
        if syntaxCase.error == nil { #expect(trace.completeCount >= 1) }
    }

    @Test(
        "of request lines",
        arguments: [
            SyntaxCase.line("GET http://127.0.0.1:9001/c HTTP/1.1", nil),
            .line("GET http://127.0.0.1:9001/c HTTP/1.0", nil),
            SyntaxCase("GET http://127.0.0.1:9001/c HTTP/1.0\r\n\r\n", nil),
            SyntaxCase("GET http://127.0.0.1:9001/c HTTP/1.1\r\n\r\n", .missingHost),
            .line("GET http://127.0.0.1:9001/c HTTP/1.2", nil),
            .line("GET http://127.0.0.1:9001/c HTTP/2.0", .unsupportedVersion),
            .line("GET http://127.0.0.1:9001/c HTTP/0.9", .unsupportedVersion),
            .line("GET http://127.0.0.1:9001/c HTTP/1.10", .invalidRequestLine),
            .line("GET http://127.0.0.1:9001/c HTTP/4294967297.1", .unsupportedVersion),
            .line("GET http://127.0.0.1:9001/c HTTP/1.", .invalidRequestLine),
            .line("GET http://127.0.0.1:9001/c http/1.1", .invalidRequestLine),
            .line("GET http://127.0.0.1:9001/c HTTP/+1.1", .invalidRequestLine),
            .line("GET http://127.0.0.1:9001/c", .invalidRequestLine),
            .line("GET", .invalidRequestLine), .line("GET ", .invalidRequestLine),
            .line(" GET http://127.0.0.1:9001/c HTTP/1.1", .invalidRequestLine),
            .line("\tGET http://127.0.0.1:9001/c HTTP/1.1", .invalidRequestLine),
            .line("GET\thttp://127.0.0.1:9001/c\tHTTP/1.1", .invalidRequestLine),
            .line("GET  http://127.0.0.1:9001/c HTTP/1.1", .invalidTarget),
            .line("GET http://127.0.0.1:9001/c  HTTP/1.1", .invalidRequestLine),
            .line("GET http://127.0.0.1:9001/c HTTP/1.1 ", .invalidRequestLine),
            .line("GET  HTTP/1.1", .invalidTarget),
            SyntaxCase("GET http://127.0.0.1:9001/c HTTP/1.1\nHost: a\n\n", .bareLineFeed),
            SyntaxCase("GET http://127.0.0.1:9001/c\nHost: a\n\n", .bareLineFeed),
            SyntaxCase("GET\n", .bareLineFeed), SyntaxCase("\nGET / HTTP/1.1\r\n", .bareLineFeed),
            .line("GET http://127.0.0.1:9001/c\rX HTTP/1.1", .invalidRequestLine),
            .line("GET http://127.0.0.1:9001/c HTTP/1.1\rX", .bareCarriageReturn),
            .line("GET http://127.0.0.1:9001/c\0 HTTP/1.1", .invalidTarget),
            .line("GET http://127.0.0.1:9001/\u{7f} HTTP/1.1", .invalidTarget),
            .line("GET http://127.0.0.1:9001/a\tb HTTP/1.1", .invalidTarget),
            .line("GET http://127.0.0.1:9001/c/\u{ff}\u{fe} HTTP/1.1", nil),
            .line("GET http://evil.invalid\\@127.0.0.1:9001/c HTTP/1.1", nil),
            .line("GET http://127.0.0.1:9001/a|b^c`d{e}\"f<g> HTTP/1.1", nil),
            .line("GET /a b HTTP/1.1", .invalidRequestLine),
            .line("CONNECT exa mple.invalid:443 HTTP/1.1", .invalidRequestLine),
            .line("G(T / HTTP/1.1", .invalidMethod), .line("G\u{e9}T / HTTP/1.1", .invalidMethod),
            .line("\u{16}\u{3}\u{1}", .tlsRecord), .line("G\u{16}", .invalidMethod), .line("PURGE / HTTP/1.1", nil),
            .line("get / HTTP/1.1", nil), .line("OPTIONS * HTTP/1.1", nil),
            SyntaxCase("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", nil),
            SyntaxCase("\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", .invalidRequestLine),
            SyntaxCase("\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", .bareCarriageReturn),
            SyntaxCase("\r\n GET / HTTP/1.1\r\nHost: a\r\n\r\n", .invalidRequestLine),
            SyntaxCase("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .unsupportedVersion),
        ] as [SyntaxCase])
    func requestLines(_ syntaxCase: SyntaxCase) { check(syntaxCase) }

    @Test(
        "of field lines",
        arguments: [
            SyntaxCase.field("X-A: b", nil), .field("X-A:b", nil), .field("X-A:\t b\t ", nil), .field("X-A:", nil),
            .field("X-A: caf\u{e9}", nil), .field("X-A: a\tb", nil), .field("!#$%&'*+-.^_`|~09Az: b", nil),
            .field("X-A\t: b", .whitespaceBeforeColon), .field("X-A : b", .whitespaceBeforeColon),
            .field("X-A: b\r\n c", .obsoleteLineFolding), .field("X-A: b\r\n\tc", .obsoleteLineFolding),
            .field(" X-A: b", .obsoleteLineFolding),
            SyntaxCase("GET / HTTP/1.1\r\n Host: a\r\nHost: a\r\n\r\n", .obsoleteLineFolding),
            .field("JustAName", .invalidFieldName), .field(": empty", .invalidFieldName),
            .field("X\u{b}A: b", .invalidFieldName), .field("X/A: b", .invalidFieldName),
            .field("X[A: b", .invalidFieldName), .field("X\u{7f}A: b", .invalidFieldName),
            .field("X\0A: b", .invalidFieldName), .field("X\u{e9}A: b", .invalidFieldName),
            .field("\"X\": b", .invalidFieldName), .field("X@Long-Enough-Name: b", .invalidFieldName),
            .field("X-A: a\rInjected: 1", .bareCarriageReturn), .field("X-A: a\nInjected: 1", .bareLineFeed),
            .field("X-A: a\0b", .invalidFieldValue), .field("X-A: a\u{1}\u{7f}b", .invalidFieldValue),
            .field("X-A: a\u{b}b", .invalidFieldValue), .field("X-A: a\u{1b}[2Jb and more", .invalidFieldValue),
            .field("Te\r\nst: v", .invalidFieldName), .field("Te\nst: v", .bareLineFeed),
            .field("X-A: b\r\nGET /smuggled HTTP/1.1", .whitespaceBeforeColon),
            SyntaxCase("GET / HTTP/1.1\r\nHost: a\r\n\n", .bareLineFeed),
            SyntaxCase(
                "GET / HTTP/1.1\r\nHost: a\r\n\rXGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n", .bareCarriageReturn),
            SyntaxCase("GET / HTTP/1.1\r\nHost: a\r\n\r\r\n", .bareCarriageReturn),
            .framed("Content-Length 5", .whitespaceBeforeColon),
        ] as [SyntaxCase])
    func fieldLines(_ syntaxCase: SyntaxCase) { check(syntaxCase) }

    @Test(
        "of Host",
        arguments: [
            SyntaxCase.host(" a.test", nil), .host(" A-b_c.test.", nil), .host(" a.test:", nil), .host(" a:0", nil),
            .host(" a:65535", nil), .host("", nil), .host(" ", nil), .host(" [::1]", nil), .host(" [::1]:443", nil),
            .host(" 127.0.0.1:9001/evil", .invalidHost), .host(" a:65536", .invalidHost),
            .host(" a:123456", .invalidHost),
            .host(" a:+1", .invalidHost), .host(" a:b", .invalidHost), .host(" a:1:2", .invalidHost),
            .host(" :80", .invalidHost), .host(" u@a", .invalidHost), .host(" a,b", .invalidHost),
            .host(" a b", .invalidHost), .host(" a%2eb", .invalidHost), .host(" [::1", .invalidHost),
            .host(" [::1]x", .invalidHost), .host(" [::1%25lo]", .invalidHost), .host(" []", .invalidHost),
            .host(" [127.0.0.1]", .invalidHost), .host(" http://a/", .invalidHost), .host(" *", .invalidHost),
            .host(" caf\u{e9}", .invalidHost),
            .field("Host: 127.0.0.1:9001", .repeatedHost), .field("hOST:", .repeatedHost),
            SyntaxCase("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", .repeatedHost),
        ] as [SyntaxCase])
    func host(_ syntaxCase: SyntaxCase) { check(syntaxCase) }

    @Test(
        "of Content-Length",
        arguments: [
            SyntaxCase.framed("Content-Length: 5", nil), .framed("Content-Length: 0005", nil),
            .framed("Content-Length:5\t", nil), .framed("Content-Length: 0", nil, body: ""),
            .framed("Content-Length: 010", nil, body: "hello678AB"),
            .framed("Content-Length: \(String(repeating: "0", count: 1000))5", nil), .framed("X: y", nil, body: ""),
            .framed("Content-Length: 5\r\nContent-Length: 5", .repeatedContentLength),
            .framed("Content-Length: 5\r\nContent-Length: 40", .repeatedContentLength),
            .framed("Content-Length: 0\r\ncontent-length: 35", .repeatedContentLength),
            .framed("Content-Length: ", .invalidContentLength), .framed("Content-Length: +5", .invalidContentLength),
            .framed("Content-Length: -5", .invalidContentLength), .framed("Content-Length: -0", .invalidContentLength),
            .framed("Content-Length: 0x5", .invalidContentLength),
            .framed("Content-Length: 5e0", .invalidContentLength),
            .framed("Content-Length: 5.0", .invalidContentLength), .framed("Content-Length: 5;", .invalidContentLength),
            .framed("Content-Length: 5 5", .invalidContentLength),
            .framed("Content-Length: 5, 5", .invalidContentLength),
            .framed("Content-Length: \u{b5}", .invalidContentLength),
            .framed("Content-Length: 5,", .invalidContentLength),
            .framed("Content-Length: ,5", .invalidContentLength),
            .framed("Content-Length: \"5\"", .invalidContentLength),
            .framed("Content-Length: \u{ef}\u{bc}\u{95}", .invalidContentLength),
            .framed("Content-Length: 9223372036854775807", .unexpectedEnd),
            .framed("Content-Length: 9223372036854775808", .invalidContentLength),
            .framed("Content-Length: 18446744073709551616", .invalidContentLength),
            .framed("Content-Length: 18446744073709551621", .invalidContentLength),
            .framed("Content-Length: 99999999999999999999999999999999", .invalidContentLength),
            .framed("Content-Length: 100", .unexpectedEnd, body: "short"),
        ] as [SyntaxCase])
    func contentLength(_ syntaxCase: SyntaxCase) { check(syntaxCase) }

    @Test(
        "of Transfer-Encoding",
        arguments: [
            ("chunked", nil), ("CHUNKED", nil), ("\tchunked \t", nil), ("xchunked", .unsupportedTransferCoding),
            ("chunkedx", .unsupportedTransferCoding), ("identity", .unsupportedTransferCoding),
            ("gzip", .unsupportedTransferCoding), ("gzip, chunked", .unsupportedTransferCoding),
            ("chunked, identity", .invalidTransferEncoding), ("chunked, chunked", .invalidTransferEncoding),
            ("identity\r\nTransfer-Encoding: chunked", .unsupportedTransferCoding),
            ("chunked\r\nTransfer-Encoding: chunked", .repeatedTransferEncoding),
            ("chunked\r\nTransfer-Encoding: identity", .repeatedTransferEncoding),
            ("\"chunked\"", .invalidTransferEncoding), ("chunked;q=1", .invalidTransferEncoding),
            ("chunked foo", .invalidTransferEncoding), ("\u{b}chunked", .invalidFieldValue),
            ("chun\u{e2}\u{84}\u{aa}ed", .invalidTransferEncoding), ("chunked\\", .invalidTransferEncoding),
            ("=?utf-8?q?chunked?=", .invalidTransferEncoding), (",chunked", .invalidTransferEncoding),
            ("chunked,", .invalidTransferEncoding), ("", .invalidTransferEncoding), ("\0chunked", .invalidFieldValue),
            ("\r\n chunked", .invalidTransferEncoding), ("chunked\r\n foo", .obsoleteLineFolding),
        ] as [(String, HTTP1Error?)])
    func transferEncoding(_ value: String, _ error: HTTP1Error?) {
        check(.framed("Transfer-Encoding: \(value)", error, body: "5\r\nhello\r\n0\r\n\r\n"))
    }

    @Test(
        "that would frame a message in two ways",
        arguments: [
            SyntaxCase.framed("Content-Length: 40\r\nTransfer-Encoding: chunked", .contentLengthWithTransferEncoding),
            .framed("Transfer-Encoding: chunked\r\nContent-Length: 40", .contentLengthWithTransferEncoding),
            .framed("Content-Length: 40\r\nTransfer-Encoding: xchunked", .contentLengthWithTransferEncoding),
            .framed("Content-Length: 0\r\nTransfer-Encoding: chunked", .contentLengthWithTransferEncoding),
            .framed("Transfer-Encoding: chunked\r\nContent-Length: x", .contentLengthWithTransferEncoding),
            .framed(" Transfer-Encoding: chunked\r\nContent-Length: 15", .obsoleteLineFolding),
            .framed("X: y\rTransfer-Encoding: chunked\r\nContent-Length: 5", .bareCarriageReturn),
            .framed("X: y\nTransfer-Encoding: chunked\r\nContent-Length: 5", .bareLineFeed),
            .framed("Content-Length: 5\r\n\0Transfer-Encoding: chunked", .invalidFieldName),
            .framed("Transfer-Encoding\0: chunked\r\nContent-Length: 5", .invalidFieldName),
            .framed("Transfer-Encoding : chunked\r\nContent-Length: 5", .whitespaceBeforeColon),
            SyntaxCase(
                "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .transferEncodingInHTTP10),
            SyntaxCase(
                "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nContent-Length: 5\r\n\r\nhello", .contentInConnect),
            SyntaxCase(
                "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                .contentInConnect),
            SyntaxCase("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nContent-Length: 0\r\n\r\n", nil),
            SyntaxCase("HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", nil),
        ] as [SyntaxCase])
    func ambiguousFraming(_ syntaxCase: SyntaxCase) { check(syntaxCase) }

    @Test(
        "of chunks",
        arguments: [
            SyntaxCase.chunks("5\r\nhello\r\n0\r\n\r\n", nil), .chunks("5\r\nhello\r\n00000\r\n\r\n", nil),
            .chunks("0000000000000000000000000005\r\nhello\r\n0\r\n\r\n", nil),
            .chunks("5;a\r\nhello\r\n0;b=c\r\n\r\n", nil),
            .chunks("5;a=\"b\\\"\tc\u{e9}\";d\r\nhello\r\n0\r\n\r\n", nil),
            .chunks("a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\nX-Trailer: v\r\n\r\n", nil),
            .chunks("5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n", .framingInTrailers),
            .chunks("5\r\nhello\r\n0\r\nHost: evil.invalid\r\n\r\n", .framingInTrailers),
            .chunks("5\r\nhello\r\n0\r\nX-T: a\r\ntransfer-encoding: chunked\r\n\r\n", .framingInTrailers),
            .chunks("5\r\nhello\r\n0\r\nContent-Type: text/plain\r\n\r\n", nil),
            .chunks("\r\nhello\r\n0\r\n\r\n", .invalidChunkSize),
            .chunks("-5\r\nhello\r\n0\r\n\r\n", .invalidChunkSize),
            .chunks("-0\r\nhello\r\n0\r\n\r\n", .invalidChunkSize),
            .chunks("+5\r\nhello\r\n0\r\n\r\n", .invalidChunkSize),
            .chunks("0x5\r\nhello\r\n0\r\n\r\n", .invalidChunkSize),
            .chunks("5 \r\nhello\r\n0\r\n\r\n", .invalidChunkSize),
            .chunks("5\t\r\nhello\r\n0\r\n\r\n", .invalidChunkSize), .chunks(" 5\r\nhello\r\n", .invalidChunkSize),
            .chunks("g\r\nhello\r\n0\r\n\r\n", .invalidChunkSize), .chunks("5,5\r\nhello\r\n", .invalidChunkSize),
            .chunks("5 5\r\nhello\r\n0\r\n\r\n", .invalidChunkSize), .chunks("5\u{b}\r\nhello\r\n", .invalidChunkSize),
            .chunks("\u{ef}\u{bc}\u{95}\r\nhello\r\n0\r\n\r\n", .invalidChunkSize),
            .chunks(";a\r\n", .invalidChunkSize),
            .chunks("100000005\r\nhello\r\n0\r\n\r\n", .unexpectedEnd),
            .chunks("7FFFFFFFFFFFFFFF\r\nhello", .unexpectedEnd), .chunks("8000000000000000\r\nhello", .chunkTooLarge),
            .chunks("FFFFFFFFFFFFFFFF\r\nhello", .chunkTooLarge), .chunks("FFFFFFFFFFFFFFFFF\r\nhello", .chunkTooLarge),
            .chunks("10000000000000005\r\nhello", .chunkTooLarge),
            .chunks("5\nhello\r\n0\r\n\r\n", .bareLineFeed), .chunks("5\r\nhello\n0\r\n\r\n", .invalidChunkEnd),
            .chunks("5\rhello\r\n0\r\n\r\n", .bareCarriageReturn), .chunks("5\r\nhello\rX0\r\n\r\n", .invalidChunkEnd),
            .chunks("5\r\nhelloXX\r\n0\r\n\r\n", .invalidChunkEnd), .chunks("5\r\nhell\r\n0\r\n\r\n", .invalidChunkEnd),
            .chunks("5;a\nhello\r\n0\r\n\r\n", .bareLineFeed), .chunks("5;a\rb\r\nhello\r\n", .bareCarriageReturn),
            .chunks("5;\r\nhello\r\n", .invalidChunkExtension), .chunks("5;a=\r\nhello\r\n", .invalidChunkExtension),
            .chunks("5; a\r\nhello\r\n", .invalidChunkExtension), .chunks("5 ;a\r\nhello\r\n", .invalidChunkSize),
            .chunks("5;a =b\r\nhello\r\n", .invalidChunkExtension),
            .chunks("5;a\0\r\nhello\r\n", .invalidChunkExtension),
            .chunks("5;a=\"b\r\nhello\r\n", .invalidChunkExtension),
            .chunks("5;a=\"b\nc\"\r\nhello\r\n", .bareLineFeed),
            .chunks("5;a=\"b\"c\r\nhello\r\n", .invalidChunkExtension),
            .chunks("5\r\nhel", .unexpectedEnd), .chunks("5\r\nhello\r\n0\r\n", .unexpectedEnd),
            .chunks("5\r\nhello\r\n0\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n", .whitespaceBeforeColon),
            .chunks("0\r\nX:POST /smuggled HTTP/1.1\r\nHost: x\r\n\r\n", .framingInTrailers),
            .chunks("0\r\nX : y\r\n\r\n", .whitespaceBeforeColon), .chunks("0\r\n X: y\r\n\r\n", .obsoleteLineFolding),
            .chunks("0\r\nX: y\0\r\n\r\n", .invalidFieldValue), .chunks("0\r\n\n", .bareLineFeed),
            .chunks("0\r\n\rX", .bareCarriageReturn), .chunks("5\r\nhello\r\n0\r\n\r\n\0", .invalidMethod),
        ] as [SyntaxCase])
    func chunks(_ syntaxCase: SyntaxCase) { check(syntaxCase) }

    @Test("never takes a body's bytes for a request")
    func bodyIsNoRequest() {
        let body = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
        for fields in [
            "Content-Length: \(body.utf8.count)", "Connection: Content-Length\r\nContent-Length: \(body.utf8.count)",
        ] {
            for method in ["GET", "POST", "HEAD", "OPTIONS"] {
                let trace = parseInEachWay(Array("\(method) / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n\(body)".utf8))
                #expect(trace.completeCount == 1 && trace.error == nil && trace.body == Array(body.utf8))
            }
        }
    }

    @Test("of every error has a status of its kind and a description of its own")
    func errors() {
        for error in HTTP1Error.allCases { #expect([400, 414, 431, 501, 505].contains(error.status)) }
        #expect(Set(HTTP1Error.allCases.map(\.description)).count == HTTP1Error.allCases.count)
        #expect(HTTP1Error.targetTooLong.status == 414 && HTTP1Error.tooManyFields.status == 431)
        #expect(HTTP1Error.unsupportedVersion.status == 505 && HTTP1Error.unsupportedTransferCoding.status == 501)
    }
}
