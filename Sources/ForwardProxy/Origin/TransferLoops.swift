import Authentication
import Curl
import HTTPSemantics
import NIOCore
import Synchronization

/// The transfer threads: one for clients on this machine, and where others are let in, one for those.
///
/// Kept connections are shared by all transfers of a thread, so clients that may reach different addresses must not
/// share one.
final class TransferLoops: Sendable {
    private let configuration: TransferLoopConfiguration
    private let local: TransferLoop
    private let remote = Mutex<TransferLoop?>(nil)
    private let isStopped = Atomic<Bool>(false)
    private let outbox = TransferOutbox()
    private let remoteOutbox = TransferOutbox()
    private let ownConnections = OwnConnectionsCounter()

    init(_ proxy: ProxyConfiguration) throws {
        var configuration = TransferLoopConfiguration()
        configuration.upstreamProxy = proxy.upstreamProxy
        configuration.noProxy = proxy.noProxy
        configuration.resolve = proxy.resolve
        configuration.caFile = proxy.originCAFile
        configuration.connectTimeoutMilliseconds = proxy.limits.connectTimeout.milliseconds
        configuration.silenceTimeoutMilliseconds = proxy.limits.silenceTimeout.milliseconds
        configuration.receiveBytes = TransferLoops.receiveBytes(limit: proxy.limits.bodyBytes)
        self.configuration = configuration
        let outbox = outbox
        local = try TransferLoop(configuration) { outbox.flush() }
    }

    /// Bytes that are read from an origin at a time: a quarter of what may wait for a client, so that it needn't wait
    /// for the next, at most 64 KiB, which stay in the processor's cache on their way, and never less than libcurl's
    /// least.
    static func receiveBytes(limit: Int) -> Int { min(64 << 10, max(1 << 10, limit / 4)) }

    var receiveBytes: Int { configuration.receiveBytes }

    /// Whether plain http for a host is sent to a parent proxy, whose own answers then come as the origin's.
    func asksParent(for host: String) -> Bool { configuration.usesHTTPProxy(for: host) }

    /// The thread for a client's transfers, and where its events are gathered.
    ///
    /// - Throws: `TransferLoopError` where there is no thread, ``ProxyError`` after ``shutdown()``.
    func loop(clientIsLocal: Bool) throws -> (TransferLoop, TransferOutbox) {
        guard !isStopped.load(ordering: .acquiring) else { throw ProxyError.stopping }
        if clientIsLocal { return (local, outbox) }
        let outbox = remoteOutbox
        let configuration = configuration
        let loop = try remote.withLock { remote in
            if let remote { return remote }
            let made = try TransferLoop(configuration) { outbox.flush() }
            remote = made
            return made
        }
        return (loop, remoteOutbox)
    }

    /// Connections to origins for one connection of a client alone; nil if there are too many, or no thread for them.
    func ownConnections(for client: any ExchangeClient) -> OwnConnections? {
        guard let (loop, _) = try? loop(clientIsLocal: client.isLocal) else { return nil }
        return OwnConnections(of: loop, for: FailedAttempts.Client(client.address), counting: ownConnections)
    }

    /// The threads that have been started.
    var running: [TransferLoop] { [local] + (remote.withLock { $0 }.map { [$0] } ?? []) }

    /// Ends all transfers and the threads.
    func shutdown() {
        isStopped.store(true, ordering: .releasing)
        local.shutdown()
        remote.withLock { $0 }?.shutdown()
    }
}

extension ProxyConfiguration {
    /// Whether requests to a host go through the parent proxy.
    public func asksParent(for host: String) -> Bool {
        var transfers = TransferLoopConfiguration()
        transfers.upstreamProxy = upstreamProxy
        transfers.noProxy = noProxy
        return transfers.usesProxy(for: host)
    }
}

extension TimeAmount {
    fileprivate var milliseconds: Int { max(1, Int(clamping: nanoseconds / 1_000_000)) }
}

/// Gathers what happens on a transfer thread in one turn, and hands it to each event loop in one go.
///
/// Belongs to its transfer thread.
final class TransferOutbox: @unchecked Sendable {
    // Unchecked: touched on one transfer thread only, by delegates and at the end of its turns.

    /// Counts the turns of the thread.
    private(set) var turn: UInt64 = 0
    private var memory = PieceMemory()
    private var pieces: [BodyPiece] = []
    /// Sockets that were sent to in this turn.
    private var loans: [OutputLoan] = []
    private var batches: [(loop: LoopContext, events: [@Sendable () -> Void])] = []

    func add(_ loop: LoopContext, _ event: @escaping @Sendable () -> Void) {
        for index in batches.indices where batches[index].loop === loop {
            batches[index].events.append(event)
            return
        }
        batches.append((loop, [event]))
    }

    /// A piece of a body with its first bytes, which takes what else comes of it in this turn.
    func makePiece(_ bytes: UnsafeRawBufferPointer) -> BodyPiece {
        let piece = memory.make(bytes)
        pieces.append(piece)
        return piece
    }

    func noteSent(_ loan: OutputLoan) {
        if loans.last !== loan { loans.append(loan) }
    }

    func flush() {
        turn &+= 1
        for loan in loans { loan.push() }
        loans.removeAll(keepingCapacity: true)
        for piece in pieces { memory.complete(piece) }
        pieces.removeAll(keepingCapacity: true)
        guard !batches.isEmpty else { return }
        let gathered = batches
        batches.removeAll(keepingCapacity: true)
        for (loop, events) in gathered {
            loop.eventLoop.execute {
                loop.batch { for event in events { event() } }
            }
        }
    }
}
