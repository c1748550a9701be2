import HTTPCaching
import HTTPSemantics
import ProxyTestKit
import Testing

@Suite("Validating a stored response")
struct ValidationTests {
    static let modified = "Last-Modified: \(date(-100))"

    static func held(_ lines: [String]) throws -> StoredResponse {
        try #require(try stored(["Cache-Control: max-age=60"] + lines))
    }

    /// What is held, the request's lines, If-None-Match, If-Modified-Since.
    static let preconditions: [([String], [String], String?, String?)] = [
        (["ETag: \"a\""], [], "\"a\"", nil),
        (["ETag: W/\"a\""], [], "W/\"a\"", nil),
        (["ETag: \"a\"", modified], [], "\"a\"", date(-100)),
        ([modified], [], nil, date(-100)),
        (["Last-Modified: Sunday, 06-Nov-94 08:47:57 GMT"], [], nil, date(-100)),
        (["Last-Modified: x", "ETag: \"a\""], [], "\"a\"", nil),
        (["ETag: \"a\"", "ETag: \"b\""], [], "\"a\"", nil),
        (["ETag: a"], [], "a", nil),
        (["ETag: \"a\""], ["If-None-Match: \"b\""], "\"b\", \"a\"", nil),
        (
            ["ETag: \"a\""], ["If-None-Match: \"b\", W/\"c\"", "If-None-Match: \"d\""], "\"b\", W/\"c\", \"d\", \"a\"",
            nil
        ),
        (["ETag: \"a\""], ["If-None-Match: \"b\", \"a\""], "\"b\", \"a\"", nil),
        (["ETag: \"a\""], ["If-None-Match: W/\"a\""], "W/\"a\"", nil),
        (["ETag: \"a\""], ["If-None-Match: *"], "\"a\"", nil),
        (["ETag: \"a\""], ["If-None-Match: garbage, \"b"], "\"a\"", nil),
        (["ETag: \"a\""], ["If-Modified-Since: \(date(-5))"], "\"a\"", nil),
        ([modified], ["If-Modified-Since: \(date(-5))"], nil, date(-100)),
        ([modified], ["If-None-Match: \"b\""], nil, date(-100)),
        ([], [], nil, nil),
        ([], ["If-None-Match: \"b\"", "If-None-Match: \"c\""], "\"b\", \"c\"", nil),
        ([], ["If-Modified-Since: \(date(-5))"], nil, date(-5)),
        (["ETag:"], ["If-None-Match: *"], "*", nil),
    ]

    @Test("The stored validators take the place of the client's preconditions", arguments: preconditions)
    func sent(_ held: [String], _ lines: [String], _ tags: String?, _ since: String?) throws {
        let preconditions = Validation.preconditions(try Self.held(held), request: fields(lines))
        #expect(preconditions.ifNoneMatch.map { text($0) } == tags)
        #expect(preconditions.ifModifiedSince.map { text($0) } == since)
    }

    @Test("The tag of a part is sent only where the part has the range asked for")
    func parts() throws {
        let part = try CombinationTests.part(0..<10, of: 100)
        func tags(_ lines: String...) -> String? {
            Validation.preconditions(part, request: fields(lines)).ifNoneMatch.map { text($0) }
        }
        #expect(tags("Range: bytes=0-5") == "\"a\"")
        #expect(tags("Range: bytes=0-15") == nil)
        #expect(tags("Range: bytes=0-15", "If-None-Match: \"b\"") == "\"b\"")
        #expect(tags() == nil)
    }

    enum Outcome: Sendable { case freshened, forClient, mismatch }

    /// What is held, the request's lines, the 304's lines, the outcome.
    static let outcomes: [([String], [String], [String], Outcome)] = [
        // By entity tag
        (["ETag: \"a\""], [], ["ETag: \"a\""], .freshened),
        (["ETag: \"a\""], [], ["ETag: \"b\""], .mismatch),
        (["ETag: \"a\""], [], ["ETag: W/\"a\""], .freshened),
        (["ETag: W/\"a\""], [], ["ETag: W/\"a\""], .freshened),
        (["ETag: W/\"a\""], [], ["ETag: \"a\""], .mismatch),
        (["ETag: W/\"a\""], [], ["ETag: W/\"b\""], .mismatch),
        (["ETag: a"], [], ["ETag: a"], .freshened),
        (["ETag: a"], [], ["ETag: \"a\""], .mismatch),
        (["ETag: \"a\"", modified], [], ["ETag: \"b\"", modified], .mismatch),
        (["ETag: \"a\"", modified], [], ["ETag: \"a\"", "Last-Modified: \(date(-5))"], .freshened),
        // By date
        ([modified], [], [modified], .freshened),
        ([modified], [], ["Last-Modified: sun nov  6 08:47:57 1994"], .freshened),
        ([modified], [], ["Last-Modified: \(date(-99))"], .mismatch),
        (["ETag: \"a\"", modified], [], [modified], .freshened),
        ([modified], [], ["ETag: \"a\"", modified], .freshened),
        ([modified], [], ["ETag: \"a\""], .mismatch),
        (["ETag: \"a\""], [], [modified], .mismatch),
        // Without validators
        (["ETag: \"a\""], [], [], .freshened),
        ([modified], [], [], .freshened),
        (["ETag: \"a\""], ["If-None-Match: \"a\""], [], .freshened),
        (["ETag: \"a\""], ["If-None-Match: *"], [], .freshened),
        (["ETag: \"a\""], ["If-None-Match: \"b\""], [], .mismatch),
        ([], [], [], .mismatch),
        ([], [], ["ETag: \"a\""], .mismatch),
        // For the client
        (["ETag: \"a\""], ["If-None-Match: \"b\""], ["ETag: \"a\""], .freshened),
        (["ETag: \"a\""], ["If-None-Match: \"b\""], ["ETag: \"b\""], .forClient),
        (["ETag: \"a\""], ["If-None-Match: \"c\"", "If-None-Match: W/\"b\""], ["ETag: \"b\""], .forClient),
        (["ETag: \"a\""], ["If-None-Match: \"b\""], ["ETag: \"c\""], .mismatch),
        (["ETag: \"a\""], ["If-None-Match: *"], ["ETag: \"b\""], .forClient),
        ([modified], ["If-Modified-Since: \(date(-5))"], ["Last-Modified: \(date(-50))"], .forClient),
        ([modified], ["If-Modified-Since: \(date(-500))"], ["Last-Modified: \(date(-50))"], .mismatch),
        ([], ["If-None-Match: \"b\""], ["ETag: \"b\""], .forClient),
        ([], ["If-Modified-Since: \(date(-5))"], [], .forClient),
    ]

    @Test("A 304 is about what is held, what the client holds, or nothing", arguments: outcomes)
    func outcome(_ held: [String], _ lines: [String], _ notModified: [String], _ expected: Outcome) throws {
        let outcome = Validation.outcome(
            try Self.held(held), notModified: response(304, notModified, at: 10), request: request(lines),
            policy: CachePolicy())
        switch outcome {
        case .freshened: #expect(expected == .freshened)
        case .forClient: #expect(expected == .forClient)
        case .mismatch: #expect(expected == .mismatch)
        case .withdrawn: Issue.record("nothing here was got with Authorization")
        }
    }

    @Test(
        "Preconditions and outcomes take time in proportion to the size",
        arguments: ["\"", "\"b\",", ",", "W/", "W/\"", "\"a\"", "b,", "\"b\"x"])
    func linear(_ unit: String) throws {
        let held = try Self.held(["ETag: \"a\""])
        let growth = growth(from: 500) { size in
            let request = request("If-None-Match: \(String(repeating: unit, count: size / unit.utf8.count))")
            _ = Validation.preconditions(held, request: request.fields)
            _ = Validation.outcome(
                held, notModified: response(304, ["ETag: \"z\""]), request: request, policy: CachePolicy())
        }
        #expect(growth < 64)
    }
}
