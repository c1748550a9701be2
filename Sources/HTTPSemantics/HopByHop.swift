import NIOCore

/// Which fields of a section are for this connection alone, and are not passed on (RFC 9110 §7.6.1).
///
/// Those are the connection fields themselves, the fields of proxy authentication, and what Connection nominates. A
/// nomination of a field that the message's meaning, framing or security depends on is ignored: it is how a client
/// would have a proxy remove what the origin relies on. Nothing is allocated unless Connection nominates a name that
/// ``FieldName`` doesn't recognise.
public struct HopByHop: Sendable {
    /// The options of Connection.
    public let options: ConnectionOptions
    private let names: FieldNameSet
    private let fields: FieldSection
    /// Where nominations of names that are not recognised ones stand in the section's bytes.
    private let nominations: [Range<Int>]

    /// Nominations of names not recognised that count; further ones, which no client sends, nominate nothing.
    private static let maximumNominations = 100

    /// Fields that concern one connection, or a proxy's own authentication, whether Connection names them or not.
    public static let connectionFields = FieldNameSet(
        .connection, .keepAlive, .proxyConnection, .te, .transferEncoding, .upgrade, .http2Settings,
        .proxyAuthenticate, .proxyAuthenticationInfo, .proxyAuthorization)

    /// Fields that are for all recipients, whatever Connection says.
    private static let endToEndFields = FieldNameSet(
        .host, .contentLength, .contentType, .contentEncoding, .contentRange, .contentLocation, .cacheControl, .pragma,
        .authorization, .cookie, .setCookie, .date, .expect, .via, .maxForwards, .age, .expires, .etag, .lastModified,
        .vary, .location, .retryAfter, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
        .origin, .accessControlAllowOrigin, .accessControlRequestHeaders, .accessControlRequestMethod,
        .accessControlRequestPrivateNetwork, .cacheStatus, .proxyStatus, .trailer)

    /// The options of Connection alone, which is all that most requests are asked for.
    @inline(__always)
    public static func options(of fields: borrowing FieldSection) -> ConnectionOptions {
        guard fields.contains(.connection) else { return [] }
        return HopByHop(copy fields).options
    }

    /// Whether Connection nominates a field that would be passed on otherwise.
    ///
    /// Allocates nothing where it names options alone, as in all that clients send.
    public static func nominatesFields(_ fields: FieldSection) -> Bool {
        guard fields.contains(.connection) else { return false }
        var isFound = false
        fields.forEach(.connection) { value in
            HopByHop.forEachToken(value) { range in
                let token = value.rebased(range)
                switch FieldName(token) {
                case .other: isFound = isFound || !HopByHop.isOption(token)
                case let name:
                    isFound =
                        isFound || !HopByHop.endToEndFields.contains(name) && !HopByHop.connectionFields.contains(name)
                }
            }
        }
        return isFound
    }

    public init(_ fields: FieldSection) {
        var options: ConnectionOptions = []
        var names = HopByHop.connectionFields
        var nominations: [Range<Int>] = []
        if fields.contains(.connection) {
            for line in fields.lines where line.name == .connection {
                fields.withValue(line) { value in
                    HopByHop.forEachToken(value) { range in
                        let token = value.rebased(range)
                        if let option = HopByHop.option(token) { options.insert(option) }
                        let name = FieldName(token)
                        if name != .other {
                            if !HopByHop.endToEndFields.contains(name) { names.insert(name) }
                        } else if !HopByHop.isOption(token), nominations.count < HopByHop.maximumNominations {
                            let start = line.valueRange.lowerBound
                            nominations.append(start &+ range.lowerBound..<start &+ range.upperBound)
                        }
                    }
                }
            }
        }
        self.options = options
        self.names = names
        self.fields = fields
        self.nominations = nominations
    }

    /// Whether this line of the section stays on this connection.
    public func isConnectionLevel(_ line: FieldSection.Line) -> Bool {
        if names.contains(line.name) { return true }
        guard line.name == .other, !nominations.isEmpty else { return false }
        return fields.bytes.withUnsafeReadableBytes { bytes in
            let name = bytes.rebased(line.nameRange.clamped(to: 0..<bytes.count))
            return nominations.contains { range in
                range.count == name.count
                    && zip(bytes.rebased(range.clamped(to: 0..<bytes.count)), name).allSatisfy {
                        $0.asciiLowercased == $1.asciiLowercased
                    }
            }
        }
    }

    /// Whether a field of this name stays on its connection where Connection nominates it.
    public static func mayNominate(_ token: UnsafeRawBufferPointer) -> Bool {
        switch FieldName(token) {
        case .other: !isOption(token)
        case let name: !endToEndFields.contains(name)
        }
    }

    private static func option(_ token: UnsafeRawBufferPointer) -> ConnectionOptions? {
        switch token.count {
        case 2 where token.equalsIgnoringCase("te"): .te
        case 5 where token.equalsIgnoringCase("close"): .close
        case 7 where token.equalsIgnoringCase("upgrade"): .upgrade
        case 10 where token.equalsIgnoringCase("keep-alive"): .keepAlive
        default: nil
        }
    }

    /// Whether `token` is an option that is no field name's nomination.
    private static func isOption(_ token: UnsafeRawBufferPointer) -> Bool { token.equalsIgnoringCase("close") }

    /// Calls `body` with the range of each list element that is a token; empty and malformed elements nominate nothing.
    private static func forEachToken(_ value: UnsafeRawBufferPointer, _ body: (Range<Int>) -> Void) {
        var start = 0
        while start < value.count {
            var end = start
            while end < value.count, value[end] != UInt8(ascii: ",") { end &+= 1 }
            var lower = start
            var upper = end
            while lower < upper, value[lower] == 0x20 || value[lower] == 0x09 { lower &+= 1 }
            while upper > lower, value[upper &- 1] == 0x20 || value[upper &- 1] == 0x09 { upper &-= 1 }
            if value.rebased(lower..<upper).isToken { body(lower..<upper) }
            start = end &+ 1
        }
    }
}
