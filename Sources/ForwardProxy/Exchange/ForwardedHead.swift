import HTTP1
import HTTPCaching
import HTTPSemantics
import NIOCore
import Substitution

/// The head of an origin's response as clients get it: the end-to-end fields in their order and spelling, with Date
/// added where the origin sent none. What says what happened to the exchange is added for each client.
struct ForwardedHead: Sendable {
    var status: Int
    /// The protocol that the response was received in.
    var version: HTTPVersion
    var reason: ByteBuffer
    /// Field lines, each with its CRLF.
    var lines: ByteBuffer
    /// Bytes of the body; nil where only its end tells.
    var length: Int?
    /// Whether no body follows, whatever the fields say.
    var isBodyless: Bool

    /// - Parameter headers: fields that a rule sets or removes.
    init(_ head: ResponseHead, isHead: Bool, headers: [RuleOptions.FieldChange] = [], date: DateStamp) {
        let fields = head.fields
        let hopByHop = HopByHop(fields)
        status = head.status
        version = head.version
        reason = head.withReason { ByteBuffer(bytes: $0) }
        let isBodyless = isHead || head.status == 204 || head.status == 304
        let length = head.isChunked ? nil : head.contentLength
        lines = ByteBuffer()
        lines.reserveCapacity(fields.bytes.readableBytes &+ 160)
        MessageWriter.writeFields(of: fields, to: &lines) { line in
            if line.name == .contentLength { return head.status != 204 && (length != nil || isBodyless) }
            return !hopByHop.isConnectionLevel(line) && !ForwardedHead.isReplaced(line, of: fields, by: headers)
        }
        for header in headers {
            guard let value = header.value else { continue }
            MessageWriter.writeField(header.name, value, to: &lines)
        }
        if status == 401, ConnectionAuthentication.isAskedFor(by: fields) {
            // Clients may use such a scheme through a proxy only where it says this (RFC 4559 §6).
            lines.writeStaticString("Proxy-Support: Session-Based-Authentication\r\n")
        }
        if !fields.contains(.date) { lines.writeImmutableBuffer(date.line) }
        self.length = length
        self.isBodyless = isBodyless
    }

    /// What others than the client that asked for it get of a response that is coming in: its stored fields.
    ///
    /// - Parameter age: in seconds (RFC 9111 §4.2.3).
    init(_ shared: SharedResponse, age: Int64) {
        let stored = shared.stored
        version = stored.version
        status = stored.status
        reason = stored.reason
        isBodyless = status == 204
        length = shared.length
        lines = ByteBuffer()
        lines.reserveCapacity(stored.fields.bytes.readableBytes &+ 160)
        MessageWriter.writeFields(of: stored.fields, to: &lines) { _ in true }
        if let length, !isBodyless { MessageWriter.writeField("Content-Length", decimal: length, to: &lines) }
        MessageWriter.writeField("Age", decimal: Int(clamping: age), to: &lines)
    }

    /// The response's start with the fields of `status` behind the origin's.
    func start(adding statusLines: (inout ByteBuffer) -> Void) -> ResponseStart {
        var lines = lines
        statusLines(&lines)
        let body: ResponseStart.Body = isBodyless ? .none : length.map { .length($0) } ?? .unknown
        return ResponseStart(status: status, reason: reason, lines: lines, body: body, usesBody: true)
    }

    private static func isReplaced(
        _ line: FieldSection.Line, of fields: FieldSection, by headers: [RuleOptions.FieldChange]
    ) -> Bool {
        guard !headers.isEmpty else { return false }
        return fields.withName(line) { name in
            headers.contains { header in
                header.name.utf8.count == name.count
                    && zip(header.name.utf8, name).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
            }
        }
    }
}

extension ExchangeClient {
    /// Passes an origin's interim response on; 100 (Continue) only where the client waits for one.
    func pass(interim head: ResponseHead) {
        guard head.status != 100 else { return sendContinue() }
        let hopByHop = HopByHop(head.fields)
        var lines = ByteBuffer()
        MessageWriter.writeFields(of: head.fields, to: &lines) { !hopByHop.isConnectionLevel($0) }
        lines.writeImmutableBuffer(loop.proxy.identity.viaLine(head.version))
        sendInterim(status: head.status, lines: lines)
    }
}
