import Testing

@testable import HTTPCaching

@Suite("Counters of invalidations")
struct InvalidationCountersTests {
    @Test("An invalidation overtakes what was requested before it, not what is requested after it")
    func order() {
        var counters = InvalidationCounters()
        let key = StoreKey("a")
        let before = counters.epoch(for: key)
        #expect(counters.epoch(for: key) == before)
        counters.note(key)
        let after = counters.epoch(for: key)
        #expect(after != before)
        #expect(counters.epoch(for: StoreKey("a")) == after)
        counters.note(key)
        #expect(counters.epoch(for: key) != before)
        #expect(counters.epoch(for: key) != after)
    }
}
