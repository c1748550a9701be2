import HTTP1
import NIOCore

extension MessageWriter {
    /// Writes a field whose parts were checked when they came in: one that would break the section is left out.
    static func writeField(_ name: String, _ value: some Collection<UInt8>, to lines: inout ByteBuffer) {
        var name = name
        let written: Void? = name.withUTF8 { name in
            value.withContiguousStorageIfAvailable { value in
                _ = try? writeField(
                    bytes: UnsafeRawBufferPointer(name), value: UnsafeRawBufferPointer(value), to: &lines)
            }
        }
        if written == nil { try? writeField(name: name.utf8, value: value, to: &lines) }
    }
}

extension MessageWriter {
    /// Writes a status line with the reason phrase an origin sent; the standard one where that one can't be sent.
    static func writeStatusLine(_ status: Int, checkedReason reason: ByteBuffer, to out: inout ByteBuffer) {
        let isWritten: Void? = reason.withUnsafeReadableBytes { try? writeStatusLine(status, reason: $0, to: &out) }
        if isWritten == nil { writeStatusLine(status, to: &out) }
    }
}

extension ByteBuffer {
    /// Writes a decimal number that is not negative.
    mutating func writeDecimal(_ value: Int) { MessageWriter.writeDecimal(value, to: &self) }
}
