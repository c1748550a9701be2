import NIOCore

/// A body on its way from an origin to a client whose rule has a `rate`: a tenth of a second's worth goes out at a
/// time, and the origin is told to go on when that much has left.
///
/// Bound to the event loop.
final class PacedBody {
    private let client: any ExchangeClient
    private let transfer: (any OriginTransport)?
    private let pace: SendingPace
    private var waiting = CircularBuffer<ByteBuffer>()
    private var timer: Scheduled<Void>?
    private var awaitsWritability = false
    private var completion: (() -> Void)?
    /// Whether the origin has sent all, or failed.
    private(set) var hasEnded = false

    /// - Parameter rate: bytes a second.
    init(rate: Int, client: any ExchangeClient, transfer: (any OriginTransport)?) {
        self.client = client
        self.transfer = transfer
        pace = SendingPace(rate: rate)
    }

    func append(_ body: ByteBuffer) {
        waiting.append(body)
        if timer == nil, !awaitsWritability { sendNext() }
    }

    /// Calls back when all that has come is sent, at once where it is.
    func end(_ completion: @escaping () -> Void) {
        hasEnded = true
        guard !waiting.isEmpty else { return finish(completion) }
        self.completion = completion
    }

    func clientBecameWritable() {
        guard awaitsWritability else { return }
        awaitsWritability = false
        if timer == nil { sendNext() }
    }

    /// The client has gone.
    func cancel() {
        timer?.cancel()
        completion = nil
        waiting.removeAll()
    }

    private func finish(_ completion: () -> Void) {
        timer?.cancel()
        timer = nil
        completion()
    }

    private func sendNext() {
        guard !waiting.isEmpty else { return }
        guard client.isWritable else {
            awaitsWritability = true
            return
        }
        var left = pace.portion
        while left > 0, var first = waiting.popFirst() {
            guard let slice = first.readSlice(length: min(left, first.readableBytes)) else { break }
            left &-= slice.readableBytes
            client.send(slice)
            if first.readableBytes > 0 { waiting.prepend(first) }
        }
        timer = client.loop.eventLoop.assumeIsolated().scheduleTask(in: pace.pause(after: pace.portion &- left)) {
            [self] in
            timer = nil
            sendNext()
        }
        // May find that the client has gone.
        client.flush()
        transfer?.acknowledge(pace.portion &- left)
        guard waiting.isEmpty, let completion else { return }
        self.completion = nil
        finish(completion)
        client.flush()
    }
}
