import Glibc
import ProxyTestKit
import Testing

@testable import Archives

@Suite("The order of recordings")
struct RecordingOrderTests {
    private struct Request {
        var url: String
        var method = "GET"
        /// What the client says of itself; nil for a client that is no browser.
        var mode: String? = "no-cors"
        var kind: String?
        var body = "same"
        var sent = ""
        /// When it began and ended.
        var span: ClosedRange<Int64> = 0...0
    }

    /// Records in one order, and sorts; what the order was to be.
    private func record(
        _ requests: [Request], hasSpans: Bool = false
    ) throws -> (order: [Int], folder: TemporaryFolder) {
        let spans = requests.map { RecordingOrder.Span(start: $0.span.lowerBound, end: $0.span.upperBound) }
        let folder = TemporaryFolder()
        var writer = try RecordingWriter(folder: folder.at("r"))
        for request in requests {
            var exchange = RecordedExchange()
            exchange.url = Array("http://a.test\(request.url)".utf8)
            exchange.method = request.method
            if let mode = request.mode { exchange.requestFields = [RecordedField("Sec-Fetch-Mode", mode)] }
            if let kind = request.kind { exchange.requestFields.append(RecordedField("Sec-Fetch-Dest", kind)) }
            if exchange.method == "POST" { exchange.requestBody = Array(request.sent.utf8) }
            exchange.fields = [RecordedField("Content-Type", "text/css")]
            try writer.append(exchange) { MemoryStream(Array(request.body.utf8)) }
        }
        let source = try contents(folder.at("r/recording.yaml"))
        let blocks = RecordingOrder.blocks(source).entries.map { source[$0] }
        let order = try RecordingOrder.order(
            try openRecording(folder.at("r")), blocks, spans: hasSpans ? spans : [], key: Self.key)
        let before = try list(folder).split(separator: "- url:")
        try RecordingOrder.sort(folder.at("r"), spans: hasSpans ? spans : [], key: Self.key)
        // Nothing of an entry changes but the name of its file.
        let after = try list(folder).split(separator: "- url:")
        func withoutFile(_ entry: Substring) -> [Substring] {
            entry.split(separator: "\n").filter { !$0.contains("file:") }
        }
        #expect(after.dropFirst().map(withoutFile) == order.map { withoutFile(before[$0 + 1]) })
        return (order, folder)
    }

    /// As of URLs whose `t` keeps caches from answering.
    private static func key(_ url: [UInt8]) -> [UInt8] { Array(url.prefix { $0 != UInt8(ascii: "?") }) }

    private func list(_ folder: TemporaryFolder) throws -> String {
        String(decoding: try contents(folder.at("r/recording.yaml")), as: UTF8.self)
    }

    private func files(_ folder: TemporaryFolder) throws -> String {
        try ChildProcess.run(["sh", "-c", "cd \"$0\" && find . -type f | sort | xargs tail -n +1", folder.at("r")])
            .output
    }

    @Test("does not depend on which of the requests that come at once is answered first")
    func parallel() throws {
        let parts = ["/b.css", "/a.css", "/c.css"].map { Request(url: $0) }
        let page = Request(url: "/", mode: "navigate", body: "page")
        let first = try record([page] + parts)
        let second = try record([page] + parts.reversed())
        #expect(first.order == [0, 2, 1, 3])
        #expect(try files(first.folder) == files(second.folder))
        // Bodies that are equal are one file, whose name is that of the first.
        #expect(try files(first.folder).contains("files/a.test/a.css"))
        #expect(try !files(first.folder).contains("b.css <=="))
    }

    @Test("does not depend on when a request of another method is answered that was sent meanwhile")
    func meanwhile() throws {
        let page = Request(url: "/", mode: "navigate", body: "page", span: 0...9)
        let post = Request(url: "/log", method: "POST", mode: "cors", body: "posted", span: 3...6)
        let (early, late) = (Request(url: "/b.css", span: 2...4), Request(url: "/c.css", span: 5...8))
        let behind = Request(url: "/a.css", span: 7...9)
        // In the order in which they end; what a document asks for may end before it does.
        let first = try record([early, post, late, behind, page], hasSpans: true)
        let second = try record([late, page, early, behind, post], hasSpans: true)
        #expect(first.order == [4, 3, 0, 2, 1])
        #expect(second.order == [1, 3, 2, 0, 4])
        #expect(try files(first.folder) == files(second.folder))
    }

    @Test("does not depend on which requests of other methods end before others, or before the next page begins")
    func posts() throws {
        let pages = [
            Request(url: "/", mode: "navigate", kind: "document", body: "1", span: 0...9),
            Request(url: "/next", mode: "navigate", kind: "document", body: "2", span: 20...29),
        ]
        let log = Request(url: "/log", method: "POST", mode: "cors", body: "", sent: "a=1", span: 2...25)
        let more = Request(url: "/log", method: "POST", mode: "cors", body: "", sent: "a=2", span: 2...5)
        let form = Request(url: "/form", method: "POST", mode: "cors", body: "posted", span: 3...4)
        let frame = Request(url: "/frame", mode: "navigate", kind: "iframe", body: "frame", span: 4...8)
        let image = Request(url: "/a.png", body: "png", span: 6...7)
        let first = try record([form, more, image, frame, pages[0], log, pages[1]], hasSpans: true)
        let second = try record([image, pages[0], frame, log, form, more, pages[1]], hasSpans: true)
        #expect(first.order == [4, 2, 0, 3, 5, 1, 6])
        #expect(try files(first.folder) == files(second.folder))
    }

    @Test("keeps behind a request of another method what it may have changed, where there is another answer")
    func changed() throws {
        let put = Request(url: "/items/7", method: "PUT", mode: "cors", body: "put", span: 3...6)
        let related = ["/items", "/items/7?x", "/items/7/part"]
        let before = (related + ["/item"]).map { Request(url: $0, body: "before", span: 1...2) }
        let behind = (related + ["/item"]).map { Request(url: $0, body: "behind", span: 2...8) }
        let one = Request(url: "/items/8", body: "one", span: 2...8)
        let same = [1...2, 2...8].map { Request(url: "/items/7/same", body: "same", span: $0) }
        let requests = before + same.prefix(1) + [put] + behind + [one] + same.suffix(1)
        // Before it: /item twice, /items, /items/7, /items/7/part, /items/7/same twice, /items/8.
        let order = [3, 9, 0, 1, 2, 4, 11, 10, 5, 6, 7, 8]
        #expect(try record(requests, hasSpans: true).order == order)
        #expect(try record(requests).order == order)
    }

    /// A page polls, and goes on with that while its form is on its way; what the form's answer asks for comes behind it.
    private static func pollsAroundForm(_ form: String, _ path: String, _ sent: [String] = ["a=1"]) -> [Request] {
        var requests = [Request(url: "/home", mode: "navigate", kind: "document", body: "home", span: 0...1)]
        for (number, sent) in sent.enumerated() {
            let time = Int64(number) * 30
            let (old, new) = ("state \(number)", "state \(number + 1)")
            requests += [
                Request(url: path, mode: "cors", body: old, span: (time + 2)...(time + 3)),
                Request(url: path, mode: "cors", body: old, span: (time + 12)...(time + 13)),
                Request(
                    url: form, method: "POST", mode: "navigate", kind: "document", body: "sent \(number)", sent: sent,
                    span: (time + 10)...(time + 20)),
                Request(url: "/a.css", span: (time + 14)...(time + 21)),
                // This was asked for before the form was answered, and answered behind it.
                Request(url: path, mode: "cors", body: new, span: (time + 19)...(time + 22)),
                Request(url: path, mode: "cors", body: new, span: (time + 24)...(time + 25)),
            ]
        }
        return requests
    }

    @Test(
        "keeps before a form what was answered before it was, and behind it what was answered behind it",
        arguments: [("/job", "/job"), ("/job", "/job/state?x"), ("/job/new", "/job"), ("/", "/job")])
    func forms(form: String, path: String) throws {
        let once = RecordingOrderTests.pollsAroundForm(form, path)
        #expect(try record(once, hasSpans: true).order == [0, 1, 2, 3, 4, 5, 6])
        let twice = RecordingOrderTests.pollsAroundForm(form, path, ["a=1", "a=2"])
        #expect(try record(twice, hasSpans: true).order == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    }

    @Test("keeps to the page of a form what it asks for while it is still sent, where no answer differs")
    func streamedForm() throws {
        var requests = RecordingOrderTests.pollsAroundForm("/job", "/job")
        for index in requests.indices where requests[index].method == "GET" { requests[index].body = "same" }
        #expect(try record(requests, hasSpans: true).order == [0, 1, 3, 4, 2, 5, 6])
    }

    @Test("keeps before a form a change by a script, and what shows it, that were answered before the form was")
    func changesBeforeForm() throws {
        let requests = [
            Request(url: "/home", mode: "navigate", kind: "document", body: "home", span: 0...1),
            Request(url: "/", mode: "cors", body: "old", span: 2...3),
            Request(url: "/y", method: "PUT", mode: "cors", body: "put", span: 12...13),
            Request(url: "/", mode: "cors", body: "changed", span: 14...15),
            Request(url: "/x", method: "POST", mode: "navigate", kind: "document", body: "sent", span: 10...20),
            Request(url: "/", mode: "cors", body: "new", span: 22...23),
        ]
        #expect(try record(requests, hasSpans: true).order == [0, 1, 2, 3, 4, 5])
    }

    @Test("keeps before a form, and behind it, pages of other windows that were answered so")
    func windows() throws {
        func page(_ body: String, _ span: ClosedRange<Int64>) -> Request {
            Request(url: "/job", mode: "navigate", kind: "document", body: body, span: span)
        }
        let form = Request(
            url: "/job", method: "POST", mode: "navigate", kind: "document", body: "sent", span: 10...20)
        let requests = [page("old", 0...1), page("old", 12...13), form, page("new", 14...22), page("new", 24...25)]
        #expect(try record(requests, hasSpans: true).order == [0, 1, 2, 3, 4])
    }

    @Test("keeps requests of other methods in theirs, where one may have changed what another is answered")
    func divided() throws {
        let page = Request(url: "/", mode: "navigate", body: "page")
        let requests = [("/b", "1"), ("/b/a", "2"), ("/b", "3"), ("/b/a", "2"), ("/a", "4")].map {
            Request(url: $0, method: "POST", mode: "cors", body: $1)
        }
        #expect(try record([page] + requests).order == [0, 5, 1, 2, 3, 4])
    }

    @Test("is brought about by no link that leads out of the folder")
    func links() throws {
        let folder = TemporaryFolder()
        let other = TemporaryFolder()
        mkdir(folder.at("r"), 0o777)
        mkdir(folder.at("r/files"), 0o777)
        symlink(other.path, folder.at("r/files/a.test"))
        var writer = try RecordingWriter(folder: folder.at("r"))
        for path in ["/b.css", "/a.css"] {
            var exchange = RecordedExchange()
            exchange.url = Array("http://a.test\(path)".utf8)
            exchange.requestFields = [RecordedField("Sec-Fetch-Mode", "no-cors")]
            exchange.fields = [RecordedField("Content-Type", "text/css")]
            try writer.append(exchange) { MemoryStream(Array(path.utf8)) }
        }
        try RecordingOrder.sort(folder.at("r"), key: Self.key)
        #expect(try ChildProcess.run(["ls", other.path]).output == "")
        let archive = try openRecording(folder.at("r"))
        #expect(try archive.exchange(0).url == Array("http://a.test/a.css".utf8))
        #expect(try contents(folder.at("r/files/a.test~2/a.css")) == Array("/a.css".utf8))
    }

    @Test("keeps navigations, clients that are no browsers, and answers of one URL in their order")
    func kept() throws {
        let requests = [
            Request(url: "/z", mode: "navigate"), Request(url: "/y", mode: nil),
            Request(url: "/x", method: "POST", mode: "cors"),
            Request(url: "/poll", body: "1"), Request(url: "/k"), Request(url: "/poll", body: "2"),
            Request(url: "/a", method: "HEAD"),
            Request(url: "/w", mode: "navigate"), Request(url: "/b"),
        ]
        #expect(try record(requests).order == [0, 6, 4, 3, 5, 2, 1, 7, 8])
        let polls = ["/poll?t=9", "/poll?t=10", "/a", "/poll?t=8"].map { Request(url: $0) }
        #expect(try record(polls).order == [2, 0, 1, 3])
    }
}
