import HTTPSemantics
import NIOCore

extension LoopContext {
    /// A final recipient by Max-Forwards answers itself (RFC 9110 §7.6.2).
    ///
    /// - Returns: nil where the request is to be forwarded.
    func answerMaxForwards(_ request: Request, _ client: any ExchangeClient) -> Begun? {
        let head = request.head
        guard head.method == .options || head.method == .trace,
            head.fields.withFirst(.maxForwards, { $0.decimalValue }) == .some(0)
        else { return nil }
        if head.method == .options {
            answerOptions(client)
        } else {
            client.fail(
                ProxyError(
                    status: 405, type: "http_request_denied", failure: "TRACE is not answered here.",
                    advice: "Raise Max-Forwards to reach the origin.", isRefusal: true))
        }
        return Begun(value: nil)
    }
}
