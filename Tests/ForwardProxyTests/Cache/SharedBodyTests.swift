import HTTPCaching
import NIOCore
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
}
