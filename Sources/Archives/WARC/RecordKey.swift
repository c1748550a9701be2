import Basics
import Crypto
import HTTPSemantics

/// What a record, or a payload, is found by: 128 bits of its identity, whatever its length.
struct RecordKey: Hashable {
    private let high: UInt64
    private let low: UInt64

    static let none = RecordKey(high: 0, low: 0)

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The first 128 bits of bytes that are as good as random.
    private init(_ bytes: some Sequence<UInt8>) {
        var words: (UInt64, UInt64) = (0, 0)
        for byte in bytes.prefix(8) { words.0 = words.0 << 8 | UInt64(byte) }
        for byte in bytes.dropFirst(8).prefix(8) { words.1 = words.1 << 8 | UInt64(byte) }
        self.init(high: words.0, low: words.1)
    }

    /// Of a record's identifier: a UUID is its own key, of another URI it is a hash.
    ///
    /// - Returns: nil for an empty one.
    init?(id: UnsafeRawBufferPointer) {
        var id = id
        if id.count > 1, id.first == UInt8(ascii: "<"), id.last == UInt8(ascii: ">") {
            id = id.rebased(1..<id.count - 1)
        }
        guard !id.isEmpty else { return nil }
        if let key = RecordKey(uuid: id) {
            self = key
        } else {
            self.init(SHA256.hash(data: id))
        }
    }

    private init?(uuid id: UnsafeRawBufferPointer) {
        guard id.count == 45, id.begins(with: "urn:uuid:") || id.rebased(0..<9).equalsIgnoringCase("urn:uuid:") else {
            return nil
        }
        // Digits in groups of 8, 4, 4, 4 and 12, as nearly all are written.
        @inline(__always)
        func word(_ offset: Int) -> UInt64 { id.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        @inline(__always)
        func half(_ offset: Int) -> UInt64 { UInt64(id.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
        let dash = UInt8(ascii: "-")
        if id[17] == dash, id[22] == dash, id[27] == dash, id[32] == dash {
            let first = RecordKey.number(hexadecimal: word(9))
            let second = RecordKey.number(hexadecimal: half(18) | half(23) << 32)
            let third = RecordKey.number(hexadecimal: half(28) | half(33) << 32)
            let fourth = RecordKey.number(hexadecimal: word(37))
            if first.areDigits & second.areDigits & third.areDigits & fourth.areDigits == RecordKey.tops {
                self.init(high: first.value << 32 | second.value, low: third.value << 32 | fourth.value)
                return
            }
        }
        let digits = id.rebased(9..<45).filter { $0 != dash }
        guard digits.count == 32 else { return nil }
        var words: [UInt64] = []
        for start in stride(from: 0, to: 32, by: 8) {
            let word = digits.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: UInt64.self) }
            let number = RecordKey.number(hexadecimal: word)
            guard number.areDigits == RecordKey.tops else { return nil }
            words.append(number.value)
        }
        self.init(high: words[0] << 32 | words[1], low: words[2] << 32 | words[3])
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    /// The highest bit of each of eight bytes.
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    /// The highest bit of each byte that is `least` or more; of bytes of ASCII.
    @inline(__always)
    private static func isFrom(_ bytes: UInt64, _ least: UInt64) -> UInt64 { bytes &+ ones &* (0x80 &- least) }

    /// The number that eight hexadecimal digits are, in the order of memory on a little-endian machine.
    ///
    /// - Returns: beside it the highest bit of each byte that is a digit; where one is none, the number means nothing.
    @inline(__always)
    private static func number(hexadecimal digits: UInt64) -> (value: UInt64, areDigits: UInt64) {
        // All digits at once, each in its byte: the highest bit tells.
        let small = digits | ones &* 0x20
        let isDecimal = isFrom(digits & ~tops, 0x30) & ~isFrom(digits & ~tops, 0x3A)
        let isLetter = isFrom(small & ~tops, 0x61) & ~isFrom(small & ~tops, 0x67)
        var number = ((digits & (ones &* 0x0F)) &+ ((isLetter & tops) &>> 7) &* 9).byteSwapped
        number = (number | number &>> 4) & 0x00FF_00FF_00FF_00FF
        number = (number | number &>> 8) & 0x0000_FFFF_0000_FFFF
        return ((number | number &>> 16) & 0xFFFF_FFFF, (isDecimal | isLetter) & ~digits & tops)
    }

    /// Of a payload by its digest, in whatever form it is written.
    ///
    /// - Returns: nil for an empty one.
    init?(digest: ArraySlice<UInt8>) {
        guard !digest.isEmpty else { return nil }
        if let key = digest.withUnsafeBytes({ RecordKey(sha1: $0) }) {
            self = key
        } else if let digest = RecordDigest(digest) {
            self.init(digest.value)
        } else {
            self.init(SHA256.hash(data: digest))
        }
    }
}

extension RecordKey {
    /// Of a digest as nearly all are written: `sha1:` and 32 letters of Base32. It takes no array.
    private init?(sha1 digest: UnsafeRawBufferPointer) {
        guard digest.count == 37, digest.begins(with: "sha1:") else { return nil }
        // 40 bits each.
        func word(_ offset: Int) -> UInt64 { digest.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        guard let first = RecordKey.number(base32: word(5)), let second = RecordKey.number(base32: word(13)),
            let third = RecordKey.number(base32: word(21)), let fourth = RecordKey.number(base32: word(29))
        else { return nil }
        self.init(high: first &<< 24 | second &>> 16, low: second &<< 48 | third &<< 8 | fourth &>> 32)
    }

    /// The number that eight digits of Base32 are, in any case, in the order of memory on a little-endian machine; nil
    /// where one is none.
    @inline(__always)
    private static func number(base32 digits: UInt64) -> UInt64? {
        // All digits at once, as for hexadecimal ones.
        let small = digits | ones &* 0x20
        let isDecimal = isFrom(digits & ~tops, 0x32) & ~isFrom(digits & ~tops, 0x38)
        let isLetter = isFrom(small & ~tops, 0x61) & ~isFrom(small & ~tops, 0x7B)
        guard digits & tops == 0, (isDecimal | isLetter) & tops == tops else { return nil }
        // Letters are 0 to 25, digits 26 to 31: 0x61 or 0x18 less. No byte borrows from another.
        let letters = ((isLetter & tops) &>> 7) &* 0xFF
        let less = (ones &* 0x61) & letters | (ones &* 0x18) & ~letters
        var number = ((small & letters | digits & ~letters) &- less).byteSwapped
        number = (number & 0x001F_001F_001F_001F) | (number & 0x1F00_1F00_1F00_1F00) &>> 3
        number = (number & 0x0000_03FF_0000_03FF) | (number & 0x03FF_0000_03FF_0000) &>> 6
        return (number & 0xF_FFFF) | (number &>> 32 & 0xF_FFFF) &<< 20
    }
}

/// A digest as WARC has it: `sha1:` and the value in Base32 or hexadecimal digits (WARC 1.1 §5.8).
struct RecordDigest: Equatable {
    enum Algorithm {
        case md5, sha1, sha256

        init?(_ name: UnsafeRawBufferPointer) {
            if name.equalsIgnoringCase("sha1") || name.equalsIgnoringCase("sha-1") {
                self = .sha1
            } else if name.equalsIgnoringCase("sha256") || name.equalsIgnoringCase("sha-256") {
                self = .sha256
            } else if name.equalsIgnoringCase("md5") {
                self = .md5
            } else {
                return nil
            }
        }

        var length: Int {
            switch self {
            case .md5: 16
            case .sha1: 20
            case .sha256: 32
            }
        }
    }

    let algorithm: Algorithm
    let value: [UInt8]

    /// - Returns: nil for an algorithm that is not known, and for a value that is none of it.
    init?(_ text: ArraySlice<UInt8>) {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")),
            let algorithm = text[..<colon].withUnsafeBytes({ Algorithm($0) })
        else { return nil }
        let digits = text[(colon + 1)...]
        guard
            let value = digits.count == algorithm.length * 2
                ? RecordDigest.hexadecimal(digits) : RecordDigest.base32(digits),
            value.count == algorithm.length
        else { return nil }
        self.algorithm = algorithm
        self.value = value
    }

    private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in digits {
            guard let value = digit.hexValue else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return bytes
    }

    /// RFC 4648 §6, in any case, with or without padding.
    private static func base32(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
        var isValid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: digits.count) { bytes, filled in
            digits.withUnsafeBytes { digits in
                var bits: UInt64 = 0
                var count = 0
                for digit in digits {
                    let letter = (digit | 0x20) &- 0x61
                    let number = digit &- 0x32
                    if letter >= 26, number >= 6 {
                        if digit == UInt8(ascii: "=") { continue }
                        isValid = false
                        return
                    }
                    bits = bits &<< 5 | UInt64(letter < 26 ? letter : number &+ 26)
                    count &+= 5
                    if count >= 8 {
                        count &-= 8
                        bytes[filled] = UInt8(truncatingIfNeeded: bits &>> UInt64(truncatingIfNeeded: count))
                        filled &+= 1
                    }
                }
            }
        }
        return isValid ? bytes : nil
    }
}
