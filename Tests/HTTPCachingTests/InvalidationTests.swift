import HTTPCaching
import HTTPSemantics
import Testing

@Suite("Invalidation")
struct InvalidationTests {
    static func invalidated(
        _ lines: [String], method: Method = .post, status: Int = 200, target uri: String = "http://example.com/a/b"
    ) throws -> [String] {
        Invalidation.targets(method: method, status: status, target: try target(uri), fields: fields(lines))
            .map { text(CacheKey($0).bytes) }
    }

    static let own = "http://example.com/a/b"

    @Test("A successful unsafe request invalidates its target")
    func unsafeRequests() throws {
        for method in [Method.post, .put, .delete, .patch, .other] {
            for status in [200, 201, 204, 206, 299, 301, 303, 304, 399] {
                #expect(try Self.invalidated([], method: method, status: status) == [Self.own])
            }
            for status in [0, 100, 101, 199, 400, 404, 409, 500, 503, 600] {
                #expect(try Self.invalidated(["Location: /c"], method: method, status: status) == [])
            }
        }
        for method in [Method.get, .head, .options, .trace, .connect] {
            #expect(try Self.invalidated(["Location: /c"], method: method) == [])
        }
    }

    static let locations: [(String, String?)] = [
        ("/c", "http://example.com/c"), ("c", "http://example.com/a/c"),
        ("http://example.com/c?d", "http://example.com/c?d"),
        ("http://EXAMPLE.com:80/c", "http://example.com/c"), ("//example.com/c#d", "http://example.com/c"),
        ("https://example.com/c", nil), ("http://example.org/c", nil), ("http://example.com:8080/c", nil),
        ("http://a.example.com/c", nil), ("ftp://example.com/c", nil), ("http://example.com@evil/c", nil), ("", nil),
        ("/a/b", nil), ("/c d", nil),
    ]

    @Test("It invalidates Location and Content-Location where they have its origin", arguments: locations)
    func location(_ value: String, _ expected: String?) throws {
        let all = [Self.own] + (expected.map { [$0] } ?? [])
        #expect(try Self.invalidated(["Location: \(value)"]) == all)
        #expect(try Self.invalidated(["Content-Location: \(value)"]) == all)
        #expect(try Self.invalidated(["Content-Location: \(value)", "Location: \(value)"]) == all)
    }

    @Test("Both are invalidated, and neither where there are two of it")
    func several() throws {
        #expect(
            try Self.invalidated(["Location: /c", "Content-Location: /d"])
                == [Self.own, "http://example.com/c", "http://example.com/d"])
        #expect(try Self.invalidated(["Location: /c", "Location: /d"]) == [Self.own])
    }

    @Test("The port that the scheme has is the same as none")
    func ports() throws {
        let location = ["Location: https://example.com/c"]
        #expect(try Self.invalidated(location, target: "https://example.com:443/a").count == 2)
        #expect(try Self.invalidated(location, target: "https://example.com:444/a").count == 1)
        #expect(try Self.invalidated(location, target: "http://example.com:443/a").count == 1)
    }
}
