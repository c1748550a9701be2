import HTTPCaching
import HTTPSemantics
import Testing

@Suite("Freshening by HEAD")
struct HeadFresheningTests {
    static let modified = "Last-Modified: \(date(-100))"
    static let held = ["Cache-Control: max-age=60", "ETag: \"a\"", modified, "Vary: X", "X-Old: 1"]

    static let cases: [([String], Bool)] = [
        ([], true),
        (["ETag: \"a\""], true),
        (["ETag: \"b\""], false),
        (["ETag: W/\"a\""], false),
        ([modified], true),
        (["Last-Modified: \(date(-99))"], false),
        (["Last-Modified: x"], false),
        (["ETag: \"a\"", modified, "Content-Length: 7"], true),
        (["Content-Length: 8"], false),
        (["Content-Length: x"], false),
        (["Vary: x"], true),
        (["Vary: X, Y"], false),
        (["Vary: *"], false),
        (["Cache-Control: no-store"], false),
        (["Cache-Control: private"], false),
        (["Cache-Control: max-age=5"], true),
    ]

    /// What a response to HEAD makes of a stored one: the freshened one, or nil where it invalidates.
    static func freshened(
        _ stored: StoredResponse, size: Int = 7, by head: OriginResponse
    ) -> StoredResponse? {
        let outcome = Validation.outcome(
            stored, size: size, byHead: head, request: request([], method: .head), policy: CachePolicy())
        if case .freshened(let freshened) = outcome { return freshened }
        return nil
    }

    @Test("A stored response is freshened where nothing in the HEAD's response contradicts it", arguments: cases)
    func outcome(_ lines: [String], _ isFreshened: Bool) throws {
        let stored = try #require(try stored(Self.held, request: request("X: a")))
        let freshened = Self.freshened(stored, by: response(200, lines, at: 10))
        #expect((freshened != nil) == isFreshened)
        if let freshened {
            #expect(freshened.date == epoch + 10 && freshened.receivedAt == at(10))
            #expect(freshened.selection == stored.selection)
        }
    }

    @Test("A validator that is not held contradicts")
    func unheld() throws {
        let stored = try #require(try stored("Cache-Control: max-age=60"))
        func isFreshened(_ lines: String...) -> Bool {
            Self.freshened(stored, by: response(200, lines)) != nil
        }
        #expect(isFreshened())
        #expect(!isFreshened("ETag: \"a\""))
        #expect(!isFreshened(Self.modified))
    }

    @Test("Its fields are updated")
    func fields() throws {
        let stored = try #require(try stored(Self.held, request: request("X: a")))
        let head = response(200, ["X-Old: 2", "X-New: 3", "Cache-Control: max-age=5"], at: 10)
        let freshened = try #require(Self.freshened(stored, by: head))
        let all = lines(freshened.fields)
        #expect(all.contains("X-Old: 2") && all.contains("X-New: 3") && !all.contains("X-Old: 1"))
        #expect(freshened.lifetime.seconds == 5)
    }

    @Test("Only a 200 freshens, and only a 200 or a part", arguments: [204, 206, 304, 404, 500])
    func statuses(_ status: Int) throws {
        let stored = try #require(try stored(Self.held))
        #expect(Self.freshened(stored, by: response(status, [])) == nil)
        let missing = try #require(try HTTPCachingTests.stored(Self.held, status: 404))
        #expect(Self.freshened(missing, by: response(200, [])) == nil)
    }

    @Test("A part is compared by the size of the whole")
    func parts() throws {
        let part = try CombinationTests.part(0..<10, of: 100)
        func isFreshened(_ length: Int) -> Bool {
            let head = response(200, ["Content-Length: \(length)"])
            return Self.freshened(part, size: 10, by: head) != nil
        }
        #expect(isFreshened(100))
        #expect(!isFreshened(10))
    }

    @Test(
        "One that is for one user alone changes nothing, unless it says that others may have it",
        arguments: [
            ("Cache-Control: max-age=60", false), ("X: 1", false), ("Cache-Control: private", false),
            ("ETag: \"b\"", false), ("Cache-Control: public", true), ("Cache-Control: must-revalidate", true),
            ("Cache-Control: s-maxage=5", true),
        ])
    func authorized(_ line: String, _ isTaken: Bool) throws {
        let stored = try #require(try stored("Cache-Control: public, max-age=60", "ETag: \"a\""))
        let head = response(200, [line, "X-User: alice"])
        let byField = request("Authorization: Basic eDp5", method: .head)
        let byConnection = CacheRequest(
            method: .head, fields: FieldSection(), hasContent: false, isConnectionAuthenticated: true)
        for request in [byField, byConnection] {
            let outcome = Validation.outcome(stored, size: 7, byHead: head, request: request, policy: CachePolicy())
            switch outcome {
            case .unchanged: #expect(!isTaken)
            case .freshened(let freshened):
                #expect(isTaken)
                // For what comes next to be shared, it has to say so too.
                #expect(freshened.isAuthorized)
            case .invalidated: Issue.record("\(line) invalidates")
            }
            let inPrivate = Validation.outcome(stored, size: 7, byHead: head, request: request, policy: privatePolicy)
            if case .unchanged = inPrivate { Issue.record("there is one user alone in a private cache") }
        }
    }
}
