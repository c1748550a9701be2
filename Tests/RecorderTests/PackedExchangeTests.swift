import Archives
import ForwardProxy
import Testing

@Suite("An exchange on its way to a recorder")
struct PackedExchangeTests {
    @Test("is what it was when it is taken apart")
    func inverse() {
        var made = exchange(
            "http://a.test/1?b", "POST", status: 404,
            fields: [("Content-Encoding", "gzip, br"), ("", "x"), ("Empty", ""), ("Empty", "")],
            sent: [("Accept", "*/*")], requestBody: "body", stored: 7)
        made.reason = []
        let packed = PackedExchange(made)
        #expect(!packed.isHead && packed.status == 404 && packed.storedBytes == 7)
        #expect(packed.url.elementsEqual("http://a.test/1?b".utf8))
        let back = packed.exchange()
        #expect(back.method == "POST" && back.url == made.url && back.requestFields == made.requestFields)
        #expect(back.requestBody == made.requestBody && back.reason.isEmpty && back.fields == made.fields)
        #expect(back.body == made.body && back.time == made.time && back.duration == made.duration)
        #expect(back.body.codings == ["gzip", "br"])
    }

    @Test("has nothing where there is nothing")
    func nothing() {
        var made = RecordedExchange()
        made.method = "HEAD"
        let packed = PackedExchange(made)
        #expect(packed.isHead && packed.url.isEmpty)
        let back = packed.exchange()
        #expect(back.requestFields.isEmpty && back.fields.isEmpty && back.requestBody == nil && back.url.isEmpty)
    }
}
