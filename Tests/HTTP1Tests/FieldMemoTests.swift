import HTTP1
import HTTP1Invariants
import NIOCore
import Testing

/// A connection's parser remembers the fields of its last request: what it finds may not differ from what a parser
/// finds that has seen nothing.
@Suite("Requests behind others with the same fields")
struct FieldMemoTests {
    /// What parsers find that are each given one of the messages.
    private func separately(_ messages: [[UInt8]]) -> MessageTrace {
        var trace = MessageTrace()
        for message in messages {
            for step in requestTrace([ByteBuffer(bytes: message)]).steps { trace.append(step) }
        }
        return trace
    }

    @Test("are found as alone, whatever of them differs", arguments: RequestCorpus.all)
    func mutated(_ first: [UInt8]) {
        var mutation = ByteMutation(corpus: [first], seed: UInt64(first.count))
        for _ in 0..<200 {
            let messages = [first, first, first, mutation.next()]
            let bytes = messages.flatMap { $0 }
            let expected = separately(messages)
            #expect(requestTrace([ByteBuffer(bytes: bytes)]) == expected, "\(String(decoding: bytes, as: UTF8.self))")
            #expect(requestTrace(pieces(bytes, cutAt: mutation.cuts(of: bytes.count))) == expected)
        }
    }

    @Test("have their fields where they stand, behind a shorter or longer target")
    func displaced() {
        let fields = "Host: a.test\r\nX-A: one\r\nCookie: a=b; c=d\r\nX-B:\r\n\r\n"
        let lines = [
            "GET /a HTTP/1.1", "GET /a HTTP/1.1", "GET /a HTTP/1.1", "GET /abc/def HTTP/1.1", "GET / HTTP/1.1",
            "OPTIONS * HTTP/1.1", "GET /a HTTP/1.0", "HEAD /a HTTP/1.1",
        ]
        let messages = lines.map { Array("\($0)\r\n\(fields)".utf8) }
        let bytes = messages.flatMap { $0 }
        #expect(requestTrace([ByteBuffer(bytes: bytes)]) == separately(messages))
        #expect(requestTrace(pieces(bytes, cutAt: bytes.indices)) == separately(messages))
    }

    @Test("that begin with the same fields are found as alone")
    func beginnings() {
        let common = "Host: a.test\r\nAccept: */*\r\nX-A:  one \r\n"
        let ends = [
            "Cookie: a=b\r\n\r\n", "Cookie: a=c\r\n\r\n", "Cookie: a=c\r\nDNT: 1\r\n\r\n", "\r\n", "Cookie: a\r\n\r\n",
            "Content-Length: 0\r\n\r\n", "Content-Length: 0\r\nCookie: a=b\r\n\r\n", "Host: a.test\r\n\r\n",
        ]
        let messages = ends.map { Array("GET /a HTTP/1.1\r\n\(common)\($0)".utf8) }
        let bytes = messages.flatMap { $0 }
        #expect(requestTrace([ByteBuffer(bytes: bytes)]) == separately(messages))
        #expect(requestTrace(pieces(bytes, cutAt: bytes.indices)) == separately(messages))
        for end in [" folded\r\n\r\n", "Cookie : a\r\n\r\n", "\r\r\n", "Transfer-Encoding: chunked\r\n\r\n"] {
            let last = messages[0] + messages[1] + Array("GET /b HTTP/1.1\r\n\(common)\(end)".utf8)
            let parts = [messages[0], messages[1], Array("GET /b HTTP/1.1\r\n\(common)\(end)".utf8)]
            #expect(requestTrace([ByteBuffer(bytes: last)]) == separately(parts), "\(end)")
        }
    }

    @Test("keep what frames their bodies, and what a version forbids")
    func framing() {
        let chunked = "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        let messages = [
            "POST /a HTTP/1.1\r\n\(chunked)1\r\na\r\n0\r\n\r\n", "POST /b HTTP/1.1\r\n\(chunked)2\r\nbc\r\n0\r\n\r\n",
            "POST /c HTTP/1.1\r\n\(chunked)0\r\n\r\n", "POST /d HTTP/1.0\r\n\(chunked)0\r\n\r\n",
        ].map { Array($0.utf8) }
        let bytes = messages.flatMap { $0 }
        #expect(requestTrace([ByteBuffer(bytes: bytes)]) == separately(messages))
        #expect(requestTrace([ByteBuffer(bytes: bytes)]).error == .transferEncodingInHTTP10)
    }

    @Test("are held to the same limits")
    func limits() {
        var limits = MessageLimits()
        limits.headerSectionBytes = 40
        let short = Array("GET / HTTP/1.1\r\nHost: a\r\nX: 0123456789\r\n\r\n".utf8)
        let long = Array("GET / HTTP/1.1\r\nHost: a\r\nX: 0123456789\r\nY: 0123456789\r\n\r\n".utf8)
        let trace = requestTrace([ByteBuffer(bytes: short + short + short + long)], limits: limits)
        #expect(trace.completeCount == 3)
        #expect(trace.error == .headerSectionTooLarge)
    }
}
