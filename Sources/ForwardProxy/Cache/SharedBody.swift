import NIOCore
import Synchronization

/// A response's body while it comes from the origin, for one or more clients, each at its own pace.
///
/// The origin's side appends, on its event loop; each reader takes what it has not had yet, on its own. While the body
/// is retained, because it is about to be stored, all of it stays here and the origin is never held back by a client.
/// Otherwise a piece stays until the last reader has had it, and only then is the origin told to send more.
final class SharedBody: Sendable {
    enum Next {
        case piece(ByteBuffer)
        /// Nothing is there yet; the reader's `wake` is called when something is.
        case parked
        case complete(trailers: ByteBuffer?)
        case failed
    }

    fileprivate enum End {
        case complete(ByteBuffer?)
        case failed
    }

    fileprivate struct Reader {
        var next: Int
        var isParked: Bool
        let wake: @Sendable () -> Void
    }

    fileprivate struct State {
        var pieces = CircularBuffer<ByteBuffer>()
        /// The number of the first piece that is still here.
        var first = 0
        /// Pieces with a number below this were acknowledged when they came.
        var acknowledged = 0
        var isRetained = true
        var end: End?
        var readers: [Int: Reader] = [:]
        var readerCount = 0
        /// How many readers have not had the first piece: when the last of them goes on, it can be dropped.
        var firstReaders = 0
    }

    private let state = Mutex(State())
    /// Room for what is retained, given back with this object at the latest.
    let reservation: StoreReservation
    /// Tells the origin's side that this many bytes have been taken by all readers.
    private let onConsumed: @Sendable (Int) -> Void
    /// Tells the origin's side that the last reader has left.
    private let onAbandoned: @Sendable () -> Void

    init(
        _ reservation: StoreReservation, onConsumed: @escaping @Sendable (Int) -> Void,
        onAbandoned: @escaping @Sendable () -> Void
    ) {
        self.reservation = reservation
        self.onConsumed = onConsumed
        self.onAbandoned = onAbandoned
    }

    // MARK: The origin's side

    /// Adds a piece.
    ///
    /// - Returns: whether the origin may send as much again at once.
    func append(_ piece: ByteBuffer) -> Bool {
        let (wakes, isRetained) = state.withLock { state in
            state.pieces.append(piece)
            if state.isRetained { state.acknowledged = state.first &+ state.pieces.count }
            return (state.unpark(), state.isRetained)
        }
        for wake in wakes { wake() }
        return isRetained
    }

    /// The body is complete; `trailers` are field lines.
    func complete(trailers: ByteBuffer?) { end(.complete(trailers)) }

    /// The origin failed: every reader's response is cut off.
    func fail() { end(.failed) }

    private func end(_ end: End) {
        let wakes = state.withLock { state in
            state.end = end
            return state.unpark()
        }
        for wake in wakes { wake() }
    }

    /// All that has come; only while the body is retained.
    var retained: [ByteBuffer] { state.withLock { Array($0.pieces) } }

    /// Whether a reader has not had all that has come.
    var isLagging: Bool {
        state.withLock { state in
            state.readers.values.contains { $0.next < state.first &+ state.pieces.count }
        }
    }

    /// Whether somebody reads.
    var hasReaders: Bool { state.withLock { !$0.readers.isEmpty } }

    /// Fails where nobody reads, unless it has ended: whoever comes from then on finds that, and asks for itself.
    ///
    /// - Returns: whether nobody does.
    func failIfUnread() -> Bool {
        state.withLock { state in
            guard state.readers.isEmpty else { return false }
            if state.end == nil { state.end = .failed }
            return true
        }
    }

    /// Gives up what all readers have had, from now on: the body will not be stored.
    ///
    /// - Returns: how many bytes of memory are held still, for readers that are behind.
    func stopRetaining() -> Int {
        state.withLock { state in
            state.isRetained = false
            _ = state.dropTaken()
            return state.readers.isEmpty ? 0 : state.pieces.reduce(0) { $0 &+ Recording.cost(of: $1) }
        }
    }

    // MARK: The readers' side

    /// Begins to read from the start; nil where the start is gone, or the body is known to have no end.
    func addReader(wake: @escaping @Sendable () -> Void) -> Int? {
        state.withLock { state in
            guard state.first == 0 else { return nil }
            if case .failed? = state.end { return nil }
            state.readerCount &+= 1
            state.readers[state.readerCount] = Reader(next: 0, isParked: false, wake: wake)
            state.firstReaders &+= 1
            return state.readerCount
        }
    }

    func next(_ reader: Int) -> Next {
        let (next, consumed, isFree) = state.withLock { state -> (Next, Int, Bool) in
            guard let index = state.readers[reader]?.next else { return (.failed, 0, false) }
            let offset = index &- state.first
            if offset < state.pieces.count {
                let piece = state.pieces[offset: offset]
                state.readers[reader]?.next = index &+ 1
                return (.piece(piece), state.leave(index), state.isFree)
            }
            switch state.end {
            case .complete(let trailers): return (.complete(trailers: trailers), 0, false)
            case .failed: return (.failed, 0, false)
            case nil:
                state.readers[reader]?.isParked = true
                return (.parked, 0, false)
            }
        }
        if isFree { reservation.release() }
        if consumed > 0 { onConsumed(consumed) }
        return next
    }

    /// The reader's client has all of it, or is gone.
    func remove(_ reader: Int) {
        let (consumed, isAbandoned, isFree) = state.withLock { state -> (Int, Bool, Bool) in
            guard let removed = state.readers.removeValue(forKey: reader) else { return (0, false, false) }
            return (state.leave(removed.next), state.readers.isEmpty && state.end == nil, state.isFree)
        }
        if isFree { reservation.release() }
        if consumed > 0 { onConsumed(consumed) }
        if isAbandoned { onAbandoned() }
    }
}

extension SharedBody.State {
    /// Whether all that was retained has been given up, and no room of the store is needed any more.
    fileprivate var isFree: Bool { !isRetained && first >= acknowledged }

    fileprivate mutating func unpark() -> [@Sendable () -> Void] {
        var wakes: [@Sendable () -> Void] = []
        for (id, reader) in readers where reader.isParked {
            readers[id]?.isParked = false
            wakes.append(reader.wake)
        }
        return wakes
    }

    /// A reader has gone on from a piece, or away.
    ///
    /// - Returns: as ``dropTaken()``.
    fileprivate mutating func leave(_ piece: Int) -> Int {
        guard piece == first else { return 0 }
        firstReaders &-= 1
        return firstReaders == 0 ? dropTaken() : 0
    }

    /// Drops the pieces that all readers have had, where the body is not retained.
    ///
    /// - Returns: how many of their bytes have not been acknowledged to the origin.
    fileprivate mutating func dropTaken() -> Int {
        guard !isRetained, let taken = readers.values.map(\.next).min() else { return 0 }
        var count = 0
        while first < taken, let piece = pieces.popFirst() {
            if first >= acknowledged { count &+= piece.readableBytes }
            first &+= 1
        }
        firstReaders = readers.values.reduce(0) { [first] in $0 &+ ($1.next == first ? 1 : 0) }
        return count
    }
}
