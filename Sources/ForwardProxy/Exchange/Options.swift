import HTTPSemantics
import NIOCore

extension LoopContext {
    /// `OPTIONS *`: what the proxy itself can do (RFC 9110 §9.3.7).
    func answerOwnOptions(_ request: Request, _ client: any ExchangeClient) -> (any Exchange)? {
        guard namesProxy(request) else {
            client.fail(.misdirected)
            return nil
        }
        answerOptions(client)
        return nil
    }

    /// Answers OPTIONS for the proxy itself.
    func answerOptions(_ client: any ExchangeClient) {
        var lines = ByteBuffer(
            string: """
                Allow: GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, PATCH\r\nContent-Length: 0\r\n\
                X-Content-Type-Options: nosniff\r\n
                """)
        lines.writeImmutableBuffer(proxy.identity.viaLine)
        lines.writeImmutableBuffer(dateStamp().line)
        client.record?.outcome = .own
        client.start(ResponseStart(status: 200, reason: nil, lines: lines, body: .length(0)))
        client.finish(trailers: nil)
    }
}
