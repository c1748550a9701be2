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
    init?(id: ArraySlice<UInt8>) {
        var id = id
        if id.first == UInt8(ascii: "<"), id.last == UInt8(ascii: ">") { id = id.dropFirst().dropLast() }
        guard !id.isEmpty else { return nil }
        if let key = RecordKey(uuid: id) {
            self = key
        } else {
            self.init(SHA256.hash(data: id))
        }
    }

    private init?(uuid id: ArraySlice<UInt8>) {
        guard id.count == 45 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        var digits = 0
        let isUUID = id.withUnsafeBytes { id in
            guard id.rebased(0..<9).equalsIgnoringCase("urn:uuid:") else { return false }
            for byte in id.rebased(9..<45) where byte != UInt8(ascii: "-") {
                guard let value = byte.hexValue else { return false }
                if digits < 16 {
                    words.0 = words.0 << 4 | UInt64(value)
                } else {
                    words.1 = words.1 << 4 | UInt64(value)
                }
                digits &+= 1
            }
            return digits == 32
        }
        guard isUUID else { return nil }
        self.init(high: words.0, low: words.1)
    }

    /// Of a payload by its digest, in whatever form it is written.
    ///
    /// - Returns: nil for an empty one.
    init?(digest: ArraySlice<UInt8>) {
        guard !digest.isEmpty else { return nil }
        if let digest = RecordDigest(digest) {
            self.init(digest.value)
        } else {
            self.init(SHA256.hash(data: digest))
        }
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
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count)
        var bits: UInt16 = 0
        var count = 0
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): value = digit - UInt8(ascii: "2") + 26
            case UInt8(ascii: "="): continue
            default: return nil
            }
            bits = bits << 5 | UInt16(value)
            count += 5
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        return bytes
    }
}
