import HTTPCaching
import NIOCore
import ProxyTestKit
import Synchronization
import Testing

@testable import ForwardProxy

@Suite("A body for several clients")
struct SharedBodyTests {
    private let store = ResponseStore<StoredResponse>(budget: 1 << 20)

    private func body() -> SharedBody {
        SharedBody(StoreReservation(store), onConsumed: { _ in }, onAbandoned: {})
    }

    @Test("takes no new reader once it has failed, who would get a broken response; one that is complete does")
    func failed() {
        let good = body()
        _ = good.append(ByteBuffer(string: "x"))
        good.complete(trailers: nil)
        #expect(good.addReader {} != nil)
        let broken = body()
        _ = broken.append(ByteBuffer(string: "x"))
        broken.fail()
        #expect(broken.addReader {} == nil)
    }

    @Test("fails where nobody reads, in one step with looking whether somebody does")
    func unread() {
        let unread = body()
        _ = unread.append(ByteBuffer(string: "x"))
        #expect(unread.failIfUnread() && unread.addReader {} == nil)
        let isRead = body()
        _ = isRead.append(ByteBuffer(string: "x"))
        let reader = isRead.addReader {}
        #expect(reader != nil && !isRead.failIfUnread() && isRead.addReader {} != nil)
        let complete = body()
        complete.complete(trailers: nil)
        #expect(complete.failIfUnread() && complete.addReader {} != nil)
    }

    @Test("gives the store's room back when it will not be stored, but for what a reader is behind with")
    func givenUp() {
        let shared = body()
        let piece = ByteBuffer(repeating: 0, count: 1000)
        let cost = Recording.cost(of: piece)
        let reader = shared.addReader {}
        for _ in 0..<3 {
            #expect(shared.reservation.add(cost))
            _ = shared.append(piece)
        }
        if let reader { _ = shared.next(reader) }
        let held = shared.stopRetaining()
        #expect(held == 2 * cost)
        shared.reservation.keep(held)
        // All but that can be had by others.
        let other = StoreReservation(store)
        var taken = 0
        while other.add(1000) { taken += 1000 }
        let alone = StoreReservation(ResponseStore<StoredResponse>(budget: 1 << 20))
        var most = 0
        while alone.add(1000) { most += 1000 }
        #expect((most - taken - held).magnitude < 1000 && most > held)
        // When the reader has caught up nothing is held any more.
        if let reader { for _ in 0..<2 { _ = shared.next(reader) } }
        while other.add(1000) { taken += 1000 }
        #expect((most - taken).magnitude < 1000)
    }

    @Test("tells the origin of each byte once, when the slowest reader has had it", arguments: 0..<20 as Range<UInt64>)
    func paces(seed: UInt64) {
        let consumed = Mutex(0)
        let shared = SharedBody(
            StoreReservation(store), onConsumed: { count in consumed.withLock { $0 += count } }, onAbandoned: {})
        var random = SeededGenerator(seed: seed)
        var places: [Int: Int] = [:]
        for _ in 0..<5 { if let reader = shared.addReader(wake: {}) { places[reader] = 0 } }
        var (count, kept, slowest) = (0, 0, 0)
        var isRetained = true
        for _ in 0..<500 where !places.isEmpty {
            switch Int.random(in: 0..<20, using: &random) {
            case 0 where isRetained:
                _ = shared.stopRetaining()
                (isRetained, kept) = (false, count)
            case 1 where places.count > 1:
                guard let reader = places.keys.sorted().randomElement(using: &random) else { continue }
                places[reader] = nil
                shared.remove(reader)
            case 2:
                let reader = shared.addReader(wake: {})
                #expect((reader != nil) == (isRetained || slowest == 0))
                if let reader { places[reader] = 0 }
            case 3...8:
                _ = shared.append(ByteBuffer(repeating: UInt8(truncatingIfNeeded: count), count: 1))
                count += 1
            default:
                guard let reader = places.keys.sorted().randomElement(using: &random), let place = places[reader],
                    place < count
                else { continue }
                guard case .piece(let piece) = shared.next(reader) else {
                    Issue.record("reader \(reader) gets no piece \(place)")
                    return
                }
                #expect(piece.getInteger(at: piece.readerIndex) == UInt8(truncatingIfNeeded: place))
                places[reader] = place + 1
            }
            if !isRetained { slowest = max(slowest, places.values.min() ?? 0) }
            #expect(consumed.withLock(\.self) == max(0, slowest - kept))
        }
    }
}
