import HTTPSemantics
public import NIOCore

/// Writes header blocks: names by the static table where they are in it, nothing else compressed (RFC 7541 §6.2.2).
///
/// Without a dynamic table a block means the same on every connection, so that it can be kept ready.
public enum HPACKWriter {
    /// Says that the dynamic table is empty from here on, and takes no fields (RFC 7541 §6.3).
    public static let noTable: UInt8 = 0x20

    public static func writeStatus(_ status: Int, to block: inout ByteBuffer) {
        switch status {
        case 200: block.writeInteger(UInt8(0x88))
        case 204: block.writeInteger(UInt8(0x89))
        case 206: block.writeInteger(UInt8(0x8a))
        case 304: block.writeInteger(UInt8(0x8b))
        case 400: block.writeInteger(UInt8(0x8c))
        case 404: block.writeInteger(UInt8(0x8d))
        case 500: block.writeInteger(UInt8(0x8e))
        default:
            block.writeMultipleIntegers(UInt8(0x08), UInt8(0x03))
            for divisor in [100, 10, 1] {
                block.writeInteger(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: status / divisor % 10))
            }
        }
    }

    /// Writes field lines of HTTP/1, each with its CRLF: names in lower case, none that belong to a connection (RFC
    /// 9113 §8.2.2).
    public static func write(_ lines: ByteBuffer, to block: inout ByteBuffer) {
        lines.withUnsafeReadableBytes { bytes in
            var start = 0
            while start < bytes.count {
                let end = bytes[start...].firstIndex(of: 0x0a) ?? bytes.count
                write(line: UnsafeRawBufferPointer(rebasing: bytes[start..<end]), to: &block)
                start = end &+ 1
            }
        }
    }

    private static func write(line: UnsafeRawBufferPointer, to block: inout ByteBuffer) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return }
        let name = UnsafeRawBufferPointer(rebasing: line[..<colon])
        switch FieldName(name) {
        case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade: return
        default: break
        }
        var value = line[(colon &+ 1)...]
        while let first = value.first, first == 0x20 || first == 0x09 { value = value.dropFirst() }
        while let last = value.last, last == 0x20 || last == 0x09 || last == 0x0d { value = value.dropLast() }
        if let index = index(of: name) {
            write(integer: index, prefix: 4, to: &block)
        } else {
            block.writeInteger(UInt8(0))
            write(integer: name.count, prefix: 7, to: &block)
            block.writeBytes(name.lazy.map(\.asciiLowercased))
        }
        write(integer: value.count, prefix: 7, to: &block)
        block.writeBytes(UnsafeRawBufferPointer(rebasing: value))
    }

    /// Writes an integer whose first byte has zeros before it (RFC 7541 §5.1).
    private static func write(integer: Int, prefix: Int, to block: inout ByteBuffer) {
        let limit = 1 << prefix &- 1
        guard integer >= limit else { return _ = block.writeInteger(UInt8(truncatingIfNeeded: integer)) }
        block.writeInteger(UInt8(truncatingIfNeeded: limit))
        var rest = integer &- limit
        while rest >= 0x80 {
            block.writeInteger(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        block.writeInteger(UInt8(truncatingIfNeeded: rest))
    }

    /// The index of a name in the static table.
    private static func index(of name: UnsafeRawBufferPointer) -> Int? {
        guard name.count < indexesByLength.count else { return nil }
        for index in indexesByLength[name.count] {
            let entry = HPACKTable.fixed[index &- 1]
            let isSame = zip(name, entry.bytes).allSatisfy { $0.asciiLowercased == $1 }
            if isSame { return index }
        }
        return nil
    }

    private static let indexesByLength: [[Int]] = {
        let longest = HPACKTable.fixed.reduce(0) { max($0, $1.nameLength) }
        var indexes = [[Int]](repeating: [], count: longest + 1)
        for (position, entry) in HPACKTable.fixed.enumerated() where entry.bytes.first != UInt8(ascii: ":") {
            indexes[entry.nameLength].append(position + 1)
        }
        return indexes
    }()
}
