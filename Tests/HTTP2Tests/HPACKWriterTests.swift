import NIOCore
import NIOHPACK
import Testing

@testable import HTTP2

@Suite("Header blocks that are written")
struct HPACKWriterTests {
    @Test("What is written is read by another decoder: names in lower case, and no fields of a connection")
    func otherDecoder() throws {
        let long = String(repeating: "v", count: 20_000)
        var block = ByteBuffer()
        HPACKWriter.writeStatus(421, to: &block)
        HPACKWriter.write(
            ByteBuffer(
                string: """
                    Content-Type:  text/html \r\nX-Own: a: b\r\nConnection: close\r\nEmpty:\r\nTransfer-Encoding: chunked\r\n\
                    Keep-Alive: 5\r\nUpgrade: x\r\nProxy-Connection: x\r\nX-Long: \(long)\r\n
                    """), to: &block)
        var decoder = HPACKDecoder(
            allocator: ByteBufferAllocator(), maxDynamicTableSize: 4096, maxHeaderListSize: 1 << 20)
        let headers = try decoder.decodeHeaders(from: &block)
        #expect(
            headers.map { [$0.name, $0.value] } == [
                [":status", "421"], ["content-type", "text/html"], ["x-own", "a: b"], ["empty", ""], ["x-long", long],
            ])
    }
}
