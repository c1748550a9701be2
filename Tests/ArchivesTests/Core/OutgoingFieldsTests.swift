import Testing

@testable import Archives

@Suite("What of a recorded response's fields is sent")
struct OutgoingFieldsTests {
    private static let recorded = [("X-Hop", "1"), ("Connection", "X-Hop, close"), ("X-Keep", "2")]

    /// The fields of an answer, each as `Name: value`.
    private static func sent(
        _ fields: [(String, String)], keepsFreshness: Bool = false, time: Int64? = nil, now: Int64 = 0
    ) -> [String] {
        var exchange = RecordedExchange()
        exchange.fields = fields.map { RecordedField($0.0, $0.1) }
        exchange.time = time
        return OutgoingFields.make(exchange, keepsFreshness: keepsFreshness, now: now).map { field in
            String(decoding: field.name + Array(": ".utf8) + field.value, as: UTF8.self)
        }
    }

    @Test("is nothing that Connection nominates")
    func nominated() {
        #expect(Self.sent(Self.recorded) == ["X-Keep: 2", "Cache-Control: no-cache"])
        #expect(Self.sent([("x-hop", "1"), ("CONNECTION", " ,\tX-HOP ")], keepsFreshness: true) == [])
        #expect(
            Self.sent(
                [("Connection", "a"), ("A", "1"), ("connection", "b"), ("B", "2"), ("C", "3")], keepsFreshness: true)
                == ["C: 3"])
    }

    @Test(
        "is what Connection has no say in",
        arguments: ["Content-Type", "Set-Cookie", "Location", "Vary", "ETag", "Close"])
    func endToEnd(_ name: String) {
        let fields = [("Connection", "close, \(name)"), (name, "x")]
        #expect(Self.sent(fields, keepsFreshness: true) == ["\(name): x"])
    }

    @Test(
        "is the same for elements of Connection that are no names",
        arguments: ["X Hop", "\"X-Hop\"", "X-Hop;q=1", ""])
    func malformed(_ value: String) {
        #expect(Self.sent([("Connection", value), ("X-Hop", "1")], keepsFreshness: true) == ["X-Hop: 1"])
    }

    @Test(
        "has the Expires of cookies moved, in whatever form browsers read",
        arguments: [
            "Expires=Fri, 20 Nov 2026 12:00:00 GMT", "Expires=Fri, 20-Nov-2026 12:00:00 GMT",
            "expires=Friday, 20-Nov-26 12:00:00 GMT", "EXPIRES=Fri, 20 Nov 2026 12:00:00 UTC",
            "Expires=\"Fri, 20 Nov 2026 12:00:00 GMT\"", "Expires = Fri Nov 20 12:00:00 2026",
        ])
    func cookies(_ attribute: String) {
        let sent = Self.sent(
            [("Set-Cookie", "a=b; \(attribute); Path=/")], keepsFreshness: true, time: 1_000_000, now: 1000 + 86_400)
        #expect(sent == ["Set-Cookie: a=b; Expires=Sat, 21 Nov 2026 12:00:00 GMT; Path=/"])
    }

    @Test(
        "leaves alone what is no time of a cookie",
        arguments: ["Expires=0", "Expires", "a=b; Max-Age=5", "Expired=1"])
    func others(_ attribute: String) {
        let value = "Expires=Fri, 20 Nov 2026 12:00:00 GMT; \(attribute)"
        let sent = Self.sent([("Set-Cookie", value)], keepsFreshness: true, time: 0, now: 86_400)
        #expect(sent == ["Set-Cookie: \(value)"])
    }
}
