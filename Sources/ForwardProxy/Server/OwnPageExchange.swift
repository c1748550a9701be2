import HTTPSemantics
import NIOCore

/// A page of the proxy's own that is made from what comes later: from other event loops or another thread.
final class OwnPageExchange: Exchange {
    private weak var client: (any ExchangeClient)?

    init(_ client: any ExchangeClient) { self.client = client }

    func receive(_ body: ByteBuffer) {}
    func receiveEnd(trailers: FieldSection?) {}
    func clientBecameWritable() {}
    func clientIsGone() { client = nil }

    /// Answers when `future` has come, which is one of the client's event loop.
    func begin<Value>(
        _ future: EventLoopFuture<Value>,
        answer: @escaping (Result<Value, any Error>, any ExchangeClient) -> Void
    ) {
        future.assumeIsolated().whenComplete { [self] result in
            guard let client else { return }
            self.client = nil
            answer(result, client)
            client.flush()
        }
    }
}
