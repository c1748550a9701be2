public import HTTPSemantics
public import NIOCore

/// Writes HTTP/1 messages into a buffer (RFC 9112).
///
/// Bytes that were received go through functions that check them; literals of the program are trusted. Nothing here
/// makes a String.
public enum MessageWriter {
    /// Writes `HTTP/1.1 status reason` with the registered reason phrase.
    public static func writeStatusLine(_ status: Int, to buffer: inout ByteBuffer) {
        buffer.writeStaticString("HTTP/1.1 ")
        writeDecimal(status, to: &buffer)
        buffer.writeStaticString(" ")
        buffer.writeStaticString(ReasonPhrase.of(status))
        buffer.writeStaticString("\r\n")
    }

    /// Writes a status line with the reason phrase of a response that is passed on.
    ///
    /// - Throws: ``HTTP1Error/invalidStatusLine`` where `reason` holds a control byte; then nothing is written.
    public static func writeStatusLine(
        _ status: Int, reason: UnsafeRawBufferPointer, to buffer: inout ByteBuffer
    ) throws(HTTP1Error) {
        guard reason.firstOutsideFieldValue(from: 0, to: reason.count) == reason.count else { throw .invalidStatusLine }
        buffer.writeStaticString("HTTP/1.1 ")
        writeDecimal(status, to: &buffer)
        buffer.writeStaticString(" ")
        buffer.writeBytes(reason)
        buffer.writeStaticString("\r\n")
    }

    /// Writes `method target HTTP/1.1`.
    ///
    /// - Throws: ``HTTP1Error/invalidMethod`` or ``HTTP1Error/invalidTarget`` where either could be read as more than
    ///   that; then nothing is written.
    public static func writeRequestLine(
        method: UnsafeRawBufferPointer, target: UnsafeRawBufferPointer, to buffer: inout ByteBuffer
    ) throws(HTTP1Error) {
        guard isToken(method) else { throw .invalidMethod }
        guard !target.isEmpty, target.firstOutsideTarget(from: 0, to: target.count) == target.count else {
            throw .invalidTarget
        }
        buffer.writeBytes(method)
        buffer.writeStaticString(" ")
        buffer.writeBytes(target)
        buffer.writeStaticString(" HTTP/1.1\r\n")
    }

    /// Writes a field line of literals, which are not checked.
    public static func writeField(_ name: StaticString, _ value: StaticString, to buffer: inout ByteBuffer) {
        buffer.writeStaticString(name)
        buffer.writeStaticString(": ")
        buffer.writeStaticString(value)
        buffer.writeStaticString("\r\n")
    }

    /// Writes a field line with a number.
    public static func writeField(_ name: StaticString, decimal value: Int, to buffer: inout ByteBuffer) {
        buffer.writeStaticString(name)
        buffer.writeStaticString(": ")
        writeDecimal(value, to: &buffer)
        buffer.writeStaticString("\r\n")
    }

    /// Writes a field line with a literal name and any value.
    ///
    /// - Throws: ``HTTP1Error/invalidFieldValue`` where the value holds a control byte but HTAB, so that no CR, LF or
    ///   NUL is ever written; then nothing is.
    public static func writeField(
        _ name: StaticString, value: some Collection<UInt8>, to buffer: inout ByteBuffer
    ) throws(HTTP1Error) {
        guard isFieldValue(value) else { throw .invalidFieldValue }
        buffer.writeStaticString(name)
        buffer.writeStaticString(": ")
        buffer.writeBytes(value)
        buffer.writeStaticString("\r\n")
    }

    /// Writes a field line with any name and value.
    ///
    /// - Throws: ``HTTP1Error/invalidFieldName`` or ``HTTP1Error/invalidFieldValue``; then nothing is written.
    public static func writeField(
        name: some Collection<UInt8>, value: some Collection<UInt8>, to buffer: inout ByteBuffer
    ) throws(HTTP1Error) {
        guard isToken(name) else { throw .invalidFieldName }
        guard isFieldValue(value) else { throw .invalidFieldValue }
        buffer.writeBytes(name)
        buffer.writeStaticString(": ")
        buffer.writeBytes(value)
        buffer.writeStaticString("\r\n")
    }

    /// Writes a field line with any name and value, whose bytes lie together.
    ///
    /// - Throws: ``HTTP1Error/invalidFieldName`` or ``HTTP1Error/invalidFieldValue``; then nothing is written.
    public static func writeField(
        bytes name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, to buffer: inout ByteBuffer
    ) throws(HTTP1Error) {
        guard isToken(name) else { throw .invalidFieldName }
        guard value.firstOutsideFieldValue(from: 0, to: value.count) == value.count else { throw .invalidFieldValue }
        writeLine(name, value, to: &buffer)
    }

    private static func writeLine(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, to buffer: inout ByteBuffer
    ) {
        let length = name.count &+ value.count &+ 4
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { target in
            target.copyMemory(from: name)
            target[name.count] = Byte.colon
            target[name.count &+ 1] = Byte.space
            UnsafeMutableRawBufferPointer(rebasing: target[(name.count &+ 2)...]).copyMemory(from: value)
            target[length &- 2] = Byte.carriageReturn
            target[length &- 1] = Byte.lineFeed
            return length
        }
    }

    /// Writes the empty line that ends a section.
    public static func writeEndOfSection(to buffer: inout ByteBuffer) { buffer.writeStaticString("\r\n") }

    /// Copies the field lines of `section` for which `isIncluded`, in their order, names and values as received.
    ///
    /// The section's lines were checked when it was parsed or built.
    public static func writeFields(
        of section: FieldSection, to buffer: inout ByteBuffer, where isIncluded: (FieldSection.Line) -> Bool
    ) {
        buffer.reserveCapacity(minimumWritableBytes: section.bytes.readableBytes)
        section.bytes.withUnsafeReadableBytes { bytes in
            for line in section.lines where isIncluded(line) {
                let name = bytes.rebased(line.nameRange.clamped(to: 0..<bytes.count))
                let value = bytes.rebased(line.valueRange.clamped(to: 0..<bytes.count))
                writeLine(name, value, to: &buffer)
            }
        }
    }

    /// Copies all field lines of `section`.
    public static func writeFields(of section: FieldSection, to buffer: inout ByteBuffer) {
        writeFields(of: section, to: &buffer) { _ in true }
    }

    private static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        // As bytes that lie together, which nearly all are, they need no call for each.
        bytes.withContiguousStorageIfAvailable { isToken(UnsafeRawBufferPointer($0)) }
            ?? (!bytes.isEmpty && bytes.allSatisfy(\.isTokenByte))
    }

    private static func isFieldValue(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.withContiguousStorageIfAvailable { bytes in
            UnsafeRawBufferPointer(bytes).firstOutsideFieldValue(from: 0, to: bytes.count) == bytes.count
        } ?? bytes.allSatisfy(\.isFieldValueByte)
    }

    private static func isToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy(\.isTokenByte)
    }
}
