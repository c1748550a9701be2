import HTTPCaching
import HTTPSemantics
import NIOCore
import Testing

@Suite("Stored responses")
struct StoredResponseTests {
    @Test("Status, reason and validators are those received")
    func received() throws {
        let stored = try #require(
            try stored("Cache-Control: max-age=60", "ETag: W/\"a\"", "Last-Modified: \(date(-5))", status: 404, at: 3))
        #expect(stored.status == 404 && text(Array(stored.reason.readableBytesView)) == "Reason")
        #expect(stored.etag.map { text($0) } == "W/\"a\"")
        #expect(stored.lastModified == epoch - 5 && stored.date == epoch + 3 && stored.receivedAt == at(3))
        #expect(stored.part == nil && stored.selection == .none)
    }

    @Test("An empty ETag and a Last-Modified that is no date are none")
    func missing() throws {
        let stored = try #require(try stored("Cache-Control: max-age=60", "ETag:", "Last-Modified: 5"))
        #expect(stored.etag == nil && stored.lastModified == nil)
    }

    @Test("If-Modified-Since is compared with Last-Modified, or with Date where there is none")
    func modificationDate() throws {
        let modified = try #require(try stored("Cache-Control: max-age=60", "Last-Modified: \(date(-5))"))
        #expect(modified.modificationDate == epoch - 5)
        #expect(try stored("Cache-Control: max-age=60", at: 7)?.modificationDate == epoch + 7)
        #expect(try stored("Cache-Control: max-age=60", "Date", at: 7)?.modificationDate == epoch + 7)
    }

    static let kept: [(String, CachePolicy.Mode, Bool)] = [
        ("public, max-age=5", .shared, true), ("max-age=5", .private, true),
        ("public, no-store", .shared, false), ("public, no-store", .private, false),
        ("public, private", .shared, false), ("private", .private, true),
        ("public, private=\"x\"", .shared, true), ("public, no-store, must-understand", .shared, true),
    ]

    @Test("What a 304 brings says whether it stays stored", arguments: kept)
    func mayBeKept(_ control: String, _ mode: CachePolicy.Mode, _ isKept: Bool) throws {
        let policy = CachePolicy(mode: mode)
        let after = try FresheningTests.freshened(
            ["Cache-Control: public, max-age=60"], by: ["Cache-Control: \(control)"],
            request: request("Authorization: x"), policy: policy)
        #expect(after.mayBeKept(by: policy) == isKept)
    }

    @Test("An age and a lifetime that are given from outside are within bounds", arguments: [Int64.min, -1, .max])
    func bounds(_ age: Int64) throws {
        let one = try #require(try stored("Cache-Control: max-age=60"))
        let other = StoredResponse(
            status: one.status, reason: one.reason, fields: one.fields, directives: one.directives,
            lifetime: FreshnessLifetime(seconds: age, source: .maxAge), correctedInitialAge: age,
            receivedAt: one.receivedAt, date: one.date,
            etag: one.etag, lastModified: one.lastModified, selection: one.selection, isAuthorized: one.isAuthorized,
            part: one.part)
        #expect(other.currentAge(at: at(0)) == (age < 0 ? 0 : 1 << 31))
        #expect(other.lifetime.seconds == (age < 0 ? 0 : 1 << 31))
    }
}
