import Testing

@testable import Archives

@Suite("A saved page that was written")
struct SavedPageWriterTests {
    static func exchange(_ url: String, _ type: String?, _ body: String) -> (exchange: RecordedExchange, body: [UInt8])
    {
        var exchange = RecordedExchange()
        exchange.url = Array(url.utf8)
        if let type { exchange.fields = [RecordedField("Content-Type", type)] }
        return (exchange, Array(body.utf8))
    }

    static let page = [
        exchange("https://a.example/x?y=ü", "text/html; charset=utf-8", "<p>ä\r\n--b\n</p>"),
        exchange("https://a.example/b.css", "text/css", ""), exchange("https://b.example/", "image/png", "\u{0}\r\n"),
        exchange("https://b.example/long", "text/plain", String(repeating: "abc\n", count: 40_000)),
        exchange("https://b.example/15", "a/b", String(repeating: "x", count: 15)),
        exchange("https://b.example/256", "a/b", String(repeating: "x", count: 256)),
    ]

    @Test("in MHTML reads as it was")
    func mhtml() throws {
        var writer = MHTMLWriter(document: Self.page[0].exchange.url, title: "Ünï = _ x", boundary: "00ff")
        let archive = try openArchive(writer.write(Self.page), "a.mhtml")
        #expect(archive.format == .mhtml && archive.warnings.isEmpty)
        #expect(archive.pages.map(\.title) == ["Ünï = _ x"])
        try check(archive)
    }

    @Test("as a webarchive reads as it was")
    func webarchive() throws {
        var writer = WebarchiveWriter()
        let archive = try openArchive(writer.write(Self.page), "a.webarchive")
        #expect(archive.format == .webarchive && archive.warnings.isEmpty)
        try check(archive)
    }

    private func check(_ archive: Archive) throws {
        #expect(archive.documentText == "https://a.example/x?y=%C3%BC")
        #expect(archive.table.count == Self.page.count && archive.table.usableCount == Self.page.count)
        for (index, (exchange, body)) in Self.page.enumerated() {
            let read = try archive.exchange(index)
            #expect(read.url == RecordedURL.repaired(exchange.url))
            #expect(read.fields == exchange.fields)
            #expect(read.status == 200)
            #expect(try archive.body(index) == body)
        }
        #expect(try archive.verified().isEmpty)
    }

    @Test("has long titles in encoded words", arguments: ["", "a", "=?x", String(repeating: "ä😀 x", count: 50)])
    func titles(_ title: String) {
        let encoded = EncodedWords.encoded(title)
        #expect(encoded.split(separator: "\r\n").allSatisfy { $0.utf8.count <= 76 })
        #expect(EncodedWords.decoded(Array(encoded.replacing("\r\n ", with: " ").utf8)) == title)
    }

    @Test("tells what got lost")
    func losses() {
        var losses = ConversionLosses(to: .mhtml)
        func keeps(_ url: String, isUsable: Bool = true, _ change: (inout RecordedExchange) -> Void = { _ in }) -> Bool
        {
            var exchange = RecordedExchange()
            change(&exchange)
            return losses.keeps(exchange, url: url.utf8, isUsable: isUsable)
        }
        #expect(keeps("1"))
        #expect(!keeps("1"))
        #expect(!keeps("2") { $0.method = "POST" })
        #expect(!keeps("3") { $0.method = "PUT" })
        #expect(!keeps("4", isUsable: false))
        #expect(
            !keeps("5") {
                $0.status = 302
                $0.fields = [RecordedField("Location", "/")]
            })
        #expect(
            keeps("6") {
                $0.status = 404
                $0.fields = [RecordedField("Server", "x")]
            })
        #expect(
            losses.lines == [
                "lost: 2 entries that are not GET", "lost: 1 entry that can't answer", "lost: 1 entry that redirects",
                "lost: 1 entry whose URL an earlier one has", "lost: the status of 1 entry",
                "lost: the fields of 1 entry",
            ])
    }
}
