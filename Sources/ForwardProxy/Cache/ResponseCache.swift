import HTTPCaching
import HTTPSemantics
import NIOCore
import Synchronization

/// A stored response with its content, as the store holds it.
typealias StoredEntry = StoreEntry<StoredResponse>

/// The cache behind the map, shared by all event loops: what is stored, the rules that it is kept by, and the origin
/// exchanges that several clients wait for.
final class ResponseCache: Sendable {
    let store: ResponseStore<StoredResponse>
    let policy: CachePolicy
    let flights = FlightTable()
    private let contexts = Mutex<[LoopContext]>([])

    /// How long a response goes on being stored after the last client has left.
    static let abandonedTimeout = TimeAmount.seconds(10)
    /// The largest buffer that content is copied into.
    static let segmentSize = 64 << 10

    init(_ configuration: CacheConfiguration) {
        store = ResponseStore(budget: configuration.memory)
        var policy = CachePolicy()
        if configuration.mode == .private { policy.mode = .private }
        policy.targetedFields = configuration.targetedFields
        policy.staleIfUnreachable = (configuration.staleIfUnreachable.nanoseconds &+ 999_999_999) / 1_000_000_000
        self.policy = policy
    }

    /// Names the event loops that make stored responses ready, so that they forget what the store gives up.
    func drop(in contexts: [LoopContext]) {
        self.contexts.withLock { $0 = contexts }
        store.setEvictionHandler { [weak self] entries in self?.forget(entries.map(\.key)) }
    }

    /// Makes all event loops forget what is ready for these keys.
    private func forget(_ keys: [CacheKey]) {
        for context in contexts.withLock({ $0 }) {
            context.eventLoop.execute { for key in keys { context.stored.remove(key) } }
        }
    }

    /// Stores a response whose content is complete.
    ///
    /// - Parameters:
    ///   - request: the request that it answers.
    ///   - requestedAt: when that was sent.
    ///   - epoch: taken then.
    func insert(
        _ stored: StoredResponse, _ content: [ByteBuffer], key: CacheKey, for request: CacheRequest,
        requestedAt: CacheInstant, epoch: StoreEpoch
    ) {
        let others = store.entries(for: key).filter { $0.metadata.selection.matches(request) }
        // What an invalidation has overtaken must not take with it what has come since.
        guard store.epoch(for: key) == epoch else { return }
        // A long body may end after a newer response has come, and a slow origin may answer with what is older by its
        // Date (RFC 9111 §4) than what came while it was asked.
        let isOvertaken = others.contains { other in
            let cameMeanwhile = other.metadata.receivedAt.steady > requestedAt.steady
            return other.metadata.receivedAt.steady > stored.receivedAt.steady
                || cameMeanwhile && other.metadata.date > stored.date
        }
        guard !isOvertaken else { return }
        guard stored.part != nil else {
            insert(stored, content, key: key, replacing: others, epoch)
            return
        }
        guard !others.contains(where: { ResponseCache.isPart(stored, of: $0) }) else { return }
        for held in others {
            guard let combined = Combination.combine(held.metadata, with: stored, policy: policy) else { continue }
            let joined = ResponseCache.combine(held, with: stored, content, to: combined)
            return insert(combined, joined, key: key, replacing: others, epoch)
        }
        insert(stored, content, key: key, replacing: others, epoch)
    }

    /// Whether a part of a representation would not be kept, because all of the same one is stored.
    func holdsWhole(of stored: StoredResponse, key: CacheKey, for request: CacheRequest) -> Bool {
        guard stored.part != nil else { return false }
        return store.entries(for: key).contains {
            $0.metadata.selection.matches(request) && ResponseCache.isPart(stored, of: $0)
        }
    }

    /// A whole response of the same representation says all that a part of it could.
    private static func isPart(_ stored: StoredResponse, of held: StoredEntry) -> Bool {
        guard held.metadata.part == nil, let etag = stored.etag else { return false }
        return held.metadata.etag == etag
    }

    private func insert(
        _ stored: StoredResponse, _ content: [ByteBuffer], key: CacheKey, replacing: [StoredEntry], _ epoch: StoreEpoch
    ) {
        var entry = StoredEntry(key: key, metadata: stored, segments: ResponseCache.compact(content))
        if entry.cost > store.maximumEntry {
            entry = StoredEntry(key: key, metadata: stored, segments: ResponseCache.compact(content, always: true))
        }
        guard store.insert(entry, replacing: replacing, epoch: epoch) else { return }
        // Another variant: which of them a request selects may be another one now.
        if store.entries(for: key).count > 1 { forget([key]) }
    }

    /// Gives up what a request selects, because the origin has answered with something else.
    func remove(_ key: CacheKey, selectedBy request: CacheRequest) {
        for entry in store.entries(for: key) where entry.metadata.selection.matches(request) {
            store.remove(entry)
        }
    }

    /// Gives up what a response to an unsafe method has made invalid (RFC 9111 §4.4).
    func invalidate(method: Method, status: Int, target: TargetURI, fields: FieldSection) {
        for uri in Invalidation.targets(method: method, status: status, target: target, fields: fields) {
            for key in [CacheKey(uri), CacheKey(forRemote: uri)] {
                store.invalidate(key)
                // Whoever asks from now on must not get what was asked for before.
                flights.retire(key)
            }
        }
    }

    /// The bytes of a held part and a newer one that meet, the newer ones where both have them (RFC 9111 §3.4).
    private static func combine(
        _ held: StoredEntry, with newer: StoredResponse, _ content: [ByteBuffer], to combined: StoredResponse
    ) -> [ByteBuffer] {
        let heldRange = held.metadata.part?.range ?? 0..<held.size
        let newerRange = newer.part?.range ?? 0..<0
        let all = combined.part?.range ?? 0..<max(heldRange.upperBound, newerRange.upperBound)
        var out: [ByteBuffer] = []
        let before = all.lowerBound..<max(all.lowerBound, newerRange.lowerBound)
        BodySegments(held.segments).forEachSlice(of: before.offset(from: heldRange)) { out.append($0) }
        BodySegments(content).forEachSlice(of: newerRange.offset(from: newerRange)) { out.append($0) }
        let after = min(all.upperBound, newerRange.upperBound)..<all.upperBound
        BodySegments(held.segments).forEachSlice(of: after.offset(from: heldRange)) { out.append($0) }
        return out
    }

    /// Copies content that came in small pieces, or in few bytes, into buffers that waste little: NIO rounds what a
    /// buffer takes up to a power of two, and all of it counts.
    ///
    /// - Parameter always: whether it is copied where little would be saved, too.
    static func compact(_ content: [ByteBuffer], always: Bool = false) -> [ByteBuffer] {
        let size = content.reduce(0) { $0 &+ $1.readableBytes }
        let capacity = content.reduce(0) { $0 &+ $1.storageCapacity }
        guard always || capacity > size &+ size / 8 || size / max(content.count, 1) < 8 << 10 else { return content }
        var out: [ByteBuffer] = []
        var segment = ByteBuffer()
        var room = 0
        var left = size
        for var piece in content {
            while piece.readableBytes > 0 {
                if room == 0 {
                    if segment.readableBytes > 0 { out.append(segment) }
                    room = portion(of: left)
                    segment = ByteBuffer()
                    segment.reserveCapacity(room)
                }
                guard let slice = piece.readSlice(length: min(room, piece.readableBytes)) else { break }
                segment.writeImmutableBuffer(slice)
                room &-= slice.readableBytes
                left &-= slice.readableBytes
            }
        }
        if segment.readableBytes > 0 { out.append(segment) }
        return out
    }

    /// How many of the bytes that are left are copied into the next buffer.
    private static func portion(of left: Int) -> Int {
        left < 4 << 10 ? left : min(segmentSize, largestPower(notAbove: left))
    }

    /// Whether content of this length is small enough to be stored, if it is copied into such buffers.
    func hasRoom(for stored: StoredResponse, of length: Int, key: CacheKey) -> Bool {
        guard length <= store.maximumEntry else { return false }
        var cost = StoredEntry(key: key, metadata: stored, segments: []).cost
        var left = length
        while left > 0, cost <= store.maximumEntry {
            // The store joins what is small.
            let room = length <= StoredContent.joinLimit ? length : ResponseCache.portion(of: left)
            cost &+= ResponseCache.largestPower(notAbove: 2 &* room &- 1) &+ StoredEntry.segmentOverhead
            left &-= room
        }
        return cost <= store.maximumEntry
    }

    private static func largestPower(notAbove value: Int) -> Int {
        1 << (Int.bitWidth &- 1 &- max(value, 1).leadingZeroBitCount)
    }
}

extension Range<Int> {
    /// The range counted from the start of another.
    fileprivate func offset(from other: Range<Int>) -> Range<Int> {
        let lower = Swift.max(0, lowerBound &- other.lowerBound)
        return lower..<Swift.max(lower, upperBound &- other.lowerBound)
    }
}
