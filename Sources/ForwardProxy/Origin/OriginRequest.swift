import Archives
import Basics
import Curl
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
    /// Host first.
    var lines: RequestLines
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
        lines.append("Accept-Encoding", list)
    }

    private static func lines(
        of request: Request, _ hopByHop: HopByHop, authority: String, _ identity: ProxyIdentity,
        _ preconditions: Preconditions
    ) -> RequestLines {
        let fields = request.head.fields
        var lines = RequestLines()
        lines.reserve(fields.bytes.readableBytes &+ authority.utf8.count &+ 128)
        lines.append("Host", authority)
        let isMeasured = request.head.method == .options || request.head.method == .trace
        fields.forEachLine { line, name, value in
            switch line.name {
            case .host: return
            case .transferEncoding where !request.hasBody || request.bodyLength != nil: return
            case .transferEncoding: break
            // Of a client of HTTP/1.0 it means nothing (RFC 9110 §10.1.1).
            case .expect where !request.hasBody || request.head.version < .http1_1: return
            case .ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .range, .ifRange:
                if preconditions.removes(line.name) { return }
            case .maxForwards where isMeasured:
                let isNumber = !value.isEmpty && value.allSatisfy { $0.isMember(of: .digit) }
                // One that is too large for a number is still a number.
                if let left = value.decimalValue ?? (isNumber ? Int.max : nil), left > 0 {
                    return lines.append("Max-Forwards", String(left &- 1))
                }
            default: if hopByHop.isConnectionLevel(line) { return }
            }
            lines.append(name: name, value: value)
        }
        if case .replaced(let ifNoneMatch, let ifModifiedSince, _) = preconditions {
            if let ifNoneMatch { lines.append("If-None-Match", ifNoneMatch) }
            if let ifModifiedSince { lines.append("If-Modified-Since", ifModifiedSince) }
        }
        if fields.contains(.te), fields.contains(token: "trailers", in: .te) {
            lines.append("TE", "trailers")
            lines.append("Connection", "TE")
        }
        lines.append("Via", Via.entry(request.head.version, pseudonym: identity.name.utf8))
        return lines
    }

    /// The head of an upgrade request, which is sent without libcurl's framing: it has no content.
    static func upgradeHead(_ request: Request, to uri: TargetURI, identity: ProxyIdentity) -> ByteBuffer {
        let origin = OriginRequest(request, to: uri, identity: identity)
        var out = ByteBuffer()
        out.writeBytes(origin.method)
        out.writeStaticString(" ")
        out.writeBytes(origin.pathAndQuery)
        out.writeStaticString(" HTTP/1.1\r\n")
        origin.lines.forEach { line in
            // TE is nominated by Connection, which names the upgrade alone here.
            guard !line.starts(with: "Connection:".utf8), !line.starts(with: "TE:".utf8) else { return }
            out.writeBytes(line)
            out.writeStaticString("\r\n")
        }
        MessageWriter.writeFields(of: request.head.fields, to: &out) { $0.name == .upgrade }
        out.writeStaticString("Connection: Upgrade\r\n\r\n")
        return out
    }
}
