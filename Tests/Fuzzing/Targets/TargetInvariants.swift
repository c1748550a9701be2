import HTTP1Invariants
import HTTPCaching
import HTTPSemantics
import NIOCore

/// Properties of URIs as clients and origins send them.
enum TargetInvariants {
    static func check(_ bytes: [UInt8]) throws {
        try checkAuthority(bytes)
        try checkLocation(bytes)
        guard let uri = try? TargetURI(absolute: ByteBuffer(bytes: bytes)) else { return }
        try checkNormalForm(uri)
        try checkSame(uri, try parsed(Array(uri.bytes.readableBytesView)), "normalised again")
        let start = Array(uri.bytes.readableBytesView.prefix(uri.pathStart))
        let raw = Array(uri.rawPathAndQuery.readableBytesView)
        // What goes to the origin names what was looked up.
        let forwarded = try parsed(start + raw)
        try checkSame(uri, forwarded, "as forwarded")
        try require(CacheKey(forwarded) == CacheKey(uri), "another cache key as forwarded")
        let lookedUp = CacheKey.consists(ofBytesOf: uri) ? uri.withBytes { Array($0) } : nil
        try require(lookedUp == nil || lookedUp == start + raw, "cache keys differ")
        try checkSame(uri, try parsed(start + raw + Array("#fragment".utf8)), "with a fragment")
        let scheme = Array(start.prefix(uri.schemeLength + 3))
        let user = Array("user:password@".utf8)
        try checkSame(uri, try parsed(scheme + user + start.dropFirst(scheme.count) + raw), "with user information")
    }

    private static func parsed(_ bytes: [UInt8]) throws -> TargetURI {
        do throws(TargetError) {
            return try TargetURI(absolute: ByteBuffer(bytes: bytes))
        } catch {
            throw InvariantViolation("\(String(decoding: bytes, as: UTF8.self)): \(error)")
        }
    }

    private static func checkSame(_ one: TargetURI, _ other: TargetURI, _ what: String) throws {
        let isSame =
            one.bytes == other.bytes && one.scheme == other.scheme && one.schemeLength == other.schemeLength
            && one.hostRange == other.hostRange && one.port == other.port && one.pathStart == other.pathStart
            && one.pathEnd == other.pathEnd
        try require(isSame, "\(one.description), \(what): \(other.description)")
    }

    private static func checkNormalForm(_ uri: TargetURI) throws {
        let bytes = Array(uri.bytes.readableBytesView)
        try require(bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x5c && $0 != 0x23 }, "bytes \(bytes)")
        let start = bytes[..<uri.pathStart]
        try require(!start.contains { 0x41...0x5a ~= $0 } && !start.contains(0x40), "start \(uri.description)")
        try require(uri.hostRange.upperBound <= uri.pathStart && uri.pathStart < uri.pathEnd, "offsets")
        try require(uri.scheme == .other || (!uri.hostRange.isEmpty && uri.port > 0), "no host or port")
        let path = bytes[uri.pathStart..<uri.pathEnd]
        try require(path.first == 0x2f && !path.contains(0x3f), "path \(uri.description)")
        let segments = path.split(separator: 0x2f, omittingEmptySubsequences: false)
        let hasDots = segments.contains { $0.elementsEqual([0x2e]) || $0.elementsEqual([0x2e, 0x2e]) }
        try require(!hasDots, "dot segments in \(uri.description)")
        let raw = Array(uri.rawPathAndQuery.readableBytesView)
        try require(raw.first == 0x2f && raw.allSatisfy { $0 > 0x20 && $0 != 0x7f && $0 != 0x23 }, "raw \(raw)")
    }

    private static func checkAuthority(_ bytes: [UInt8]) throws {
        guard let authority = try? bytes.withUnsafeBytes({ try Authority($0) }) else { return }
        let again = try? Array(authority.description.utf8).withUnsafeBytes { try Authority($0) }
        try require(again == authority, "\(authority.description) again: \(String(describing: again))")
        let uri = try parsed(Array("http://\(authority.description)/".utf8))
        try require(uri.host == authority.host && uri.port == authority.port, "\(authority.description) in a URI")
    }

    /// A redirect never invalidates what another origin has (RFC 9111 §4.4).
    private static func checkLocation(_ bytes: [UInt8]) throws {
        let target = try parsed(Array("http://a.test:81/b/c?d".utf8))
        var fields = FieldSection()
        fields.append(name: "Location".utf8, value: bytes)
        for other in Invalidation.targets(method: .post, status: 201, target: target, fields: fields) {
            try checkNormalForm(other)
            try require(other.host == "a.test" && other.port == 81 && other.scheme == .http, other.description)
        }
    }
}
