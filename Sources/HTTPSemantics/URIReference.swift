import NIOCore

/// Resolves the references of Location and Content-Location (RFC 9110 §8.7, §10.2.2; RFC 3986 §5.2).
public enum URIReference {
    /// The URI that `reference` means in a response from `base`; nil where it is none that can be requested.
    ///
    /// Percent-encoding stays as it is, dot segments go, as they do in the request that a client would make.
    public static func resolve(_ reference: UnsafeRawBufferPointer, against base: TargetURI) -> TargetURI? {
        let reference = reference.trimmingOptionalWhitespace
        let end = reference.firstIndex(of: UInt8(ascii: "#")) ?? reference.count
        let text = UnsafeRawBufferPointer(rebasing: reference[0..<end])
        var out: [UInt8] = []
        out.reserveCapacity(base.bytes.readableBytes &+ text.count)
        base.withBytes { normalised in
            if let colon = schemeEnd(text) {
                append(absolute: text, authorityStart: colon &+ 1, to: &out)
            } else if text.starts(with: [0x2f, 0x2f]) {
                out.append(contentsOf: normalised.prefix(base.schemeLength &+ 1))
                append(absolute: text, authorityStart: 0, to: &out)
            } else {
                out.append(contentsOf: normalised.prefix(base.pathStart))
                base.rawPathAndQuery.withUnsafeReadableBytes { append(relative: text, base: $0, to: &out) }
            }
        }
        return try? TargetURI(absolute: ByteBuffer(bytes: out))
    }

    /// Where the colon behind a scheme stands, which comes before any `/`, `?` or `#`.
    static func schemeEnd(_ text: UnsafeRawBufferPointer) -> Int? {
        guard let first = text.first, first.isMember(of: .alpha) else { return nil }
        for (index, byte) in text.enumerated() {
            switch byte {
            case UInt8(ascii: ":"): return index
            case 0x2b, 0x2d, 0x2e: continue
            default: if !byte.isMember(of: .alphanumeric) { return nil }
            }
        }
        return nil
    }

    /// Appends `text`, whose authority's slashes begin at `authorityStart`, with the dot segments of its path removed.
    private static func append(absolute text: UnsafeRawBufferPointer, authorityStart: Int, to out: inout [UInt8]) {
        var pathStart = min(authorityStart &+ 2, text.count)
        while pathStart < text.count, text[pathStart] != 0x2f, text[pathStart] != 0x3f { pathStart &+= 1 }
        out.append(contentsOf: text[0..<pathStart])
        append(pathAndQuery: UnsafeRawBufferPointer(rebasing: text[pathStart...]), to: &out)
    }

    /// Appends path and query of a reference that has no authority, merged with those of the base (RFC 3986 §5.2.3).
    private static func append(
        relative text: UnsafeRawBufferPointer, base: UnsafeRawBufferPointer, to out: inout [UInt8]
    ) {
        let baseQuery = base.firstIndex(of: 0x3f) ?? base.count
        switch text.first {
        case 0x2f: append(pathAndQuery: text, to: &out)
        case 0x3f:
            out.append(contentsOf: base[0..<baseQuery])
            out.append(contentsOf: text)
        case nil: out.append(contentsOf: base)
        default:
            let directoryEnd = base[0..<baseQuery].lastIndex(of: 0x2f).map { $0 &+ 1 } ?? 0
            var merged = Array(base[0..<directoryEnd])
            merged.append(contentsOf: text)
            merged.withUnsafeBytes { append(pathAndQuery: $0, to: &out) }
        }
    }

    /// `remove_dot_segments` (RFC 3986 §5.2.4) on the path; the query as it is.
    private static func append(pathAndQuery text: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        let queryStart = text.firstIndex(of: 0x3f) ?? text.count
        let start = out.count
        var index = 0
        while index < queryStart {
            // `index` stands at a "/", and the segment ends before the next one.
            var end = index &+ 1
            var isDots = true
            while end < queryStart, text[end] != 0x2f {
                if text[end] != 0x2e { isDots = false }
                end &+= 1
            }
            let length = end &- index
            if isDots, length == 2 || length == 3 {
                if length == 3 {
                    while out.count > start, out.removeLast() != 0x2f {}
                }
                if end == queryStart { out.append(0x2f) }
            } else {
                out.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[index..<end]))
            }
            index = end
        }
        out.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[queryStart...]))
    }
}

extension URIReference {
    /// Whether a reference begins with a scheme (RFC 3986 §4.3).
    public static func isAbsolute(_ reference: UnsafeRawBufferPointer) -> Bool { schemeEnd(reference) != nil }
}
