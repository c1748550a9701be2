import HTTPSemantics
import NIOCore

/// Builds a field section line by line, from lines of other sections and new ones, without reading names again.
struct FieldSectionWriter {
    private var bytes: ByteBuffer
    private var lines: ContiguousArray<FieldSection.Line> = []
    private var present = FieldNameSet()

    /// - Parameters:
    ///   - byteCount: How many bytes to expect.
    ///   - lineCount: How many lines to expect.
    init(byteCount: Int, lineCount: Int) {
        bytes = ByteBuffer()
        bytes.reserveCapacity(byteCount)
        lines.reserveCapacity(lineCount)
    }

    var section: FieldSection { FieldSection(bytes: bytes, lines: lines, present: present) }

    /// Appends a line of another section, byte for byte but for the whitespace around its colon.
    mutating func copy(_ line: FieldSection.Line, of other: FieldSection) {
        let nameStart = bytes.readableBytes
        other.withName(line) { _ = bytes.writeBytes($0) }
        write(line.name, nameStart: nameStart) { bytes in other.withValue(line) { _ = bytes.writeBytes($0) } }
    }

    /// Appends a line of a recognised name, which is written as `spelling`.
    mutating func append(_ name: FieldName, spelling: StaticString, value: [UInt8]) {
        let nameStart = bytes.readableBytes
        bytes.writeStaticString(spelling)
        write(name, nameStart: nameStart) { $0.writeBytes(value) }
    }

    private mutating func write(_ name: FieldName, nameStart: Int, _ value: (inout ByteBuffer) -> Void) {
        let nameLength = bytes.readableBytes &- nameStart
        bytes.writeStaticString(": ")
        let valueStart = bytes.readableBytes
        value(&bytes)
        let valueLength = bytes.readableBytes &- valueStart
        bytes.writeStaticString("\r\n")
        lines.append(
            FieldSection.Line(
                nameStart: nameStart, nameLength: nameLength, valueStart: valueStart, valueLength: valueLength,
                name: name))
        present.insert(name)
    }
}
