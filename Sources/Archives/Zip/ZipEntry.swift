/// What a zip's directory says of one file.
struct ZipEntry: Sendable, Equatable {
    enum Method: UInt16, Sendable {
        case stored = 0
        case deflate = 8
    }

    /// Of the entry's own header.
    var offset: Int
    /// Where what follows it begins: its data ends there at the latest.
    var limit: Int
    var storedSize: Int
    var size: Int
    var checksum: UInt32
    var method: Method
    /// Where its name is among the names.
    var name: Range<Int>
}

/// Reads little-endian numbers, as zips have them; 0 beyond the end.
struct LittleEndian {
    let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    func number(_ offset: Int, _ width: Int) -> UInt64 {
        guard offset >= 0, offset + width <= bytes.count else { return 0 }
        var number: UInt64 = 0
        for index in (0..<width).reversed() { number = number << 8 | UInt64(bytes[bytes.startIndex + offset + index]) }
        return number
    }

    func short(_ offset: Int) -> UInt16 { UInt16(truncatingIfNeeded: number(offset, 2)) }
    func word(_ offset: Int) -> UInt32 { UInt32(truncatingIfNeeded: number(offset, 4)) }
    func long(_ offset: Int) -> UInt64 { number(offset, 8) }
}
