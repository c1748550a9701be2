import HTTP1
import HTTPSemantics
import NIOCore

/// The response that tells a client of an error of the proxy's own.
struct ErrorResponse {
    let page: ByteBuffer
    private let status: Int
    /// How credentials are asked for (RFC 7617 §2).
    private static let challenge = #"Basic realm="subproxy", charset="UTF-8""#
    private let lines: ByteBuffer

    /// - Parameters:
    ///   - asked: the exchange's record, for what was asked.
    ///   - fields: the request's, for the form that the client prefers.
    init(_ error: ProxyError, asked: ExchangeRecord?, fields: FieldSection?, loop: LoopContext) {
        let prefersHTML = fields.map(AcceptPreference.prefersHTML) ?? false
        let asked = asked?.askedText ?? ""
        page = ErrorPage.body(for: error, asked: asked, prefersHTML: prefersHTML)
        status = error.status
        var lines = ByteBuffer()
        let type = prefersHTML ? "text/html; charset=utf-8" : "text/plain; charset=utf-8"
        MessageWriter.writeField("Content-Type", Array(type.utf8), to: &lines)
        MessageWriter.writeField("Content-Length", decimal: page.readableBytes, to: &lines)
        if let allow = error.allow { MessageWriter.writeField("Allow", Array(allow.utf8), to: &lines) }
        if let seconds = error.retryAfter { MessageWriter.writeField("Retry-After", decimal: seconds, to: &lines) }
        switch status {
        case 401: lines.writeString("WWW-Authenticate: \(ErrorResponse.challenge)\r\n")
        case 407: lines.writeString("Proxy-Authenticate: \(ErrorResponse.challenge)\r\n")
        default: break
        }
        lines.writeStaticString("Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n")
        if error.isOfConsole || status == 401 { OwnPage.writeIsolation(to: &lines) }
        if prefersHTML { ErrorPage.writePolicy(to: &lines) }
        StatusFields.writeError(error, to: &lines)
        lines.writeImmutableBuffer(loop.proxy.identity.viaLine)
        lines.writeImmutableBuffer(loop.dateStamp().line)
        if error.answersCORS, let fields { CORSFields.writeAll(for: fields, exposingAllOf: &lines) }
        self.lines = lines
    }

    func start(isHead: Bool) -> ResponseStart {
        ResponseStart(status: status, reason: nil, lines: lines, body: isHead ? .none : .length(page.readableBytes))
    }
}
