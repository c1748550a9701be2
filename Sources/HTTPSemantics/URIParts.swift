/// The parts of an absolute URI as offsets into the bytes received, and whether they are in normal form already.
///
/// One pass, no allocation: what a request in the form that clients usually send needs.
struct URIParts {
    var scheme: URIScheme
    var schemeLength: Int
    /// Host without user information, the root's dot and port.
    var host: Range<Int>
    /// The port given, if any.
    var port: UInt16?
    /// Path and query, without the fragment.
    var rawPath: Range<Int>
    /// Where `?` stands, or the end of `rawPath`.
    var queryStart: Int
    var isNormalised: Bool

    var rawPathStartsWithQuery: Bool { queryStart == rawPath.lowerBound }

    init(absolute bytes: UnsafeRawBufferPointer) throws(TargetError) {
        guard bytes.count > 0 else { throw .empty }
        guard bytes.count <= 1 << 20 else { throw .tooLong }
        isNormalised = true

        var index = 0
        if bytes.count > 8, let known = URIParts.knownScheme(bytes.loadUnaligned(as: UInt64.self)) {
            (scheme, schemeLength) = known
            index = schemeLength &+ 3
            // A host that is a plain name, with the path behind it, is what nearly all URLs have.
            let start = index
            while index < bytes.count, bytes[index].isMember(of: .lowerHost) { index &+= 1 }
            if index > start, index < bytes.count, bytes[index] == 0x2f, bytes[index &- 1] != UInt8(ascii: "."),
                bytes[start] &- 0x30 > 9
            {
                host = start..<index
                port = nil
            } else {
                index = start
                (host, port) = try URIParts.authority(bytes, &index, scheme, &isNormalised)
            }
        } else {
            (scheme, schemeLength) = try URIParts.scheme(bytes, &isNormalised)
            index = schemeLength &+ 3
            (host, port) = try URIParts.authority(bytes, &index, scheme, &isNormalised)
            if let given = port, given == URIParts.otherDefaultPort(bytes, schemeLength) {
                port = nil
                isNormalised = false
            }
        }

        let pathStart = index
        var queryStart: Int?
        var segmentStart = index
        scan: while index < bytes.count {
            let byte = bytes[index]
            // What nearly all of a URL is.
            if byte.isMember(of: .plainSegment) {
                index &+= 1
                continue
            }
            if !byte.isMember(of: .plainTarget) {
                switch byte {
                case 0x23: break scan
                case 0x5c, 0x25, 0x80...: isNormalised = false
                default: throw .invalidByte
                }
            }
            if queryStart == nil {
                if byte == 0x3f {
                    if URIParts.isDotSegment(bytes, segmentStart..<index) { isNormalised = false }
                    queryStart = index
                } else if byte == 0x2f {
                    if URIParts.isDotSegment(bytes, segmentStart..<index) { isNormalised = false }
                    segmentStart = index &+ 1
                }
            }
            index &+= 1
        }
        if queryStart == nil, URIParts.isDotSegment(bytes, segmentStart..<index) { isNormalised = false }
        if index == pathStart || queryStart == pathStart { isNormalised = false }
        rawPath = pathStart..<index
        self.queryStart = queryStart ?? index
    }

    /// `http` or `https` in lower case with `://` behind it, by the first eight bytes.
    @inline(__always)
    private static func knownScheme(_ word: UInt64) -> (URIScheme, Int)? {
        let word = UInt64(littleEndian: word)
        if word & 0x00ff_ffff_ffff_ffff == 0x002f_2f3a_7074_7468 { return (.http, 4) }
        if word == 0x2f2f_3a73_7074_7468 { return (.https, 5) }
        return nil
    }

    /// scheme = ALPHA *( ALPHA / DIGIT / "+" / "-" / "." ), with `://` behind it (RFC 3986 §3.1)
    private static func scheme(
        _ bytes: UnsafeRawBufferPointer, _ isNormalised: inout Bool
    ) throws(TargetError) -> (URIScheme, Int) {
        guard bytes[0].isMember(of: .alpha) else { throw .notAbsolute }
        var index = 0
        while index < bytes.count, bytes[index] != UInt8(ascii: ":") {
            let byte = bytes[index]
            guard byte.isMember(of: .alphanumeric) || byte == 0x2b || byte == 0x2d || byte == 0x2e else {
                throw .invalidScheme
            }
            if byte &- 0x41 < 26 { isNormalised = false }
            index &+= 1
        }
        guard index &+ 2 < bytes.count, bytes[index &+ 1] == 0x2f, bytes[index &+ 2] == 0x2f else { throw .notAbsolute }
        let name = UnsafeRawBufferPointer(rebasing: bytes[0..<index])
        if name.equalsIgnoringCase("http") { return (.http, index) }
        return (name.equalsIgnoringCase("https") ? .https : .other, index)
    }

    /// The port where none is given, for schemes besides http and https: those that the URL standard has ("special
    /// scheme").
    private static func otherDefaultPort(_ bytes: UnsafeRawBufferPointer, _ schemeLength: Int) -> UInt16? {
        let name = UnsafeRawBufferPointer(rebasing: bytes[0..<schemeLength])
        if name.equalsIgnoringCase("ftp") { return 21 }
        if name.equalsIgnoringCase("ws") { return 80 }
        return name.equalsIgnoringCase("wss") ? 443 : nil
    }

    /// Host and port of the authority that begins at `index`, which is left where it ends.
    private static func authority(
        _ bytes: UnsafeRawBufferPointer, _ index: inout Int, _ scheme: URIScheme, _ isNormalised: inout Bool
    ) throws(TargetError) -> (host: Range<Int>, port: UInt16?) {
        var hostStart = index
        var hasUserInformation = false
        while index < bytes.count {
            let byte = bytes[index]
            if byte == 0x2f || byte == 0x3f || byte == 0x23 { break }
            guard byte > 0x20, byte < 0x7f, byte != 0x5c else { throw .invalidByte }
            if byte == UInt8(ascii: "@") {
                // Parsers differ over which host is meant if there is a second "@".
                guard !hasUserInformation else { throw .invalidAuthority }
                hasUserInformation = true
                isNormalised = false
                hostStart = index &+ 1
            }
            index &+= 1
        }
        return try hostAndPort(bytes, hostStart..<index, scheme, &isNormalised)
    }

    private static func isDotSegment(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        switch range.count {
        case 1: bytes[range.lowerBound] == 0x2e
        case 2: bytes[range.lowerBound] == 0x2e && bytes[range.lowerBound &+ 1] == 0x2e
        default: false
        }
    }

    /// Splits `host [ ":" port ]` and validates both (RFC 3986 §3.2.2, §3.2.3).
    ///
    /// The root's dot behind a name does not belong to the host: `www.example.com.` is `www.example.com`, so that both
    /// find the same rules, stored responses and certificates. For the same reason an address has one form:
    /// ``IPAddressText``.
    static func hostAndPort(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ scheme: URIScheme, _ isNormalised: inout Bool
    ) throws(TargetError) -> (host: Range<Int>, port: UInt16?) {
        var hostEnd = range.lowerBound
        if hostEnd < range.upperBound, bytes[hostEnd] == UInt8(ascii: "[") {
            while hostEnd < range.upperBound, bytes[hostEnd] != UInt8(ascii: "]") {
                if bytes[hostEnd] &- 0x41 < 26 { isNormalised = false }
                hostEnd &+= 1
            }
            guard hostEnd < range.upperBound else { throw .invalidHost }
            hostEnd &+= 1
            let inner = range.lowerBound &+ 1..<hostEnd &- 1
            guard IPAddressText.isIPv6(UnsafeRawBufferPointer(rebasing: bytes[inner])) else { throw .invalidHost }
        } else {
            while hostEnd < range.upperBound, bytes[hostEnd] != UInt8(ascii: ":") {
                let byte = bytes[hostEnd]
                if !byte.isMember(of: .lowerHost) {
                    guard byte.isMember(of: .alpha) || (byte == UInt8(ascii: "*") && scheme == .other) else {
                        throw .invalidHost
                    }
                    isNormalised = false
                }
                hostEnd &+= 1
            }
        }
        var host = range.lowerBound..<hostEnd
        if !host.isEmpty, bytes[hostEnd &- 1] == UInt8(ascii: ".") {
            host = host.dropLast()
            guard !host.isEmpty, bytes[host.upperBound &- 1] != UInt8(ascii: ".") else { throw .invalidHost }
            isNormalised = false
        }
        guard !host.isEmpty || scheme == .other else { throw .invalidHost }
        // What stands before the path of other schemes is a name, whatever it looks like.
        if scheme != .other, !IPAddressText.isNormal(UnsafeRawBufferPointer(rebasing: bytes[host])) {
            isNormalised = false
        }
        guard hostEnd < range.upperBound else { return (host, nil) }
        guard bytes[hostEnd] == UInt8(ascii: ":") else { throw .invalidPort }
        let digits = UnsafeRawBufferPointer(rebasing: bytes[hostEnd &+ 1..<range.upperBound])
        if digits.isEmpty {
            isNormalised = false
            return (host, nil)
        }
        guard digits.count <= 5, let value = digits.decimalValue, (1...65535).contains(value) else {
            throw .invalidPort
        }
        let port = UInt16(truncatingIfNeeded: value)
        if port == scheme.defaultPort || digits[0] == 0x30 { isNormalised = false }
        return (host, port)
    }
}
