import HTTP1
import HTTP1Invariants
import HTTPSemantics
import NIOCore
import Testing

/// Parses `text` in one piece.
func parse(_ text: String, limits: MessageLimits = MessageLimits()) -> MessageTrace {
    requestTrace([ByteBuffer(string: text)], limits: limits)
}

/// Parses `bytes` whole, cut at each line's ends, and byte by byte; the three traces are expected to be one.
func parseInEachWay(_ bytes: [UInt8], limits: MessageLimits = MessageLimits()) -> MessageTrace {
    let whole = requestTrace([ByteBuffer(bytes: bytes)], limits: limits)
    let ends = bytes.indices.flatMap { bytes[$0] == 0x0d || bytes[$0] == 0x0a ? [$0, $0 + 1] : [] }
    #expect(requestTrace(pieces(bytes, cutAt: ends), limits: limits) == whole)
    #expect(requestTrace(pieces(bytes, cutAt: bytes.indices), limits: limits) == whole)
    return whole
}

@Suite("The request parser")
struct RequestParserTests {
    @Test("finds method, target, version and fields as received")
    func head() throws {
        let text =
            "GET http://a.test/p?q HTTP/1.1\r\nHost: a.test\r\nX-Tab:\tone two \t\r\nx-tab:\r\nX-L: caf\u{e9}\r\n\r\n"
        var parser = RequestParser()
        var buffer = ByteBuffer(string: text)
        parser.feed(&buffer)
        #expect(buffer.readableBytes == 0)
        guard case .head(let head, let framing)? = try parser.next() else {
            Issue.record("no head")
            return
        }
        #expect(head.method == .get && head.version == .http1_1 && framing == .none)
        #expect(head.targetBytes == Array("http://a.test/p?q".utf8))
        #expect(head.bytes.readerIndex == 0 && head.bytes.readableBytes == text.utf8.count)
        #expect(
            head.fields.traced
                == [("Host", "a.test"), ("X-Tab", "one two"), ("x-tab", ""), ("X-L", "caf\u{e9}")].map {
                    TracedField(Array($0.0.utf8), Array($0.1.utf8))
                })
        #expect(head.fields.contains(.host) && !head.fields.contains(.contentLength))
        guard case .end(nil)? = try parser.next() else {
            Issue.record("no end")
            return
        }
        #expect(try parser.next() == nil)
        #expect(parser.isBetweenMessages)
    }

    @Test("gives the head as a slice of what was received, without copying")
    func headIsSlice() throws {
        var buffer = ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
        let address = buffer.withUnsafeReadableBytes { Int(bitPattern: $0.baseAddress) }
        let headLength = buffer.readableBytes - 4
        var parser = RequestParser()
        parser.feed(&buffer)
        guard case .head(let head, .length(4))? = try parser.next(), case .body(let body)? = try parser.next() else {
            Issue.record("no head and body")
            return
        }
        #expect(head.bytes.withUnsafeReadableBytes { Int(bitPattern: $0.baseAddress) } == address)
        #expect(body.withUnsafeReadableBytes { Int(bitPattern: $0.baseAddress) } == address + headLength)
    }

    @Test("uses the storage of a recycled head's lines for the next one")
    func recycling() throws {
        var parser = RequestParser()
        var addresses: Set<Int> = []
        for _ in 0..<4 {
            var buffer = ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            parser.feed(&buffer)
            var held = try nextHead(&parser)
            while try parser.next() != nil {}
            let address = held?.fields.lines.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
            addresses.insert(try #require(address))
            if let head = held.take() { parser.recycle(head) }
        }
        #expect(addresses.count == 1)
    }

    private func nextHead(_ parser: inout RequestParser) throws -> RequestHead? {
        guard case .head(let head, _)? = try parser.next() else { return nil }
        return head
    }

    @Test("gives each framing's body, trailers and the next request", arguments: RequestCorpus.all)
    func corpus(_ bytes: [UInt8]) {
        let trace = parseInEachWay(bytes)
        #expect(trace.error == nil && trace.completeCount >= 1)
    }

    @Test("decodes a chunked body with extensions and trailers")
    func chunked() {
        let trace = parseInEachWay(RequestCorpus.all[7])
        #expect(trace.body == Array("hello0123456789".utf8))
        let trailers = [("X-T", "v"), ("X-U", "w")].map { TracedField(Array($0.0.utf8), Array($0.1.utf8)) }
        #expect(trace.steps.last == .end(trailers: trailers))
    }

    @Test("looks at a pipelined request only when it is asked")
    func pipelining() throws {
        var parser = RequestParser()
        var buffer = ByteBuffer(string: "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nbroken")
        parser.feed(&buffer)
        #expect(parser.headStarted)
        guard case .head? = try parser.next(), case .end? = try parser.next() else {
            Issue.record("no first request")
            return
        }
        #expect(parser.hasBufferedBytes && parser.headStarted && !parser.isBetweenMessages)
        buffer = ByteBuffer(string: "\0")
        parser.feed(&buffer)
        #expect(throws: HTTP1Error.invalidMethod) { try parser.next() }
    }

    @Test("keeps on failing with the same error, and takes no more bytes")
    func failure() {
        var parser = RequestParser()
        var buffer = ByteBuffer(string: "GET\0")
        parser.feed(&buffer)
        #expect(throws: HTTP1Error.invalidMethod) { try parser.next() }
        buffer = ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        parser.feed(&buffer)
        #expect(throws: HTTP1Error.invalidMethod) { try parser.next() }
        #expect(throws: HTTP1Error.invalidMethod) { try parser.end() }
        #expect(!parser.hasBufferedBytes && !parser.isBetweenMessages)
    }

    @Test("hands over what follows a head, for a tunnel")
    func remaining() throws {
        var parser = RequestParser()
        var buffer = ByteBuffer(string: "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n\u{16}\u{3}hello")
        #expect(try parser.next() == nil)
        parser.feed(&buffer)
        guard case .head(let head, .none)? = try parser.next() else {
            Issue.record("no head")
            return
        }
        #expect(head.method == .connect)
        #expect(parser.takeRemaining() == ByteBuffer(string: "\u{16}\u{3}hello"))
        #expect(try parser.next() == nil)
        buffer = ByteBuffer(string: "more")
        parser.feed(&buffer)
        #expect(try parser.next() == nil)
        #expect(parser.takeRemaining() == ByteBuffer(string: "more"))
    }

    @Test("takes the end of input after a switch of protocols for no fault, whatever next() returned before it")
    func endAfterSwitch() throws {
        var parser = RequestParser()
        var buffer = ByteBuffer(string: "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n")
        parser.feed(&buffer)
        while try parser.next() != nil {}
        #expect(parser.takeRemaining().readableBytes == 0)
        try parser.end()
        #expect(try parser.next() == nil)
    }

    @Test(
        "tells whether the input ended inside a message",
        arguments: [
            ("", false), ("\r\n", false), ("GET / HT", true), ("GET / HTTP/1.1\r\nHost: a\r\n", true),
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", false),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell", true),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", false),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", true),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false),
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\nG", true),
        ])
    func endOfInput(_ text: String, _ isInside: Bool) {
        #expect((parseInEachWay(Array(text.utf8)).error == .unexpectedEnd) == isInside)
    }

    @Test("still gives requests that came before the end of input")
    func endWithBufferedRequests() throws {
        var parser = RequestParser()
        var buffer = ByteBuffer(string: "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET")
        parser.feed(&buffer)
        try parser.end()
        for _ in 0..<4 { #expect(try parser.next() != nil) }
        #expect(throws: HTTP1Error.unexpectedEnd) { try parser.next() }
    }

    @Test("reads a long head that comes byte by byte in time that grows with its length alone")
    func slowArrival() {
        let text =
            "GET /\(String(repeating: "a", count: 30_000)) HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "b", count: 30_000))\r\n\r\n"
        let bytes = Array(text.utf8)
        #expect(requestTrace(pieces(bytes, cutAt: bytes.indices)).error == nil)
    }
}
