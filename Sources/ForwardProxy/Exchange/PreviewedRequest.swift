import HTTPSemantics
import NIOCore
import Substitution

/// A request that nobody has sent: what `explain` is asked about.
struct PreviewedRequest {
    let uri: TargetURI
    let method: RequestMethod
    /// The request, without its body.
    let request: Request
    /// Nil where it isn't known.
    let body: [UInt8]?

    init(_ uri: TargetURI, _ method: RequestMethod, _ fields: FieldSection, body: [UInt8]?) {
        self.uri = uri
        self.method = method
        self.body = body
        // The method and the target stand behind the fields, of which only the places count.
        var bytes = fields.bytes
        let start = bytes.readableBytes
        let methodEnd = start + bytes.writeBytes(method.bytes)
        let end = methodEnd + bytes.writeString(uri.description)
        let head = RequestHead(
            method: method.known, version: .http1_1, methodRange: start..<methodEnd, targetRange: methodEnd..<end,
            fields: FieldSection(bytes: bytes, lines: fields.lines, present: fields.present))
        request = Request(head: head, bodyLength: body?.count ?? 0, receivedAt: 0)
    }
}
