/// The bytes that responses are stored by (RFC 9111 §2), with their hash computed once.
///
/// The hash is Swift's own, whose seed is another one in every process, so that nobody can prepare URLs which collide.
public struct StoreKey: Hashable, Sendable {
    public let bytes: [UInt8]
    /// All 64 bits of the hash: the shard, the counter of invalidations and the ghost are chosen by it too.
    public let fingerprint: UInt64

    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
        fingerprint = bytes.withUnsafeBytes { StoreKey.fingerprint(of: $0) }
    }

    /// The fingerprint that a key of these bytes has.
    public static func fingerprint(of bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(bytes: bytes)
        return UInt64(truncatingIfNeeded: hasher.finalize())
    }

    /// Whether the key consists of these bytes.
    public func consists(of other: UnsafeRawBufferPointer) -> Bool {
        bytes.withUnsafeBytes { StoreKey.areEqual($0, other) }
    }

    /// Bytes of memory that the key takes beside its own value.
    var memoryCost: Int { bytes.count + 32 }

    public static func == (one: StoreKey, other: StoreKey) -> Bool {
        one.fingerprint == other.fingerprint
            && one.bytes.withUnsafeBytes { one in other.bytes.withUnsafeBytes { areEqual(one, $0) } }
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }

    /// Compares eight bytes at a time: the arrays' own comparison, byte by byte, takes half of the time of a look-up.
    private static func areEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        guard one.count == other.count else { return false }
        var position = 0
        while one.count - position >= 8 {
            guard
                one.loadUnaligned(fromByteOffset: position, as: UInt64.self)
                    == other.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            else { return false }
            position += 8
        }
        return one[position...].elementsEqual(other[position...])
    }
}
