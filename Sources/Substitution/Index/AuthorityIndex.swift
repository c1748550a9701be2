/// The schemes, hosts and ports that rules name, each once.
struct AuthorityIndex: Sendable {
    /// `scheme://host:port` as a range of the arena.
    struct Entry: Sendable {
        var offset: UInt32
        var length: UInt32

        var range: Range<Int> { Int(offset)..<Int(offset) &+ Int(length) }
    }

    private var table = IndexTable()
    private(set) var entries: ContiguousArray<Entry> = []

    /// Adds what stands before the path of a URL in the arena.
    mutating func insert(_ url: Range<Int>, arena: UnsafeRawBufferPointer) {
        let bytes = UnsafeRawBufferPointer(rebasing: arena[url])
        // Rules of one host mostly follow each other.
        if let last = entries.last {
            let authority = UnsafeRawBufferPointer(rebasing: arena[last.range])
            if URLText.hasPrefix(bytes, authority), bytes.count > authority.count,
                bytes[authority.count] == UInt8(ascii: "/")
            {
                return
            }
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon + 3 <= bytes.count else { return }
        let end = bytes[(colon + 3)...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
        let authority = UnsafeRawBufferPointer(rebasing: bytes[0..<(end ?? bytes.count)])
        let hash = URLHash.of(authority)
        let known = table.first(hash) {
            URLText.equal(UnsafeRawBufferPointer(rebasing: arena[entries[Int($0)].range]), authority)
        }
        guard known == nil else { return }
        entries.append(
            Entry(
                offset: UInt32(truncatingIfNeeded: url.lowerBound),
                length: UInt32(truncatingIfNeeded: authority.count)))
        let all = entries
        table.insert(UInt32(truncatingIfNeeded: all.count - 1), hash: hash) {
            URLHash.of(UnsafeRawBufferPointer(rebasing: arena[all[Int($0)].range]))
        }
    }
}
