import HTTP1
import HTTP1Invariants
import HTTPSemantics
import NIOCore
import ProxyTestKit
import Testing

/// What fuzzers run for hours, for a second, with the same messages each time.
@Suite("Mutated messages")
struct MutationTests {
    static let responses: [[UInt8]] = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 204\r\n\r\n",
        "HTTP/1.0 200 OK\r\nServer: x\r\n\r\nuntil close",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 10\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nraw",
    ].map { Array($0.utf8) }

    static let bodies: [[UInt8]] = [
        "0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n",
        "5;a=b;c=\"d\\\"e\"\r\nhello\r\n00a\r\n0123456789\r\n0\r\nX: y\r\nZ:\r\n\r\nnext",
    ].map { Array($0.utf8) }

    @Test(
        "are requests that are parsed alike however they are cut, and well formed where accepted",
        arguments: [1, 2, 3, 4])
    func requests(_ seed: UInt64) throws {
        var mutation = ByteMutation(corpus: RequestCorpus.all, seed: seed)
        for _ in 0..<400 {
            let bytes = mutation.next()
            try MessageInvariants.checkRequest(bytes)
            let cuts = mutation.cuts(of: bytes.count)
            #expect(
                requestTrace(pieces(bytes, cutAt: cuts)) == requestTrace([ByteBuffer(bytes: bytes)]), "\(bytes) \(cuts)"
            )
        }
    }

    @Test("are responses that are parsed alike by bytes, by lines, and however they are cut", arguments: [1, 2])
    func responses(_ seed: UInt64) throws {
        var mutation = ByteMutation(corpus: MutationTests.responses, seed: seed)
        for index in 0..<400 {
            let methods: [HTTPSemantics.Method] = [.get, .head, .connect]
            try MessageInvariants.checkResponse(mutation.next(), to: methods[index % methods.count])
        }
    }

    @Test("are chunked bodies that are decoded alike however they are cut", arguments: [1, 2])
    func chunkedBodies(_ seed: UInt64) throws {
        var mutation = ByteMutation(corpus: MutationTests.bodies, seed: seed)
        for _ in 0..<400 { try MessageInvariants.checkChunked(mutation.next()) }
    }

    @Test("of nothing but noise never trap")
    func noise() throws {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<300 {
            let count = Int.random(in: 0...200, using: &generator)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            try MessageInvariants.checkRequest(bytes)
            try MessageInvariants.checkResponse(bytes, to: .get)
            try MessageInvariants.checkChunked(bytes)
        }
    }
}
