import NIOCore

/// Sends a shared body to one client, as fast as it takes it.
///
/// Bound to the client's event loop.
final class BodySubscription {
    // Let go of at the end: they lead back to the exchange that holds this.
    private var client: (any ExchangeClient)?
    private var body: SharedBody?
    private var onEnd: (() -> Void)?
    private var reader: Int?
    private var isSending = false
    private let takesTrailers: Bool

    /// Whether nothing more is to be sent.
    var isOver: Bool { reader == nil }

    /// - Parameters:
    ///   - client: has been given the response's head.
    ///   - takesTrailers: whether it gets the trailers, which are for the client alone whose request it was.
    ///   - onEnd: called once, before the client's response is ended.
    init(_ body: SharedBody, to client: any ExchangeClient, takesTrailers: Bool, onEnd: @escaping () -> Void) {
        self.body = body
        self.client = client
        self.takesTrailers = takesTrailers
        self.onEnd = onEnd
    }

    /// Begins to read; false where the body's start is gone.
    func begin() -> Bool {
        guard let loop = client?.loop else { return false }
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        reader = body?.addReader {
            if loop.eventLoop.inEventLoop {
                bound.value.send()
            } else {
                loop.eventLoop.execute { loop.batch { bound.value.send() } }
            }
        }
        return reader != nil
    }

    /// Sends what is there, up to what the client takes now.
    func send() {
        // What is written may call back here because the client has become writable.
        guard !isSending else { return }
        isSending = true
        defer { isSending = false }
        var given = 0
        while let reader, let body, let client, client.isWritable {
            switch body.next(reader) {
            case .piece(let piece):
                client.send(piece)
                given &+= piece.readableBytes
                guard given >= client.mostUnflushed else { continue }
                given = 0
                client.flush()
            case .parked: return
            case .complete(let trailers):
                end()
                return client.finish(trailers: takesTrailers ? trailers : nil)
            case .failed:
                end()
                client.record?.reason = "the origin's response is incomplete"
                return client.abort()
            }
        }
    }

    /// Ends the sending; nothing more is written to the client.
    func end() {
        let body = body
        let onEnd = onEnd
        client = nil
        self.body = nil
        self.onEnd = nil
        onEnd?()
        guard let reader else { return }
        self.reader = nil
        body?.remove(reader)
    }
}
