import Basics
import HTTPSemantics

/// The identifiers of an archive's parts, by which `cid:` URLs name them (RFC 2392).
///
/// No browser asks a proxy for `cid:ID`. Where a part names another so, the URL of a segment `.cid-ID` stands in its
/// place, in the folder of the part that names it: whatever folder it is asked for in, the segment tells the part.
public struct ContentIDs: Sendable {
    private static let prefix = Array(".cid-".utf8)
    private var entries: [[UInt8]: Int] = [:]
    /// The most bytes of one; longer ones name nothing.
    static let limit = 1024
    /// The bytes of the longest one.
    private(set) var longest = 0

    init() {}

    public var isEmpty: Bool { entries.isEmpty }

    /// The first entry of an identifier counts.
    mutating func add(_ id: [UInt8], entry: Int) {
        guard !id.isEmpty, id.count <= ContentIDs.limit, entries[id] == nil else { return }
        entries[id] = entry
        longest = max(longest, id.count)
    }

    /// The entry that the last segment of a path names, such as `.cid-frame-1%40mhtml.blink`.
    ///
    /// - Returns: The index of the entry, from 0; nil where the segment is none of this kind, or no part has its
    ///   identifier.
    public func entry(segment: some Collection<UInt8>) -> Int? {
        guard !entries.isEmpty, segment.starts(with: ContentIDs.prefix) else { return nil }
        return entries[ContentIDs.decoded(segment.dropFirst(ContentIDs.prefix.count))]
    }

    /// The entry that a URL in the map's normal form names by its last segment, whatever its query.
    public func entry(url: some BidirectionalCollection<UInt8>) -> Int? {
        guard !entries.isEmpty else { return nil }
        let path = url.prefix { $0 != 0x3F }
        guard let slash = path.lastIndex(of: 0x2F) else { return nil }
        return entry(segment: path[slash...].dropFirst())
    }

    func entry(id: [UInt8]) -> Int? { entries[id] }

    /// An identifier of each of these entries; those that have none are left out.
    func identifiers(of wanted: Set<Int>) -> [Int: [UInt8]] {
        var found: [Int: [UInt8]] = [:]
        for (id, entry) in entries where wanted.contains(entry) {
            // Of two always the same one.
            if let other = found[entry], other.lexicographicallyPrecedes(id) { continue }
            found[entry] = id
        }
        return found
    }

    /// The identifier of a part that `cid:` names: as it is written, else decoded; nil where no part has it.
    func identifier(_ written: [UInt8]) -> [UInt8]? {
        if entries[written] != nil { return written }
        let decoded = ContentIDs.decoded(written)
        return entries[decoded] == nil ? nil : decoded
    }

    /// The segment that stands for an identifier: all but unreserved bytes are encoded (RFC 3986 §2.3).
    static func segment(_ id: [UInt8]) -> [UInt8] {
        var segment = prefix
        for byte in id {
            if byte.isMember(of: .unreserved) {
                segment.append(byte)
            } else {
                segment.append(0x25)
                for digit in [byte >> 4, byte & 15] { segment.append(digit < 10 ? 0x30 + digit : 0x37 + digit) }
            }
        }
        return segment
    }

    private static func decoded(_ text: some Sequence<UInt8>) -> [UInt8] {
        let text = Array(text)
        var out: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index] == 0x25, index + 2 < text.count, let high = text[index + 1].hexValue,
                let low = text[index + 2].hexValue
            {
                out.append(high << 4 | low)
                index += 3
            } else {
                out.append(text[index])
                index += 1
            }
        }
        return out
    }
}
