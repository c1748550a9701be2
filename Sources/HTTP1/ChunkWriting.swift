public import HTTPSemantics
public import NIOCore

extension MessageWriter {
    /// Writes the line before a chunk's data; a chunk is never empty, because that ends the body (RFC 9112 §7.1).
    ///
    /// - Returns: False where `length` is 0 or negative; then nothing is written, and the tail must not be.
    @discardableResult
    public static func writeChunkHead(_ length: Int, to buffer: inout ByteBuffer) -> Bool {
        guard length > 0 else { return false }
        writeHexadecimal(length, to: &buffer)
        buffer.writeStaticString("\r\n")
        return true
    }

    /// Writes the line end after a chunk's data.
    public static func writeChunkTail(to buffer: inout ByteBuffer) { buffer.writeStaticString("\r\n") }

    /// Writes the last chunk and the end of the body.
    public static func writeLastChunk(to buffer: inout ByteBuffer) { buffer.writeStaticString("0\r\n\r\n") }

    /// Writes the last chunk, those trailer fields that may be passed on (``TrailerFilter``), and the end of the body.
    public static func writeLastChunk(trailers: FieldSection, to buffer: inout ByteBuffer) {
        buffer.writeStaticString("0\r\n")
        writeFields(of: trailers, to: &buffer) { !TrailerFilter.isForbidden($0, in: trailers) }
        buffer.writeStaticString("\r\n")
    }
}
