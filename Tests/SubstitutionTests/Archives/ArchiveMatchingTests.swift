import Diagnostics
import Glibc
import HTTPSemantics
import Substitution
import Testing

@Suite("A request finds its entry in an archive")
struct ArchiveMatchingTests {
    typealias Recorded = ArchiveStage.Recorded

    @Test(
        "by its URL, other orders of parameters, and without cache busters",
        arguments: [
            ("http://a.example/p?x=1&y=2", "#1"),
            ("http://a.example/p?y=2&x=1", "#1 order"),
            ("http://a.example/p?y=2&x=1&utm_source=z&_=9", "#1 without _, utm_source"),
            ("http://a.example/p?x=1&y=2&fbclid=a&gclid=b&_ga=c&cb=d", "#1 without _ga, cb, fbclid"),
            ("https://a.example/p?x=1&y=2", "#1 scheme"),
            ("https://a.example/p?y=2&x=1", "#1 order; scheme"),
            ("http://a.example/p?x=1&y=3", "miss query"),
            ("http://a.example/q", "#2 without t"),
            ("http://a.example/q?t=1234567890", "#2"),
            ("http://a.example/q?t=0.1234567", "#2 without t"),
            ("http://a.example/q?t=12", "miss query"),
            ("http://a.example/q?any=1700000000000", "#2 without any, t"),
            ("http://a.example/q?any=2600000000000", "miss query"),
            ("http://a.example/r?_rsc=xyz", "#3 without _rsc"),
            ("http://a.example/r", "miss query"),
            ("http://a.example/app.js?v=9", "#4 without query"),
            ("http://a.example/app.js", "#4 without query"),
            ("http://a.example:81/p?x=1&y=2", "unknown"),
            ("http://b.example/", "unknown"),
            ("http://a.example/none", "miss path"),
            ("http://a.example/data.json?v=2", "miss query"),
        ])
    func steps(_ url: String, _ found: String) throws {
        let stage = try ArchiveStage([
            Recorded("http://a.example/p?x=1&y=2"), Recorded("http://a.example/q?t=1234567890"),
            Recorded("http://a.example/r?_rsc=abc"), Recorded("http://a.example/app.js?v=1"),
            Recorded("http://a.example/data.json?v=1"),
        ])
        #expect(try stage.find(url) == found)
    }

    @Test("with strict only by the same URL and scheme")
    func strict() throws {
        let stage = try ArchiveStage([Recorded("http://a.example/p?x=1&y=2")], "match: strict")
        #expect(try stage.find("http://a.example/p?x=1&y=2") == "#1")
        #expect(try stage.find("http://a.example/p?y=2&x=1").hasPrefix("miss"))
        #expect(try stage.find("https://a.example/p?x=1&y=2") == "miss path")
        let nearest = stage.map.archiveMiss(
            try TargetURI("https://a.example/p?x=1&y=2"), method: RequestMethod(.get),
            of: try #require(stage.map.archives.first)
        ).nearest
        #expect(nearest.map(\.differs) == [["scheme"]])
    }

    @Test("A URL of the other scheme is one of the archive's, whichever was recorded", arguments: ["http", "https"])
    func ownHost(_ scheme: String) throws {
        let stage = try ArchiveStage([Recorded("\(scheme)://a.example/y")])
        for asked in ["http", "https"] { #expect(try stage.find("\(asked)://a.example/z") == "miss path") }
        let isOther = scheme == "http" ? "https" : "http"
        #expect(try stage.find("\(isOther)://a.example/y") == "#1 scheme")
    }

    @Test(
        "with nearest by the most equal parameters, and other sizes of an image",
        arguments: [
            ("https://a.example/s?a=1&b=2&c=9", "#1 nearest 0.67"),
            ("https://a.example/s?a=1&b=9&c=9", "miss query"),
            ("https://a.example/i.png?w=300", "#2 without query"),
            ("https://a.example/w_150/x.jpg", "#4 size"),
            ("https://a.example/w_250/x.jpg", "#5 size"),
            ("https://a.example/w_900/x.jpg", "#5 size"),
            ("https://a.example/x-64x64.png", "#6 size"),
            ("https://a.example/w_200/x.html", "miss path"),
        ])
    func nearest(_ url: String, _ found: String) throws {
        let stage = try ArchiveStage(
            [
                Recorded("https://a.example/s?a=1&b=2&c=3"), Recorded("https://a.example/i.png?w=100"),
                Recorded("https://a.example/w_100/x.jpg"), Recorded("https://a.example/w_200/x.jpg"),
                Recorded("https://a.example/w_400/x.jpg"), Recorded("https://a.example/x-32x32.png"),
            ], "match: nearest")
        #expect(try stage.find(url) == found)
    }

    @Test("with nearest as with the same URL, fields and turns tell several responses of one URL apart")
    func nearestOfSeveral() throws {
        let vary = [("Vary", "Accept-Language")]
        func greeting(_ language: String) -> Recorded {
            Recorded("https://a.example/v?a=1&b=2&c=3").with(fields: [("Accept-Language", language)], answer: vary)
        }
        let stage = try ArchiveStage(
            [
                greeting("en"), greeting("de"), Recorded("https://a.example/n?a=1&b=2&c=3"),
                Recorded("https://a.example/n?a=1&b=2&c=4"), Recorded("https://a.example/n?a=1&b=2&c=3"),
                Recorded("https://a.example/w_400/x.jpg"), Recorded("https://a.example/w_400/x.jpg"),
            ], "match: nearest")
        let german = [("Accept-Language", "de")]
        #expect(try stage.find("https://a.example/v?a=1&b=2&c=9", fields: german) == "#2 nearest 0.67")
        #expect(try stage.find("https://a.example/n?a=1&b=2&c=9") == "#3, #5 nearest 0.67")
        #expect(try stage.find("https://a.example/w_300/x.jpg") == "#6, #7 size")
    }

    @Test("HEAD gets what was recorded for GET, wherever that is, and else what was for HEAD")
    func head() throws {
        let stage = try ArchiveStage([
            Recorded("HEAD", "https://a.example/x"), Recorded("https://a.example/x"), Recorded("https://a.example/x"),
            Recorded("HEAD", "https://a.example/y"),
        ])
        #expect(try stage.find("HEAD", "https://a.example/x") == "#2, #3")
        #expect(try stage.find("HEAD", "https://a.example/y") == "#4")
    }

    @Test("A part whose request was not recorded is for requests of that range")
    func rangeWithoutRequest() throws {
        let stage = try ArchiveStage([
            Recorded("https://a.example/v", status: 206).with(answer: [("Content-Range", "bytes 2-4/10")])
        ])
        #expect(try stage.find("https://a.example/v", fields: [("Range", "bytes=2-4")]) == "#1")
        #expect(try stage.find("https://a.example/v", fields: [("Range", "bytes=2-5")]) == "miss not recorded")
        #expect(try stage.find("https://a.example/v") == "miss not recorded")
    }

    @Test("A parameter that was taken out with its name equals those whose name may be JSON")
    func redactedNames() throws {
        let stage = try ArchiveStage([Recorded("https://a.example/s?REDACTED&b=2")])
        #expect(try stage.find("https://a.example/s?b=2&%7B%22token%22%3A1%7D=") == "#1 order")
        #expect(try stage.find("https://a.example/s?%7B%22token%22%3a1%7D&b=2") == "#1")
        #expect(try stage.find("https://a.example/s?c=1&b=2") == "miss query")
        let many = (0..<20).map { "&p\($0)=1" }.joined()
        let long = try ArchiveStage([Recorded("https://a.example/s?REDACTED" + many)])
        #expect(try long.find("https://a.example/s?a:b" + many) == "#1")
        #expect(try long.find("https://a.example/s?p1=1&a:b" + many.replacing("&p1=1", with: "")) == "#1 order")
        #expect(try long.find("https://a.example/s?ab" + many) == "miss query")
    }

    @Test("An entry recorded with REDACTED equals any value")
    func redacted() throws {
        let stage = try ArchiveStage([Recorded("https://a.example/s?token=REDACTED&b=2")])
        #expect(try stage.find("https://a.example/s?token=secret&b=2") == "#1")
        #expect(try stage.find("https://a.example/s?b=2&token=other") == "#1 order")
        #expect(try stage.find("https://a.example/s?b=3&token=other") == "miss query")
    }

    @Test("Further cache busters are those that the map names")
    func ignored() throws {
        let stage = try ArchiveStage([Recorded("https://a.example/s?a=1&nonce7=x")], "ignore-query: [\"nonce*\"]")
        #expect(try stage.find("https://a.example/s?a=1&nonce8=y") == "#1 without nonce7, nonce8")
    }

    @Test(
        "by its body: bytes, JSON, forms, multipart and GraphQL",
        arguments: [
            ("application/json", #"{"b":2,"a":1}"#, "#1"), ("application/json", #"{"a":1,"b":3}"#, "miss body"),
            ("application/json", #"{"a":1.0,"b":2}"#, "miss body"),
            ("application/json", #"{"password":"x","a":1}"#, "#2"),
            ("application/x-www-form-urlencoded", "y=2&x=1&_=123", "#3"),
            ("application/x-www-form-urlencoded", "r=%2Fx&q=a+b&t%5B%5D=%C3%A9&_=9", "#11"),
            ("application/x-www-form-urlencoded", "r=%2fx&q=a%20b&t[]=\u{e9}", "#11"),
            ("application/x-www-form-urlencoded", "r=%2Fx&q=a%2Bb&t%5B%5D=%C3%A9", "miss body"),
            ("application/x-www-form-urlencoded", "r=%2Fx%26q%3Da+b&t%5B%5D=%C3%A9", "miss body"),
            ("application/x-www-form-urlencoded", #"{"a":1,"password":"x y"} z"#, "#9"),
            ("application/x-www-form-urlencoded", #"{"a":2,"password":"x y"} z"#, "miss body"),
            ("application/x-www-form-urlencoded", "user=v&password=x", "#10"),
            ("application/x-www-form-urlencoded", "user=v&password=x&more=1", "miss body"),
            ("multipart/form-data; boundary=zz", "--zz\r\nA: b\r\n\r\nv\r\n--zz--\r\n", "#4"),
            // A boundary has 70 characters at most.
            (
                "multipart/form-data; boundary=" + String(repeating: "z", count: 70),
                "--\(String(repeating: "z", count: 70))\r\nA: b\r\n\r\nv\r\n--\(String(repeating: "z", count: 70))--\r\n",
                "#4"
            ),
            (
                "multipart/form-data; boundary=" + String(repeating: "z", count: 71),
                "--\(String(repeating: "z", count: 71))\r\nA: b\r\n\r\nv\r\n--\(String(repeating: "z", count: 71))--\r\n",
                "miss body"
            ),
            ("multipart/form-data; boundary=zz", "--zz\r\nA: c\r\n\r\nsecret\r\n--zz--\r\n", "#6"),
            ("multipart/form-data; boundary=zz", "--zz\r\nA: b\r\n\r\nsecret\r\n--zz--\r\n", "miss body"),
            ("multipart/form-data; boundary=zz", "--zz\r\nA: d\r\n\r\n{\"a\":1,\"sig\":2}\r\n--zz--\r\n", "#7"),
            ("multipart/form-data; boundary=zz", "--zz\r\nA: d\r\n\r\n{\"a\":2,\"sig\":2}\r\n--zz--\r\n", "miss body"),
            ("multipart/form-data; boundary=zz", "--zz\r\nA: e\r\n\r\na=1&sig=2\r\n--zz--\r\n", "#8"),
            (
                "application/json",
                #"{"query":"query  Get($i: ID) { item(id: $i) { id } }","operationName":"Get","variables":{"i":1}}"#,
                "#5"
            ),
            (
                "application/json", #"{"query":"query Get { x }","operationName":"Get","variables":{"i":2}}"#,
                "miss body"
            ),
        ])
    func bodies(_ type: String, _ body: String, _ found: String) throws {
        let stage = try ArchiveStage([
            Recorded("POST", "https://a.example/c", body: #"{"a":1,"b":2}"#),
            Recorded("POST", "https://a.example/c", body: #"{"a":1,"password":"REDACTED"}"#),
            Recorded("POST", "https://a.example/c", body: "x=1&y=2").with(type: "application/x-www-form-urlencoded"),
            Recorded("POST", "https://a.example/c", body: "--aa\r\nA: b\r\n\r\nv\r\n--aa--\r\n")
                .with(type: "multipart/form-data; boundary=aa"),
            Recorded(
                "POST", "https://a.example/c",
                body: #"{"query":"query Get { item { id name } }","operationName":"Get","variables":{"i":1}}"#),
            Recorded("POST", "https://a.example/c", body: "--aa\r\nA: c\r\n\r\nREDACTED\r\n--aa--\r\n")
                .with(type: "multipart/form-data; boundary=aa"),
            Recorded(
                "POST", "https://a.example/c",
                body: "--aa\r\nA: d\r\n\r\n{\"sig\":\"REDACTED\",\"a\":1}\r\n--aa--\r\n"
            )
            .with(type: "multipart/form-data; boundary=aa"),
            Recorded("POST", "https://a.example/c", body: "--aa\r\nA: e\r\n\r\na=1&sig=REDACTED\r\n--aa--\r\n")
                .with(type: "multipart/form-data; boundary=aa"),
            Recorded("POST", "https://a.example/c", body: #"{"a":1,"password":"REDACTED"} z"#)
                .with(type: "application/x-www-form-urlencoded"),
            Recorded("POST", "https://a.example/c", body: "user=v&password=REDACTED")
                .with(type: "application/x-www-form-urlencoded"),
            Recorded("POST", "https://a.example/c", body: "q=a%20b&r=%2fx&t%5b%5d=%c3%a9")
                .with(type: "application/x-www-form-urlencoded"),
        ])
        #expect(try stage.find("POST", "https://a.example/c", fields: [("Content-Type", type)], body: body) == found)
    }

    @Test(
        "A body in which values were taken out equals what is the same but for these, whatever quotes they have",
        arguments: [
            ("text/plain", #"{'user':'u','password':"REDACTED"}"#, "{'user':'u','password':'s3cret'}", true),
            ("text/plain", #"{'user':'u','password':"REDACTED"}"#, "{'user':'v','password':'s3cret'}", false),
            ("application/json", #"{"password":"REDACTED","b":1,}"#, #"{"password":{"v":2},"b":1,}"#, true),
            ("application/json", #"{"password":"REDACTED","b":1,}"#, #"{"password":2,"b":2,}"#, false),
            ("application/json", #"{"a":1,"password":"REDACTED""#, #"{"a":1,"password":"s3cr"#, true),
            ("application/json", #"{"password":"REDACTED","b":1}"#, #"{"password":my s3cret,"b":1}"#, true),
            ("application/json", #"{"password":"REDACTED","b":1}"#, #"{"password":my s3cret,"b":2}"#, false),
            ("application/json", #""REDACTED""#, #""{\"password\":1}""#, true),
            ("application/json", #""REDACTED""#, #"{"a":1}"#, false),
            ("application/x-www-form-urlencoded", #""REDACTED""#, #""{\"password\":1}""#, true),
            ("application/x-www-form-urlencoded", "REDACTED", "%7B%22password%22:1%7D", true),
            ("application/x-www-form-urlencoded", "REDACTED", "a=1", false),
            ("application/x-www-form-urlencoded", "a=1&REDACTED&b=2", "b=2&a=1&%7B%22password%22%3A%22x%22%7D=3", true),
            ("application/x-www-form-urlencoded", "REDACTED", "%7b%22password%22%3a%22x%22%7d=", true),
            ("application/x-www-form-urlencoded", "a=1&REDACTED", "a=1&b=%3A", false),
            ("application/x-www-form-urlencoded", "a=1&REDACTED", "a=1", false),
            ("multipart/form-data; boundary=b", "--b\nA: c\n\nREDACTED\n--b--\n", "--b\nA: c\n\nx\n--b--\n", true),
            ("multipart/form-data; boundary=b", "--b\nA: c\n\nREDACTED\n--b--\n", "--b\nA: d\n\nx\n--b--\n", false),
            ("multipart/form-data; boundary=b", #"{"sig":"REDACTED"}"# + "\r\n--b--", "{\"sig\":1}\r\n--b--", true),
            ("multipart/form-data; boundary=b", #"{"sig":"REDACTED"}"# + "\r\n--b--", "{\"a\":1}\r\n--b--", false),
        ])
    func marks(_ type: String, _ recorded: String, _ asked: String, _ isFound: Bool) throws {
        for settings in ["", "match: strict"] {
            let stage = try ArchiveStage(
                [Recorded("POST", "https://a.example/c", body: recorded).with(type: type)], settings)
            // In another order it is not the same.
            let isWanted = isFound && (settings.isEmpty || !asked.hasPrefix("b=2&a=1"))
            #expect(
                try stage.find("POST", "https://a.example/c", fields: [("Content-Type", type)], body: asked)
                    == (isWanted ? "#1" : "miss body"), "\(settings)")
        }
    }

    @Test("A recorded body of over 1 MiB equals any where none is equal")
    func largeBodies() throws {
        let large = String(repeating: "a", count: (1 << 20) + 1)
        let stage = try ArchiveStage([
            Recorded("POST", "https://a.example/c", body: large).with(type: "text/plain"),
            Recorded("POST", "https://a.example/c", body: "small").with(type: "text/plain"),
        ])
        let type = [("Content-Type", "text/plain")]
        #expect(try stage.find("POST", "https://a.example/c", fields: type, body: "small") == "#2")
        #expect(try stage.find("POST", "https://a.example/c", fields: type, body: "other") == "#1")
    }

    @Test("A recorded OPTIONS with 'cors: auto' is a miss that says how it would answer")
    func options() throws {
        let stage = try ArchiveStage([Recorded("OPTIONS", "https://a.example/c"), Recorded("https://a.example/c")])
        let uri = try TargetURI("https://a.example/c")
        let archive = try #require(stage.map.archives.first)
        let miss = stage.map.archiveMiss(uri, method: RequestMethod(.options), of: archive)
        #expect(miss.reason == .method && miss.advice.contains("'cors: off'"))
        #expect(try stage.find("OPTIONS", "https://a.example/c") == "miss method")
        let off = try ArchiveStage([Recorded("OPTIONS", "https://a.example/c")], "cors: off")
        #expect(try off.find("OPTIONS", "https://a.example/c") == "#1")
    }

    @Test("What comes nearest to a part that was recorded differs in the range, and in no body")
    func ranges() throws {
        let stage = try ArchiveStage([
            Recorded("https://a.example/v", status: 206).with(answer: [("Content-Range", "bytes 0-0/9")])
        ])
        let archive = try #require(stage.map.archives.first)
        let miss = stage.map.archiveMiss(
            try TargetURI("https://a.example/v"), method: RequestMethod(.get), of: archive)
        #expect(miss.reason == .notRecorded && miss.nearest.map(\.differs) == [["range"]])
    }

    @Test("What comes nearest to a URL of a host that no archive has has its path")
    func elsewhere() throws {
        let stage = try ArchiveStage([
            Recorded("https://a.example/v/x?a=1"), Recorded("https://a.example/w"), Recorded("https://b.example/v/x"),
        ])
        let nearest = stage.map.nearestElsewhere(
            try TargetURI("https://c.example/v/x"), method: RequestMethod(.get))
        #expect(nearest.map(\.position) == ["a.har#1", "a.har#3"])
        #expect(nearest.map(\.differs) == [["host"], ["host"]])
        #expect(
            stage.map.nearestElsewhere(try TargetURI("https://c.example/y"), method: RequestMethod(.get)).isEmpty)
    }

    @Test("A request without a body equals only entries without one, with nearest any")
    func withoutBody() throws {
        let entries = [Recorded("POST", "https://a.example/c", body: "x")]
        #expect(try ArchiveStage(entries).find("POST", "https://a.example/c").hasPrefix("miss"))
        #expect(try ArchiveStage(entries, "match: nearest").find("POST", "https://a.example/c") == "#1")
    }

    @Test("Fields that Vary names count before fields that are equal, and these before the turn")
    func fields() throws {
        let stage = try ArchiveStage([
            Recorded("https://a.example/").with(
                fields: [("Accept-Language", "en"), ("X-A", "1")], answer: [("Vary", "Accept-Language")]),
            Recorded("https://a.example/").with(
                fields: [("Accept-Language", "de")], answer: [("Vary", "Accept-Language")]),
            Recorded("https://a.example/").with(
                fields: [("Accept-Language", "de"), ("X-A", "1")], answer: [("Vary", "Accept-Language")]),
            Recorded("https://a.example/").with(
                fields: [("Accept-Language", "de"), ("X-A", "1")], answer: [("Vary", "Accept-Language")]),
        ])
        #expect(try stage.find("https://a.example/", fields: [("Accept-Language", "en")]) == "#1")
        #expect(try stage.find("https://a.example/", fields: [("Accept-Language", "de")]) == "#2, #3, #4")
        #expect(
            try stage.find("https://a.example/", fields: [("Accept-Language", "de"), ("X-A", "1")]) == "#3, #4")
    }

    @Test(
        "Fields that tell who asks count where Vary names them, and what was taken out equals any value",
        arguments: ["Authorization", "X-Api-Key", "Via"])
    func varied(_ name: String) throws {
        let vary = [("Vary", "Accept-Encoding, \(name)")]
        let stage = try ArchiveStage([
            Recorded("https://a.example/").with(fields: [], answer: vary),
            Recorded("https://a.example/").with(fields: [(name, "REDACTED")], answer: vary),
            Recorded("https://a.example/").with(fields: [(name, "known")], answer: vary),
        ])
        #expect(try stage.find("https://a.example/") == "#1")
        #expect(try stage.find("https://a.example/", fields: [(name, "any")]) == "#2")
        // One value more than any has: the one that says something of what is asked for tells them apart still.
        let two = try stage.find("https://a.example/", fields: [(name, "any"), (name, "other")])
        #expect(two == (name == "X-Api-Key" ? "#2" : "#1, #2, #3"))
    }

    @Test("Why there is none: the first reason that holds")
    func reasons() throws {
        let stage = try ArchiveStage([
            Recorded("POST", "https://a.example/post", body: "x"), Recorded("https://a.example/failed", status: 0),
            Recorded("https://a.example/items?page=1"),
        ])
        #expect(try stage.find("GET", "https://a.example/post") == "miss method")
        #expect(try stage.find("https://a.example/failed") == "miss not recorded")
        #expect(try stage.find("https://a.example/items?page=2") == "miss query")
        #expect(try stage.find("https://a.example/other") == "miss path")
        #expect(try stage.find("POST", "https://a.example/post", body: "y") == "miss body")
    }

    @Test("A part that was recorded is not recorded for requests for another one, and for the whole")
    func parts() throws {
        let stage = try ArchiveStage([
            Recorded("https://a.example/film", status: 206).with(
                fields: [("Range", "bytes=0-0")], answer: [("Content-Range", "bytes 0-0/5")])
        ])
        #expect(try stage.find("https://a.example/film", fields: [("Range", "bytes=0-0")]) == "#1")
        #expect(try stage.find("https://a.example/film", fields: [("Range", "bytes=1-2")]) == "miss not recorded")
        #expect(try stage.find("https://a.example/film") == "miss not recorded")
    }

    @Test("A range that a response lacks was recorded for requests for that range alone")
    func rangesBeyond() throws {
        let beyond = Recorded("https://a.example/film", status: 416).with(
            fields: [("Range", "bytes=9-"), ("Accept", "*/*")], answer: [("Content-Range", "bytes */5")])
        let stage = try ArchiveStage([beyond, Recorded("https://a.example/film")])
        let same = [("Range", "bytes=0-1"), ("Accept", "*/*")]
        #expect(try stage.find("https://a.example/film", fields: [("Accept", "*/*")]) == "#2")
        #expect(try stage.find("https://a.example/film", fields: same) == "#2")
        let alone = try ArchiveStage([beyond])
        #expect(try alone.find("https://a.example/film", fields: [("Range", "bytes=9-")]) == "#1")
        #expect(try alone.find("https://a.example/film") == "miss not recorded")
        let miss = alone.map.archiveMiss(
            try TargetURI("https://a.example/film"), method: RequestMethod(.get),
            of: try #require(alone.map.archives.first))
        #expect(miss.unusable?.contains("a.har#1: only a range that it lacks was recorded") == true)
    }

    @Test("An archive that can't be opened says why in the system's words")
    func unopened() {
        let name = "/" + String(repeating: "a", count: 5000) + ".har"
        #expect(throws: MapFileError.system(ENAMETOOLONG)) { try ArchiveFile(path: name) }
        let result = SubstitutionMap.load(files: [name])
        #expect(result.diagnostics.map { $0.diagnostic.message } == ["the archive can't be read: File name too long"])
    }

    @Test("What can be done about a miss goes by its reason, and an entry that can't answer says why")
    func advice() throws {
        let entries = [Recorded("https://a.example/failed", status: 0), Recorded("https://a.example/items?page=1")]
        func miss(_ path: String, _ settings: String = "") throws -> ArchiveMiss {
            let stage = try ArchiveStage(entries, settings)
            let uri = try TargetURI("https://a.example/\(path)")
            let get = Array("GET".utf8).withUnsafeBytes { RequestMethod($0) }
            return stage.map.archiveMiss(uri, method: get, of: try #require(stage.map.archives.first))
        }
        let failed = try miss("failed")
        #expect(failed.unusable == "a.har#1: the exchange failed" && failed.advice.hasPrefix("Record it anew"))
        let query = try miss("items?page=2")
        #expect(query.unusable == nil && query.advice.contains("'ignore-query'"))
        #expect(query.advice.contains("'match: nearest'"))
        #expect(try !miss("items?page=2", "match: nearest").advice.contains("nearest"))
        #expect(try miss("other", "missing: 504").advice.contains("'missing: forward'"))
        #expect(try miss("other").missing == .forward)
        #expect(try miss("other").advice == "Record it, or map the URL.")
    }

    @Test("'urls' limits what counts and what can be missed, 'as' moves entries")
    func settings() throws {
        let entries = [Recorded("https://a.example/x/1"), Recorded("https://a.example/y/1")]
        let some = try ArchiveStage(entries, "urls: [https://a.example/x/]")
        #expect(try some.find("https://a.example/x/1") == "#1")
        #expect(try some.find("https://a.example/y/1") == "unknown")
        #expect(try some.find("https://a.example/x/2") == "miss path")
        let moved = try ArchiveStage(entries, "as: { https://a.example/x/: http://localhost:3000/ }")
        #expect(try moved.find("http://localhost:3000/1") == "#1")
        #expect(try moved.find("https://a.example/x/1") == "miss path")
        #expect(try moved.find("https://a.example/y/1") == "#2")
        let nested = try ArchiveStage(
            entries, "as: { https://a.example/: http://localhost/all/, https://a.example/x/: http://localhost/x/ }")
        #expect(try nested.find("http://localhost/x/1") == "#1")
        #expect(try nested.find("http://localhost/all/y/1") == "#2")
    }

    @Test(
        "An option that concerns no entry is a warning of a check",
        arguments: [
            ("urls: [https://a.example/x/]", []),
            ("urls: [https://a.example/z/]", ["no entry is under a URL of 'urls', so it answers nothing"]),
            ("as: { https://a.example/x/: http://localhost/ }", []),
            (
                "as: { https://a.example/x/: http://localhost/, http://a.example/x/: http://localhost/other/ }",
                ["no entry is below 'http://a.example/x/' of 'as', so it moves nothing"]
            ),
            (
                "as: { https://a.example/: http://l/, https://a.example/x/: http://l/x/, https://a.example/y/: http://l/y/ }",
                ["no entry is below 'https://a.example/' of 'as', so it moves nothing"]
            ),
        ])
    func idleOptions(_ option: String, _ messages: [String]) throws {
        let entries = [Recorded("https://a.example/x/1"), Recorded("https://a.example/y/1")]
        let diagnostics = try ArchiveStage(entries, option).map.checkArchives()
        #expect(diagnostics.map(\.diagnostic.message) == messages)
        #expect(diagnostics.allSatisfy { $0.diagnostic.severity == .warning })
    }

    @Test(
        "What an archive's options say twice, or not as a list, is an error",
        arguments: [
            (
                "as: { http://a.example/: http://b.example/, HTTP://A.example/: http://c.example/ }",
                "'as' names this URL twice"
            ),
            ("ignore-query: stamp", "'ignore-query' is a list of parameters, as in [stamp, \"nonce*\"]"),
        ])
    func refusedOptions(_ option: String, _ message: String) throws {
        let stage = try ArchiveStage([Recorded("http://a.example/")])
        try ArchiveStage.write("archives: [{ file: a.har, \(option) }]\n", to: stage.folder + "/other.yaml")
        let result = SubstitutionMap.load(files: [stage.folder + "/other.yaml"])
        #expect(result.map == nil && result.diagnostics.map(\.diagnostic.message) == [message])
    }

    @Test("Redirects of the other scheme are read only where it may take time, and those to the URL itself are none")
    func redirects() throws {
        let stage = try ArchiveStage([
            Recorded("http://a.example/", status: 301).with(answer: [("Location", "https://a.example/")]),
            Recorded("http://a.example/", status: 302).with(answer: [("Location", "https://a.example/other")]),
        ])
        let uri = try TargetURI("https://a.example/")
        let get = Array("GET".utf8).withUnsafeBytes { RequestMethod($0) }
        guard case .found(let found) = stage.map.findArchived(uri, method: get, hasBody: false, hasRange: false) else {
            Issue.record("nothing is found")
            return
        }
        #expect(found.entries == [0, 1] && found.mayRedirect && !found.isCertain)
        #expect(found.withoutRedirects(to: uri).entries == [1])
        #expect(try stage.find("https://a.example/") == "#2 scheme")
        #expect(try stage.find("http://a.example/") == "#1, #2")
    }

    @Test("A query of thousands of parameters is compared in no more than linear time")
    func longQueries() throws {
        let query = (0..<20_000).map { "p\($0)=\($0)" }.joined(separator: "&")
        let stage = try ArchiveStage([Recorded("https://a.example/s?a=1")], "match: nearest")
        // Two hundred million steps would be minutes in a debug build.
        #expect(try stage.find("https://a.example/s?\(query)").hasPrefix("miss"))
    }

    @Test("The nearest one is looked for among as many bytes of queries as the loop has time for")
    func nearestAmongMany() throws {
        let long = String(repeating: "x", count: 6000)
        // All have 'a' and 'b' of the request, one has 'c' too.
        func place(ofNearest place: Int) throws -> String {
            let stage = try ArchiveStage(
                (1...1000).map { Recorded("https://a.example/s?a=1&b=1&c=\($0 == place ? 1 : 0)&\($0)=\(long)") },
                "match: nearest")
            return try stage.find("https://a.example/s?a=1&b=1&c=1&d=\(long)")
        }
        #expect(try place(ofNearest: 300) == "#300 nearest 0.75")
        // The bound is 4 MiB.
        #expect(try place(ofNearest: 900) == "#1 nearest 0.50")
    }
}
