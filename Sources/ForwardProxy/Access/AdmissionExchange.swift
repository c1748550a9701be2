import HTTPSemantics
import NIOCore

/// Stands in for an exchange while the client's credentials are checked, and keeps what arrives of the request's body.
final class AdmissionExchange: Exchange {
    private var client: (any ExchangeClient)?
    private var held: [ByteBuffer] = []
    private var end: (hasCome: Bool, trailers: FieldSection?) = (false, nil)

    /// - Parameter hasBody: whether the request has a body, which is not read during the check.
    init(_ client: any ExchangeClient, hasBody: Bool) {
        self.client = client
        if hasBody { client.setWantsBody(false) }
    }

    func receive(_ body: ByteBuffer) { held.append(body) }
    func receiveEnd(trailers: FieldSection?) { end = (true, trailers) }
    func clientBecameWritable() {}
    func clientIsGone() {
        client = nil
        held = []
    }

    /// Begins the exchange that the request is for.
    func admit(_ begin: () -> (any Exchange)?) {
        guard let client else { return }
        self.client = nil
        client.resume {
            guard let exchange = begin() else { return nil }
            client.setWantsBody(true)
            for body in held { exchange.receive(body) }
            if end.hasCome { exchange.receiveEnd(trailers: end.trailers) }
            return exchange
        }
        client.flush()
    }

    /// Answers that the credentials are wrong.
    func refuse(_ error: ProxyError) {
        let client = client
        self.client = nil
        client?.fail(error)
        client?.flush()
    }
}
