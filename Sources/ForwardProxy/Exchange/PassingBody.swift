import HTTP1
import HTTPSemantics
import NIOCore

/// What has come of a request's body before the exchange that sends it on.
struct PassingBody {
    private let parts: [ByteBuffer]
    private let hasEnded: Bool
    private let trailers: FieldSection?

    init(_ parts: [ByteBuffer], hasEnded: Bool, _ trailers: FieldSection?) {
        self.parts = parts
        self.hasEnded = hasEnded
        self.trailers = trailers
    }

    fileprivate func hand(to exchange: any Exchange) {
        for bytes in parts where bytes.readableBytes > 0 { exchange.receive(bytes) }
        if hasEnded { exchange.receiveEnd(trailers: trailers) }
    }
}

extension ExchangeClient {
    /// Goes on with another exchange, which gets what has come of the request's body, and the rest as it comes.
    func resume(_ request: Request, _ body: PassingBody, _ begin: () -> (any Exchange)?) {
        resume {
            guard request.hasBody else { return begin() }
            // What begins may stop it again.
            setWantsBody(true)
            let exchange = begin()
            if let exchange { body.hand(to: exchange) }
            return exchange
        }
        flush()
    }
}

extension LoopContext {
    /// Hands the client of an exchange that has held a request's body back to the origin, with what has come of the
    /// body, and has the rest read.
    func forward(
        _ request: Request, _ body: PassingBody, _ asked: AskedRequest, to uri: TargetURI, _ client: any ExchangeClient,
        _ plan: ForwardPlan, fallback: ((ProxyError) -> Void)?
    ) {
        client.resume(request, body) { forward(request, asked, to: uri, client, plan, fallback: fallback) }
    }
}
