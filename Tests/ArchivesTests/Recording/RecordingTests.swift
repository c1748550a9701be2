import Glibc
import HTTPSemantics
import ProxyTestKit
import Testing

@testable import Archives

/// Opens the recording in a folder, its files as they are.
func openRecording(_ path: String, _ name: String = "recording.yaml") throws -> Archive {
    let bytes = try contents("\(path)/\(name)")
    return try Archive.open(
        ArchiveInput(
            name: "\(path)/\(name)", bytes: ArchiveBytes(bytes),
            sibling: { file in (try? contents("\(path)/\(file)")).map { ArchiveBytes($0) } }))
}

@Suite("Recordings")
struct RecordingTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.at("r") }

    private static func exchange(
        _ url: String, _ method: String = "GET", status: Int = 200, fields: [(String, String)] = []
    ) -> RecordedExchange {
        var exchange = RecordedExchange()
        exchange.method = method
        exchange.url = Array(url.utf8)
        exchange.status = status
        exchange.fields = fields.map { RecordedField($0, $1) }
        return exchange
    }

    private func append(_ writer: inout RecordingWriter, _ exchange: RecordedExchange, _ body: String) throws {
        try writer.append(exchange) { MemoryStream(Array(body.utf8)) }
    }

    private func list() throws -> String { String(decoding: try contents("\(path)/recording.yaml"), as: UTF8.self) }

    @Test("write nothing through links that stand where their folders should")
    func links() throws {
        let other = TemporaryFolder()
        mkdir(path, 0o777)
        mkdir("\(path)/files", 0o777)
        symlink(other.path, "\(path)/files/a.test")
        var writer = try RecordingWriter(folder: path)
        try append(&writer, Self.exchange("http://a.test/d/e/x", fields: [("Content-Type", "text/plain")]), "one")
        try append(&writer, Self.exchange("http://a.test/y", fields: [("Content-Type", "text/plain")]), "two")
        let file = open(folder.at("ready"), O_RDWR | O_CREAT, 0o600 as mode_t)
        defer { close(file) }
        try RecordingFiles.write(Array("three".utf8), to: file)
        var digest = BodyDigest()
        Array("three".utf8).withUnsafeBytes { digest.update($0) }
        try writer.append(
            Self.exchange("http://a.test/z", fields: [("Content-Type", "text/plain")]),
            file: ReadyFile(descriptor: file, count: 5, digest: digest)
        ) { MemoryStream(Array("three".utf8)) }
        #expect(try ChildProcess.run(["ls", other.path]).output == "")
        #expect(try contents("\(path)/files/a.test~2/d/e/x.txt") == Array("one".utf8))
        #expect(try contents("\(path)/files/a.test~2/y.txt") == Array("two".utf8))
        #expect(try contents("\(path)/files/a.test~2/z.txt") == Array("three".utf8))
    }

    @Test("are none where the folder of their files is a link")
    func linkedFiles() throws {
        let other = TemporaryFolder()
        mkdir(path, 0o777)
        symlink(other.path, "\(path)/files")
        let failure = #expect(throws: RecordingFailure.self) { try RecordingWriter(folder: path) }
        #expect(failure?.message == "'files' in it is a link, or no folder; nothing is written through it")
    }

    @Test("are one writer's: another one is refused, and takes away nothing of what the first is writing")
    func beside() throws {
        var writer = try RecordingWriter(folder: path)
        let part = open("\(path)/.recording-part", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600 as mode_t)
        #expect(part >= 0)
        close(part)
        #expect(throws: RecordingFailure.self) { try RecordingWriter(folder: path) }
        #expect(access("\(path)/.recording-part", F_OK) == 0)
        try append(&writer, Self.exchange("http://a.test/y", fields: [("Content-Type", "text/plain")]), "two")
        #expect(try contents("\(path)/files/a.test/y.txt") == Array("two".utf8))
    }

    @Test("have the form of the documentation")
    func form() throws {
        var writer = try RecordingWriter(folder: path)
        var exchange = Self.exchange(
            "https://api.example.com/items?page=2", "POST", status: 201,
            fields: [
                ("Date", "Mon, 23 Nov 2026 05:00:00 GMT"), ("Content-Type", "application/json"),
                ("Set-Cookie", "sid=REDACTED; Path=/"), ("Content-Length", "2"), ("Connection", "close"),
            ])
        exchange.requestFields = [
            RecordedField("Host", "api.example.com"), RecordedField("Content-Type", "application/json"),
        ]
        exchange.requestBody = Array(#"{"sort":"name"}"#.utf8)
        try append(&writer, exchange, "[]")
        try append(&writer, Self.exchange("https://api.example.com/"), "")
        #expect(
            try list() == RecordingWriter.beginning + """
                - url: https://api.example.com/items?page=2
                  method: POST
                  request: { headers: [Content-Type: application/json], json: { sort: name } }
                  status: 201
                  headers:
                    - Content-Type: application/json
                    - Set-Cookie: sid=REDACTED; Path=/
                  file: files/api.example.com/items,page=2.POST.json
                - url: https://api.example.com/

                """)
        #expect(try contents("\(path)/files/api.example.com/items,page=2.POST.json") == Array("[]".utf8))
        let map = String(decoding: try contents("\(path)/substitutions.yaml"), as: UTF8.self)
        #expect(map.hasPrefix("archives: [recording.yaml]\n") && map.contains("\n# substitutions:\n"))
    }

    @Test("have no field that Connection nominates, which they don't have either")
    func nominated() throws {
        var writer = try RecordingWriter(folder: path)
        var exchange = Self.exchange(
            "https://a.test/", fields: [("Connection", "X-Hop"), ("X-Hop", "one"), ("X-Keep", "two")])
        exchange.requestFields = [
            RecordedField("X-Ask", "a"), RecordedField("connection", "close, x-ask"), RecordedField("X-Stay", "b"),
        ]
        try append(&writer, exchange, "")
        #expect(
            try list() == RecordingWriter.beginning + """
                - url: https://a.test/
                  request: { headers: [X-Stay: b] }
                  headers:
                    - X-Keep: two

                """)
    }

    @Test("give back what was written, whatever bytes it has")
    func roundTrip() throws {
        var generator = SeededGenerator(seed: 7)
        var exchanges: [(RecordedExchange, [UInt8])] = []
        let texts = [
            "", "a", "null", "~", "yes", "12", "a: b", "a #b", "- a", "{x}", "'", "\"", "é", "\u{2028}", "\u{85}", "*a",
            "a:", "\u{FEFF}x", "😀", "a, b", "%a", "<<", "0x10", ".5", "https://a/b",
        ]
        let bodies =
            texts.map { Array($0.utf8) } + [
                [0xFF, 0x00], Array("{\"a\" : 1}".utf8), Array("{\"a\":1,\"b\":[true,null,\"x\",-1.50,{}]}".utf8),
                Array("[]".utf8), Array("{\"null\":\"null\",\"1\":\"1\",\"a b\":\"\\u00e9\"}".utf8),
                Array("a\nb\r\n\tc\u{7}".utf8), [UInt8](repeating: 0x61, count: 70_000),
            ]
        for number in 0..<300 {
            var exchange = Self.exchange("https://a.example/\(number % 50)?x=\(number)", ["GET", "POST"][number % 2])
            exchange.status = [200, 404, 304, 500][number % 4]
            for _ in 0..<Int.random(in: 0..<4, using: &generator) {
                let text = texts.randomElement(using: &generator) ?? ""
                let value = Array(text.utf8).filter { $0 >= 0x20 && $0 != 0x7F }
                exchange.fields.append(RecordedField(Array("X-A".utf8), value))
                exchange.requestFields.append(RecordedField(Array("x!1".utf8), value))
            }
            exchange.fields.append(RecordedField(Array("X-Latin".utf8), [0x61, 0xE9, 0x62]))
            if number % 3 == 0 { exchange.requestBody = bodies.randomElement(using: &generator) }
            if number % 7 == 0 { exchange.body.isMissing = true }
            let body = exchange.body.isMissing ? [] : bodies.randomElement(using: &generator) ?? []
            exchange.fields.append(RecordedField("Content-Type", "text/plain"))
            exchanges.append((exchange, body))
        }
        var writer = try RecordingWriter(folder: path)
        for (exchange, body) in exchanges { try writer.append(exchange) { MemoryStream(body) } }
        let archive = try openRecording(path)
        #expect(archive.table.count == exchanges.count && archive.warnings.isEmpty)
        for (index, (exchange, body)) in exchanges.enumerated() {
            let read = try archive.exchange(index)
            #expect(read.method == exchange.method && read.url == exchange.url && read.status == exchange.status)
            #expect(read.fields == exchange.fields, "\(index)")
            #expect(read.requestFields == exchange.requestFields)
            #expect((read.requestBody ?? []) == (exchange.requestBody ?? []))
            #expect(read.body.isMissing == exchange.body.isMissing)
            #expect(try archive.body(index) == body)
        }
    }

    @Test("have one file for equal bytes of one type, and go on where another writer has ended")
    func files() throws {
        let page = Self.exchange("https://a.example/a", fields: [("Content-Type", "text/plain; charset=utf-8")])
        do {
            var writer = try RecordingWriter(folder: path)
            try append(&writer, page, "same")
        }
        var writer = try reopened()
        #expect(writer.count == 1)
        try append(&writer, Self.exchange("https://a.example/b", fields: [("Content-Type", "text/plain")]), "same")
        try append(&writer, Self.exchange("https://a.example/c", fields: [("Content-Type", "text/css")]), "same")
        try append(&writer, page, "other")
        try append(&writer, page, "")
        let archive = try openRecording(path)
        let files = try list().split(separator: "\n").filter { $0.hasPrefix("  file: ") }.map { $0.dropFirst(8) }
        #expect(
            files == [
                "files/a.example/a.txt", "files/a.example/a.txt", "files/a.example/c.css", "files/a.example/a~2.txt",
            ])
        #expect(try (0..<5).map { try archive.text($0) } == ["same", "same", "same", "other", ""])
        #expect(archive.table.number(0) == ":2")
    }

    @Test(
        "are left alone where no entry can stand behind the last line",
        arguments: [
            ("[]\n", false), ("null\n", false), ("# nothing\n\n---\n", true), ("", true),
            ("---\n- {url: 'http://a.test/', status: 204}\n", true),
            ("- {url: 'http://a.test/', status: 204}\n# end\n", true),
            ("---\n- {url: 'http://a.test/', status: 204}\n...\n", false),
            ("- {url: 'http://a.test/', status: 204}\n... # end\n\n# more\n", false),
            ("[{url: 'http://a.test/', status: 204}]\n", false),
        ])
    func growing(text: String, canGrow: Bool) throws {
        do { _ = try RecordingWriter(folder: path) }
        try folder.write("r/recording.yaml", text)
        do {
            var writer = try reopened()
            #expect(canGrow)
            try append(&writer, Self.exchange("http://a.test/b"), "more")
            #expect(try openRecording(path).table.count == writer.count)
        } catch {
            guard case .otherForm? = error as? RecordingFailure else { throw error }
            #expect(!canGrow)
            #expect(try list() == text)
        }
    }

    /// A writer for what another one has written. Processes that other tests start hold its lock until they execute
    /// their programs.
    private func reopened(_ options: RecordingOptions = RecordingOptions()) throws -> RecordingWriter {
        var writer: RecordingWriter?
        try Wait.until {
            do throws(RecordingFailure) { writer = try RecordingWriter(folder: path, options: options) } catch {
                guard case .busy = error else { throw error }
            }
            return writer != nil
        }
        return try #require(writer)
    }

    @Test("are readable wherever their writer was killed, and go on from there")
    func torn() throws {
        do {
            var writer = try RecordingWriter(folder: path)
            var post = Self.exchange("https://a.example/b", "POST", status: 201, fields: [("Content-Type", "text/css")])
            post.requestBody = Array(#"{"a":1}"#.utf8)
            try append(&writer, Self.exchange("https://a.example/a", fields: [("Content-Type", "text/css")]), "a")
            try append(&writer, post, "b")
            try append(&writer, Self.exchange("https://a.example/c", status: 302, fields: [("Location", "/x")]), "")
        }
        let whole = try contents("\(path)/recording.yaml")
        let text = String(decoding: whole, as: UTF8.self)
        let starts = text.ranges(of: "- url:").map { text.utf8.distance(from: text.startIndex, to: $0.lowerBound) }
        for cut in RecordingWriter.beginning.utf8.count..<whole.count {
            try folder.write("r/recording.yaml", String(decoding: whole[..<cut], as: UTF8.self))
            // What ends between two lines may be an entry; else the last one is missing, but for its line's end.
            let begun = starts.count { $0 < cut }
            let isAtLine = whole[cut - 1] == 0x0A
            let isComplete = starts.contains(cut) || starts.contains(cut + 1)
            let least = isComplete || isAtLine ? begun : max(begun - 1, 0)
            var archive = try openRecording(path)
            #expect(archive.table.count == least, "\(cut)")
            #expect(archive.warnings.isEmpty == (least == begun))
            #expect(archive.warnings.allSatisfy { $0.message.contains("cut short") })
            for index in 0..<max(begun - 1, 0) { #expect(try archive.text(index) == ["a", "b", ""][index]) }
            do {
                var writer = try reopened()
                #expect(writer.count == least)
                try append(&writer, Self.exchange("https://a.example/new"), "new")
            }
            archive = try openRecording(path)
            #expect(archive.table.count == least + 1 && archive.warnings.isEmpty, "\(cut)")
            #expect(try archive.text(least) == "new")
        }
    }

    @Test("leave Expires out of cookies with Max-Age, which would be another time in each")
    func cookies() throws {
        var writer = try RecordingWriter(folder: path)
        let cookies = [
            "a=REDACTED; expires=Mon, 23 Nov 2026 05:00:00 GMT; Max-Age=9; Path=/",
            "b=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "expires=1; max-age=0",
        ]
        try append(
            &writer, Self.exchange("https://a.example/", fields: cookies.map { ("Set-Cookie", $0) }), "")
        let archive = try openRecording(path)
        #expect(
            try archive.exchange(0).fields.map { String(decoding: $0.value, as: UTF8.self) } == [
                "a=REDACTED; Max-Age=9; Path=/", cookies[1], cookies[2],
            ])
    }

    @Test(
        "have Max-Age in the place of a cookie's Expires, which is another time in each",
        arguments: [
            ("a=1; Expires=Tue, 24 Nov 2026 05:00:00 GMT; Path=/", "a=1; Max-Age=86400; Path=/"),
            // Another second has begun between the reading of two clocks.
            ("a=1; Path=/; expires=Tue, 24-Nov-2026 04:59:59 GMT", "a=1; Max-Age=86400; Path=/"),
            ("a=1; Expires=Tue, 24 Nov 2026 05:00:07 GMT", "a=1; Max-Age=86407"),
            ("a=1; Expires=Mon, 23 Nov 2026 05:00:01 GMT", "a=1; Max-Age=1"),
            // Over, as all that delete a cookie.
            ("a=1; Expires=Mon, 23 Nov 2026 05:00:00 GMT", "a=1; Max-Age=0"),
            ("a=1; Expires=Sun, 22 Nov 2026 05:00:00 GMT", "a=1; Max-Age=0"),
            ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=1; Max-Age=0"),
            // Beyond what browsers keep; no date.
            ("a=1; Expires=Thu, 23 Nov 2028 05:00:00 GMT", "a=1; Max-Age=34560000"),
            ("a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT", "a=1; Max-Age=34560000"),
            ("a=1; Expires=never", nil), ("a=1", nil),
        ] as [(String, String?)])
    func cookieTimes(written: String, recorded: String?) throws {
        for date in ["Mon, 23 Nov 2026 05:00:00 GMT", nil] {
            let path = folder.at(date == nil ? "recorder" : "own")
            var writer = try RecordingWriter(folder: path)
            var exchange = Self.exchange("https://a.example/", fields: [("Set-Cookie", written)])
            // The recorder's clock counts where the response has no time of its own.
            exchange.time = (date == nil ? 1_795_410_000 : 1_000_000_000) * 1000
            if let date { exchange.fields.append(RecordedField("Date", date)) }
            try append(&writer, exchange, "")
            let archive = try openRecording(path)
            #expect(
                try archive.exchange(0).fields.map { String(decoding: $0.value, as: UTF8.self) }
                    == [recorded ?? written])
        }
    }

    @Test("have a boundary in multipart forms that follows from the content, whatever clients have drawn")
    func boundaries() throws {
        func form(_ boundary: String, _ value: String) -> RecordedExchange {
            var post = Self.exchange("https://a.example/", "POST")
            post.requestFields = [RecordedField("Content-Type", "multipart/form-data; boundary=\(boundary)")]
            post.requestBody = Array(
                "--\(boundary)\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\(value)\r\n--\(boundary)--\r\n"
                    .utf8)
            return post
        }
        var writer = try RecordingWriter(folder: path)
        for form in [
            form("------------------------d74496d66958873e", "1"), form("----WebKitFormBoundaryAbCdEfGh", "1"),
            form("----WebKitFormBoundaryAbCdEfGh", "2"), form("short", "1"),
        ] {
            try append(&writer, form, "")
        }
        let archive = try openRecording(path)
        let read = try (0..<4).map { try archive.exchange($0) }
        #expect(read[0].requestBody == read[1].requestBody && read[0].requestFields == read[1].requestFields)
        #expect(read[1].requestFields != read[2].requestFields)
        #expect(read[3].requestBody == form("short", "1").requestBody)
        for exchange in read[0..<3] {
            let type = String(decoding: exchange.requestFields[0].value, as: UTF8.self)
            let boundary = try #require(type.split(separator: "=").last)
            let body = String(decoding: exchange.requestBody ?? [], as: UTF8.self)
            #expect(body.hasPrefix("--\(boundary)\r\nContent-Disposition") && body.hasSuffix("\r\n--\(boundary)--\r\n"))
        }
    }

    @Test("are for their owner alone where nothing is taken out, also when they were for all")
    func privacy() throws {
        do {
            var writer = try RecordingWriter(folder: path)
            try append(&writer, Self.exchange("https://a.example/a"), "a")
        }
        var options = RecordingOptions()
        options.isPrivate = true
        var writer = try reopened(options)
        try append(&writer, Self.exchange("https://a.example/b"), "b")
        for name in ["recording.yaml", "files/a.example/b"] {
            var status = stat()
            #expect(stat("\(path)/\(name)", &status) == 0 && status.st_mode & 0o777 == 0o600, "\(name)")
        }
    }

    @Test("are written by one writer at a time")
    func busy() throws {
        let writer = try RecordingWriter(folder: path)
        #expect(throws: RecordingFailure.self) { _ = try RecordingWriter(folder: path) }
        #expect(writer.count == 0)
    }

    @Test("have large bodies, decoded ones, and coded ones where they can't be decoded")
    func bodies() throws {
        let large = [UInt8](repeating: 0x62, count: 1 << 20)
        let encoder = try GzipEncoder()
        var coded: [UInt8] = []
        encoder.encode(large, into: &coded)
        encoder.finish(into: &coded)
        var exchange = Self.exchange(
            "https://a.example/a.txt", fields: [("Content-Encoding", "gzip"), ("Content-MD5", "x")])
        exchange.body.codings = ["gzip"]
        exchange.body.storedBytes = coded.count
        var broken = exchange
        broken.url = Array("https://a.example/b.txt".utf8)
        let torn = Array(coded.dropLast(20))
        broken.body.storedBytes = torn.count
        var writer = try RecordingWriter(folder: path)
        try writer.append(exchange) { MemoryStream(coded) }
        try writer.append(broken) { MemoryStream(torn) }
        let archive = try openRecording(path)
        #expect(try archive.body(0) == large && archive.exchange(0).body.codings.isEmpty)
        #expect(try archive.field("content-md5", 0) == nil)
        #expect(try archive.body(1) == torn && archive.exchange(1).body.codings == ["gzip"])
    }

    @Test("have JSON indented on request")
    func indentation() throws {
        var options = RecordingOptions()
        options.indentsJSON = true
        var writer = try RecordingWriter(folder: path, options: options)
        let type = [("Content-Type", "application/json")]
        try append(&writer, Self.exchange("https://a.example/a", fields: type), #"{"a":[1,2],"b":{},"c":"{\"x\\"}"#)
        try append(&writer, Self.exchange("https://a.example/b", fields: type), #"{"a":"#)
        let archive = try openRecording(path)
        #expect(
            try archive.text(0) == "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {},\n  \"c\": \"{\\\"x\\\\\"\n}\n")
        #expect(try archive.text(1) == #"{"a":"#)
    }

    @Test("have no digest of a body that was indented, and that of another")
    func digests() throws {
        var options = RecordingOptions()
        options.indentsJSON = true
        var writer = try RecordingWriter(folder: path, options: options)
        let names: [StaticString] = ["content-md5", "digest", "content-digest", "repr-digest"]
        let fields = [("Content-Type", "application/json")] + names.map { ("\($0)", "x") }
        try append(&writer, Self.exchange("https://a.example/a", fields: fields), "{\"a\":1}")
        try append(&writer, Self.exchange("https://a.example/b", fields: fields), "no JSON")
        let archive = try openRecording(path)
        for name in names {
            #expect(try archive.field(name, 0) == nil)
            #expect(try archive.field(name, 1) == "x")
        }
    }

    @Test("can be read whatever JSON a request has brought", arguments: [60, 61, 62, 63, 64, 100])
    func deepRequests(depth: Int) throws {
        var writer = try RecordingWriter(folder: path)
        var exchange = Self.exchange("https://a.example/", "POST")
        let json = String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
        exchange.requestFields = [RecordedField("Content-Type", "application/json")]
        exchange.requestBody = Array(json.utf8)
        try append(&writer, exchange, "")
        try append(&writer, Self.exchange("https://a.example/other"), "")
        #expect(try list().contains(depth > 61 ? " text: " : " json: "))
        let archive = try openRecording(path)
        #expect(archive.table.count == 2)
        #expect(try archive.exchange(0).requestBody == Array(json.utf8))
    }

    @Test("have no request's body where it was empty, however it was sent")
    func emptyRequest() throws {
        var writer = try RecordingWriter(folder: path)
        var exchange = Self.exchange("https://a.example/", "POST")
        exchange.requestBody = []
        try append(&writer, exchange, "")
        #expect(try !list().contains("request:"))
        try folder.write(
            "recording.yaml", "- { url: \"http://a.example/b\", method: POST, request: { text: \"\" }, text: hi }\n")
        #expect(try openRecording(folder.path).table[0].hasRequestBody == false)
    }

    @Test("have JSON as it came where indenting it would make it far longer")
    func deepIndentation() throws {
        var options = RecordingOptions()
        options.indentsJSON = true
        var writer = try RecordingWriter(folder: path, options: options)
        let deep =
            String(repeating: "[", count: 40) + String(repeating: "1,", count: 3000) + "1"
            + String(repeating: "]", count: 40)
        try append(
            &writer, Self.exchange("https://a.example/a", fields: [("Content-Type", "application/json")]), deep)
        #expect(try openRecording(path).text(0) == deep)
    }

    @Test("are read as people write them")
    func byHand() throws {
        try folder.write("a.json", "[1]")
        try folder.write(
            "recording.yaml",
            """
            # a comment
            - url: http://a.example/a#x
              file: a.json
            - { url: "http://a.example/b", text: hi, headers: { X-A: 1, X-B: "2" } }
            -   url: http://a.example/c
                json:
                  a: [1, two]
                  b: |
                    x
                status: 404
            # behind
            - url: http://a.example/d
              base64: aGk=
              headers: [Content-Type: text/css, X-Gone: null]
            - url: http://a.example/e
              file: gone.txt
            - url: http://a.example/f
              file: null
            - url: http://a.example/g
              text: |
                last
            """)
        let archive = try openRecording(folder.path)
        #expect(archive.table.count == 7)
        #expect((0..<7).map { archive.table.number($0) } == [":2", ":4", ":5", ":12", ":15", ":17", ":19"])
        #expect((0..<7).map { archive.table[$0].isUsable } == [true, true, true, true, false, false, true])
        #expect(try archive.text(0) == "[1]" && archive.field("content-type", 0) == "application/json")
        #expect(try archive.exchange(0).url == Array("http://a.example/a".utf8))
        #expect(try archive.text(1) == "hi" && archive.field("x-b", 1) == "2")
        #expect(try archive.text(2) == #"{"a":[1,"two"],"b":"x\n"}"# && archive.exchange(2).status == 404)
        #expect(try archive.text(3) == "hi" && archive.field("content-type", 3) == "text/css")
        #expect(try archive.text(6) == "last\n" || archive.text(6) == "last")
        #expect(
            archive.warnings.map { $0.description(file: "r") } == [
                "r:16:9: warning: the file 'gone.txt' is missing\n  file: gone.txt\n        ^~~~~~~~"
            ])
        // An edit of a file counts at once.
        try folder.write("a.json", "[1,2]")
        #expect(try archive.text(0) == "[1,2]" && archive.exchange(0).body.size == 5)
    }

    @Test(
        "with errors are refused with line, column and caret",
        arguments: [
            ("- ur: x\n", "r.yaml:1:3: error: unknown option 'ur'; did you mean 'url'?\n- ur: x\n  ^~"),
            ("- file: x\n", "r.yaml:1:3: error: this entry does not say its 'url'"),
            ("a: b\n", "r.yaml:1:1: error: a recording is a list of entries, each with a 'url'"),
            ("- x\n", "r.yaml:1:3: error: this list is a recording, whose entries are mappings with a 'url', not text"),
            ("[url: http://a/]\n", "r.yaml:1:2: error: an entry in brackets stands in braces, as in [{ url: … }]"),
            ("[{ url: http://a/, text: a }, ur: x]\n", "r.yaml:1:31: error: an entry in brackets stands in braces"),
            ("- url: http://a/\n  file: ../x\n", "r.yaml:2:9: error: a recording's file is below its folder"),
            ("- url: http://a/\n  file: /etc/passwd\n", "r.yaml:2:9: error: a recording's file is below its folder"),
            ("- url: http://a/\n  text: 5\n", "r.yaml:2:9: error: 'text' is text, not an integer; put it in quotes"),
            ("- url: http://a/\n  text: a\n  file: b\n", "r.yaml:3:3: error: 'text' and 'file': a body is in one"),
            ("- url: http://a/\n  status: x\n", "r.yaml:2:11: error: 'status' is a number"),
            ("- url: http://a/\n  headers: [a b: c]\n", "r.yaml:2:13: error: 'a b' is no field name"),
            ("- url: http://a/\n  method: GET\n  method: GET\n", "r.yaml:3:3: error: the option 'method' comes twice"),
            ("- url: http://a/\n  base64: '?'\n", "r.yaml:2:11: error: this is no Base64"),
            ("- url: [\n", "r.yaml:"),
        ])
    func errors(text: String, expected: String) throws {
        let found = try #require(problem(Array(text.utf8), "r.yaml"))
        #expect(found.hasPrefix(expected), "\(found)")
        #expect(found.contains("\n") && found.contains("^"))
    }

    @Test("are told from maps by their first bytes")
    func detection() {
        func isArchive(_ text: String, _ name: String = "a.yaml") -> Bool {
            ArchiveInput(name: name, bytes: ArchiveBytes(Array(text.utf8))).isArchive
        }
        #expect(isArchive("- url: http://a/\n") && isArchive("# x\n---\n\n- url: x\n") && isArchive("[{url: x}]"))
        #expect(!isArchive("substitutions:\n  http://a/: b\n") && !isArchive("") && !isArchive("# - a\nroot: x"))
        #expect(isArchive("", "a/recording.yaml"))
    }
}
