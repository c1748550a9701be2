import Synchronization
import Testing

@testable import Archives

@Suite("A HAR")
struct HARReaderTests {
    @Test("gives entries with their exchange and body")
    func exchange() throws {
        let archive = try HARSample.open(
            HARSample.har(
                #"{"startedDateTime":"2026-11-23T04:05:06.789+01:00","request":{"method":"POST","#
                    + #""url":"https://a.example/b?c#d","headers":[{"name":"Accept","value":"*/*"}],"#
                    + #""postData":{"mimeType":"text/plain","text":"\u0068i"}},"#
                    + #""response":{"status":201,"statusText":"Created","headers":[{"name":"X","value":"é \"q\""},"#
                    + #"{"value":"text/css","name":"content-type"}],"content":{"size":3,"text":"a\nü"}}}"#))
        #expect(archive.table.count == 1)
        #expect(archive.table.usableCount == 1)
        #expect(String(decoding: archive.table[0].url, as: UTF8.self) == "https://a.example/b?c")
        #expect(archive.table[0].method == "POST")
        #expect(archive.table[0].hasRequestBody)
        let exchange = try archive.exchange(0)
        #expect(exchange.url == Array("https://a.example/b?c".utf8))
        #expect(exchange.requestFields == [RecordedField("Accept", "*/*")])
        #expect(exchange.requestBody == Array("hi".utf8))
        #expect(exchange.status == 201)
        #expect(exchange.reason == Array("Created".utf8))
        #expect(exchange.time == 1_795_403_106_789)
        #expect(try archive.fields(0) == ["X: é \"q\"", "content-type: text/css; charset=utf-8"])
        #expect(try archive.text(0) == "a\nü")
        #expect(archive.messages.isEmpty)
    }

    @Test("has no body over the limit, in the file or beside it")
    func longBodies() throws {
        let bodies = [
            #""text":"0123456789""#, #""text":"MDEyMzQ1Njc4OQ==","encoding":"base64""#, #""_file":"x.txt""#,
        ]
        for body in bodies {
            for (limit, isGiven) in [(9, false), (10, true)] {
                let bytes = Array(HARSample.har(HARSample.entry(content: body)).utf8)
                var input = ArchiveInput(name: "a.har", bytes: ArchiveBytes(bytes)) { _ in
                    ArchiveBytes(Array("0123456789".utf8))
                }
                input.limits.body = limit
                let archive = try Archive.open(input)
                let problem = ArchiveProblem.thrown { try archive.body(0, pieces: 3) }
                #expect((problem == nil) == isGiven)
                #expect(problem?.message.contains("--max-entry-body (9 bytes)") ?? isGiven)
            }
        }
    }

    @Test(
        "has a body that is recorded, empty or missing",
        arguments: [
            (#""size":0"#, "200", "GET", "", nil), (#""size":5"#, "200", "GET", nil, Unusable.bodyNotRecorded),
            ("", "200", "GET", nil, .bodyNotRecorded), (#""size":null"#, "200", "GET", nil, .bodyNotRecorded),
            (#""size":5,"text":null"#, "200", "GET", nil, .bodyNotRecorded),
            (#""size":0,"text":"""#, "200", "GET", "", nil), (#""size":-1,"text":"""#, "200", "GET", "", nil),
            (#""text":"""#, "200", "GET", "", nil), (#""size":5"#, "204", "GET", "", nil),
            // Chrome, of a body that it could not get.
            (#""size":5,"text":"","encoding":"base64""#, "200", "GET", nil, .bodyNotRecorded),
            (#""size":5,"text":"""#, "204", "GET", "", nil), (#""size":5,"text":"""#, "302", "GET", "", nil),
            (#""size":5"#, "302", "GET", "", nil), (#""size":5"#, "200", "HEAD", "", nil),
            (#""size":5,"text":"abc""#, "304", "GET", "abc", nil), (#""size":5"#, "304", "GET", nil, .notModified),
            (#""text":"""#, "304", "GET", nil, .notModified),
            (#""text":"YWI=","encoding":"base64""#, "200", "GET", "ab", nil),
            (#""text":"YWI=","encoding":"BASE64""#, "200", "GET", "ab", nil),
            (#""text":"YWI=","encoding":"""#, "200", "GET", "YWI=", nil),
            (#""text":"YWI\u003d","encoding":"base64""#, "200", "GET", "ab", nil),
            (#""text":"a","text":"b""#, "200", "GET", "b", nil),
            (#""_file":"x/y.txt","text":"no""#, "200", "GET", "file", nil),
            (#""_file":"./x//y.txt""#, "200", "GET", "file", nil),
            (#""_file":"none","text":"no""#, "200", "GET", nil, .bodyNotRecorded),
        ] as [(String, String, String, String?, Unusable?)])
    func bodies(_ content: String, _ status: String, _ method: String, _ body: String?, _ reason: Unusable?) throws {
        let entry = HARSample.entry(method: method, status: status, content: content)
        let archive = try HARSample.open(HARSample.har(entry), files: ["x/y.txt": Array("file".utf8)])
        #expect(archive.table[0].unusable == reason)
        guard let body else { return }
        #expect(try archive.text(0) == body)
        if status == "304" { #expect(try archive.exchange(0).status == 200 && archive.table[0].status == 200) }
    }

    @Test(
        "is not an archive where it is damaged",
        arguments: [
            ("[]", "a.har:1:1: error: this is no HAR: it has no list of entries (log.entries)"),
            ("{}", "a.har:1:1: error: this is no HAR: it has no list of entries (log.entries)"),
            (#"{"log":{"entries":{}}}"#, "a.har:1:1: error: this is no HAR: it has no list of entries (log.entries)"),
            (#"{"log":{"entries":[]}}"#, "a.har:1:1: error: it has no entries"),
            (#"{"log":{"entries":["#, "a.har:1:20: error: the file ends too soon, and has no entry that is complete"),
            (
                #"{"log":{"entries":[{"request":{}}"# + "\n" + #", oops]}}"#,
                "a.har:2:3: error: not JSON: this is no value of JSON"
            ),
            (
                #"{"log":{"entries":[{"request":{}} {}]}}"#,
                "a.har:1:35: error: not JSON: ',' or ']' is expected, and '{' stands there"
            ),
            (
                #"{"log":{"ü":1,"entries":[{a:1}]}}"#,
                "a.har:1:27: error: not JSON: a member's name is expected, and 'a' stands there"
            ),
            (
                "{\"log\":" + String(repeating: "[", count: 64),
                "a.har:1:71: error: not JSON: it is nested deeper than 64 levels"
            ),
        ])
    func damage(_ text: String, _ problem: String) {
        #expect(HARSample.problem(text) == problem)
    }

    @Test("is read up to its torn tail, with a warning")
    func tornTail() throws {
        let whole = HARSample.har(HARSample.entry(), HARSample.entry(url: "http://b.example/"))
        let first = HARSample.har(HARSample.entry()).utf8.count - 3
        for length in first..<whole.utf8.count {
            let archive = try HARSample.open(Array(whole.utf8.prefix(length)))
            let isSecond = length >= whole.utf8.count - 3
            #expect(archive.table.count == (isSecond ? 2 : 1), "\(length)")
            #expect(archive.warnings.count == 1)
        }
        let zeros = Array(whole.utf8.prefix(first + 54)) + [UInt8](repeating: 0, count: 100_000)
        #expect(
            try HARSample.open(zeros).messages == [
                "a.har:2:53: warning: the file ends too soon: entry 1 is its last complete one"
            ])
        for tail in ["x", "\0\0", "\0x", "]", ","] {
            #expect(
                try HARSample.open(whole + tail).messages == [
                    "a.har:2:\(whole.utf8.count - first + 2 - 3): warning: what stands behind the end is passed over"
                ])
        }
    }

    @Test("of a member given twice takes the last")
    func twice() throws {
        let archive = try HARSample.open(
            #"{"log":1,"log":{"entries":[],"entries":[{"request":{"url":"http://a.example/"},"request":"#
                + #"{"url":"http://b.example/","url":"http://c.example/"},"response":{"status":200,"status":404,"#
                + #""headers":[{"name":"a","value":"b"}],"headers":[],"content":{"size":1},"content":{"size":0}}}]}}"#)
        #expect(String(decoding: archive.table[0].url, as: UTF8.self) == "http://c.example/")
        #expect(archive.table[0].status == 404)
        #expect(archive.table[0].unusable == nil)
        #expect(try archive.exchange(0).fields.isEmpty)
    }

    @Test(
        "refuses files outside of its folder",
        arguments: ["../x", "a/../../x", "/etc/passwd", #"a\\b"#, #"..\\x"#, "C:x", "c:/x", #"a\u0000b"#, ".", "a/.."])
    func outside(_ file: String) {
        let entry = HARSample.entry(content: #""_file":"\#(file)""#)
        let problem = HARSample.problem(HARSample.har(entry))
        #expect(problem?.contains("error: the _file '") == true)
        #expect(problem?.hasSuffix("is outside of the archive's folder") == true)
        let posted = HARSample.entry(request: #","postData":{"_file":"\#(file)"}"#)
        #expect(HARSample.problem(HARSample.har(posted)) != nil)
    }

    @Test("warns of what it passes over")
    func warnings() throws {
        let archive = try HARSample.open(
            HARSample.har(
                HARSample.entry(url: ""), HARSample.entry(content: #""_file":"none""#),
                HARSample.entry(response: #","headers":[{"name":"a b","value":"c"},{"name":"d","value":"e\rf"}]"#), "7")
        )
        #expect(
            archive.messages == [
                "a.har:1:73: warning: entry 1: it has no URL",
                "a.har:2:196: warning: entry 2: the file of its body, 'none', is missing",
                "a.har:3:188: warning: entry 3: 2 of its fields aren't valid",
                "a.har:4:1: warning: entry 4: it has no URL",
            ])
        #expect(archive.table.usableCount == 1)
        #expect(try archive.fields(2) == ["Content-Type: text/plain"])
    }

    @Test(
        "has failed entries, which can't answer",
        arguments: [
            HARSample.entry(status: "0"), HARSample.entry(status: "-1"),
            HARSample.entry(more: #","_error":"net::ERR""#),
            HARSample.entry(response: #","_error":"net::ERR_ABORTED""#),
            HARSample.entry(response: #","_failureText":"x""#),
            #"{"request":{"url":"http://a.example/"}}"#, #"{"request":{"url":"http://a.example/"},"response":null}"#,
        ])
    func failed(_ entry: String) throws {
        #expect(try HARSample.open(HARSample.har(entry)).table[0].unusable == .failed)
    }

    @Test(
        "has a status that is an integer of a final response",
        arguments: [
            ("200", nil), ("200.0", nil), ("999", nil), ("101", .status), ("1000", .status), ("200.5", .status),
            ("\"200\"", .status), ("null", .status), ("99999999999999999999", .status), ("-999", .status),
        ] as [(String, Unusable?)])
    func status(_ status: String, _ reason: Unusable?) throws {
        #expect(try HARSample.open(HARSample.har(HARSample.entry(status: status))).table[0].unusable == reason)
    }

    @Test(
        "writes the root page in several ways",
        arguments: [
            ("http://a.example", "http://a.example/"), ("http://a.example/?", "http://a.example/"),
            ("http://a.example/?=", "http://a.example/"), ("http://a.example?=#x", "http://a.example/"),
            ("http://a.example/x?", "http://a.example/x?"), ("http://a.example/?a=", "http://a.example/?a="),
        ])
    func rootPage(_ recorded: String, _ url: String) throws {
        let archive = try HARSample.open(HARSample.har(HARSample.entry(url: recorded)))
        #expect(String(decoding: archive.table[0].url, as: UTF8.self) == url)
        #expect(try archive.exchange(0).url == Array(url.utf8))
    }

    @Test("tells parts from wholes by Content-Range")
    func parts() throws {
        func isPartial(_ range: String?) throws -> Bool {
            let field = range.map { #"{"name":"content-range","value":"\#($0)"}"# } ?? ""
            let entry = HARSample.entry(status: "206", response: #","headers":[\#(field)]"#, content: #""text":"abc""#)
            return try HARSample.open(HARSample.har(entry)).table[0].isPartial
        }
        #expect(try !isPartial("bytes 0-2/3"))
        #expect(try isPartial("bytes 0-2/4"))
        #expect(try isPartial("bytes 1-2/3"))
        #expect(try isPartial("bytes 0-2/*"))
        #expect(try isPartial(nil))
    }

    @Test("gives pages, and opens the first document of the first page")
    func pages() throws {
        let archive = try HARSample.open(
            #"{"log":{"pages":[{"id":"p1","title":"One"},{"id":"p2"},{"id":"p3"}],"entries":["#
                + HARSample.entry(url: "http://a.example/x.js", more: #","pageref":"p1""#) + ","
                + HARSample.entry(
                    url: "http://a.example/one", content: #""size":0,"mimeType":"text/html""#, more: #","pageref":"p1""#
                )
                + "," + HARSample.entry(url: "http://a.example/y.js", more: #","pageref":"p2""#) + "]}}")
        #expect(
            archive.pages == [
                ArchivePage(url: Array("http://a.example/one".utf8), title: "One"),
                ArchivePage(url: Array("http://a.example/y.js".utf8)),
            ])
        #expect(archive.document == Array("http://a.example/one".utf8))
    }

    @Test("may begin with a byte-order mark, and is not UTF-16")
    func byteOrderMark() throws {
        let har = HARSample.har(HARSample.entry(url: ""))
        #expect(try HARSample.open("\u{FEFF}" + har).messages == ["a.har:1:73: warning: entry 1: it has no URL"])
        var wide: [UInt8] = [0xFF, 0xFE]
        for unit in har.utf16 { wide += [UInt8(unit & 0xFF), UInt8(unit >> 8)] }
        #expect(throws: ArchiveProblem.self) { _ = try HARSample.open(wide) }
    }

    @Test("says when it is checked which bodies are not all base64, or have escapes that are none")
    func verified() throws {
        let archive = try HARSample.open(
            HARSample.har(
                HARSample.entry(content: #""text":"YW-I=","encoding":"base64""#),
                HARSample.entry(content: #""text":"\ud800x""#), HARSample.entry(content: #""text":"ok""#)))
        var warnings: [String] = []
        try archive.verify { warnings.append($0.description(file: "a.har")) }
        #expect(
            warnings == [
                "a.har:1:268: warning: entry 1: its body has 1 character that is not base64",
                "a.har:2:196: warning: entry 2: its body has escapes that stand for no character",
            ])
        #expect(try archive.text(0) == "ab")
        #expect(try archive.text(1) == "\u{FFFD}x")
    }

    @Test("that was changed in place gives errors, and no other entry")
    func changed() throws {
        let text = HARSample.har(HARSample.entry(content: #""text":"ok""#))
        let bytes = Array(text.utf8)
        let isShort = Mutex(false)
        let source = ArchiveBytes(count: bytes.count) { buffer, offset in
            let end = isShort.withLock { $0 } ? min(bytes.count, 150) : bytes.count
            guard offset < end else { return 0 }
            let length = min(buffer.count, end - offset)
            bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[offset..<offset + length])) }
            return length
        }
        let archive = try Archive.open(ArchiveInput(name: "a.har", bytes: source))
        isShort.withLock { $0 = true }
        #expect(throws: ArchiveProblem.self) { _ = try archive.exchange(0) }
        #expect(throws: ArchiveProblem.self) { _ = try archive.bytes(0) }
    }
}
