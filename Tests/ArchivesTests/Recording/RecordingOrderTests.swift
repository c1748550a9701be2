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
        /// When the head of its response came; nil where that came with the end.
        var answered: Int64?
    }

    /// Records in one order, and sorts; what the order was to be.
    private func record(
        _ requests: [Request], hasSpans: Bool = false
    ) throws -> (order: [Int], folder: TemporaryFolder) {
        let spans = requests.map { request in
            RecordingOrder.Span(start: request.span.lowerBound, answered: request.answered ?? request.span.upperBound)
        }
        let folder = TemporaryFolder()
        var writer = try RecordingWriter(folder: folder.at("r"))
        for request in requests {
            var exchange = RecordedExchange()
            exchange.url = Array("http://a.test\(request.url)".utf8)
            exchange.method = request.method
            if let mode = request.mode { exchange.requestFields = [RecordedField("Sec-Fetch-Mode", mode)] }
            if let kind = request.kind { exchange.requestFields.append(RecordedField("Sec-Fetch-Dest", kind)) }
            if exchange.method == "POST" {
                exchange.requestBody = Array(request.sent.utf8)
                exchange.requestFields.append(RecordedField("Content-Type", "text/css"))
            }
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
        let page = Request(url: "/", mode: "navigate", body: "page", span: 0...9, answered: 1)
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
            Request(url: "/", mode: "navigate", kind: "document", body: "1", span: 0...9, answered: 1),
            Request(url: "/next", mode: "navigate", kind: "document", body: "2", span: 20...29, answered: 21),
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

    /// A page polls, and goes on with that while its form is on its way; what the form's answer asks for comes behind
    /// it.
    private static func pollsAroundForm(
        _ form: String, _ path: String, _ sent: [String] = ["a=1"], answered: Int64 = 13
    ) -> [Request] {
        var requests = [Request(url: "/home", mode: "navigate", kind: "document", body: "home", span: 0...1)]
        for (number, sent) in sent.enumerated() {
            let time = Int64(number) * 30
            let (old, new) = ("state \(number)", "state \(number + 1)")
            requests += [
                Request(url: path, mode: "cors", body: old, span: (time + 2)...(time + 3)),
                Request(url: path, mode: "cors", body: old, span: (time + 12)...(time + 13)),
                Request(
                    url: form, method: "POST", mode: "navigate", kind: "document", body: "sent \(number)", sent: sent,
                    span: (time + 10)...(time + 20), answered: time + answered),
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
        var requests = RecordingOrderTests.pollsAroundForm("/job", "/job", answered: 11)
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

    @Test("goes by when an answer began, however long its body takes", arguments: ["no-cors", "cors", "navigate", nil])
    func longAnswers(mode: String?) throws {
        // The second one was answered before the change was asked for, and ended behind it.
        let requests = [
            Request(url: "/job", mode: mode, body: "old", span: 1...2),
            Request(url: "/job", method: "PUT", mode: mode.map { _ in "cors" }, body: "put", span: 10...20),
            Request(url: "/job", mode: mode, body: "old still", span: 3...30, answered: 9),
            Request(url: "/job", mode: mode, body: "new", span: 21...40, answered: 22),
        ]
        #expect(try record(requests, hasSpans: true).order == [0, 2, 1, 3])
    }

    @Test("keeps a page of another window behind a script's change that was answered before it, whenever it began")
    func changesOfOtherWindows() throws {
        func page(_ body: String, _ span: ClosedRange<Int64>) -> Request {
            Request(url: "/job", mode: "navigate", kind: "document", body: body, span: span)
        }
        let put = Request(url: "/job", method: "PUT", mode: "cors", body: "put", span: 10...20)
        let requests = [page("old", 0...1), page("old", 2...9), put, page("new", 5...22), page("new", 24...25)]
        #expect(try record(requests, hasSpans: true).order == [0, 1, 2, 3, 4])
    }

    @Test("does not depend on which of several changes that were under way at once is answered first")
    func changesAtOnce() throws {
        let page = Request(url: "/", mode: "navigate", kind: "document", body: "page", span: 0...1)
        func query(_ sent: String, _ span: ClosedRange<Int64>) -> Request {
            Request(url: "/graphql", method: "POST", mode: "cors", body: "of \(sent)", sent: sent, span: span)
        }
        let first = try record(
            [page, query("b", 2...5), query("a", 3...6), query("c", 4...7), query("a", 8...9)], hasSpans: true)
        let second = try record(
            [page, query("c", 4...6), query("a", 3...7), query("b", 2...8), query("a", 9...9)], hasSpans: true)
        #expect(first.order == [0, 2, 1, 3, 4])
        #expect(try files(first.folder) == files(second.folder))
        // One that began behind the end of another stays behind it, and so does one whose effect was seen between them.
        #expect(try record([page, query("b", 2...3), query("a", 4...5)], hasSpans: true).order == [0, 1, 2])
        let seen = [("nothing", 1...2), ("b", 4...6)].map {
            Request(url: "/graphql", mode: "cors", body: $0, span: $1)
        }
        #expect(
            try record([page, seen[0], query("b", 2...5), seen[1], query("a", 3...7)], hasSpans: true).order
                == [0, 1, 2, 3, 4])
    }

    @Test("leaves no body behind that a request and a response share, and gives each the name of its place")
    func sharedBodies() throws {
        // An origin that sends back what it gets, which is too long for the list.
        let sent = ["b", "a"].map { String(repeating: $0, count: 70_000) }
        func query(_ sent: String, _ span: ClosedRange<Int64>) -> Request {
            Request(url: "/echo", method: "POST", mode: "cors", body: sent, sent: sent, span: span)
        }
        let first = try record([query(sent[0], 1...4), query(sent[1], 2...5)], hasSpans: true)
        let second = try record([query(sent[1], 2...4), query(sent[0], 1...5)], hasSpans: true)
        #expect(try files(first.folder) == files(second.folder))
        let archive = try openRecording(first.folder.at("r"))
        for index in 0..<2 {
            let exchange = try archive.exchange(index)
            #expect(exchange.requestBody == (try archive.body(index)) && exchange.requestBody?.count == 70_000)
        }
    }

    @Test("never has an answer stand on the other side of a change than where it was given")
    func anyOrder() throws {
        var random = Steps()
        for _ in 0..<40 {
            var requests: [Request] = []
            for number in 0..<9 {
                let path = ["/a", "/a/b", "/a/b?x", "/c", "/"].randomElement(using: &random) ?? ""
                let start = Int64.random(in: 0..<100, using: &random)
                let answered = start + Int64.random(in: 1..<40, using: &random)
                let end = answered + Int64.random(in: 0..<40, using: &random)
                let mode = ["no-cors", "cors", "navigate", nil].randomElement(using: &random) ?? nil
                requests.append(
                    Request(
                        url: path, method: Bool.random(using: &random) ? "GET" : "POST", mode: mode,
                        body: "\(number)", sent: "\(number)", span: start...end, answered: answered))
            }
            requests.sort { $0.span.upperBound < $1.span.upperBound }
            let order = try record(requests, hasSpans: true).order
            for (place, index) in order.enumerated() {
                for other in order[..<place] {
                    // `other` stands before `index`.
                    let (one, two) = (requests[other], requests[index])
                    let read = one.method == "GET" ? one : two
                    // One answer alone is given on either side.
                    let reads = requests.filter { $0.method == "GET" && path(of: $0) == path(of: read) }
                    guard one.method != two.method, reads.count > 1, areRelated(one, two) else { continue }
                    #expect((one.answered ?? 0) <= (two.answered ?? 0), "\(one) stands before \(two)")
                }
            }
        }
    }

    /// Numbers that look random, the same each time.
    private struct Steps: RandomNumberGenerator {
        private var state: UInt64 = 7

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 32)
        }
    }

    private func path(of request: Request) -> String {
        let path = request.url.prefix { $0 != "?" }
        return path == "/" ? "" : String(path)
    }

    /// Whether a change of one may be seen in the other.
    private func areRelated(_ one: Request, _ two: Request) -> Bool {
        let (one, two) = (path(of: one) + "/", path(of: two) + "/")
        return one.hasPrefix(two) || two.hasPrefix(one)
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

    @Test("is given to what was added alone: entries that were there stay, with their files and a person's words")
    func added() throws {
        func append(_ path: String, _ body: String, to writer: inout RecordingWriter) throws {
            var exchange = RecordedExchange()
            exchange.url = Array("http://a.test\(path)".utf8)
            exchange.requestFields = [RecordedField("Sec-Fetch-Mode", "no-cors")]
            exchange.fields = [RecordedField("Content-Type", "text/css")]
            try writer.append(exchange) { MemoryStream(Array(body.utf8)) }
        }
        let folders = try [["/d", "/c", "/e", "/b"], ["/b", "/e", "/c", "/d"]].map { added in
            let folder = TemporaryFolder()
            try {
                var writer = try RecordingWriter(folder: folder.at("r"))
                for path in ["/z", "/y", "/b"] { try append(path, "old \(path)", to: &writer) }
            }()
            let old = try list(folder) + "# mine\n"
            try folder.write("r/recording.yaml", old)
            try {
                var writer = try RecordingWriter(folder: folder.at("r"))
                // One body is there already, and two are equal.
                for path in added {
                    let body = ["/d": "old /z", "/c": "same", "/e": "same"][path] ?? "new \(path)"
                    try append(path, body, to: &writer)
                }
            }()
            let spans = (2...5).map { RecordingOrder.Span(start: 1, answered: $0) }
            try RecordingOrder.sort(folder.at("r"), from: 3, spans: spans, key: Self.key)
            #expect(try list(folder).hasPrefix(old))
            return folder
        }
        #expect(try files(folders[0]) == files(folders[1]))
        let urls = try list(folders[0]).split(separator: "\n").filter { $0.hasPrefix("- url") }.map { $0.suffix(2) }
        #expect(urls == ["/z", "/y", "/b", "/b", "/c", "/d", "/e"])
        let archive = try openRecording(folders[0].at("r"))
        #expect(archive.warnings.isEmpty && archive.table.count == 7)
        #expect(try contents(folders[0].at("r/files/a.test/b~2.css")) == Array("new /b".utf8))
        #expect(throws: RecordingFailure.self) {
            try RecordingOrder.sort(folders[0].at("r"), from: 8, key: Self.key)
        }
    }

    @Test("leaves a recording as it was whose list can't be written")
    func failing() throws {
        let folder = TemporaryFolder()
        var writer = try RecordingWriter(folder: folder.at("r"))
        for sent in ["b", "a"] {
            var exchange = RecordedExchange()
            exchange.url = Array("http://a.test/x".utf8)
            exchange.method = "POST"
            exchange.requestFields = [RecordedField("Sec-Fetch-Mode", "cors")]
            exchange.requestBody = Array(sent.utf8)
            try writer.append(exchange) { MemoryStream(Array("of \(sent)".utf8)) }
        }
        let before = try files(folder)
        // In the place of the new list.
        mkdir(folder.at("r/recording.yaml.recording-part"), 0o777)
        let spans = [2, 3].map { RecordingOrder.Span(start: 1, answered: $0) }
        #expect(throws: (any Error).self) { try RecordingOrder.sort(folder.at("r"), spans: spans, key: Self.key) }
        #expect(try files(folder) == before)
        rmdir(folder.at("r/recording.yaml.recording-part"))
        try RecordingOrder.sort(folder.at("r"), spans: spans, key: Self.key)
        #expect(try files(folder) != before)
    }

    @Test("names a body that several folders could have by the first of its URLs, and leaves no folder empty")
    func equalBodies() throws {
        let orders = try [["/a/same", "/b/same"], ["/b/same", "/a/same"]].map { paths in
            let folder = TemporaryFolder()
            var writer = try RecordingWriter(folder: folder.at("r"))
            for path in paths {
                var exchange = RecordedExchange()
                exchange.url = Array("http://a.test\(path)".utf8)
                exchange.requestFields = [RecordedField("Sec-Fetch-Mode", "cors")]
                try writer.append(exchange) { MemoryStream([UInt8](repeating: 0x61, count: 4096)) }
            }
            let spans = [2, 3].map { RecordingOrder.Span(start: 1, answered: $0) }
            try RecordingOrder.sort(folder.at("r"), spans: spans, key: Self.key)
            return try (
                ChildProcess.run(["find", folder.at("r"), "-mindepth", "1", "-printf", "%P\n"]).output, files(folder)
            )
        }
        #expect(orders[0].0.contains("/a/same") && !orders[0].0.contains("/b"), "\(orders[0].0)")
        #expect(orders[0].0.split(separator: "\n").sorted() == orders[1].0.split(separator: "\n").sorted())
        #expect(orders[0].1 == orders[1].1)
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
