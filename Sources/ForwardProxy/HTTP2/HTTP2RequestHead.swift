import HTTPSemantics
import NIOCore
import NIOHPACK

/// Why a header section of HTTP/2 is no request: each is an error of the stream (RFC 9113 §8.1.1).
enum HTTP2RequestError: Error, Equatable {
    case malformed
    case tooManyFields
}

/// Turns the header section of an HTTP/2 request into the head that the rest works on.
///
/// What NIOHTTP2 has checked before: that the pseudo-fields are there once and first, that names are in lower case, that
/// no field of a connection is there, and that `te` is `trailers`.
enum HTTP2RequestHead {
    /// - Parameter hasContent: whether the stream goes on behind the header section.
    static func make(
        _ headers: HPACKHeaders, hasContent: Bool, limit: Int
    ) throws(HTTP2RequestError) -> RequestHead {
        guard headers.count <= limit &+ 4 else { throw .tooManyFields }
        guard let method = headers.first(name: ":method"), let path = headers.first(name: ":path"),
            headers.first(name: ":scheme") == "https", isToken(method.utf8), isPath(path.utf8, method: method)
        else { throw .malformed }
        let authority = headers.first(name: ":authority")
        var bytes = ByteBuffer()
        bytes.writeString(method)
        bytes.writeStaticString(" ")
        let targetStart = bytes.readableBytes
        bytes.writeString(path)
        let targetEnd = bytes.readableBytes
        bytes.writeStaticString(" HTTP/1.1\r\n")
        var section = FieldSection(bytes: bytes, lines: [])
        if let authority { try append("host", authority, to: &section) }
        var cookies: [String] = []
        for (name, value, _) in headers where name.utf8.first != UInt8(ascii: ":") {
            switch name {
            // RFC 9113 §8.3.1: they must not differ.
            case "host":
                guard authority == nil || authority == value else { throw .malformed }
                if authority == nil { try append(name, value, to: &section) }
            case "cookie": cookies.append(value)
            case "transfer-encoding", "connection", "upgrade", "keep-alive", "proxy-connection", "http2-settings":
                throw .malformed
            default: try append(name, value, to: &section)
            }
        }
        // RFC 9113 §8.2.3: joined again for what is not HTTP/2.
        if !cookies.isEmpty { try append("cookie", cookies.joined(separator: "; "), to: &section) }
        if hasContent, !section.contains(.contentLength) {
            try append("transfer-encoding", "chunked", to: &section)
        }
        return RequestHead(
            method: Array(method.utf8).withUnsafeBytes { Method($0) }, version: .http1_1,
            methodRange: 0..<method.utf8.count, targetRange: targetStart..<targetEnd, fields: section)
    }

    /// The fields of a trailer section.
    static func trailers(_ headers: HPACKHeaders, limit: Int) throws(HTTP2RequestError) -> FieldSection {
        guard headers.count <= limit else { throw .tooManyFields }
        var section = FieldSection()
        for (name, value, _) in headers { try append(name, value, to: &section) }
        return section
    }

    private static func append(
        _ name: String, _ value: String, to section: inout FieldSection
    ) throws(HTTP2RequestError) {
        let name = name.utf8
        let bytes = Array(value.utf8)
        guard isToken(name), bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else { throw .malformed }
        // RFC 9113 §8.2.1: no space at either end.
        guard bytes.first != 0x20, bytes.first != 0x09, bytes.last != 0x20, bytes.last != 0x09 else { throw .malformed }
        section.append(name: name, value: bytes)
    }

    private static func isToken(_ bytes: String.UTF8View) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { $0.isMember(of: .token) }
    }

    /// Whether the path is in origin-form, or `*` for OPTIONS.
    private static func isPath(_ bytes: String.UTF8View, method: String) -> Bool {
        if bytes.elementsEqual("*".utf8) { return method == "OPTIONS" }
        return bytes.first == UInt8(ascii: "/") && bytes.allSatisfy { $0 > 0x20 && $0 != 0x7f && $0 != 0x23 }
    }
}
