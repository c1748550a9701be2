import HTTPCaching
import NIOCore
import Synchronization

/// A response that is coming in and that other requests may use too (RFC 9111 §4: collapsed requests).
///
/// It has of the origin's response what is stored of it, and nothing that is for the first client alone.
struct SharedResponse: Sendable {
    let stored: StoredResponse
    /// Bytes of the body; nil where only its end tells.
    let length: Int?
    let body: SharedBody
}

/// One origin exchange that requests for the same URL wait for, from any event loop.
final class Flight: Sendable {
    enum Phase: Sendable {
        case waiting
        case streaming(SharedResponse)
        /// The origin has failed when the response was to be validated.
        case failed(StoredEntry, OriginFailure)
        /// Nothing comes of it for others: each decides anew for itself.
        case over
    }

    private struct State {
        var phase = Phase.waiting
        var waiters: [Int: @Sendable (Phase) -> Void] = [:]
        var count = 0
        var onAbandoned: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// What is to happen when the last waiter has gone.
    func setAbandonedHandler(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.onAbandoned = handler }
    }

    /// Waits for the response's head.
    ///
    /// - Parameter notify: called once, on the origin exchange's event loop, with what came of it.
    /// - Returns: a ticket, with which the waiter can ``leave(_:)``; nil with a phase that waits no longer.
    func join(_ notify: @escaping @Sendable (Phase) -> Void) -> (ticket: Int?, phase: Phase) {
        state.withLock { state in
            guard case .waiting = state.phase else { return (nil, state.phase) }
            state.count &+= 1
            state.waiters[state.count] = notify
            return (state.count, .waiting)
        }
    }

    func leave(_ ticket: Int) {
        let handler = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.waiters.removeValue(forKey: ticket) != nil, state.waiters.isEmpty else { return nil }
            return state.onAbandoned
        }
        handler?()
    }

    var hasWaiters: Bool { state.withLock { !$0.waiters.isEmpty } }

    /// The head has come, and others may use the response.
    func stream(_ response: SharedResponse) { advance(.streaming(response)) }

    /// The origin has failed, and the stored response stands in for its answer: others may take it so, too.
    func fail(_ entry: StoredEntry, _ failure: OriginFailure) { advance(.failed(entry, failure)) }

    /// Others can't use the response, or can't any more.
    func end() { advance(.over) }

    private func advance(_ phase: Phase) {
        let waiters = state.withLock { state in
            state.phase = phase
            defer { state.waiters = [:] }
            if case .over = phase { state.onAbandoned = nil }
            return state.waiters.values
        }
        for waiter in waiters { waiter(phase) }
    }
}

/// The origin exchanges under way that requests may wait for, by cache key.
final class FlightTable: Sendable {
    private final class Shard: Sendable {
        let flights = Mutex<[CacheKey: Flight]>([:])
    }

    private static let shardCount = 16
    private let shards: [Shard]

    init() {
        shards = (0..<FlightTable.shardCount).map { _ in Shard() }
    }

    private func shard(_ key: CacheKey) -> Shard {
        shards[(key.hashValue & .max) % FlightTable.shardCount]
    }

    /// The flight of a key, and whether it is a new one, which the caller then leads.
    func findOrBegin(_ key: CacheKey) -> (flight: Flight, isNew: Bool) {
        shard(key).flights.withLock { flights in
            if let flight = flights[key] { return (flight, false) }
            let flight = Flight()
            flights[key] = flight
            return (flight, true)
        }
    }

    /// Lets no further request find the flight of a key, if there is one; those that have joined it stay.
    func retire(_ key: CacheKey) {
        shard(key).flights.withLock { $0[key] = nil }
    }

    func remove(_ flight: Flight, _ key: CacheKey) {
        shard(key).flights.withLock { flights in
            if flights[key] === flight { flights[key] = nil }
        }
    }
}
