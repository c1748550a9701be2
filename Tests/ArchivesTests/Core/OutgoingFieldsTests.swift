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

    @Test("is the same for elements of Connection that are no names", arguments: ["X Hop", "\"X-Hop\"", "X-Hop;q=1", ""])
    func malformed(_ value: String) {
        #expect(Self.sent([("Connection", value), ("X-Hop", "1")], keepsFreshness: true) == ["X-Hop: 1"])
    }
}
