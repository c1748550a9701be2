import Basics
import HTTPSemantics
import ProxyTestKit
import Synchronization
import Testing

@testable import Archives

@Suite("Conversion")
struct ConversionTests {
    private let folder = TemporaryFolder()

    /// What a format holds of an entry.
    private struct Entry: Equatable {
        var method = "GET"
        var url: [UInt8]
        var status = 200
        var fields: [RecordedField] = []
        var requestFields: [RecordedField] = []
        var requestBody: [UInt8] = []
        var body: [UInt8]
        var time: Int64?
    }

    private static let left = ["content-length", "content-encoding", "host", "date"]

    /// The entries of an archive, as far as all of some formats hold them.
    private func entries(_ archive: Archive, _ formats: [ArchiveFormat]) throws -> [Entry] {
        let isPage = formats.contains { $0 == .mhtml || $0 == .webarchive }
        var entries: [Entry] = []
        for index in 0..<archive.table.count {
            let exchange = try archive.exchange(index)
            let tabled = archive.table[index]
            if isPage, !tabled.isUsable || tabled.method != "GET" || (300..<400).contains(tabled.status) { continue }
            let stream = try archive.openPortableBody(index)
            var decoded = try ContentDecoder.stream(
                stream, codings: exchange.body.codings, storedBytes: exchange.body.storedBytes, limits: archive.limits)
            var entry = Entry(url: exchange.url, body: try decoded.readAll(limit: 1 << 24))
            func kept(_ fields: [RecordedField]) -> [RecordedField] {
                fields.filter { !Self.left.contains(String(decoding: $0.name, as: UTF8.self).lowercased()) }
            }
            if isPage {
                entry.fields = exchange.fields.filter { $0.isNamed("content-type") }
                if entries.contains(where: { $0.url == entry.url }) { continue }
            } else {
                entry.method = exchange.method
                entry.status = exchange.status
                entry.fields = kept(exchange.fields)
                entry.requestFields = kept(exchange.requestFields)
                entry.requestBody = exchange.requestBody ?? []
            }
            if !formats.contains(where: { [.mhtml, .webarchive, .recording].contains($0) }) {
                entry.time = exchange.time
            }
            entries.append(entry)
        }
        return isPage ? entries.sorted { $0.url.lexicographicallyPrecedes($1.url) } : entries
    }

    private static func exchange(
        _ url: String, _ type: String, _ method: String = "GET", status: Int = 200, fields: [(String, String)] = []
    ) -> RecordedExchange {
        var exchange = RecordedExchange()
        exchange.method = method
        exchange.url = Array(url.utf8)
        exchange.status = status
        exchange.reason = Array("X".utf8)
        exchange.fields = ([("Content-Type", type)] + fields).map { RecordedField($0, $1) }
        exchange.time = 1_700_000_000_123
        return exchange
    }

    /// A WARC with what formats differ in; texts have their charset, which reading a HAR would give them.
    private func sample() throws -> Archive {
        var writer = try WARCWriter(isCompressed: false, randomness: SeededGenerator(seed: 1))
        var bytes = writer.information(software: "test", time: 0)
        func add(_ exchange: RecordedExchange, _ body: [UInt8]) throws {
            bytes += try writer.records(exchange, time: 0, body: body)
        }
        try add(
            Self.exchange(
                "http://www.example.com/", "text/plain; charset=utf-8", status: 301,
                fields: [("Location", "https://www.example.com/")]), [])
        try add(Self.exchange("https://www.example.com/a.css", "text/css; charset=utf-8"), Array("a{}".utf8))
        try add(
            Self.exchange(
                "https://www.example.com/", "text/html; charset=utf-8", fields: [("Set-Cookie", "a=b; Path=/")]),
            Array("<title>é</title>\r\n--x\n".utf8))
        try add(Self.exchange("https://www.example.com/i.png", "image/png"), [0x89, 0x50, 0x4E, 0x47, 0, 0xFF, 0x0D])
        try add(Self.exchange("https://www.example.com/latin", "text/plain; charset=iso-8859-1"), [0x61, 0xE9])
        let encoder = try GzipEncoder()
        var coded: [UInt8] = []
        encoder.encode(Array("coded".utf8), into: &coded)
        encoder.finish(into: &coded)
        try add(
            Self.exchange(
                "https://www.example.com/z.txt", "text/plain; charset=utf-8", fields: [("Content-Encoding", "gzip")]),
            coded)
        var post = Self.exchange("https://www.example.com/api?token=t", "application/json", "POST", status: 201)
        post.requestFields = [RecordedField("Content-Type", "application/json"), RecordedField("Cookie", "a=b")]
        post.requestBody = Array(#"{"password":"p"}"#.utf8)
        try add(post, Array(#"{"pin":1}"#.utf8))
        try add(Self.exchange("https://www.example.com/a.css", "text/css; charset=utf-8"), Array("b{}".utf8))
        try add(
            Self.exchange("https://www.example.com/none", "text/plain; charset=utf-8", status: 404), Array("no".utf8))
        return try openArchive(bytes, "sample.warc")
    }

    private func open(_ path: String, _ kind: ArchiveKind) throws -> Archive {
        kind.format == .recording ? try openRecording(path) : try openArchive(try contents(path), path)
    }

    private func convert(
        _ archives: [Archive], _ kind: ArchiveKind, _ name: String, _ redaction: Redaction? = nil, main: String? = nil
    ) throws -> (archive: Archive, result: Conversion.Result) {
        let conversion = Conversion(archives, redaction: redaction)
        var plan = ConversionPlan(program: "test", version: "1", time: 0)
        if kind.isPage { #expect(try conversion.addDocument(to: &plan)) } else { conversion.addPages(to: &plan) }
        if let main {
            let found = try #require(try conversion.entry(Array(main.utf8)))
            try conversion.choose(found, in: &plan)
        }
        let path = folder.at(name)
        let result = try conversion.write(kind, to: path, plan)
        return (try open(path, kind), result)
    }

    private static func name(_ number: Int, _ kind: ArchiveKind) -> String {
        "\(number)" + (kind.extensions.first.map { ".\($0)" } ?? "")
    }

    @Test("into every format and on into every other keeps what both hold")
    func allToAll() throws {
        let source = try sample()
        var number = 0
        for first in ArchiveKind.all {
            number += 1
            let (one, _) = try convert([source], first, Self.name(number, first))
            #expect(try entries(one, [first.format]) == entries(source, [first.format]), "\(first.format)")
            for second in ArchiveKind.all {
                number += 1
                let formats = [first.format, second.format]
                let (two, _) = try convert([one], second, Self.name(number, second))
                #expect(try entries(two, formats) == entries(one, formats), "\(formats)")
                number += 1
                let (back, _) = try convert([two], first, Self.name(number, first))
                #expect(try entries(back, formats) == entries(one, formats), "\(formats) and back")
            }
        }
    }

    @Test("ends before the next entry where it is interrupted, and after the last")
    func interrupted() throws {
        let source = try sample()
        for most in [0, 1, source.table.count] {
            let asked = Mutex(0)
            let isInterrupted: @Sendable () -> Bool = {
                asked.withLock { count in
                    count += 1
                    return count > most
                }
            }
            let conversion = Conversion([source], redaction: nil, isInterrupted: isInterrupted)
            let plan = ConversionPlan(program: "test", version: "1", time: 0)
            let kind = try #require(ArchiveKind.named("a.warc"))
            #expect(throws: ConversionFailure.self) { try conversion.write(kind, to: folder.at("\(most).warc"), plan) }
            #expect(asked.withLock { $0 } == most + 1)
        }
    }

    @Test("into files that nobody else may read, where that is asked for")
    func privateFile() throws {
        let conversion = Conversion([try sample()], redaction: nil)
        var plan = ConversionPlan(program: "test", version: "1", time: 0)
        plan.isPrivate = true
        for (number, kind) in ArchiveKind.all.enumerated() {
            if kind.isPage { #expect(try conversion.addDocument(to: &plan)) } else { conversion.addPages(to: &plan) }
            let path = folder.at(Self.name(number, kind))
            _ = try conversion.write(kind, to: path, plan)
            let files = try ChildProcess.run(["find", path, "-type", "f", "-printf", "%m\n"]).output
            #expect(
                !files.isEmpty && files.split(separator: "\n").allSatisfy { $0 == "600" }, "\(kind.format) \(files)")
        }
    }

    @Test("keeps the type of a request's body that a HAR has beside the fields")
    func requestType() throws {
        let text =
            #"{"log":{"entries":[{"request":{"method":"POST","url":"https://a.example/","headers":[],"#
            + #""postData":{"mimeType":"application/x-www-form-urlencoded","text":"a=1"}},"#
            + #""response":{"status":200,"headers":[],"content":{"text":"x"}}}]}}"#
        let source = try openArchive(Array(text.utf8), "a.har")
        let type = RecordedField("Content-Type", "application/x-www-form-urlencoded")
        for (number, kind) in ArchiveKind.all.filter({ !$0.isPage }).enumerated() {
            let (converted, _) = try convert([source], kind, Self.name(900 + number, kind))
            let exchange = try converted.exchange(0)
            #expect(exchange.requestFields.contains(type) && exchange.requestBody == Array("a=1".utf8), "\(kind)")
            if kind.format == .har { #expect(exchange.requestType == type.value) }
        }
    }

    @Test("says of a request's body how long it is where something was taken out, and that it is lost where it is")
    func requestBodies() throws {
        func har(_ body: String, _ length: Int) -> [UInt8] {
            Array(
                (#"{"log":{"entries":[{"request":{"method":"POST","url":"https://a.example/","headers":["#
                    + #"{"name":"Content-Length","value":"\#(length)"}],"postData":{"mimeType":"#
                    + #""application/x-www-form-urlencoded","text":"\#(body)"}},"#
                    + #""response":{"status":200,"headers":[],"content":{"text":"x"}}}]}}"#).utf8)
        }
        let source = try openArchive(har("user=ann&password=hunter2", 25), "a.har")
        let large = try openArchive(har(String(repeating: "a", count: (1 << 24) + 1), (1 << 24) + 1), "b.har")
        for (number, kind) in ArchiveKind.all.filter({ [.har, .warc].contains($0.format) }).enumerated() {
            let (redacted, result) = try convert(
                [source], kind, Self.name(910 + number, kind), Redaction(names: ["default"]))
            let exchange = try redacted.exchange(0)
            #expect(exchange.requestBody == Array("user=ann&password=REDACTED".utf8))
            #expect(exchange.requestFields.first { $0.isNamed("content-length") }?.value == Array("26".utf8))
            #expect(result.losses.isEmpty)
            let lost = try convert([large], kind, Self.name(920 + number, kind)).result
            #expect(lost.losses == ["lost: the request body of 1 entry"])
        }
    }

    @Test("says what is lost, a line a kind")
    func losses() throws {
        let source = try sample()
        let kinds = Dictionary(uniqueKeysWithValues: ArchiveKind.all.map { ($0.extensions.first ?? "", $0) })
        func lost(_ name: String) throws -> [String] {
            try convert([source], try #require(kinds[name]), "x\(name).\(name)").result.losses
        }
        #expect(try lost("warc").isEmpty)
        #expect(try lost("har") == ["lost: the coded bytes of 1 entry"])
        #expect(try lost("") == ["lost: the coded bytes of 1 entry", "lost: the times of 9 entries"])
        let page = try lost("mhtml")
        #expect(page.contains("lost: 1 entry that is not GET") && page.contains("lost: 1 entry that redirects"))
        #expect(page.contains("lost: 1 entry whose URL an earlier one has"))
        #expect(page.contains("lost: the status of 1 entry") && page.contains { $0.hasPrefix("lost: the fields of") })
    }

    @Test("gives a frame a URL of its own where another part has the one that it was recorded at")
    func frames() throws {
        let text = """
            Content-Type: multipart/related; boundary=b

            --b
            Content-Type: text/html
            Content-Location: https://a.example/x/page

            <iframe src=cid:one></iframe><iframe src=cid:two></iframe><iframe src=cid:three></iframe>
            --b
            Content-Type: text/html
            Content-ID: <one>
            Content-Location: https://a.example/frame

            first
            --b
            Content-Type: text/html
            Content-ID: <two>
            Content-Location: https://a.example/frame

            second
            --b
            Content-Type: text/html
            Content-ID: <three>
            Content-Location: https://a.example/x/page

            third
            --b--
            """
        let source = try openArchive(Array(text.utf8), "a.mhtml")
        for name in ["a.har", "a.warc", "a.mhtml", "a.webarchive", "a"] {
            let made = try convert([source], try #require(ArchiveKind.named(name)), "frames.\(name)")
            #expect(!made.result.losses.contains { $0.contains("URL") }, "\(made.result.losses)")
            let urls = ["page", "../frame", ".cid-two", ".cid-three"].map { path in
                path.hasPrefix("..") ? "https://a.example/frame" : "https://a.example/x/\(path)"
            }
            #expect(made.archive.urls == urls && made.archive.table.usableCount == 4, "\(name)")
            let bodies = try (0..<4).map { try made.archive.text($0) }
            #expect(
                bodies[0]
                    == "<iframe src=\(urls[1])></iframe><iframe src=\(urls[2])></iframe><iframe src=\(urls[3])></iframe>",
                "\(name)")
            #expect(bodies[1...] == ["first", "second", "third"], "\(name)")
        }
    }

    @Test("refuses a page whose document can't be decoded")
    func brokenDocument() throws {
        var writer = try WARCWriter(isCompressed: false, randomness: SeededGenerator(seed: 1))
        let document = Self.exchange("https://a.example/", "text/html", fields: [("Content-Encoding", "gzip")])
        let bytes = try writer.records(document, time: 0, body: [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xFF])
        let source = try openArchive(bytes, "a.warc")
        for name in ["a.mhtml", "a.webarchive"] {
            let kind = try #require(ArchiveKind.named(name))
            #expect(throws: ConversionFailure.self) { _ = try self.convert([source], kind, "broken.\(name)") }
        }
    }

    @Test("leaves out what the reader of a recording or WARC would refuse, and says so")
    func refused() throws {
        let whole = #""size":1,"mimeType":"text/plain","text":"a""#
        let source = try HARSample.open(
            HARSample.har(
                HARSample.entry(url: "http://a.example/1", method: "", content: whole),
                HARSample.entry(url: "http://a.example/2", method: "NO METHOD", content: whole),
                HARSample.entry(url: "http://a.example/3", status: "-2", content: whole),
                HARSample.entry(url: "http://a.example/4", content: whole)))
        for name in ["", "warc"] {
            let kind = try #require(ArchiveKind.all.first { $0.extensions.first ?? "" == name })
            let made = try convert([source], kind, "refused.\(name)")
            #expect(made.archive.urls == ["http://a.example/4"])
            #expect(made.result.losses.first == "lost: 3 entries that can't answer")
        }
    }

    @Test("has what failed or was cut off as such where the format can say so, and else not at all")
    func cut() throws {
        let part = #""size":1,"mimeType":"text/plain","text":"a""#
        let source = try HARSample.open(
            HARSample.har(
                HARSample.entry(url: "http://a.example/1", content: part, more: #","_error":"net::ERR_ABORTED""#),
                HARSample.entry(
                    url: "http://a.example/2", status: "302", content: part, more: #","_error":"net::ERR_ABORTED""#),
                HARSample.entry(url: "http://a.example/1", content: part)))
        let kinds = try ["a.har", "a.warc", "a"].map { try #require(ArchiveKind.named($0)) }
        let found: [[Unusable?]] = [[.failed, .failed, nil], [.bodyTruncated, nil], [nil]]
        var warc: Archive?
        for (number, kind) in kinds.enumerated() {
            let made = try convert([source], kind, Self.name(number, kind))
            let table = made.archive.table
            #expect((0..<table.count).map { table[$0].unusable } == found[number])
            let lost = 3 - table.count
            let words = lost == 1 ? "1 entry" : "\(lost) entries"
            #expect(
                made.result.losses.first { $0.contains("answer") }
                    == (lost == 0 ? nil : "lost: \(words) that can't answer"))
            if kind.format == .warc { warc = made.archive }
        }
        // And so it stays, with the part that there is, where that is read again.
        let again: [[Unusable?]] = [[.failed, nil], [.bodyTruncated, nil], [nil]]
        for (number, kind) in kinds.enumerated() {
            let made = try convert([try #require(warc)], kind, "again-" + Self.name(number, kind))
            let table = made.archive.table
            #expect((0..<table.count).map { table[$0].unusable } == again[number])
            #expect(made.result.losses.contains("lost: 1 entry that can't answer") == (kind.format == .recording))
            var body = try made.archive.openPortableBody(0)
            #expect(try body.readAll(limit: 10) == Array("a".utf8))
        }
    }

    @Test("leaves out an entry out of which nothing can be taken, and writes the others")
    func unredactable() throws {
        var writer = try WARCWriter(isCompressed: false, randomness: SeededGenerator(seed: 1))
        var bytes: [UInt8] = []
        func add(_ url: String, _ body: [UInt8], _ fields: [(String, String)] = []) throws {
            bytes += try writer.records(
                Self.exchange(url, "application/json", fields: fields), time: 0, body: body)
        }
        let json = Array(#"{"x":"s"}"#.utf8)
        try add("http://a.example/1", json)
        try add(
            "http://a.example/2", [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xFF], [("Content-Encoding", "gzip")])
        try add("http://a.example/3", [0xFF, 0xFE] + json.flatMap { [$0, 0] })
        try add("http://a.example/4", json)
        let source = try openArchive(bytes, "a.warc")
        for (number, kind) in ArchiveKind.all.enumerated() where !kind.isPage {
            let made = try convert(
                [source], kind, "unredactable-" + Self.name(number, kind), Redaction(names: ["x"]))
            #expect(made.archive.urls == ["http://a.example/1", "http://a.example/4"], "\(kind)")
            #expect(made.result.losses.contains("lost: 2 entries out of which nothing can be taken"))
            #expect(made.result.problems.count == 2, "\(made.result.problems)")
            #expect(try !made.archive.text(0).contains(#""s""#))
        }
    }

    @Test("leaves out of a saved page what never answers there, since an earlier part has its URL")
    func repeated() throws {
        let text = """
            MIME-Version: 1.0\r
            Content-Type: multipart/related; boundary=b\r
            \r
            --b\r
            Content-Type: text/html\r
            Content-Location: http://a.example/\r
            \r
            FIRST\r
            --b\r
            Content-Type: text/html\r
            Content-Location: http://a.example/\r
            \r
            SECOND\r
            --b--\r

            """
        let source = try openArchive(Array(text.utf8), "a.mhtml")
        for (number, kind) in ArchiveKind.all.filter({ !$0.isPage }).enumerated() {
            let made = try convert([source], kind, "repeated-" + Self.name(number, kind))
            #expect(made.archive.urls == ["http://a.example/"])
            #expect(try made.archive.text(0) == "FIRST")
            #expect(made.result.losses.contains("lost: 1 entry whose URL an earlier one has"))
        }
    }

    @Test("takes credentials out of the titles of pages, which may be their URLs")
    func titles() throws {
        let page =
            #"{"startedDateTime":"2026-11-23T04:05:06.789Z","id":"p","title":"https://a.example/?token=SECRET&x=1","#
            + #""pageTimings":{}}"#
        let entry = HARSample.entry(
            url: "https://a.example/?token=SECRET&x=1", content: #""size":1,"mimeType":"text/html","text":"a""#,
            more: #","pageref":"p""#)
        let source = try HARSample.open(
            #"{"log":{"version":"1.2","creator":{},"pages":[\#(page)],"entries":[\#(entry)]}}"#)
        #expect(source.pages.first?.title == "https://a.example/?token=SECRET&x=1")
        for (number, kind) in ArchiveKind.all.enumerated() where kind.format != .recording {
            let name = "title-" + Self.name(number, kind)
            let made = try convert([source], kind, name, Redaction(names: ["default"])).archive
            if kind.format == .har { #expect(made.pages.first?.title == "https://a.example/?token=REDACTED&x=1") }
            if name.hasSuffix("gz") { continue }
            let bytes = try FileReading.contents(of: folder.at(name), upTo: 1 << 20)
            #expect(String(decoding: bytes, as: UTF8.self).contains("REDACTED"))
            #expect(!String(decoding: bytes, as: UTF8.self).contains("SECRET"))
        }
    }

    @Test("from HAR to HAR keeps pages and what belongs to each, how long it took, the version and who answered")
    func pagesAndTimes() throws {
        let source = try tabs([
            Self.entry("one", "tab-one", "12.6"), Self.entry("two", "tab-two", "-1"),
            Self.entry("one/more", "tab-one", "1e3"), Self.entry("none", nil, "1e300"),
            Self.entry("odd", "tab-two", "1.2.3"),
        ])
        let kind = try #require(ArchiveKind.named("a.har"))
        for (name, redaction) in [("kept.har", nil), ("redacted.har", Redaction(names: ["default"]))] {
            let made = try convert([source], kind, name, redaction).archive
            #expect(made.pages.map(\.title) == ["tab-one", "tab-two"])
            #expect(made.pages.map(\.time) == [1_795_406_701_000, 1_795_406_707_000])
            let exchanges = try (0..<5).map { try made.exchange($0) }
            #expect(exchanges.map(\.page) == [0, 1, 0, nil, 1])
            #expect(exchanges.map(\.duration) == [13, 0, 1000, 0, 0])
            #expect(exchanges.allSatisfy { $0.version == Array("h2".utf8) })
            // Nobody asks for it to be taken out by a name.
            let address = redaction == nil ? "192.0.2.7" : ""
            #expect(exchanges.allSatisfy { $0.serverAddress == Array(address.utf8) })
        }
        // Each of several that have one page's URL keeps its own.
        let twice = try convert([source, source], kind, "twice.har").archive
        #expect(twice.pages.map(\.title) == ["tab-one", "tab-two", "tab-one", "tab-two"])
        #expect(try (0..<10).map { try twice.exchange($0).page } == [0, 1, 0, nil, 1, 2, 3, 2, nil, 3])
    }

    @Test("has the page that is chosen first in a HAR, be it a page already or not")
    func chosenPages() throws {
        let source = try tabs([
            Self.entry("one", "tab-one", "1"), Self.entry("one/more", "tab-one", "1"),
            Self.entry("two", "tab-two", "1"),
        ])
        let bare = try HARSample.open(HARSample.har(Self.entry("one", nil, "1"), Self.entry("two", nil, "1")))
        let kind = try #require(ArchiveKind.named("a.har"))
        let second = try convert([source], kind, "second.har", main: Self.url("two")).archive
        #expect(second.pages.map(\.title) == ["tab-two", "tab-one"])
        #expect(second.pages.map(\.time) == [1_795_406_707_000, 1_795_406_701_000])
        #expect(try (0..<3).map { try second.exchange($0).page } == [1, 1, 0])
        let inner = try convert([source], kind, "inner.har", main: Self.url("one/more")).archive
        let urls = ["one/more", "one", "two"].map { Array(Self.url($0).utf8) }
        #expect(inner.pages.map(\.url) == urls)
        #expect(try (0..<3).map { try inner.exchange($0).page } == [1, 0, 2])
        let made = try convert([bare], kind, "bare.har", main: Self.url("two")).archive
        #expect(made.pages.map(\.url) == [Array(Self.url("two").utf8)])
        #expect(try (0..<2).map { try made.exchange($0).page } == [nil, 0])
    }

    @Test("has the page that a redirect leads to first, with what belonged to it, and those of other archives apart")
    func redirectedPages() throws {
        let redirect = HARSample.entry(
            url: "http://a.example/", status: "301",
            response: #","headers":[{"name":"Location","value":"\#(Self.url("one"))"}]"#,
            content: #""size":0,"mimeType":"text/html""#, more: #","pageref":"tab-two""#)
        let source = try tabs([
            Self.entry("other", "tab-one", "1"), redirect, Self.entry("one", "tab-two", "1"),
            Self.entry("one.css", "tab-two", "1"),
        ])
        let kind = try #require(ArchiveKind.named("a.har"))
        for (name, main) in [("from.har", "http://a.example/"), ("to.har", Self.url("one"))] {
            let made = try convert([source], kind, name, main: main).archive
            #expect(made.pages.map(\.title) == ["tab-two", "tab-one"])
            #expect(try (0..<4).map { try made.exchange($0).page } == [1, 0, 0, 0])
        }
        // A saved page says of no entry that it is its own: those behind its document are.
        let text = """
            From: <Saved by Blink>
            Snapshot-Content-Location: \(Self.url("one"))
            Subject: Saved
            MIME-Version: 1.0
            Content-Type: multipart/related; type="text/html"; boundary="b"

            --b
            Content-Type: text/html
            Content-Location: \(Self.url("one"))

            <p>one
            --b
            Content-Type: text/css
            Content-Location: \(Self.url("one.css"))

            p {}
            --b--

            """
        let saved = try openArchive(Array(text.replacing("\n", with: "\r\n").utf8), "a.mhtml")
        for (name, archives) in [("first.har", [saved, source]), ("last.har", [source, saved])] {
            let made = try convert(archives, kind, name).archive
            let pages = try (0..<made.table.count).map { made.pages[try #require(try made.exchange($0).page)].title }
            let ofSource = ["tab-one", "tab-two", "tab-two", "tab-two"]
            #expect(pages == (name == "first.har" ? ["Saved", "Saved"] + ofSource : ofSource + ["Saved", "Saved"]))
        }
        let first = try convert([source, saved], kind, "chosen.har", main: Self.url("one")).archive
        #expect(first.pages.map(\.title) == ["Saved", "tab-one", "tab-two"])
        #expect(try (0..<6).map { try first.exchange($0).page } == [1, 2, 2, 2, 0, 0])
    }

    private static func url(_ path: String) -> String { "https://a.example/\(path)?token=SECRET" }

    private static func entry(_ path: String, _ page: String?, _ time: String) -> String {
        HARSample.entry(
            url: url(path), response: #","httpVersion":"h2""#,
            content: #""size":1,"mimeType":"text/html","text":"a""#,
            more: (page.map { #","pageref":"\#($0)""# } ?? "") + #","time":\#(time),"serverIPAddress":"192.0.2.7""#)
    }

    /// A HAR of two pages.
    private func tabs(_ entries: [String]) throws -> Archive {
        let pages = [("tab-one", 1), ("tab-two", 7)].map { name, second in
            #"{"startedDateTime":"2026-11-23T04:05:0\#(second).000Z","id":"\#(name)","title":"\#(name)","pageTimings":{}}"#
        }
        return try HARSample.open(
            #"{"log":{"version":"1.2","creator":{},"pages":[\#(pages.joined(separator: ","))],"#
                + #""entries":[\#(entries.joined(separator: ","))]}}"#)
    }

    @Test("has a response in several parts as one of bytes in MHTML, whose parts they would be else")
    func multipart() throws {
        var writer = try WARCWriter(isCompressed: false, randomness: SeededGenerator(seed: 1))
        let body = "--x\r\nContent-Type: text/plain\r\n\r\none\r\n--x--\r\n"
        var bytes = try writer.records(
            Self.exchange("https://a.example/", "text/html"), time: 0, body: Array("<p>".utf8))
        for (path, type) in [("1", "multipart/x-mixed-replace"), ("2", "Multipart/Mixed; boundary=x")] {
            bytes += try writer.records(
                Self.exchange("https://a.example/\(path)", type), time: 0, body: Array(body.utf8))
        }
        let kind = try #require(ArchiveKind.named("a.mhtml"))
        let made = try convert([try openArchive(bytes, "a.warc")], kind, "parts.mhtml")
        #expect(made.archive.urls == ["https://a.example/", "https://a.example/1", "https://a.example/2"])
        for entry in 1...2 {
            #expect(try made.archive.field("content-type", entry) == "application/octet-stream")
            #expect(try made.archive.text(entry) == body)
        }
        #expect(made.result.losses == ["lost: the fields of 2 entries"])
    }

    @Test("keeps the coding of a part from within, which can't be told nor undone")
    func codedPart() throws {
        var writer = try WARCWriter(isCompressed: false, randomness: SeededGenerator(seed: 1))
        let part = Self.exchange(
            "https://a.example/", "text/plain", status: 206,
            fields: [("Content-Encoding", "gzip"), ("Content-Range", "bytes 20-23/99")])
        let source = try openArchive(try writer.records(part, time: 0, body: [0xAB, 0xCD, 0xEF, 1]), "a.warc")
        for (number, kind) in ArchiveKind.all.filter({ !$0.isPage }).enumerated() {
            let made = try convert([source], kind, "part-" + Self.name(number, kind))
            #expect(try made.archive.field("content-encoding", 0) == "gzip", "\(kind.format)")
            var stream = try made.archive.openBody(0)
            #expect(try stream.readAll(limit: 99) == [0xAB, 0xCD, 0xEF, 1])
            #expect(made.result.problems.isEmpty && !made.result.losses.contains { $0.contains("coded") })
        }
    }

    @Test("has the first page as the document, behind its redirects, before all else")
    func document() throws {
        let source = try sample()
        let conversion = Conversion([source], redaction: nil)
        #expect(try conversion.document()?.url == Array("https://www.example.com/".utf8))
        #expect(try conversion.entry(Array("http://www.example.com/".utf8)) == Array("https://www.example.com/".utf8))
        #expect(try conversion.entry(Array("https://www.example.com/api".utf8)) == nil)
        let kind = try #require(ArchiveKind.named("a.mhtml"))
        let page = try convert([source], kind, "a.mhtml").archive
        #expect(page.documentText == "https://www.example.com/" && page.urls.first == "https://www.example.com/")
    }

    @Test("takes credentials out on request")
    func redaction() throws {
        let source = try sample()
        let kind = try #require(ArchiveKind.named("a.har"))
        let made = try convert([source], kind, "a.har", Redaction(names: ["default", "pin"])).archive
        let post = try made.exchange(6)
        #expect(post.url == Array("https://www.example.com/api?token=REDACTED".utf8))
        #expect(post.requestFields.contains(RecordedField("Cookie", "REDACTED")))
        #expect(post.requestBody == Array(#"{"password":"REDACTED"}"#.utf8))
        #expect(try made.text(6) == #"{"pin":"REDACTED"}"#)
        #expect(try made.field("set-cookie", 2) == "a=REDACTED; Path=/")
    }

    @Test("puts several archives one after the other")
    func several() throws {
        let source = try sample()
        let kind = try #require(ArchiveKind.named("a.warc.gz"))
        #expect(try convert([source, source], kind, "a.warc.gz").archive.table.count == 2 * source.table.count)
    }

    @Test(
        "knows the formats by their extensions",
        arguments: [
            ("a.har", ArchiveFormat.har), ("A.HAR", .har), ("a.mht", .mhtml), ("b/a.mhtml", .mhtml),
            ("a.webarchive", .webarchive), ("a.warc", .warc), ("a.warc.gz", .warc), ("a", .recording),
            ("b.c/a", .recording), (".a", .recording), ("a.wacz", nil), ("a.zip", nil), ("a.gz", nil), ("a.html", nil),
        ])
    func kinds(name: String, format: ArchiveFormat?) { #expect(ArchiveKind.named(name)?.format == format) }
}
