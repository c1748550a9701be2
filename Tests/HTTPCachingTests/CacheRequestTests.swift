import HTTPCaching
import HTTPSemantics
import Testing

@Suite("What the rules look at of a request")
struct CacheRequestTests {
    @Test(
        "Fields that Connection nominates are not forwarded, so they are not there",
        arguments: [
            ("Connection: X-A", ["X-B: 2", "Accept: 3"]), ("Connection: x-a, accept", ["X-B: 2"]),
            ("Connection: close", ["Connection: close", "X-A: 1", "X-B: 2", "Accept: 3"]),
            ("Connection: keep-alive, TE", ["Connection: keep-alive, TE", "X-A: 1", "X-B: 2", "Accept: 3"]),
            ("Connection: Authorization", ["Connection: Authorization", "X-A: 1", "X-B: 2", "Accept: 3"]),
        ])
    func nominated(_ connection: String, _ expected: [String]) {
        #expect(lines(request(connection, "X-A: 1", "X-B: 2", "Accept: 3").fields) == expected)
    }

    @Test("TE is what is forwarded of it, whatever Connection nominates beside it")
    func trailers() throws {
        let asking = request("Connection: TE, X-A", "X-A: 1", "TE: trailers", "X-B: 2")
        #expect(lines(asking.fields) == ["TE: trailers", "X-B: 2"])
        let stored = try #require(try stored("Cache-Control: max-age=60", "Vary: TE", request: asking))
        #expect(stored.selection.matches(request("Connection: TE", "TE: trailers")))
        #expect(!stored.selection.matches(request([])))
    }

    @Test("A variant is not selected by a field that the origin did not get")
    func variants() throws {
        let hidden = request("Connection: X-Tenant", "X-Tenant: b")
        let stored = try #require(try stored("Cache-Control: max-age=60", "Vary: X-Tenant", request: hidden))
        #expect(stored.selection.matches(request([])))
        #expect(!stored.selection.matches(request("X-Tenant: b")))
        #expect(stored.selection.matches(hidden))
    }

    @Test("It is one user's by its credentials, or by those of its connection")
    func authorization() {
        func isAuthorized(_ lines: [String], _ byConnection: Bool) -> Bool {
            CacheRequest(
                method: .get, fields: fields(lines), hasContent: false, isConnectionAuthenticated: byConnection
            ).isAuthorized
        }
        #expect(!isAuthorized([], false))
        #expect(isAuthorized(["Authorization: x"], false))
        #expect(isAuthorized(["Connection: authorization", "Authorization: x"], false))
        #expect(isAuthorized([], true))
    }

    @Test("Without conditions it asks for the whole")
    func unconditional() {
        let conditional = request(
            "X: 1", "If-None-Match: *", "If-Modified-Since: x", "If-Match: *", "If-Unmodified-Since: x", "If-Range: x",
            "Range: bytes=0-1", "Y: 2")
        #expect(lines(conditional.unconditional.fields) == ["X: 1", "Y: 2"])
    }
}
