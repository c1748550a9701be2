import HTTPSemantics
import NIOCore
import NIOHPACK
import Testing

@testable import ForwardProxy

@Suite("Requests of HTTP/2 that are refused")
struct HTTP2StreamTests {
    /// A connection with one request, or the beginning of one.
    private static func connection(_ fields: [(String, String)], isWhole: Bool = true) throws -> [ByteBuffer] {
        var block = ByteBuffer()
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        try encoder.encode(headers: HPACKHeaders(fields), to: &block)
        var bytes = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        bytes.writeBytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
        bytes.writeBytes([0, 0, UInt8(block.readableBytes), 1, isWhole ? 5 : 4, 0, 0, 0, 1])
        bytes.writeBuffer(&block)
        return [bytes]
    }

    @Test("observers see a malformed one begin without a head, and end")
    func malformed() throws {
        let stage = try ConnectionStage()
        let bytes = try HTTP2StreamTests.connection([
            (":method", "GET"), (":scheme", "https"), (":path", "/odd"), (":authority", "h.test"), ("Upper", "case"),
        ])
        let output = try stage.run(bytes)
        // RST_STREAM with PROTOCOL_ERROR.
        #expect(output.suffix(13) == [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 1])
        let seen = stage.watch.all
        try #require(seen.count == 1)
        #expect(seen[0].request == nil && seen[0].method == "GET" && seen[0].url == "/odd")
        #expect(seen[0].calls == "e" && seen[0].record?.outcome == .refused && seen[0].record?.status == 0)
    }

    @Test("one that a database refuses at its beginning is answered where the rule has a delay")
    func delayed() throws {
        let stage = try ConnectionStage()
        _ = try stage.run(
            try HTTP2StreamTests.connection(
                [
                    (":method", "POST"), (":scheme", "https"), (":path", "/statement"), (":authority", "h.test"),
                    ("content-type", "application/json"), ("content-encoding", "x"),
                ], isWhole: false))
        let seen = stage.watch.all
        try #require(seen.count == 1)
        #expect(seen[0].status == 415 && seen[0].calls.hasSuffix("e"))
    }

    @Test("a 400 does not say that the connection is closed, since it isn't")
    func advice() throws {
        let stage = try ConnectionStage()
        _ = try stage.run(try HTTP2StreamTests.connection([(":method", "CONNECT"), (":authority", "h.test:443")]))
        let seen = stage.watch.all
        try #require(seen.count == 1)
        #expect(seen[0].status == 400)
        #expect(String(decoding: seen[0].body, as: UTF8.self).hasSuffix("to do:  Correct the request.\n"))
    }
}
