/// An entity tag as a view of a field's bytes (RFC 9110 §8.8.3).
public struct EntityTag {
    public let isWeak: Bool
    /// What stands between the quotes; a backslash is no escape there.
    public let opaqueTag: UnsafeRawBufferPointer

    /// Parses `"…"` or `W/"…"` with nothing around it; nil for anything else.
    ///
    /// Spaces between the quotes are let through, because origins make such tags and only equality matters.
    public init?(_ bytes: UnsafeRawBufferPointer) {
        var list = EntityTagList(bytes)
        guard !list.isAtEnd, let tag = list.tag(), list.isAtEnd else { return nil }
        self = tag
    }

    init(isWeak: Bool, opaqueTag: UnsafeRawBufferPointer) {
        self.isWeak = isWeak
        self.opaqueTag = opaqueTag
    }

    /// Strong comparison: both are strong and the same (RFC 9110 §8.8.3.2).
    public func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && matchesWeakly(other) }

    /// Weak comparison: the opaque tags are the same (RFC 9110 §8.8.3.2).
    public func matchesWeakly(_ other: EntityTag) -> Bool {
        opaqueTag.equals(other.opaqueTag)
    }
}

/// The well-formed entity tags of one If-Match or If-None-Match line; malformed elements are passed over.
///
/// One pass, whatever the bytes are; no allocation. The `*` that both fields allow is no tag: see ``isAny``.
public struct EntityTagList: Sequence, IteratorProtocol {
    private let bytes: UnsafeRawBufferPointer
    private var index = 0

    public init(_ value: UnsafeRawBufferPointer) { bytes = value }

    /// Whether the whole line is `*`.
    public var isAny: Bool { bytes.trimmingOptionalWhitespace.equals("*") }

    var isAtEnd: Bool { index >= bytes.count }

    public mutating func next() -> EntityTag? {
        while true {
            skip { $0 == 0x20 || $0 == 0x09 || $0 == UInt8(ascii: ",") }
            guard !isAtEnd else { return nil }
            if let tag = tag() {
                skip { $0 == 0x20 || $0 == 0x09 }
                if isAtEnd || bytes[index] == UInt8(ascii: ",") { return tag }
            }
            skip { $0 != UInt8(ascii: ",") }
        }
    }

    /// The tag that begins here; nil where none does.
    mutating func tag() -> EntityTag? {
        let isWeak = bytes[index] == UInt8(ascii: "W")
        if isWeak {
            guard index &+ 1 < bytes.count, bytes[index &+ 1] == UInt8(ascii: "/") else { return nil }
            index &+= 2
        }
        guard !isAtEnd, bytes[index] == 0x22 else { return nil }
        index &+= 1
        let start = index
        skip { $0 != 0x22 }
        guard !isAtEnd else { return nil }
        let opaqueTag = UnsafeRawBufferPointer(rebasing: bytes[start..<index])
        index &+= 1
        return EntityTag(isWeak: isWeak, opaqueTag: opaqueTag)
    }

    private mutating func skip(while predicate: (UInt8) -> Bool) {
        while index < bytes.count, predicate(bytes[index]) { index &+= 1 }
    }
}
