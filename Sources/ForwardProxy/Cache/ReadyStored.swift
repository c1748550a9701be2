import HTTP1
import HTTPCaching
import HTTPSemantics
import NIOCore

/// A stored response, ready to send: the same bytes as a rule's answer, with the lines that its age changes.
///
/// Bound to its event loop. It holds the content only as long as the store does: see ``StoredTable/remove(_:)``.
final class ReadyStored {
    let entry: StoredEntry
    let representation: ReadyRepresentation
    /// Whether a request that asks for nothing in particular gets it for as long as it is fresh.
    let answersPlainRequests: Bool
    // Of the metadata, so that a hit copies none of it.
    let status: Int
    private let lifetime: Int64
    private let initialAge: Int64
    private let receivedAt: UInt64
    private let isForAll: Bool
    private let selection: SelectingFields

    /// Bytes of memory beside the content that the store holds.
    let cost: Int

    /// - Parameter isUnambiguous: whether no other response that is stored for the URL could suit a request that this
    ///   one suits.
    init(_ entry: StoredEntry, identity: ProxyIdentity, policy: CachePolicy, isUnambiguous: Bool) {
        self.entry = entry
        representation = ReadyStored.represent(entry, identity)
        let plain = CacheRequest(method: .get, fields: FieldSection(), hasContent: false)
        let metadata = entry.metadata
        status = metadata.status
        lifetime = metadata.lifetime.seconds
        initialAge = metadata.correctedInitialAge
        receivedAt = metadata.receivedAt.steady
        isForAll = metadata.selection.names.isEmpty
        selection = metadata.selection
        cost = 1024 &+ 6 &* metadata.fields.bytes.readableBytes
        answersPlainRequests =
            isUnambiguous && metadata.part == nil
            && Reuse.verdict(plain, metadata, at: metadata.receivedAt, policy: policy) == .fresh
    }

    var metadata: StoredResponse { entry.metadata }

    /// Whether it is what the store holds for a key of these bytes and this request.
    @inline(__always)
    func answers(_ key: UnsafeRawBufferPointer, _ request: FieldSection, _ version: HTTPVersion) -> Bool {
        entry.isCurrent && entry.key.consists(of: key)
            // What Connection nominates is not forwarded, so it selects nothing: for the rules to say.
            && (isForAll || !HopByHop.nominatesFields(request) && selection.matches(request, version))
    }

    /// The age in seconds where it is fresh; nil where it is stale (RFC 9111 §4.2).
    @inline(__always)
    func freshAge(at steady: UInt64) -> Int64? {
        let resident = steady > receivedAt ? Int64(clamping: (steady &- receivedAt) / 1_000_000_000) : 0
        let (age, overflow) = initialAge.addingReportingOverflow(resident)
        return overflow || age >= lifetime ? nil : age
    }

    /// Writes the full response to a client that takes it as it is.
    @inline(__always)
    func send(to client: any ExchangeClient, isHead: Bool, age: Int64) {
        representation.send(
            to: client, isHead: isHead, second: age, tail: StoredTail.hit(age: age, of: entry.metadata))
    }

    /// Tells observers what ``send(to:isHead:age:)`` sends.
    func tell(_ observed: ObservedExchange, isHead: Bool, age: Int64) {
        representation.tell(
            observed, isHead: isHead, isNotModified: false, tail: StoredTail.hit(age: age, of: entry.metadata))
    }

    private static func represent(_ entry: StoredEntry, _ identity: ProxyIdentity) -> ReadyRepresentation {
        let stored = entry.metadata
        let fields = stored.fields
        var made = RepresentationBuilder(
            status: stored.status,
            mediaType: fields.withFirst(.contentType) { Array($0) } ?? Array("application/octet-stream".utf8),
            size: entry.size, body: BodySegments(entry.segments), hasContent: stored.status != 204)
        made.reason = stored.reason
        made.etag = stored.etag
        made.lastModified = stored.lastModified
        made.add(fields) { role(of: $0, fields) }
        made.addCommon { $0.writeImmutableBuffer(identity.viaLine(stored.version)) }
        return ReadyRepresentation(made)
    }

    /// Fields that describe the content are not in a 304 (RFC 9110 §15.4.5).
    private static func role(of line: FieldSection.Line, _ fields: FieldSection) -> RepresentationBuilder.Role {
        switch line.name {
        case .contentType: .type
        case .contentEncoding: .content
        // That of a 200, which means nothing there: a part has its own.
        case .contentRange: .digest
        case .other:
            fields.withName(line) { name in
                if RepresentationBuilder.isDigest(name) { return .digest }
                return name.equalsIgnoringCase("content-language") ? .content : .common
            }
        default: .common
        }
    }
}

/// The fields of a response from the store that are not stored with it.
enum StoredTail {
    /// Age and Cache-Status of a hit: `subproxy; hit; ttl=376`.
    static func hit(age: Int64, of stored: StoredResponse, detail: String = "") -> ByteBuffer {
        var lines = ByteBuffer()
        lines.writeStaticString("Age: ")
        lines.writeDecimal(Int(clamping: age))
        lines.writeStaticString("\r\nCache-Status: subproxy; hit; ttl=")
        let ttl = stored.lifetime.seconds.subtractingReportingOverflow(age).partialValue
        if ttl < 0 { lines.writeStaticString("-") }
        lines.writeDecimal(Int(clamping: ttl.magnitude))
        StatusFields.writeParameters(detail: detail, key: key(of: stored), to: &lines)
        return lines
    }

    /// Cache-Status of a stored response that the origin has said is valid still (RFC 9211 §2.2, §2.3).
    ///
    /// - Parameter extra: field lines of the 304 that only this client gets.
    static func validated(_ stored: StoredResponse, extra: ByteBuffer) -> ByteBuffer {
        var lines = extra
        lines.writeStaticString("Cache-Status: subproxy; fwd=stale; fwd-status=304")
        StatusFields.writeParameters(detail: "", key: key(of: stored), to: &lines)
        return lines
    }

    /// The field lines of a 304 that are not kept with the stored response, such as a Set-Cookie, or what `private`
    /// names: the client whose request was validated gets them all the same. Its Age tells of a cache behind this one.
    static func unkept(of fields: FieldSection, in kept: FieldSection) -> ByteBuffer {
        let hopByHop = HopByHop(fields)
        var lines = ByteBuffer()
        MessageWriter.writeFields(of: fields, to: &lines) { line in
            switch line.name {
            case .contentLength, .contentRange, .contentEncoding, .transferEncoding, .trailer: return false
            case .other:
                if fields.withName(line, RepresentationBuilder.isDigest) || holds(line, of: fields, kept) {
                    return false
                }
            default: if kept.contains(line.name) { return false }
            }
            return !hopByHop.isConnectionLevel(line)
        }
        return lines
    }

    private static func holds(_ line: FieldSection.Line, of fields: FieldSection, _ kept: FieldSection) -> Bool {
        let name = fields.withName(line) { Array($0) }
        var isHeld = false
        kept.forEach(named: name) { _ in isHeld = true }
        return isHeld
    }

    /// Age and Cache-Status of a stale response that stands in for an origin that failed.
    static func standIn(
        age: Int64, _ permission: StandInPermission, after failure: OriginFailure, _ stored: StoredResponse
    ) -> ByteBuffer {
        var lines = ByteBuffer()
        lines.writeStaticString("Age: ")
        lines.writeDecimal(Int(clamping: age))
        lines.writeStaticString("\r\nCache-Status: subproxy; fwd=stale")
        if case .status(let status) = failure {
            lines.writeStaticString("; fwd-status=")
            lines.writeDecimal(status)
        }
        StatusFields.writeParameters(detail: permission.detail, key: key(of: stored), to: &lines)
        return lines
    }

    /// The secondary key, which is shown where there is one: the names that Vary lists (RFC 9211 §2.7).
    private static func key(of stored: StoredResponse) -> [UInt8] {
        guard !stored.selection.names.isEmpty else { return [] }
        return Array(stored.selection.names.joined(separator: Array(", ".utf8)))
    }
}
