import HTTPCaching
import HTTPSemantics
import Testing

@Suite("Serving stale responses")
struct ServingStaleTests {
    static let forbidding: [(String, Bool, Bool)] = [
        ("max-age=60", false, false), ("max-age=60, must-revalidate", true, true), ("no-cache", true, true),
        ("max-age=60, proxy-revalidate", true, false), ("s-maxage=60, max-age=60", true, false),
        ("s-maxage=x, max-age=60", true, false), ("max-age=60, no-cache=\"x\"", false, false),
        ("max-age=60, must-revalidate=\"x\"", true, true), ("max-age=60, stale-if-error=5", false, false),
    ]

    @Test("must-revalidate and its kin forbid it, some of them only in a shared cache", arguments: forbidding)
    func forbids(_ control: String, _ shared: Bool, _ personal: Bool) throws {
        let response = try #require(try stored("Cache-Control: \(control)"))
        #expect(Reuse.forbidsStale(response, policy: CachePolicy()) == shared)
        #expect(Reuse.forbidsStale(response, policy: privatePolicy) == personal)
    }

    /// The response's Cache-Control, the request's, the age, whether it may stand in.
    static let standIns: [(String, String, Int64, Bool)] = [
        ("max-age=60", "", 70, false),
        ("max-age=60, stale-if-error=100", "", 70, true),
        ("max-age=60, stale-if-error=100", "", 10, true),
        ("max-age=60, stale-if-error=100", "", 159, true),
        ("max-age=60, stale-if-error=100", "", 160, false),
        ("max-age=60, stale-if-error=0", "", 10, false),
        ("max-age=60, stale-if-error=x", "", 70, false),
        ("max-age=60, stale-if-error=100, must-revalidate", "", 70, false),
        ("max-age=60, stale-if-error=100, no-cache", "", 70, false),
        ("s-maxage=60, stale-if-error=100", "", 70, false),
        ("max-age=60", "stale-if-error=100", 70, true),
        ("max-age=60", "stale-if-error=100", 160, false),
        ("max-age=60, stale-if-error=5", "stale-if-error=100", 70, true),
        ("max-age=60, must-revalidate", "stale-if-error=100", 70, false),
        ("max-age=60, stale-if-error=100", "no-cache", 70, false),
        ("max-age=60, stale-if-error=100", "max-age=0", 70, true),
    ]

    @Test("A stored response stands in for an error within stale-if-error", arguments: standIns)
    func standIn(_ control: String, _ wish: String, _ age: Int64, _ expected: Bool) throws {
        let response = try #require(try stored("Cache-Control: \(control)"))
        let request = request(wish.isEmpty ? [] : ["Cache-Control: \(wish)"])
        for status in [nil, 500, 502, 503, 504] {
            let mayStandIn = Reuse.mayStandIn(
                response, for: request, status: status, at: at(age), policy: CachePolicy())
            #expect(mayStandIn == expected)
        }
    }

    @Test("Other statuses are no errors to stand in for", arguments: [200, 304, 400, 404, 429, 501, 505, 507, 0])
    func statuses(_ status: Int) throws {
        let response = try #require(try stored("Cache-Control: max-age=60, stale-if-error=100"))
        #expect(!Reuse.mayStandIn(response, for: request(), status: status, at: at(70), policy: CachePolicy()))
    }

    @Test("A response that doesn't suit the request stands in for nothing")
    func unsuitable() throws {
        let part = try CombinationTests.part(0..<10, of: 100, ["Cache-Control: max-age=60, stale-if-error=100"])
        func mayStandIn(_ request: CacheRequest) -> Bool {
            Reuse.mayStandIn(part, for: request, status: nil, at: at(70), policy: CachePolicy())
        }
        #expect(mayStandIn(request("Range: bytes=0-5")))
        #expect(!mayStandIn(request()))
        #expect(!mayStandIn(request("Range: bytes=0-5", method: .post)))
    }
}
