import Basics
import HTTP1
import HTTPSemantics
import NIOCore
import NIOPosix
import NIOSSL

// Requests that turn out unusable, and responses that can't be completed.
extension ClientConnection {
    func malformed(_ error: HTTP1Error) {
        let failure = error == .tlsRecord && !isEncrypted ? ProxyError.tlsInTheClear : ProxyError(error)
        let wasIdle = state.isIdle
        endRequest(failure)
        guard wasIdle || !responseHasStarted else { return abortResponse() }
        let method = parser.failedLine?.method.readableBytesView
        respondAndClose(failure, toHead: method?.elementsEqual("HEAD".utf8) ?? (!wasIdle && underWay.isHead))
    }

    func truncatedRequest() {
        let failure = ProxyError.badRequest("The connection was closed inside the request's body.")
        endRequest(failure)
        if responseHasStarted { abortResponse() } else { respondAndClose(failure, toHead: underWay.isHead) }
    }

    /// Cuts a response off whose request turned out unusable.
    func abortResponse() {
        finishRecord()
        perform(state.aborted())
    }

    /// Takes the exchange away whose request turned out unusable.
    func endRequest(_ failure: ProxyError) {
        let exchange = exchange
        self.exchange = nil
        exchange?.clientIsGone()
        if record == nil {
            let asked = parser.failedLine ?? (ByteBuffer(string: "-"), ByteBuffer(string: "-"))
            let unread = ExchangeRecord(startedAt: monotonicNanoseconds(), method: asked.method, url: asked.target)
            loop.open(unread, nil, on: self)
        }
        record?.outcome = .refused
        record?.reason = failure.failure
    }

    /// - Parameter isHead: whether the request is HEAD, whose response has no content (RFC 9110 §9.3.2).
    func respondAndClose(_ error: ProxyError, toHead isHead: Bool = false) {
        state.mustClose()
        let asked = record?.askedText ?? ""
        let page = ErrorPage.body(for: error, asked: asked, prefersHTML: false)
        let length = page.readableBytes
        var lines = ByteBuffer(string: "Content-Type: text/plain; charset=utf-8\r\n")
        writeClosingFields(for: error, length: length, to: &lines)
        var out = ByteBuffer()
        MessageWriter.writeStatusLine(error.status, to: &out)
        out.writeImmutableBuffer(lines)
        out.writeStaticString("\r\n")
        if !isHead { out.writeImmutableBuffer(page) }
        record?.observed?.head(status: error.status, lines: lines)
        if !isHead { record?.observed?.body(page) }
        write(.byteBuffer(out))
        record?.status = error.status
        record?.bodyBytes = isHead ? 0 : length
        finishRecord()
        perform(state.finishedErrorResponse())
    }

    /// Closes the connection at once, so that the client sees that the response under way is incomplete.
    ///
    /// Where only the connection's end delimits the response, that has to be a reset: an end in order, of TCP or of
    /// TLS, would be that of a whole response (RFC 9112 §6.3, §8).
    func cutOff() {
        flushIfNeeded()
        guard let context else { return }
        guard underWay.ending == .close else { return context.close(promise: nil) }
        let reset = linger(l_onoff: 1, l_linger: 0)
        _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(reset)
        // From the socket's side of TLS, which would else be ended in order first.
        let security = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        (security ?? context).close(promise: nil)
    }
}
