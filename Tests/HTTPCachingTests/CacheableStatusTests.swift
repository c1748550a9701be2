import Testing

@testable import HTTPCaching

@Suite("Statuses")
struct CacheableStatusTests {
    @Test("Only final statuses are stored, and none that speaks of one request")
    func storable() {
        let refused = (0...700).filter { !CacheableStatus.isStorable($0) }
        let expected =
            Array(0..<200) + [304, 401, 407, 408, 412, 416, 417, 421, 425, 426, 428, 429, 431, 511] + Array(600...700)
        #expect(refused == expected)
    }

    @Test("What is cacheable by default is what RFC 9110 §15.1 lists")
    func heuristic() {
        let cacheable = (0...700).filter { CacheableStatus.isHeuristicallyCacheable($0) }
        #expect(cacheable == [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501])
    }

    @Test(
        "Registered statuses are understood, others not", arguments: [199, 209, 299, 306, 309, 418, 419, 499, 509, 599])
    func understood(_ status: Int) {
        #expect(CacheableStatus.isUnderstood(status) == (status == 418))
        #expect(
            [200, 206, 226, 301, 308, 404, 410, 451, 500, 503, 504].allSatisfy { CacheableStatus.isUnderstood($0) })
    }
}
