import ForwardProxy
import ProxyTestKit
import Testing

@Suite("Ranges and parts of what is stored")
struct CacheRangeTests {
    private static let content = "0123456789"

    /// An origin that answers a single range with a 206 of its content, and everything else with all of it.
    private func stage(_ fields: String...) throws -> CacheStage {
        try CacheStage { request, _ in
            let fields = ["Cache-Control: max-age=60"] + fields
            guard
                let range = request.field("Range")?.dropFirst("bytes=".count).split(separator: "-").compactMap({
                    Int($0)
                }),
                range.count == 2
            else { return response("200 OK", fields, body: CacheRangeTests.content) }
            let part = String(Array(CacheRangeTests.content)[range[0]...min(range[1], 9)])
            return response(
                "206 Partial Content", fields + ["Content-Range: bytes \(range[0])-\(min(range[1], 9))/10"], body: part)
        }
    }

    @Test(
        "a stored complete response answers ranges",
        arguments: [
            ("bytes=0-3", 206, "0123", "bytes 0-3/10"), ("bytes=4-", 206, "456789", "bytes 4-9/10"),
            ("bytes=-2", 206, "89", "bytes 8-9/10"), ("bytes=0-99", 206, "0123456789", "bytes 0-9/10"),
            ("bytes=10-", 416, "", "bytes */10"), ("lines=1-2", 200, "0123456789", nil),
            ("bytes=3-1", 200, "0123456789", nil),
        ] as [(String, Int, String, String?)])
    func complete(_ range: String, _ status: Int, _ body: String, _ contentRange: String?) throws {
        let stage = try stage("ETag: \"v1\"", "X-A: 1")
        _ = try stage.get()
        let answer = try stage.get("/", "Range: \(range)")
        #expect(answer.status == status)
        #expect(answer.body == body)
        #expect(answer.field("Content-Range") == contentRange)
        #expect(answer.field("Content-Length") == "\(body.utf8.count)")
        #expect(answer.field("X-A") == "1")
        #expect(answer.cacheStatus == "subproxy; hit; ttl=60")
        #expect(answer.field("Age") == "0")
        #expect(stage.count == 1)
    }

    @Test(
        "a Content-Range that a complete response had is in no part of it",
        arguments: [
            (nil, ["bytes 0-9/10"]), ("bytes=2-3", ["bytes 2-3/10"]), ("bytes=50-", ["bytes */10"]),
            ("bytes=0-1,5-6", []),
        ] as [(String?, [String])])
    func ofComplete(_ range: String?, _ expected: [String]) throws {
        let stage = try CacheStage { _, _ in
            response(
                "200 OK", ["Cache-Control: max-age=60", "Content-Range: bytes 0-9/10"], body: CacheRangeTests.content)
        }
        _ = try stage.get()
        let answer = try range.map { try stage.get("/", "Range: \($0)") } ?? stage.get()
        let lines = answer.head.split(separator: "\r\n").filter { $0.hasPrefix("Content-Range: ") }
        #expect(lines.map { String($0.dropFirst("Content-Range: ".count)) } == expected)
        #expect(stage.count == 1)
    }

    @Test("several ranges are answered with a multipart of just those bytes")
    func multipart() throws {
        let stage = try stage("ETag: \"v1\"", "Content-Type: text/plain")
        _ = try stage.get()
        let answer = try stage.get("/", "Range: bytes=0-1, 5-6")
        #expect(answer.status == 206)
        #expect(answer.field("Content-Type")?.hasPrefix("multipart/byteranges; boundary=") == true)
        #expect(answer.body.contains("Content-Range: bytes 0-1/10\r\n\r\n01\r\n"))
        #expect(answer.body.contains("Content-Range: bytes 5-6/10\r\n\r\n56\r\n"))
        #expect(stage.count == 1)
    }

    @Test("If-Range gives the range only where it names what is stored")
    func ifRange() throws {
        let stage = try stage("ETag: \"v1\"")
        _ = try stage.get()
        #expect(try stage.get("/", "Range: bytes=0-1", "If-Range: \"v1\"").status == 206)
        let other = try stage.get("/", "Range: bytes=0-1", "If-Range: \"v2\"")
        #expect(other.status == 200)
        #expect(other.body == CacheRangeTests.content)
        #expect(try stage.get("/", "Range: bytes=0-1", "If-Range: W/\"v1\"").status == 200)
        #expect(stage.count == 1)
    }

    @Test("a part of what is stored whole and stale is passed on, and not called stored")
    func partOfStaleWhole() throws {
        let stage = try stage("ETag: \"v1\"")
        _ = try stage.get()
        stage.clock.advance(seconds: 61)
        let part = try stage.get("/", "Range: bytes=2-5")
        #expect(part.status == 206)
        #expect(part.body == "2345")
        #expect(part.cacheStatus == "subproxy; fwd=stale; fwd-status=206")
        // It is not there: the same part is asked for again.
        #expect(try stage.get("/", "Range: bytes=2-5").cacheStatus == "subproxy; fwd=stale; fwd-status=206")
        #expect(stage.count == 3)
        #expect(try stage.get("/", "Cache-Control: max-stale").body == CacheRangeTests.content)
    }

    @Test("a stored part answers what lies inside it, and nothing else")
    func part() throws {
        let stage = try stage("ETag: \"v1\"", "X-A: 1")
        let first = try stage.get("/", "Range: bytes=2-5")
        #expect(first.status == 206)
        #expect(first.cacheStatus == "subproxy; fwd=uri-miss; stored")
        let inside = try stage.get("/", "Range: bytes=3-4")
        #expect(inside.status == 206)
        #expect(inside.body == "34")
        #expect(inside.field("Content-Range") == "bytes 3-4/10")
        #expect(inside.field("X-A") == "1")
        #expect(inside.cacheStatus == "subproxy; hit; ttl=60")
        #expect(stage.count == 1)
        for range in ["bytes=1-4", "bytes=4-7", "bytes=0-0"] {
            let fresh = try self.stage("ETag: \"v1\"")
            _ = try fresh.get("/", "Range: bytes=2-5")
            let outside = try fresh.get("/", "Range: \(range)")
            #expect(outside.status == 206)
            #expect(outside.cacheStatus == "subproxy; fwd=partial; stored")
            #expect(fresh.count == 2)
        }
    }

    @Test("a stored part never answers a request for the whole")
    func partAndWhole() throws {
        for method in ["GET", "HEAD"] {
            let stage = try stage("ETag: \"v1\"")
            _ = try stage.get("/", "Range: bytes=0-8")
            let whole = try stage.get(method: method)
            #expect(whole.status == 200)
            #expect(whole.field("Content-Length") == "10")
            #expect(whole.cacheStatus?.hasPrefix("subproxy; fwd=partial") == true)
            #expect(stage.count == 2)
        }
    }

    @Test("parts that meet or overlap are combined where the entity tag is strong, up to the whole")
    func combination() throws {
        let stage = try stage("ETag: \"v1\"")
        _ = try stage.get("/", "Range: bytes=0-3")
        _ = try stage.get("/", "Range: bytes=4-6")
        let both = try stage.get("/", "Range: bytes=1-5")
        #expect(both.body == "12345")
        #expect(both.field("Content-Range") == "bytes 1-5/10")
        #expect(both.cacheStatus?.hasPrefix("subproxy; hit") == true)
        _ = try stage.get("/", "Range: bytes=5-9")
        let whole = try stage.get()
        #expect(whole.status == 200)
        #expect(whole.body == CacheRangeTests.content)
        #expect(whole.field("Content-Length") == "10")
        #expect(whole.field("Content-Range") == nil)
        #expect(whole.cacheStatus?.hasPrefix("subproxy; hit") == true)
        #expect(stage.count == 3)
    }

    @Test("parts from before and after are combined in the order of their bytes")
    func combinationBackwards() throws {
        let stage = try stage("ETag: \"v1\"")
        _ = try stage.get("/", "Range: bytes=5-9")
        _ = try stage.get("/", "Range: bytes=2-6")
        _ = try stage.get("/", "Range: bytes=0-2")
        let whole = try stage.get()
        #expect(whole.body == CacheRangeTests.content)
        #expect(stage.count == 3)
    }

    @Test("a weak entity tag, another one, or none combines nothing", arguments: ["W/\"v1\"", "", "other"])
    func noCombination(_ tag: String) throws {
        let stage = try CacheStage { request, number in
            let range = request.field("Range") == "bytes=0-3" ? "0-3" : "4-9"
            let own = tag == "other" ? "\"v\(number)\"" : tag
            return response(
                "206 X",
                ["Cache-Control: max-age=60", "Content-Range: bytes \(range)/10"]
                    + (tag.isEmpty ? [] : ["ETag: \(own)"]),
                body: range == "0-3" ? "0123" : "456789")
        }
        _ = try stage.get("/", "Range: bytes=0-3")
        _ = try stage.get("/", "Range: bytes=4-9")
        #expect(try stage.get("/", "Range: bytes=2-5").cacheStatus == "subproxy; fwd=partial; stored")
        #expect(stage.count == 3)
    }

    @Test("a 206 that holds everything is stored as the whole")
    func completePart() throws {
        let stage = try stage("ETag: \"v1\"")
        #expect(try stage.get("/", "Range: bytes=0-99").status == 206)
        let whole = try stage.get()
        #expect(whole.status == 200)
        #expect(whole.body == CacheRangeTests.content)
        #expect(stage.count == 1)
    }

    @Test(
        "a 206 that nobody asked for, or whose Content-Range is wrong, is passed on and not stored",
        arguments: [
            (nil, "Content-Range: bytes 0-2/10"), ("bytes=0-2", "X: no Content-Range"),
            ("bytes=0-2", "Content-Range: bytes 0-5/10"), ("bytes=0-2", "Content-Range: bytes 2-0/10"),
            ("bytes=0-2", "Content-Range: lines 0-2/10"), ("bytes=0-2", "Content-Range: bytes 0-2/2"),
            ("bytes=0-2", "Content-Range: bytes 5-7/10"),
            ("bytes=0-2", "Content-Range: bytes 0-2/99999999999999999999"),
            ("bytes=0-2", "Content-Range: bytes 18446744073709551615-18446744073709551617/*"),
        ] as [(String?, String)])
    func broken(_ range: String?, _ field: String) throws {
        let stage = try CacheStage { _, number in
            response("206 X", "Cache-Control: max-age=60", "ETag: \"v1\"", field, body: "01\(number % 10)")
        }
        let fields = range.map { ["Range: \($0)"] } ?? []
        let first = try stage.proxy.exchange("GET", stage.url(), fields: fields)
        #expect(first.status == 206)
        #expect(first.body == "011")
        #expect(first.cacheStatus?.contains("; stored") == false)
        #expect(try stage.proxy.exchange("GET", stage.url(), fields: fields).body == "012")
        #expect(try stage.get().body == "013")
    }

    @Test("a part is validated with its range, and freshened by the 304")
    func validation() throws {
        let stage = try CacheStage { request, _ in
            request.field("If-None-Match") == nil
                ? response(
                    "206 X", "Cache-Control: max-age=5", "ETag: \"v1\"", "Content-Range: bytes 0-3/10", body: "0123")
                : response("304 X", "ETag: \"v1\"")
        }
        _ = try stage.get("/", "Range: bytes=0-3")
        stage.clock.advance(seconds: 6)
        let validated = try stage.get("/", "Range: bytes=1-2")
        #expect(validated.status == 206)
        #expect(validated.body == "12")
        #expect(validated.cacheStatus == "subproxy; fwd=stale; fwd-status=304")
        #expect(stage.origin.requests.last?.field("Range") == "bytes=1-2")
    }

    @Test("the client's own precondition is answered from a stored part too (RFC 9111 §4.3.2)")
    func preconditionOnPart() throws {
        let stage = try stage("ETag: \"v1\"")
        _ = try stage.get("/", "Range: bytes=0-5")
        let answer = try stage.get("/", "Range: bytes=0-2", "If-None-Match: \"v1\"")
        #expect(answer.status == 304)
        #expect(answer.body.isEmpty)
        #expect(answer.field("Content-Range") == nil)
        #expect(try stage.get("/", "Range: bytes=0-2", "If-None-Match: \"v0\"").status == 206)
        #expect(stage.count == 1)
    }

    @Test("an origin that ignores Range is stored whole, and ranges are answered from that")
    func ignored() throws {
        let stage = try CacheStage { _, _ in
            response("200 OK", "Cache-Control: max-age=60", body: CacheRangeTests.content)
        }
        #expect(try stage.get("/", "Range: bytes=0-3").status == 200)
        #expect(try stage.get("/", "Range: bytes=0-3").body == "0123")
        #expect(stage.count == 1)
    }

    @Test("a part shorter than its Content-Range is not stored", arguments: [10, 6])
    func short(of complete: Int) throws {
        let stage = try CacheStage { _, number in
            "HTTP/1.1 206 X\r\nCache-Control: max-age=60\r\nETag: \"v1\"\r\nContent-Range: bytes 0-5/\(complete)\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n3\r\n01\(number % 10)\r\n0\r\n\r\n"
        }
        #expect(try stage.get("/", "Range: bytes=0-5").dechunked == "011")
        #expect(try stage.get("/", "Range: bytes=0-5").dechunked == "012")
    }
}
