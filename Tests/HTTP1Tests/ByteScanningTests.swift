import HTTP1
import HTTPSemantics
import NIOCore
import Testing

/// Scans go by words of eight bytes; these tests put every byte at every place of a word, and at the end of the input.
@Suite("Scanning by words")
struct ByteScanningTests {
    private func error(_ before: String, _ filler: Int, _ byte: UInt8, _ after: String) -> HTTP1Error? {
        var buffer = ByteBuffer(string: before)
        buffer.writeRepeatingByte(UInt8(ascii: "a"), count: filler)
        buffer.writeInteger(byte)
        buffer.writeString(after)
        var parser = RequestParser()
        parser.feed(&buffer)
        do throws(HTTP1Error) {
            _ = try parser.next()
            return nil
        } catch {
            return error
        }
    }

    @Test("finds every byte that no field value may hold", arguments: 0..<17)
    func values(_ filler: Int) {
        for byte in UInt8.min...UInt8.max {
            for after in ["", "b", "bcdefghijklmnop\r\n\r\n"] where byte != 0x0d {
                let found = error("GET / HTTP/1.1\r\nHost: a\r\nX: a", filler, byte, after)
                #expect((found == nil) == byte.isMember(of: .fieldValue), "\(byte)")
            }
        }
    }

    @Test("finds every byte that no field name may hold", arguments: 0..<17)
    func names(_ filler: Int) {
        for byte in UInt8.min...UInt8.max where byte != 0x0d && byte != 0x3a {
            for after in ["", "b", "bcdefghijklmnop: b\r\n\r\n"] {
                let found = error("GET / HTTP/1.1\r\nHost: a\r\nX", filler, byte, after)
                #expect((found == nil) == byte.isMember(of: .token), "\(byte)")
            }
        }
    }

    @Test("finds every byte that no request target may hold", arguments: 0..<17)
    func targets(_ filler: Int) {
        for byte in UInt8.min...UInt8.max where byte != 0x20 {
            for after in ["", "b", "bcdefghijklmnop HTTP/1.1\r\nHost: a\r\n\r\n"] {
                let found = error("GET /", filler, byte, after)
                #expect((found == nil) == (byte > 0x20 && byte != 0x7f), "\(byte)")
            }
        }
    }

    @Test("finds every byte that no method may hold")
    func methods() {
        for byte in UInt8.min...UInt8.max where byte != 0x20 {
            #expect((error("M", 0, byte, "") == nil) == byte.isMember(of: .token), "\(byte)")
        }
    }
}
