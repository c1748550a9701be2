import HTTPSemantics
import Testing

@testable import HTTPCaching

@Suite("Heuristic freshness")
struct HeuristicFreshnessTests {
    static let cases: [(Int64?, Int64, Int64, Int64?)] = [
        (-1000, 10, 86_400, 100), (-1009, 10, 86_400, 100), (-10, 10, 86_400, 1), (-9, 10, 86_400, nil),
        (0, 10, 86_400, nil), (1000, 10, 86_400, nil), (nil, 10, 86_400, nil), (-10_000_000, 10, 86_400, 86_400),
        (-1000, 0, 86_400, nil), (-1000, 100, 86_400, 1000), (-1000, 200, 86_400, 1000), (-1000, 10, 0, nil),
        (-1000, -5, 86_400, nil), (-1_000_000_000_000, 100, .max, 1 << 31),
    ]

    @Test("It is a share of the time since Last-Modified, within a limit", arguments: cases)
    func seconds(_ modified: Int64?, _ percent: Int64, _ limit: Int64, _ expected: Int64?) {
        let policy = CachePolicy(heuristicPercent: percent, heuristicLimit: limit)
        let seconds = HeuristicFreshness.seconds(lastModified: modified.map { $0 + epoch }, date: epoch, policy: policy)
        #expect(seconds == expected)
    }

    @Test("Statuses that are cacheable by default have one without public, others only with it")
    func statuses() throws {
        let cacheable: Set = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]
        for status in 200...599 where CacheableStatus.isStorable(status) && status != 206 {
            let modified = "Last-Modified: \(date(-1000))"
            #expect((try stored(modified, status: status) != nil) == cacheable.contains(status), "\(status)")
            #expect(try stored(modified, "Cache-Control: public", status: status)?.lifetime.seconds == 100, "\(status)")
        }
    }
}
