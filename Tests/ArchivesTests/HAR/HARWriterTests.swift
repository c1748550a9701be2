import ProxyTestKit
import Testing

@testable import Archives

@Suite("A HAR that is written")
struct HARWriterTests {
    private func har(_ exchanges: [(RecordedExchange, [UInt8])], pages: [ArchivePage] = []) -> [UInt8] {
        var bytes = HARWriter.beginning(name: "subproxy", version: "1", pages: pages, time: 1_795_406_706_789)
        for (index, (exchange, body)) in exchanges.enumerated() {
            if index > 0 { bytes += HARWriter.separator }
            bytes += HARWriter.entry(exchange, body: body)
        }
        return bytes + HARWriter.end
    }

    @Test("is valid between two entries, and may be cut anywhere behind one")
    func appended() throws {
        var exchange = RecordedExchange()
        exchange.url = Array("http://a.example/".utf8)
        exchange.fields = [RecordedField("Content-Type", "text/plain; charset=utf-8")]
        var file = HARWriter.beginning(name: "subproxy", version: "1") + HARWriter.end
        for count in 1...4 {
            file.removeLast(HARWriter.end.count)
            if count > 1 { file += HARWriter.separator }
            let before = file.count
            file += HARWriter.entry(exchange, body: Array("body \(count)".utf8)) + HARWriter.end
            let archive = try HARSample.open(file)
            #expect(archive.table.count == count)
            #expect(archive.warnings.isEmpty)
            #expect(try archive.text(count - 1) == "body \(count)")
            for length in before..<file.count where count > 1 {
                let isWhole = length >= file.count - HARWriter.end.count
                #expect(try HARSample.open(Array(file[..<length])).table.count == (isWhole ? count : count - 1))
            }
        }
    }

    @Test(
        "has bodies as text where they are, else in base64",
        arguments: [
            ("text/html; charset=utf-8", "a\"\\\n\u{1}ü😀\u{2028}", "text"), ("application/json", "{}", "text"),
            ("text/html; charset=iso-8859-1", "a", "base64"), ("image/png", "a", "base64"), (nil, "a", "base64"),
            ("application/x-www-form-urlencoded", "a=b", "text"),
            // ISO-2022-JP, whose bytes are all ASCII.
            ("text/html", "\u{1B}$B$\"\u{1B}(B", "base64"), ("text/plain; charset=utf-8", "\u{1B}[1mü", "text"),
        ] as [(String?, String, String)])
    func forms(_ type: String?, _ body: String, _ form: String) throws {
        var exchange = RecordedExchange()
        exchange.url = Array("http://a.example/".utf8)
        if let type { exchange.fields = [RecordedField("Content-Type", type)] }
        let entry = HARWriter.entry(exchange, body: Array(body.utf8))
        #expect(String(decoding: entry, as: UTF8.self).contains(#""encoding":"base64""#) == (form == "base64"))
        let archive = try HARSample.open(har([(exchange, Array(body.utf8))]))
        #expect(try archive.text(0) == body)
        #expect(try archive.exchange(0).fields == exchange.fields)
    }

    @Test("is the same however its bodies come in pieces")
    func pieces() {
        var exchange = RecordedExchange()
        exchange.url = Array("http://a.example/".utf8)
        for type in ["text/plain", "image/png"] {
            exchange.fields = [RecordedField("Content-Type", type)]
            for body in ["aü€😀\"\n", "", "a"] {
                let bytes = Array(body.utf8)
                let whole = HARWriter.entry(exchange, body: bytes)
                for cut in 0...bytes.count {
                    var probe = HARBodyProbe()
                    probe.add(Array(bytes[..<cut]))
                    probe.add(Array(bytes[cut...]))
                    var writer = HAREntryWriter(exchange, probe)
                    var entry = writer.begin()
                    writer.append(Array(bytes[..<cut]), to: &entry)
                    writer.append(Array(bytes[cut...]), to: &entry)
                    writer.finish(into: &entry)
                    #expect(entry == whole)
                }
            }
        }
    }

    @Test("tells bytes that are no UTF-8, wherever pieces end")
    func validity() {
        let cases: [([UInt8], Bool)] = [
            ([0x61, 0xC3, 0xBC], true), ([0xC3], false), ([0xF0, 0x9F, 0x98, 0x80], true), ([0xED, 0xA0, 0x80], false),
            ([0xFF], false), ([0x80], false), ([0xE2, 0x82], false), ([0xC3, 0x61], false), ([], true),
            ([0xC0, 0x80], false),
        ]
        for (bytes, isValid) in cases {
            for cut in 0...bytes.count {
                var probe = HARBodyProbe()
                probe.add(Array(bytes[..<cut]))
                probe.add(Array(bytes[cut...]))
                #expect(probe.isUTF8 == isValid, "\(bytes) cut at \(cut)")
            }
        }
    }

    @Test("reads as what was written")
    func identity() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<300 {
            var exchanges: [(RecordedExchange, [UInt8])] = []
            for _ in 0..<Int.random(in: 1...4, using: &random) { exchanges.append(anExchange(&random)) }
            let archive = try HARSample.open(har(exchanges))
            #expect(archive.warnings.isEmpty)
            #expect(archive.table.count == exchanges.count)
            for (index, (exchange, body)) in exchanges.enumerated() {
                try check(archive, index, exchange, body)
            }
        }
    }

    private func check(_ archive: Archive, _ index: Int, _ exchange: RecordedExchange, _ body: [UInt8]) throws {
        let read = try archive.exchange(index)
        #expect(read.method == exchange.method)
        #expect(read.url == exchange.url)
        #expect(read.requestFields == exchange.requestFields)
        #expect(read.requestBody == exchange.requestBody)
        #expect(read.status == exchange.status)
        #expect(read.reason == exchange.reason)
        #expect(read.time == exchange.time)
        #expect(read.fields == exchange.fields)
        #expect(read.body.isMissing == exchange.body.isMissing)
        #expect(try archive.bytes(index) == (exchange.method == "HEAD" ? [] : body))
    }

    private func anExchange(_ random: inout SeededGenerator) -> (RecordedExchange, [UInt8]) {
        var exchange = RecordedExchange()
        exchange.method = ["GET", "POST", "HEAD", "OPTIONS", "patch"].randomElement(using: &random) ?? "GET"
        exchange.url = Array("https://a.example/\(Int.random(in: 0...9, using: &random))?a=%C3%BC+b&c".utf8)
        exchange.requestFields = fields(&random)
        if exchange.method == "POST" { exchange.requestBody = bytes(&random, least: 1) }
        exchange.status = [200, 201, 204, 302, 404, 500].randomElement(using: &random) ?? 200
        exchange.reason = Array(["", "OK", "Größe"].randomElement(using: &random)?.utf8 ?? "".utf8)
        exchange.fields = fields(&random)
        exchange.time =
            Bool.random(using: &random) ? nil : Int64.random(in: 1_000_000_000_000...2_000_000_000_000, using: &random)
        let types = ["text/html; charset=utf-8", "application/json", "image/png", "text/css; charset=koi8-r", nil]
        if let type = types.randomElement(using: &random) ?? nil {
            exchange.fields.append(RecordedField("Content-Type", type))
        }
        guard exchange.status == 200 || exchange.status == 404 else { return (exchange, []) }
        exchange.body.isMissing = exchange.method != "HEAD" && Int.random(in: 0...9, using: &random) == 0
        return (exchange, exchange.body.isMissing ? [] : bytes(&random, least: 0))
    }

    private func fields(_ random: inout SeededGenerator) -> [RecordedField] {
        let known = [
            RecordedField("Set-Cookie", "a=b; Path=/; Secure"), RecordedField("set-cookie", "c=d"),
            RecordedField("X", "ü \"quoted\" \\"), RecordedField("Y", ""), RecordedField("Cookie", "a=b; c=d; e"),
            RecordedField("Vary", "Accept"),
        ]
        return (0..<Int.random(in: 0...5, using: &random)).compactMap { _ in known.randomElement(using: &random) }
    }

    private func bytes(_ random: inout SeededGenerator, least: Int) -> [UInt8] {
        let count = Int.random(in: least...40, using: &random)
        guard Bool.random(using: &random) else {
            return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        let text = (0..<count).map { _ in
            ["a", "ü", "\"", "\\", "\n", "\u{0}", "😀", "<"].randomElement(using: &random) ?? ""
        }
        return Array(text.joined().utf8)
    }

    @Test("leaves out a coding that its body seems to have, and has not")
    func seeming() throws {
        var exchange = RecordedExchange()
        exchange.url = Array("http://a.example/x.gz".utf8)
        exchange.fields = [RecordedField("Content-Encoding", "gzip"), RecordedField("A", "b")]
        let body: [UInt8] = [0x1F, 0x8B, 8, 0]
        #expect(try HARSample.open(har([(exchange, body)])).exchange(0).body.codings.isEmpty)
        exchange.body.codings = ["gzip"]
        #expect(try HARSample.open(har([(exchange, body)])).exchange(0).body.codings == ["gzip"])
    }

    @Test("names pages, and the entries of them")
    func pages() throws {
        var exchange = RecordedExchange()
        exchange.url = Array("http://a.example/".utf8)
        exchange.fields = [RecordedField("Content-Type", "text/html")]
        var details = HARDetails()
        details.page = "page_1"
        exchange.serverAddress = Array("192.0.2.1".utf8)
        var page = ArchivePage(url: exchange.url, title: "A \"title\"")
        let bytes =
            HARWriter.beginning(name: "subproxy", version: "1", pages: [page], time: 1_795_406_706_789)
            + HARWriter.entry(exchange, body: Array("x".utf8), details: details) + HARWriter.end
        page.time = 1_795_406_706_789
        let archive = try HARSample.open(bytes)
        #expect(archive.pages == [page])
        #expect(try archive.exchange(0).page == 0)
        #expect(try archive.exchange(0).serverAddress == exchange.serverAddress)
    }
}
