import Testing

@testable import Archives

@Suite("A WARC that is written")
struct WARCWriterTests {
    /// Counts up.
    private struct Counter: RandomNumberGenerator {
        var value: UInt64 = 0

        mutating func next() -> UInt64 {
            value += 1
            return value
        }
    }

    private var exchange: RecordedExchange {
        var exchange = RecordedExchange()
        exchange.method = "POST"
        exchange.url = Array("https://a.example:8443/x?y=1".utf8)
        exchange.requestFields = [RecordedField("Accept", "*/*")]
        exchange.requestBody = Array("posted".utf8)
        exchange.status = 201
        exchange.reason = Array("Created".utf8)
        exchange.fields = [
            RecordedField("Set-Cookie", "a=1"), RecordedField("Set-Cookie", "b=2"),
            RecordedField("Transfer-Encoding", "chunked"), RecordedField("X", "a\r\nB: c"),
        ]
        exchange.time = 1_795_402_800_123
        return exchange
    }

    @Test("is read again as it was", arguments: [false, true])
    func inverse(_ isCompressed: Bool) throws {
        var writer = try WARCWriter(isCompressed: isCompressed, randomness: Counter())
        var bytes = writer.information(software: "subproxy/1", time: 0)
        let bodies = [[], Array("body".utf8), (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }] as [[UInt8]]
        for body in bodies { bytes += try writer.records(exchange, time: 1, body: body) }
        let read = try ReadArchive(bytes, name: "a.warc")
        #expect(read.warnings == [] && read.archive.table.usableCount == 3)
        for (index, body) in bodies.enumerated() {
            let back = try read.archive.exchange(index)
            #expect(back.method == "POST" && back.url == exchange.url && back.status == 201)
            #expect(back.requestFields == [RecordedField("Host", "a.example:8443"), RecordedField("Accept", "*/*")])
            #expect(back.requestBody == exchange.requestBody && back.reason == exchange.reason)
            #expect(back.time == exchange.time)
            #expect(
                back.fields == [
                    RecordedField("Set-Cookie", "a=1"), RecordedField("Set-Cookie", "b=2"),
                    RecordedField("X", "a  B: c"),
                ])
            #expect(try read.bytes(index, step: 50_000) == body)
        }
        #expect(try read.archive.verified() == [])
    }

    @Test(
        "has the characters of a URL that no URL has percent-encoded, line ends too",
        arguments: [
            ("http://a.test/b\r\n--x", "/b%0D%0A--x"), ("http://a.test/a b?c d", "/a%20b?c%20d"),
            ("http://a.test/\u{0}\u{E9}", "/%00%C3%A9"),
        ])
    func urls(_ url: String, _ target: String) throws {
        var writer = try WARCWriter(isCompressed: false, randomness: Counter())
        var exchange = self.exchange
        exchange.url = Array(url.utf8)
        let bytes = try writer.records(exchange, time: 1, body: [])
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.contains("POST \(target) HTTP/1.1\r\nHost: a.test\r\n"))
        #expect(text.split(separator: "WARC-Target-URI: http://a.test\(target)\r\n").count == 3)
        let read = try ReadArchive(bytes, name: "a.warc")
        #expect(read.warnings == [])
        #expect(try read.archive.exchange(0).url == Array("http://a.test\(target)".utf8))
    }

    @Test("has a pair of records in a form that other programs read")
    func text() throws {
        var writer = try WARCWriter(isCompressed: false, randomness: Counter())
        let text = String(decoding: try writer.records(exchange, time: 1, body: Array("body".utf8)), as: UTF8.self)
        #expect(
            text.hasPrefix(
                """
                WARC/1.1\r
                WARC-Type: request\r
                WARC-Record-ID: <urn:uuid:00000000-0000-4001-8000-000000000002>\r
                WARC-Date: 2026-11-23T03:00:00.123Z\r
                WARC-Target-URI: https://a.example:8443/x?y=1\r
                WARC-Concurrent-To: <urn:uuid:00000000-0000-4003-8000-000000000004>\r

                """))
        #expect(
            text.contains(
                "POST /x?y=1 HTTP/1.1\r\nHost: a.example:8443\r\nAccept: */*\r\n\r\nposted\r\n\r\nWARC/1.1\r\n"))
        #expect(text.hasSuffix("\r\n\r\nbody\r\n\r\n"))
        #expect(
            text.contains(
                "WARC-Payload-Digest: sha256:230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5\r\n"))
    }

    @Test(
        "has times as they are in WARC",
        arguments: [
            ("2026-11-23T03:00:00Z", 1_795_402_800_000), ("2026-11-23T03:00:00.123456789Z", 1_795_402_800_123),
            ("2026-11-23T04:00:00+01:00", 1_795_402_800_000), ("1970", 0), ("1970-01", 0), ("1970-01-02", 86_400_000),
            ("2000-02-29T00:00Z", 951_782_400_000), ("", nil), ("x", nil), ("2026-13-01", nil), ("2026-1", nil),
            ("2026-11-23T03:00:00Q", nil), ("20261123030000", nil),
        ] as [(String, Int64?)])
    func times(_ text: String, _ milliseconds: Int64?) {
        #expect(RecordTime.milliseconds(Array(text.utf8)[...]) == milliseconds)
        if let milliseconds {
            #expect(RecordTime.milliseconds(RecordTime.text(milliseconds)[...]) == milliseconds)
        }
    }
}
