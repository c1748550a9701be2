import NIOCore
import Testing

@testable import HTTP2

@Suite("SETTINGS of HTTP/2")
struct HTTP2SettingsTests {
    @Test(
        "A value that may not be is an error of the connection, and one that is unknown is passed over",
        arguments: [
            (0x2, 0, nil), (0x2, 1, nil), (0x2, 2, .connection(.protocolError)), (0x4, 0x7fff_ffff, nil),
            (0x4, 0x8000_0000, .connection(.flowControlError)), (0x5, 16_383, .connection(.protocolError)),
            (0x5, 16_384, nil), (0x5, 0xff_ffff, nil), (0x5, 0x100_0000, .connection(.protocolError)),
            (0x99, 0xffff_ffff, nil), (0x3, 0, nil),
        ] as [(UInt16, UInt32, HTTP2Violation?)])
    func value(name: UInt16, value: UInt32, wanted: HTTP2Violation?) {
        var payload = ByteBuffer()
        payload.writeMultipleIntegers(name, value)
        var settings = HTTP2Settings()
        var found: HTTP2Violation?
        do throws(HTTP2Violation) { try settings.apply(payload) } catch { found = error }
        #expect(found == wanted)
        if wanted == nil {
            #expect(settings.initialWindowSize == (name == 0x4 ? Int(value) : 65_535))
            #expect(settings.maxFrameSize == (name == 0x5 ? Int(value) : 16_384))
        }
    }

    @Test("A dynamic table that became smaller is to be acknowledged once, another one not at all")
    func table() throws {
        func table(_ sizes: UInt32...) -> ByteBuffer {
            var payload = ByteBuffer()
            for size in sizes { payload.writeMultipleIntegers(UInt16(0x1), size) }
            return payload
        }
        let cases: [(sizes: [UInt32], isSmaller: Bool)] = [
            ([4096], false), ([65_536], false), ([0], true), ([100], true), ([0, 4096], true),
        ]
        for (sizes, isSmaller) in cases {
            var settings = HTTP2Settings()
            for size in sizes { try settings.apply(table(size)) }
            #expect(settings.hasSmallerTable == isSmaller, "\(sizes)")
            settings.tellsTable()
            #expect(!settings.hasSmallerTable)
        }
        var settings = HTTP2Settings()
        try settings.apply(table(65_536))
        try settings.apply(table(4096, 1 << 20))
        #expect(settings.hasSmallerTable)
    }

    @Test("The last of several values counts, and a part of one is an error")
    func order() throws {
        var settings = HTTP2Settings()
        try settings.apply(ByteBuffer(bytes: [0, 4, 0, 0, 0, 1, 0, 4, 0, 0, 0, 2]))
        #expect(settings.initialWindowSize == 2)
        #expect(throws: HTTP2Violation.connection(.frameSizeError)) {
            try settings.apply(ByteBuffer(bytes: [0, 4, 0, 0, 0]))
        }
    }
}
