import HTTPCaching
import HTTPSemantics
import NIOCore

/// Sends a large stored body as fast as its client takes it.
///
/// Until the client has it all, the content counts against the store's budget, also where the store has given it up.
final class StoredExchange: Exchange {
    /// Bodies up to this size are written at once: what one exchange may have in memory.
    static let threshold = 256 << 10

    private let entry: StoredEntry
    private let cache: ResponseCache
    private let plan: AnswerPlan
    /// Nil from the end of the exchange on, and not weak: see ``ForwardExchange``.
    private var client: (any ExchangeClient)?
    private var slices: ArraySlice<ByteBuffer> = []
    private var isSending = false
    private(set) var isFinished = false

    init(_ entry: StoredEntry, of cache: ResponseCache, _ plan: AnswerPlan, client: any ExchangeClient) {
        self.entry = entry
        self.cache = cache
        self.plan = plan
        self.client = client
        cache.store.hold(entry)
    }

    deinit { end() }

    func begin() {
        guard let client, let body = plan.variant.body else { return end() }
        var slices: [ByteBuffer] = []
        for piece in plan.pieces {
            switch piece {
            case .bytes(let bytes): slices.append(bytes)
            case .range(let range): body.forEachSlice(of: range) { slices.append($0) }
            }
        }
        self.slices = slices[...]
        client.start(plan.start(isHead: false))
        send()
    }

    func receive(_ body: ByteBuffer) {}
    func receiveEnd(trailers: FieldSection?) {}
    func clientBecameWritable() { send() }

    func clientIsGone() {
        client = nil
        end()
    }

    private func send() {
        // What is written may call back here because the client has become writable.
        guard !isSending, let client else { return }
        isSending = true
        defer { isSending = false }
        while client.isWritable {
            var given = 0
            while client.isWritable, given < client.mostUnflushed, let slice = slices.popFirst() {
                given &+= slice.readableBytes
                client.send(slice)
            }
            guard !slices.isEmpty else {
                self.client = nil
                end()
                client.finish(trailers: nil)
                return client.flush()
            }
            // Only what leaves now makes room: then it goes on, or is told when there is some.
            client.flush()
        }
    }

    private func end() {
        guard !isFinished else { return }
        isFinished = true
        slices = []
        cache.store.letGo(entry)
    }
}
