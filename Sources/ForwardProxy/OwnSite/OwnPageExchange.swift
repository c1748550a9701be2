import HTTPSemantics
import NIOCore

/// A page of the proxy's own that takes more than a write: it is made from what comes from other event loops or another
/// thread, or its body is made while it is sent.
final class OwnPageExchange: Exchange {
    /// Nil from the end of the exchange on, and not weak: see ``ForwardExchange``.
    private var client: (any ExchangeClient)?
    private let isHead: Bool
    private var stream: (any OwnPageStream)?

    init(_ client: any ExchangeClient, isHead: Bool) {
        self.client = client
        self.isHead = isHead
    }

    /// Whether nothing is left to serve.
    var isOver: Bool { client == nil }

    func receive(_ body: ByteBuffer) {}
    func receiveEnd(trailers: FieldSection?) {}
    func clientBecameWritable() { stream?.resume(self) }

    func clientIsGone() {
        client = nil
        let stream = stream.take()
        stream?.cancel()
    }

    /// Answers with the page, or the error, that comes; `future` is one of the client's event loop.
    func begin(_ future: EventLoopFuture<OwnPage>) {
        future.assumeIsolated().whenComplete { [self] result in
            guard let client else { return }
            switch result {
            case .success(let page): begin(page)
            case .failure(let error):
                self.client = nil
                client.fail(error as? ProxyError ?? .internalError)
            }
            client.flush()
        }
    }

    func begin(_ page: OwnPage) {
        guard let client else { return }
        if case .stream(let stream) = page.body, !isHead {
            self.stream = stream
            page.begin(to: client, isHead: false)
            stream.resume(self)
        } else {
            self.client = nil
            page.begin(to: client, isHead: isHead)
        }
    }

    // MARK: The stream's side

    /// Whether what is sent soon leaves; else the stream waits until it is resumed.
    var isWritable: Bool { client?.isWritable ?? false }

    func send(_ bytes: ByteBuffer) {
        client?.send(bytes)
        client?.flush()
    }

    /// Ends the body; nothing is sent any more.
    func finish() {
        guard let client else { return }
        self.client = nil
        stream = nil
        client.finish(trailers: nil)
        client.flush()
    }
}
