import Basics

/// Writes a URI in normal form (RFC 3986 §6.2.2 and §6.2.3), for those that are not in it already.
enum URINormaliser {
    struct Normalised {
        var bytes: [UInt8]
        var host: Range<Int>
        var pathStart: Int
        var pathEnd: Int
    }

    static func normalise(_ received: UnsafeRawBufferPointer, _ parts: URIParts) -> Normalised {
        var out: [UInt8] = []
        out.reserveCapacity(received.count &+ 8)
        for byte in received[0..<parts.schemeLength] { out.append(byte.asciiLowercased) }
        out.append(contentsOf: [0x3a, 0x2f, 0x2f])
        let hostStart = out.count
        if parts.scheme == .other {
            for byte in received[parts.host] { out.append(byte.asciiLowercased) }
        } else {
            out += IPAddressText.normalHost(UnsafeRawBufferPointer(rebasing: received[parts.host]))
        }
        let host = hostStart..<out.count
        if let port = parts.port, port != parts.scheme.defaultPort {
            out.append(0x3a)
            out.append(contentsOf: String(port).utf8)
        }
        let pathStart = out.count
        appendPath(received[parts.rawPath.lowerBound..<parts.queryStart], to: &out)
        let pathEnd = out.count
        appendPercentNormalised(received[parts.queryStart..<parts.rawPath.upperBound], to: &out)
        return Normalised(bytes: out, host: host, pathStart: pathStart, pathEnd: pathEnd)
    }

    /// Percent-encoding normalisation, then `remove_dot_segments` (RFC 3986 §5.2.4), in that order.
    ///
    /// `%2e` is a dot once decoded, so the other order would let `/%2e%2e/` through.
    private static func appendPath(_ raw: Slice<UnsafeRawBufferPointer>, to out: inout [UInt8]) {
        var path: [UInt8] = []
        path.reserveCapacity(raw.count &+ 1)
        appendPercentNormalised(raw, to: &path)
        if path.first != 0x2f { path.insert(0x2f, at: 0) }
        let start = out.count
        var index = 0
        while index < path.count {
            // `index` stands at a "/" and the segment ends before the next one.
            var end = index &+ 1
            while end < path.count, path[end] != 0x2f { end &+= 1 }
            let segment = path[(index &+ 1)..<end]
            let isLast = end == path.count
            if segment.elementsEqual([0x2e]) {
                if isLast { out.append(0x2f) }
            } else if segment.elementsEqual([0x2e, 0x2e]) {
                while out.count > start, out.last != 0x2f { out.removeLast() }
                if out.count > start { out.removeLast() }
                if isLast { out.append(0x2f) }
            } else {
                out.append(0x2f)
                out.append(contentsOf: segment)
            }
            index = end
        }
    }

    /// Decodes percent-encoded unreserved characters, makes hexadecimal digits capitals, and encodes bytes that a URI
    /// can't hold as they are (obs-text and backslashes, which some clients send raw). A `%` without two digits stays,
    /// and what would become its digits by being decoded is not decoded: `%%34%31` is not `%41`.
    static func appendPercentNormalised(_ raw: Slice<UnsafeRawBufferPointer>, to out: inout [UInt8]) {
        var index = raw.startIndex
        var strayReach = 0
        while index < raw.endIndex {
            let byte = raw[index]
            if byte == 0x25, index &+ 2 < raw.endIndex, let high = raw[index &+ 1].hexValue,
                let low = raw[index &+ 2].hexValue
            {
                let decoded = high << 4 | low
                let completesStray = out.count < strayReach && decoded.isMember(of: .hexDigit)
                if decoded.isMember(of: .unreserved), !completesStray {
                    out.append(decoded)
                } else {
                    appendEncoded(decoded, to: &out)
                }
                index &+= 3
                continue
            }
            if byte == 0x25 { strayReach = out.count &+ 3 }
            if byte >= 0x80 || byte == 0x5c { appendEncoded(byte, to: &out) } else { out.append(byte) }
            index &+= 1
        }
    }

    private static func appendEncoded(_ byte: UInt8, to out: inout [UInt8]) {
        let digits: StaticString = "0123456789ABCDEF"
        out.append(0x25)
        out.append(digits.utf8Start[Int(byte >> 4)])
        out.append(digits.utf8Start[Int(byte & 15)])
    }
}
