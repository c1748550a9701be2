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
        for failure in [.noResponse, .status(500), .status(502), .status(503), .status(504)] as [OriginFailure] {
            let permission = Reuse.standIn(
                response, for: request, after: failure, at: at(age), policy: CachePolicy())
            #expect(permission == (expected ? .staleIfError : nil))
        }
    }

    /// The response's Cache-Control, the request's, the age, what lets it stand in for an origin that can't be reached.
    static let disconnections: [(String, String, Int64, StandInPermission?)] = [
        ("max-age=60", "", 70, .unreachable), ("max-age=60", "", 604_859, .unreachable),
        ("max-age=60", "", 604_860, nil), ("max-age=60", "max-age=0", 10, .unreachable),
        ("max-age=60", "min-fresh=90", 10, .unreachable), ("max-age=60", "no-cache", 70, nil),
        ("max-age=60, must-revalidate", "", 70, nil), ("max-age=60, proxy-revalidate", "", 70, nil),
        ("max-age=60, no-cache", "", 70, nil), ("s-maxage=60", "", 70, nil),
        ("max-age=60, no-cache=\"x\"", "", 70, .unreachable),
        ("max-age=60, stale-if-error=100", "", 70, .staleIfError),
        ("max-age=60, stale-if-error=100", "", 160, .unreachable),
    ]

    @Test("A stored response stands in for an origin that can't be reached, for a week", arguments: disconnections)
    func disconnected(_ control: String, _ wish: String, _ age: Int64, _ expected: StandInPermission?) throws {
        let response = try #require(try stored("Cache-Control: \(control)"))
        let request = request(wish.isEmpty ? [] : ["Cache-Control: \(wish)"])
        func permission(_ policy: CachePolicy) -> StandInPermission? {
            Reuse.standIn(response, for: request, after: .unreachable, at: at(age), policy: policy)
        }
        #expect(permission(CachePolicy()) == expected)
        let never = permission(CachePolicy(staleIfUnreachable: 0))
        #expect(never == (expected == .unreachable ? nil : expected))
    }

    @Test("Other statuses are no errors to stand in for", arguments: [200, 304, 400, 404, 429, 501, 505, 507, 0])
    func statuses(_ status: Int) throws {
        let response = try #require(try stored("Cache-Control: max-age=60, stale-if-error=100"))
        let permission = Reuse.standIn(
            response, for: request(), after: .status(status), at: at(70), policy: CachePolicy())
        #expect(permission == nil)
    }

    @Test("A response that doesn't suit the request stands in for nothing")
    func unsuitable() throws {
        let part = try CombinationTests.part(0..<10, of: 100, ["Cache-Control: max-age=60, stale-if-error=100"])
        func mayStandIn(_ request: CacheRequest) -> Bool {
            Reuse.standIn(part, for: request, after: .noResponse, at: at(70), policy: CachePolicy()) != nil
        }
        #expect(mayStandIn(request("Range: bytes=0-5")))
        #expect(!mayStandIn(request()))
        #expect(!mayStandIn(request("Range: bytes=0-5", method: .post)))
    }
}
