/// Bytes that the grammar of HTTP/1 gives a meaning to (RFC 9112 §2).
enum Byte {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0a
    static let carriageReturn: UInt8 = 0x0d
    static let space: UInt8 = 0x20
    static let colon: UInt8 = 0x3a
}

extension UInt8 {
    /// Whether this byte is a `tchar` (RFC 9110 §5.6.2).
    ///
    /// Two 64-bit words hold the answer for the 128 ASCII bytes, so that a scan reads no table in memory.
    @inline(__always)
    var isTokenByte: Bool {
        let low: UInt64 = 0x03ff_6cfa_0000_0000
        let high: UInt64 = 0x57ff_ffff_c7ff_fffe
        let word = self & 0x40 == 0 ? low : high
        return self < 0x80 && (word &>> UInt64(self & 0x3f)) & 1 != 0
    }

    @inline(__always)
    var isOptionalWhitespace: Bool { self == Byte.space || self == Byte.tab }

    /// Whether this byte may stand in a field value: HTAB, SP, VCHAR, obs-text (RFC 9110 §5.5).
    @inline(__always)
    var isFieldValueByte: Bool { self == Byte.tab || (self >= 0x20 && self != 0x7f) }
}

extension UnsafeRawBufferPointer {
    /// The offset of the first byte in `start..<end` that no field value may hold, or `end`.
    ///
    /// `end` is at most `count`.
    @inline(__always)
    func firstOutsideFieldValue(from start: Int, to end: Int) -> Int {
        var index = start
        while true {
            index = firstBelow(0x20, from: index, to: end)
            guard index < end, self[index] == Byte.tab else { return index }
            index &+= 1
        }
    }

    /// The offset of the first byte in `start..<end` that no token may hold, or `end`.
    ///
    /// `end` is at most `count`.
    @inline(__always)
    func firstOutsideToken(from start: Int, to end: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs = ones &* 0x80
        var index = start
        while end &- index >= 8 {
            // Letters and hyphens are what names are made of: eight at a time, and whatever else stands there alone.
            let word = UInt64(littleEndian: loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let low = (word | ones &* 0x20) & ~highs
            let letters = (low &+ ones &* 0x1f) & ~(low &+ ones &* 0x05)
            let hyphens = ~((word ^ ones &* 0x2d) & ~highs &+ ones &* 0x7f)
            let others = (~(letters | hyphens) | word) & highs
            if others == 0 {
                index &+= 8
                continue
            }
            index &+= others.trailingZeroBitCount &>> 3
            guard self[index].isTokenByte else { return index }
            index &+= 1
        }
        while index < end, self[index].isTokenByte { index &+= 1 }
        return index
    }

    /// The offset of the first byte in `start..<end` that no request target may hold (controls, SP, DEL), or `end`.
    ///
    /// `end` is at most `count`.
    @inline(__always)
    func firstOutsideTarget(from start: Int, to end: Int) -> Int { firstBelow(0x21, from: start, to: end) }

    /// The offset of the first byte in `start..<end` that is below `bound` or DEL, or `end`; eight bytes at a time.
    @inline(__always)
    private func firstBelow(_ bound: UInt8, from start: Int, to end: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let bounds = ones &* UInt64(bound)
        var index = start
        while end &- index >= 8 {
            let word = UInt64(littleEndian: loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let below = (word &- bounds) & ~word
            let difference = word ^ (ones &* 0x7f)
            let delete = (difference &- ones) & ~difference
            // A borrow can only set bits above the first true one, so the lowest is exact.
            let hits = (below | delete) & (ones &* 0x80)
            if hits != 0 { return index &+ hits.trailingZeroBitCount &>> 3 }
            index &+= 8
        }
        while index < end {
            let byte = self[index]
            if byte < bound || byte == 0x7f { return index }
            index &+= 1
        }
        return end
    }
}
