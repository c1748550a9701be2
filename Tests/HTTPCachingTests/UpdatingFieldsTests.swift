import HTTPSemantics
import ProxyTestKit
import Testing

@testable import HTTPCaching

@Suite("Updating the fields of a stored response")
struct UpdatingFieldsTests {
    static let old = [
        "Date: \(date(0))", "Cache-Control: max-age=60", "ETag: \"a\"", "Content-Type: text/html", "X-A: 1", "X-a: 2",
        "X-B: 1", "Link: <a>",
    ]

    /// What the fields are after a 304 with a Date and these lines, without the Date.
    static func updated(
        _ newer: [String], old: [String] = UpdatingFieldsTests.old, policy: CachePolicy = CachePolicy()
    ) throws -> [String] {
        let stored = try #require(try stored(old, policy: policy))
        let notModified = response(304, ["ETag: \"a\""] + newer, at: 10)
        let outcome = Validation.outcome(stored, notModified: notModified, request: request(), policy: policy)
        guard case .freshened(let freshened) = outcome else { return ["not freshened"] }
        return lines(freshened.fields).filter { !$0.hasPrefix("Date") }
    }

    @Test("All lines of a name that the newer response has are replaced, and all others stay")
    func replacing() throws {
        let result = try Self.updated(["x-A: 3", "LINK: <b>", "link: <c>", "X-New: 1"])
        #expect(
            result == [
                "Cache-Control: max-age=60", "Content-Type: text/html", "X-B: 1", "ETag: \"a\"", "x-A: 3", "LINK: <b>",
                "link: <c>", "X-New: 1",
            ])
    }

    @Test(
        "Fields of the message are never taken",
        arguments: [
            "Content-Length: 5", "Content-Range: bytes 0-1/2",
            "Transfer-Encoding: chunked", "Connection: close", "Keep-Alive: 5", "Age: 5", "Trailer: x", "Upgrade: x",
            "Proxy-Authenticate: x",
        ])
    func untaken(_ line: String) throws {
        #expect(try Self.updated([line]) == (try Self.updated([])))
    }

    @Test(
        "Other fields are taken, whatever they are called",
        arguments: [
            "Content-Type: text/plain", "Content-Language: de", "Content-Location: /b", "Content-Foo: x",
            "Content-Security-Policy: x", "X-Foo: x",
            "Expires: 0", "Last-Modified: \(date(-5))", "Vary: X", "Server: x", "Warning: 199 - x", "Repr-Digest: x",
        ])
    func taken(_ line: String) throws {
        #expect(try Self.updated([line]).last == line)
        #expect(try Self.updated([line], old: Self.old + [line + "old"]).filter { $0.hasPrefix(line) } == [line])
    }

    @Test(
        "What the content can't be read without is taken only with the same strong entity tag",
        arguments: ["Content-Encoding: gzip", "Content-Digest: x", "Content-MD5: x"])
    func content(_ line: String) throws {
        #expect(try Self.updated([line]).contains(line))
        let weak = Self.old.map { $0.hasPrefix("ETag") ? "ETag: W/\"a\"" : $0 }
        let stored = try #require(try stored(weak))
        let notModified = response(304, ["ETag: W/\"a\"", line], at: 10)
        let outcome = Validation.outcome(stored, notModified: notModified, request: request(), policy: CachePolicy())
        guard case .freshened(let freshened) = outcome else {
            Issue.record("not freshened")
            return
        }
        #expect(!lines(freshened.fields).contains(line))
    }

    @Test("What the newer response's Connection names is not taken, and what is stored of it stays")
    func connection() throws {
        #expect(try Self.updated(["Connection: X-B, close", "X-B: 2"]).contains("X-B: 1"))
    }

    @Test("What the newer response forbids to store goes")
    func forbidden() throws {
        let control = "Cache-Control: max-age=60, private=\"x-b\", no-cache=\"link\""
        let result = try Self.updated([control, "X-B: 2"])
        #expect(!result.contains { $0.hasPrefix("X-B") || $0.hasPrefix("Link") })
        let personal = try Self.updated([control, "X-B: 2"], policy: privatePolicy)
        #expect(personal.contains("X-B: 2") && !personal.contains { $0.hasPrefix("Link") })
    }

    @Test("A shared cache takes Set-Cookie only with explicit freshness, and not with no-cache")
    func cookies() throws {
        let cookie = "Set-Cookie: a=1"
        #expect(try !Self.updated([cookie]).contains(cookie))
        #expect(try !Self.updated([cookie, "Cache-Control: public"]).contains(cookie))
        #expect(try Self.updated([cookie, "Cache-Control: max-age=5"]).contains(cookie))
        #expect(try Self.updated([cookie, "Cache-Control: s-maxage=5"]).contains(cookie))
        #expect(try Self.updated([cookie, "Expires: \(date(60))"]).contains(cookie))
        for stale in [
            "Expires: 0", "Cache-Control: max-age=0", "Cache-Control: s-maxage=0, max-age=5",
            "Cache-Control: no-cache, max-age=5",
        ] {
            #expect(try !Self.updated([cookie, stale]).contains(cookie))
        }
        #expect(try Self.updated([cookie], policy: privatePolicy).contains(cookie))
        #expect(try Self.updated([], old: Self.old + [cookie]).contains(cookie))
    }

    @Test(
        "The stored Set-Cookie goes where another one came that isn't taken, and where what comes out is validated each time",
        arguments: [
            ["Set-Cookie: b=2"], ["Set-Cookie: b=2", "Cache-Control: no-cache, max-age=60"],
            ["Set-Cookie: b=2", "Cache-Control: max-age=0"], ["Cache-Control: no-cache"], ["Cache-Control: max-age=0"],
            ["Cache-Control: public"],
        ])
    func cookiesOfOthers(_ newer: [String]) throws {
        let old = Self.old + ["Set-Cookie: a=1"]
        #expect(try !Self.updated(newer, old: old).contains { $0.hasPrefix("Set-Cookie") })
        // A cache of one user keeps them.
        #expect(try Self.updated(newer, old: old, policy: privatePolicy).contains { $0.hasPrefix("Set-Cookie") })
    }

    @Test("A 304's own directives forbid its Set-Cookie also where the stored ones of a targeted field count")
    func cookieBesideTargetedField() throws {
        let policy = CachePolicy(targetedFields: [Array("cdn-cache-control".utf8)])
        let old = ["Date: \(date(0))", "CDN-Cache-Control: max-age=600", "ETag: \"a\""]
        let newer = ["Cache-Control: no-cache, max-age=60", "Set-Cookie: b=2"]
        #expect(try !Self.updated(newer, old: old, policy: policy).contains { $0.hasPrefix("Set-Cookie") })
    }

    @Test("Expires of a 304 makes no Set-Cookie fresh where the stored max-age counts")
    func cookieWithUselessExpires() throws {
        let old = ["Date: \(date(0))", "Cache-Control: max-age=0", "ETag: \"a\""]
        let newer = ["Expires: \(date(60))", "Set-Cookie: b=2"]
        #expect(try !Self.updated(newer, old: old).contains { $0.hasPrefix("Set-Cookie") })
    }

    @Test("Updating takes time in proportion to the number of fields")
    func linear() throws {
        let growth = growth(from: 100) { count in
            let section = fields((0..<count).map { "X-\($0): a" } + ["Link: <a>"])
            _ = UpdatingFields.merged(section, with: section, ruling: ResponseDirectives(), policy: CachePolicy())
        }
        #expect(growth < 64)
    }
}
