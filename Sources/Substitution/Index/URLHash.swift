/// A hash of a URL, read eight bytes at a time, of which any prefix's hash is known on the way.
///
/// An exact rule is found by the hash of the whole URL, a folder rule by that of a prefix which ends in `/`, so one
/// reading of the URL serves all of them. The keys of a map are its owner's, and a client only chooses what is looked
/// up, so the hash needs no secret seed: it can't be made to find long chains. (The mixing is wyhash's.)
public struct URLHash {
    private static let factor: UInt64 = 0xA076_1D64_78BD_642F
    private static let finishFactor: UInt64 = 0xE703_7ED1_A0B4_28DB

    private(set) var state: UInt64 = 0x8EBC_6AF0_9C88_C6E3

    /// Takes the next eight bytes of the URL in.
    @inline(__always)
    mutating func absorb(_ word: UInt64) {
        state = URLHash.folded(state ^ word, URLHash.factor)
    }

    /// The hash of the bytes taken in and up to seven more.
    ///
    /// - Parameters:
    ///   - tail: The bytes that follow, in the order of memory on a little-endian machine, zeros above them.
    ///   - length: The length of the whole prefix, `tail` included.
    @inline(__always)
    func finished(tail: UInt64, length: Int) -> UInt64 {
        URLHash.folded(
            state ^ tail ^ UInt64(truncatingIfNeeded: length) &* URLHash.finishFactor, URLHash.finishFactor)
    }

    /// The hash of all of `bytes`.
    public static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash = URLHash()
        var index = 0
        while bytes.count &- index >= 8 {
            hash.absorb(word(bytes, index))
            index &+= 8
        }
        return hash.finished(tail: tail(bytes, from: index), length: bytes.count)
    }

    /// Two hashes made one, not symmetrically.
    @inline(__always)
    static func combined(_ first: UInt64, _ second: UInt64) -> UInt64 {
        folded(first ^ second &* factor, finishFactor)
    }

    @inline(__always)
    static func word(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    /// The bytes behind `index`, fewer than eight of them.
    @inline(__always)
    static func tail(_ bytes: UnsafeRawBufferPointer, from index: Int) -> UInt64 {
        let rest = bytes.count &- index
        guard rest > 0 else { return 0 }
        if bytes.count >= 8 {
            // The last eight bytes, of which those before `index` are shifted out.
            return word(bytes, bytes.count &- 8) &>> UInt64(truncatingIfNeeded: 64 &- rest &* 8)
        }
        var result: UInt64 = 0
        var position = bytes.count
        while position > index {
            position &-= 1
            result = result &<< 8 | UInt64(bytes[position])
        }
        return result
    }

    /// The upper half of the product made one with the lower.
    @inline(__always)
    private static func folded(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
