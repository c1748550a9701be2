import HTTPSemantics
import ProxyTestKit
import Testing

@testable import HTTPCaching

@Suite("The fields that are stored")
struct StoredFieldsTests {
    static let fresh = "Cache-Control: max-age=60"

    static func kept(_ received: [String], policy: CachePolicy = CachePolicy(), at seconds: Int64 = 0) throws
        -> [String]
    {
        lines(try #require(try stored(received, at: seconds, policy: policy)).fields)
    }

    @Test("Order, case, repetition and unknown fields stay")
    func order() throws {
        let received = [
            "date: \(date(0))", "X-b: 2", Self.fresh, "X-A: 1", "x-B: 3", "Link: <a>", "link: <b>", "X-Empty:",
        ]
        #expect(try Self.kept(received) == received.map { $0.hasSuffix(":") ? $0 + " " : $0 })
    }

    @Test("The fields of one connection, of a proxy, and what is made anew are left out")
    func leftOut() throws {
        let received = [
            "Date: \(date(0))", Self.fresh, "Connection: close, X-Hop, Link", "X-HOP: a", "Link: <a>", "Keep-Alive: 5",
            "Proxy-Connection: close", "TE: x", "Transfer-Encoding: chunked", "Upgrade: x", "Trailer: x",
            "Proxy-Authenticate: Basic", "Proxy-Authentication-Info: x", "Proxy-Authorization: x", "Age: 5",
            "Content-Length: 3", "X: kept",
        ]
        #expect(try Self.kept(received) == ["Date: \(date(0))", Self.fresh, "X: kept"])
        // It means nothing but in a 206, and so is a field like any other (RFC 9110 §14.4).
        let whole = ["Date: \(date(0))", Self.fresh, "Content-Range: bytes 0-2/3"]
        #expect(try Self.kept(whole) == whole)
    }

    @Test("The fields that no-cache and, in a shared cache, private name are left out")
    func restricted() throws {
        let control = "Cache-Control: max-age=60, no-cache=\"X-A, etag\", private=\"x-b, Set-Cookie\""
        let received = ["Date: \(date(0))", control, "x-a: 1", "ETag: \"a\"", "X-B: 1", "Set-Cookie: a", "X-C: 1"]
        #expect(try Self.kept(received) == [received[0], control, "X-C: 1"])
        let personal = try #require(try stored(received, policy: privatePolicy))
        #expect(lines(personal.fields) == [received[0], control, "X-B: 1", "Set-Cookie: a", "X-C: 1"])
        #expect(personal.etag == nil)
    }

    @Test("A Date that is missing or malformed is the time of receipt; Connection can't take it away")
    func dates() throws {
        #expect(try Self.kept(["Date", Self.fresh], at: 5) == [Self.fresh, "Date: \(date(5))"])
        #expect(try Self.kept(["Date: x", Self.fresh], at: 5) == [Self.fresh, "Date: \(date(5))"])
        #expect(try Self.kept(["Date: 0", "Date: \(date(1))", Self.fresh], at: 5) == [Self.fresh, "Date: \(date(5))"])
        let nominated = ["Date: \(date(1))", Self.fresh, "Connection: date"]
        #expect(try Self.kept(nominated, at: 5) == ["Date: \(date(1))", Self.fresh])
        #expect(try Self.kept(["Date: \(date(1))", "Date: 0", Self.fresh], at: 5).count == 3)
        let section = try #require(try stored(["Date", Self.fresh], at: 5))
        #expect(section.date == epoch + 5)
        #expect(section.fields.contains(.date))
        #expect(section.fields.firstText(.date) == date(5))
    }

    @Test("A digest of the content stays with the whole, and not with a part")
    func digests() throws {
        let received = ["Date: \(date(0))", Self.fresh, "Content-Digest: a", "Repr-Digest: b", "Content-MD5: c"]
        #expect(try Self.kept(received).count == 5)
        let part = try #require(
            try stored(
                received + ["Content-Range: bytes 0-1/9"], status: 206, request: request("Range: bytes=0-1")))
        #expect(lines(part.fields) == [received[0], Self.fresh, "Repr-Digest: b"])
    }

    @Test("Bytes that are not UTF-8 survive")
    func bytes() throws {
        var response = response(200, [Self.fresh])
        response.fields.append(name: "X".utf8, value: [0x63, 0xe9])
        let verdict = Storing.verdict(request(), target: try target(), response, policy: CachePolicy())
        guard case .store(let stored) = verdict else {
            Issue.record("refused")
            return
        }
        var values: [[UInt8]] = []
        stored.fields.forEach(named: Array("x".utf8)) { values.append(Array($0)) }
        #expect(values == [[0x63, 0xe9]])
    }

    @Test(
        "Storing takes time in proportion to the size of what is named",
        arguments: ["a,", "close,", ",", "date,", "\""])
    func linear(_ unit: String) throws {
        let target = try target()
        let growth = growth(from: 500) { size in
            let value = String(repeating: unit, count: size / unit.utf8.count)
            let names = (0..<100).map { "X-\($0): \($0)" }
            _ = Storing.verdict(
                request(), target: target, response(200, [Self.fresh, "Connection: \(value)"] + names),
                policy: CachePolicy())
        }
        #expect(growth < 64)
    }
}
