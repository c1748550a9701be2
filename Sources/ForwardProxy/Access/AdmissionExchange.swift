import HTTPSemantics
import NIOCore

/// Stands in for an exchange while the client's credentials are checked, and keeps what arrives of the request's body.
final class AdmissionExchange: Exchange {
    private let request: Request
    private var client: (any ExchangeClient)?
    private var held: [ByteBuffer] = []
    private var end: (hasCome: Bool, trailers: FieldSection?) = (false, nil)

    /// The request's body is not read during the check.
    init(_ request: Request, _ client: any ExchangeClient) {
        self.request = request
        self.client = client
        if request.hasBody { client.setWantsBody(false) }
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
        client.resume(request, PassingBody(held, hasEnded: end.hasCome, end.trailers), begin)
    }

    /// Answers that the credentials are wrong.
    func refuse(_ error: ProxyError) {
        let client = client
        self.client = nil
        client?.fail(error)
        client?.flush()
    }
}
