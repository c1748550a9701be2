import NIOCore
import Testing

@testable import HTTP2

@Suite("Frames of HTTP/2")
struct HTTP2FrameTests {
    @Test("A header is read as it was written, without the reserved bit, once all of it is there")
    func header() {
        let header = HTTP2FrameHeader(length: 0x01_0203, kind: .headers, flags: [.endHeaders], stream: 0x7fff_fffd)
        var bytes = ByteBuffer()
        header.write(to: &bytes)
        #expect(Array(buffer: bytes) == [1, 2, 3, 1, 4, 0x7f, 0xff, 0xff, 0xfd])
        #expect(HTTP2FrameHeader(bytes) == header)
        bytes.setInteger(UInt8(0xff), at: 5)
        #expect(HTTP2FrameHeader(bytes) == header)
        #expect(HTTP2FrameHeader(bytes.getSlice(at: 0, length: 8) ?? bytes) == nil)
    }

    @Test(
        "Padding is taken off, and has to be shorter than the frame",
        arguments: [
            ([0, 7, 8], [7, 8]), ([1, 7, 8], [7]), ([2, 7, 8], []), ([0], []), ([3, 7, 8], nil), ([], nil),
        ] as [([UInt8], [UInt8]?)])
    func padding(payload: [UInt8], content: [UInt8]?) {
        let header = HTTP2FrameHeader(length: payload.count, kind: .data, flags: .padded, stream: 1)
        let found = try? header.content(of: ByteBuffer(bytes: payload))
        #expect(found.map { Array(buffer: $0) } == content)
        let unpadded = HTTP2FrameHeader(length: payload.count, kind: .data, stream: 1)
        #expect((try? unpadded.content(of: ByteBuffer(bytes: payload))).map { Array(buffer: $0) } == payload)
    }
}
