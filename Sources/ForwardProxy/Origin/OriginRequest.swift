import Archives
import Basics
import HTTP1
import HTTPSemantics
import NIOCore

/// A request as the origin gets it: the received field lines in their order and spelling, less those that belong to the
/// client's connection, with Host made from the target and this proxy added to Via (RFC 9112 §3.2.2, RFC 9110 §7.6).
struct OriginRequest {
    enum Body: Equatable {
        case none
        case length(Int)
        case chunked
    }

    var method: [UInt8]
    var isHTTPS: Bool
    /// IPv6 addresses with their brackets.
    var host: String
    var port: UInt16
    /// Path and query as received; `*` for the server itself.
    var pathAndQuery: [UInt8]
    /// Lines without CRLF, Host first.
    var lines: [[UInt8]]
    var body: Body
    var isHead: Bool
    /// Whether the request may be sent twice. Only such a request uses a kept connection: if the origin has closed it,
    /// libcurl sends the request again. A body that has been sent can't be sent again.
    var mayBeRepeated: Bool
    var expectsContinue: Bool

    /// What becomes of the client's preconditions.
    enum Preconditions {
        case asReceived
        /// A stored response's validators take the place of If-None-Match and If-Modified-Since (RFC 9111 §4.3.1).
        case replaced(ifNoneMatch: [UInt8]?, ifModifiedSince: [UInt8]?, keepsRange: Bool)
        /// None is sent, nor a Range: a whole response is wanted.
        case removed
        /// Neither If-None-Match nor If-Modified-Since is sent: a response with a body is wanted, and no 304.
        case unvalidated

        /// Whether a field of the client's is left out.
        fileprivate func removes(_ name: FieldName) -> Bool {
            switch (self, name) {
            case (.asReceived, _): false
            case (_, .ifNoneMatch), (_, .ifModifiedSince): true
            case (.replaced(_, _, let keepsRange), .range), (.replaced(_, _, let keepsRange), .ifRange): !keepsRange
            case (.removed, .range), (.removed, .ifRange), (.removed, .ifMatch), (.removed, .ifUnmodifiedSince): true
            default: false
            }
        }
    }

    /// - Parameter isRecorded: whether the response is written down: then it may have no content coding that can't be
    ///   decoded.
    init(
        _ request: Request, to uri: TargetURI, identity: ProxyIdentity, preconditions: Preconditions = .asReceived,
        isRecorded: Bool = false
    ) {
        let head = request.head
        method = head.methodBytes
        isHTTPS = uri.scheme == .https
        host = uri.host
        port = uri.port
        // RFC 9112 §3.2.4: the last proxy sends an OPTIONS without a path as `OPTIONS *`.
        let isForServer = head.method == .options && uri.isPathEmpty
        pathAndQuery = isForServer ? [UInt8(ascii: "*")] : Array(buffer: uri.rawPathAndQuery)
        isHead = head.method == .head
        mayBeRepeated = head.method.isIdempotent && !request.hasBody
        let hopByHop = HopByHop(head.fields)
        switch request.bodyLength {
        case 0?: body = .none
        case let length?: body = .length(length)
        case nil: body = .chunked
        }
        expectsContinue = body != .none && head.version >= .http1_1 && head.fields.contains(.expect)
        lines = OriginRequest.lines(of: request, hopByHop, authority: uri.authority, identity, preconditions)
        if isRecorded, head.fields.contains(.acceptEncoding) { removeUnknownCodings(head.fields) }
    }

    /// Leaves only content codings in Accept-Encoding that archives are decoded from.
    private mutating func removeUnknownCodings(_ fields: FieldSection) {
        var kept: [[UInt8]] = []
        var hasUnknown = false
        fields.forEach(.acceptEncoding) { value in
            for element in FieldListElements(value) {
                let name = element.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 && $0 != 0x09 }
                if ContentDecoder.canDecode([String(decoding: name, as: UTF8.self)]) {
                    kept.append(Array(element))
                } else {
                    hasUnknown = true
                }
            }
        }
        guard hasUnknown || kept.isEmpty else { return }
        lines.removeAll { line in
            let name = line.prefix { $0 != UInt8(ascii: ":") }
            return name.map(\.asciiLowercased).elementsEqual("accept-encoding".utf8)
        }
        let list = kept.isEmpty ? Array("identity".utf8) : Array(kept.joined(separator: Array(", ".utf8)))
        lines.append(Array("Accept-Encoding: ".utf8) + list)
    }

    private static func lines(
        of request: Request, _ hopByHop: HopByHop, authority: String, _ identity: ProxyIdentity,
        _ preconditions: Preconditions
    ) -> [[UInt8]] {
        let fields = request.head.fields
        var lines: [[UInt8]] = []
        lines.reserveCapacity(fields.count &+ 3)
        lines.append(Array("Host: \(authority)".utf8))
        let isMeasured = request.head.method == .options || request.head.method == .trace
        for line in fields.lines {
            switch line.name {
            case .host: continue
            case .transferEncoding where !request.hasBody || request.bodyLength != nil: continue
            case .transferEncoding: break
            // Of a client of HTTP/1.0 it means nothing (RFC 9110 §10.1.1).
            case .expect where !request.hasBody || request.head.version < .http1_1: continue
            case .ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .range, .ifRange:
                if preconditions.removes(line.name) { continue }
            case .maxForwards where isMeasured:
                if let left = fields.withValue(line, { $0.decimalValue }), left > 0 {
                    lines.append(Array("Max-Forwards: \(left &- 1)".utf8))
                    continue
                }
            default: if hopByHop.isConnectionLevel(line) { continue }
            }
            lines.append(raw(line, fields))
        }
        if case .replaced(let ifNoneMatch, let ifModifiedSince, _) = preconditions {
            if let ifNoneMatch { lines.append(Array("If-None-Match: ".utf8) + ifNoneMatch) }
            if let ifModifiedSince { lines.append(Array("If-Modified-Since: ".utf8) + ifModifiedSince) }
        }
        if fields.contains(.te), fields.contains(token: "trailers", in: .te) {
            lines.append(Array("TE: trailers".utf8))
            lines.append(Array("Connection: TE".utf8))
        }
        lines.append(Array("Via: ".utf8) + Via.entry(request.head.version, pseudonym: identity.name.utf8))
        return lines
    }

    /// `Name: value` in the bytes received.
    private static func raw(_ line: FieldSection.Line, _ fields: FieldSection) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(Int(line.nameLength) &+ 2 &+ Int(line.valueLength))
        fields.withName(line) { out.append(contentsOf: $0) }
        out.append(0x3a)
        out.append(0x20)
        fields.withValue(line) { out.append(contentsOf: $0) }
        return out
    }

    /// The head of an upgrade request, which is sent without libcurl's framing: it has no content.
    static func upgradeHead(_ request: Request, to uri: TargetURI, identity: ProxyIdentity) -> ByteBuffer {
        let origin = OriginRequest(request, to: uri, identity: identity)
        var out = ByteBuffer()
        out.writeBytes(origin.method)
        out.writeStaticString(" ")
        out.writeBytes(origin.pathAndQuery)
        out.writeStaticString(" HTTP/1.1\r\n")
        for line in origin.lines where !line.starts(with: Array("Connection:".utf8)) {
            out.writeBytes(line)
            out.writeStaticString("\r\n")
        }
        MessageWriter.writeFields(of: request.head.fields, to: &out) { $0.name == .upgrade }
        out.writeStaticString("Connection: Upgrade\r\n\r\n")
        return out
    }
}
