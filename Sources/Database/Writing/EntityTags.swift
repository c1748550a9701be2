/// The entity tags that If-Match or If-None-Match names (RFC 9110 §13.1.1), as whoever reads fields has found them.
public struct EntityTags: Sendable, Hashable {
    /// One of them.
    public struct Tag: Sendable, Hashable {
        public let isWeak: Bool
        /// With its quotes.
        public let quoted: [UInt8]

        public init(isWeak: Bool, quoted: [UInt8]) {
            self.isWeak = isWeak
            self.quoted = quoted
        }
    }

    /// Whether a line of the field is `*`, which is any tag.
    public var isAny = false
    /// Those that are well-formed.
    public var tags: [Tag] = []

    public init() {}

    /// Whether a tag is among them.
    ///
    /// - Parameters:
    ///   - tag: as the field ETag has it; empty for none.
    ///   - weakly: whether the comparison is the weak one (RFC 9110 §8.8.3.2).
    func contains(_ tag: [UInt8], weakly: Bool) -> Bool {
        if isAny { return true }
        let isWeak = tag.starts(with: "W/".utf8)
        let quoted = isWeak ? tag.dropFirst(2) : tag[...]
        return tags.contains { $0.quoted.elementsEqual(quoted) && (weakly || !isWeak && !$0.isWeak) }
    }
}
