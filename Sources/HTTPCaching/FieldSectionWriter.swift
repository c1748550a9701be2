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
        other.withName(line) { name in
            other.withValue(line) { value in write(line.name, name, value) }
        }
    }

    /// Appends a line of a recognised name, which is written as `spelling`.
    mutating func append(_ name: FieldName, spelling: StaticString, value: [UInt8]) {
        let spelling = UnsafeRawBufferPointer(start: spelling.utf8Start, count: spelling.utf8CodeUnitCount)
        value.withUnsafeBytes { write(name, spelling, $0) }
    }

    private mutating func write(
        _ recognised: FieldName, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) {
        let nameStart = bytes.readableBytes
        let valueOffset = name.count &+ 2
        let size = valueOffset &+ value.count &+ 2
        bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { out in
            out.copyMemory(from: name)
            out[name.count] = UInt8(ascii: ":")
            out[name.count &+ 1] = 0x20
            UnsafeMutableRawBufferPointer(rebasing: out[valueOffset...]).copyMemory(from: value)
            out[size &- 2] = 0x0d
            out[size &- 1] = 0x0a
            return size
        }
        lines.append(
            FieldSection.Line(
                nameStart: nameStart, nameLength: name.count, valueStart: nameStart &+ valueOffset,
                valueLength: value.count, name: recognised))
        present.insert(recognised)
    }
}
