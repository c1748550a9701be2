import HTTPCaching
import HTTPSemantics
import Testing

@Suite("Freshening by a 304")
struct FresheningTests {
    /// What is stored after a 304 that came ten seconds later.
    static func freshened(
        _ lines: [String], by notModified: [String], request: CacheRequest = request([]),
        policy: CachePolicy = CachePolicy()
    ) throws -> StoredResponse {
        let before = try #require(try stored(lines + ["ETag: \"a\""], request: request, policy: policy))
        let outcome = Validation.outcome(
            before, notModified: response(304, notModified, at: 10), request: request, policy: policy)
        guard case .freshened(let after) = outcome else { throw NotFreshened() }
        return after
    }

    struct NotFreshened: Error {}

    @Test("Its age is counted anew from the 304")
    func age() throws {
        let after = try Self.freshened(["Cache-Control: max-age=60", "Age: 50"], by: [])
        #expect(after.correctedInitialAge == 0)
        #expect(after.receivedAt == at(10) && after.date == epoch + 10)
        #expect(after.fields.firstText(.date) == date(10) && after.fields.count(of: .date) == 1)
        #expect(after.timeToLive(at: at(20)) == 50)
        let older = try Self.freshened(["Cache-Control: max-age=60"], by: ["Age: 7"])
        #expect(older.correctedInitialAge == 7 && !older.fields.contains(.age))
    }

    @Test("A Date that the 304 lacks is the time of its receipt", arguments: ["Date", "Date: nonsense"])
    func missingDate(_ line: String) throws {
        let after = try Self.freshened(["Cache-Control: max-age=60"], by: [line])
        #expect(after.date == epoch + 10 && after.fields.firstText(.date) == date(10))
        #expect(after.fields.count(of: .date) == 1)
    }

    @Test("Its lifetime is the one that the 304 gives, or else the stored one")
    func lifetime() throws {
        func seconds(_ lines: [String], _ notModified: [String]) throws -> Int64 {
            try Self.freshened(lines, by: notModified).lifetime.seconds
        }
        #expect(try seconds(["Cache-Control: max-age=60"], []) == 60)
        #expect(try seconds(["Cache-Control: max-age=60"], ["Cache-Control: max-age=5"]) == 5)
        #expect(try seconds(["Cache-Control: max-age=60"], ["Cache-Control: public"]) == 0)
        #expect(try seconds(["Expires: \(date(60))"], []) == 50)
        #expect(try seconds(["Expires: \(date(60))"], ["Expires: \(date(100))"]) == 90)
        #expect(try seconds(["Expires: \(date(60))"], ["Cache-Control: max-age=5"]) == 5)
        #expect(try seconds(["Last-Modified: \(date(-990))"], []) == 100)
    }

    @Test("Directives that the 304 doesn't have stay, also those of a field that is not kept")
    func directives() throws {
        let lines = ["Cache-Control: max-age=60, must-revalidate", "Connection: cache-control"]
        let after = try Self.freshened(lines, by: [])
        #expect(after.directives.mustRevalidate && after.lifetime.seconds == 60)
        let replaced = try Self.freshened(lines, by: ["Cache-Control: max-age=5"])
        #expect(!replaced.directives.mustRevalidate && replaced.lifetime.seconds == 5)
    }

    @Test("A targeted field of the 304 takes the place of what was stored")
    func targeted() throws {
        let policy = CachePolicy(targetedFields: [Array("cdn-cache-control".utf8)])
        let after = try Self.freshened(
            ["Cache-Control: max-age=60"], by: ["CDN-Cache-Control: max-age=5"], policy: policy)
        #expect(after.lifetime.seconds == 5 && after.directives.isTargeted)
        let kept = try Self.freshened(
            ["CDN-Cache-Control: max-age=60"], by: ["Cache-Control: max-age=5"], policy: policy)
        #expect(kept.lifetime.seconds == 60 && kept.directives.isTargeted)
    }

    @Test("Status, reason, part and authorization stay")
    func rest() throws {
        let after = try Self.freshened(
            ["Cache-Control: public, max-age=60", "Content-Range: bytes 0-4/9"], by: [],
            request: request("Authorization: x"))
        #expect(after.isAuthorized && after.status == 200)
        let part = try CombinationTests.part(0..<10, of: 100)
        let outcome = Validation.outcome(
            part, notModified: response(304, ["ETag: \"a\""]), request: request("Range: bytes=0-5"),
            policy: CachePolicy())
        guard case .freshened(let freshened) = outcome else { throw NotFreshened() }
        #expect(freshened.part == part.part && freshened.status == 206)
    }

    @Test("A Vary that names other fields selects by this request's values")
    func vary() throws {
        let lines = ["Cache-Control: max-age=60", "Vary: X"]
        let asked = request("X: a", "Y: b")
        let same = try Self.freshened(lines, by: ["Vary: x"], request: asked)
        #expect(same.selection.matches(request("X: a", "Y: c")))
        let more = try Self.freshened(lines, by: ["Vary: X, Y"], request: asked)
        #expect(more.selection.matches(request("X: a", "Y: b")) && !more.selection.matches(request("X: a", "Y: c")))
        let any = try Self.freshened(lines, by: ["Vary: *"], request: asked)
        #expect(!any.selection.matches(asked))
    }
}
