import HTTPSemantics
import NIOCore

extension LoopContext {
    /// The value of Allow where the proxy answers for itself (RFC 9110 §10.2.1).
    static let methods = "GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, PATCH"

    /// `OPTIONS *`: what the proxy itself can do (RFC 9110 §9.3.7).
    ///
    /// - Parameter isSecure: see ``namesProxy(_:isSecure:)``.
    func answerOwnOptions(_ request: Request, isSecure: Bool, _ client: any ExchangeClient) -> (any Exchange)? {
        guard namesProxy(request, isSecure: isSecure) else {
            client.fail(.misdirected)
            return nil
        }
        if let error = Decider.expectationError(request.head.fields, request.head.version) {
            client.fail(error)
            return nil
        }
        answerOptions(client)
        return nil
    }

    /// Answers OPTIONS for the proxy itself.
    func answerOptions(_ client: any ExchangeClient) {
        var lines = ByteBuffer(
            string: """
                Allow: \(LoopContext.methods)\r\nContent-Length: 0\r\nX-Content-Type-Options: nosniff\r\n
                """)
        lines.writeImmutableBuffer(proxy.identity.viaLine)
        lines.writeImmutableBuffer(dateStamp().line)
        client.record?.outcome = .own
        client.start(ResponseStart(status: 200, reason: nil, lines: lines, body: .length(0)))
        client.finish(trailers: nil)
    }
}
