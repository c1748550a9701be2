import Glibc
import Testing

@testable import Archives

/// Secrets in JSON that is broken, cut off, or packed into something else; and bodies that have none, which stay as
/// they are.
@Suite("Hidden secrets")
struct HiddenSecretsTests {
    private static let redaction = Redaction(names: ["default", "pin"])

    private func kept(_ body: String, _ type: String) -> String {
        String(decoding: Self.redaction.requestBody(Array(body.utf8), type: Array(type.utf8)), as: UTF8.self)
    }

    @Test(
        "takes JSON out that is a text in JSON, however its quotes are written, and however deep it is",
        arguments: [
            (#""{\"password\":\"s3cret\"}""#, #""REDACTED""#),
            (#"{"a":"\"{\\\"password\\\":\\\"s3cret\\\"}\""}"#, #"{"a":"REDACTED"}"#),
            ("\u{FEFF}" + #""{\"password\":\"s3cret\"}""#, "\u{FEFF}" + #""REDACTED""#),
            ("\u{FEFF}" + #"{"password":"s3cret"}"#, "\u{FEFF}" + #"{"password":"REDACTED"}"#),
            (#"{"a":"\ufeff{\"password\":\"s3cret\"}","b":1}"#, #"{"a":"REDACTED","b":1}"#),
            (#"{"a":""# + "\u{FEFF}" + #"{\"password\":\"s3cret\"}","b":1}"#, #"{"a":"REDACTED","b":1}"#),
            (#"{"a":"it was {\"password\":\"s3cret\"}"}"#, #"{"a":"REDACTED"}"#),
            (#"{"a":"{\u0022password\u0022:\u0022s3cret\u0022}"}"#, #"{"a":"REDACTED"}"#),
            (#"{"a":"{\"b\":\"{\\u0022password\\u0022:1}\"}"}"#, #"{"a":"REDACTED"}"#),
            (#"{"a":"{'password':'s3cret'}","b":1}"#, #"{"a":"REDACTED","b":1}"#),
            (
                #"{"query":"mutation { login(user: \"u\", password: \"s3cret\") { token } }","variables":{}}"#,
                #"{"query":"REDACTED","variables":{}}"#
            ),
        ])
    func texts(body: String, redacted: String) {
        #expect(kept(body, "application/json") == redacted)
        #expect(kept(body, "text/plain") == redacted)
        #expect(kept(redacted, "application/json") == redacted)
    }

    @Test("takes a text out in which JSON is packed deeper than is looked")
    func deepTexts() {
        func packed(_ text: String) -> String {
            (0..<10).reduce(text) { text, _ in
                "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
            }
        }
        #expect(kept(packed(#"{"password":"s3cret"}"#), "application/json") == #""REDACTED""#)
        let harmless = packed(#"{"a":"b"}"#)
        #expect(kept(harmless, "application/json") == harmless)
    }

    @Test(
        "takes members out of JSON that is broken, cut off, commented, or between something else",
        arguments: [
            (#"{"a":{"b":1},"password":"s3cret""#, #"{"a":{"b":1},"password":"REDACTED""#),
            (#"{"a":1,,"password":"a,\"s3cret","b":1,}"#, #"{"a":1,,"password":"REDACTED","b":1,}"#),
            (#""a":1,"password":"s3cret"}"#, #""a":1,"password":"REDACTED"}"#),
            (#"{"a":1,,"pass\u0077ord":"s3cret"}"#, #"{"a":1,,"pass\u0077ord":"REDACTED"}"#),
            (#"{"password":{"v":"}s3cret"},"b":1,}"#, #"{"password":"REDACTED","b":1,}"#),
            (#"{"a":1,"password":{"v":"s3cret"#, #"{"a":1,"password":"REDACTED""#),
            (#"{"password":my s3cret phrase,"b":1}"#, #"{"password":"REDACTED","b":1}"#),
            (#"{"password":\"a,s3cret\","b":1}"#, #"{"password":"REDACTED","b":1}"#),
            (#"{"a": "5" tall", "password":"s3cret"}"#, #"{"a": "5" tall", "password":"REDACTED"}"#),
            (#"{size:'5"',password:"s3cret"}"#, #"{size:'5"',password:"REDACTED"}"#),
            (
                "# 5\" screen\nmutation { login(password: \"s3cret\") }",
                "# 5\" screen\nmutation { login(password: \"REDACTED\") }"
            ),
            (#"{"password":{"a":"x"],"b":"s3cret"}}"#, #"{"password":"REDACTED""#),
            (#"{"a":"C:\","password":"s3cret"}"#, #"{"a":"C:\","password":"REDACTED"}"#),
            (#"{\"password\":\"s3cret\"}"#, #""REDACTED""#), (#""{\"password\":\"s3cret\"#, #""REDACTED""#),
            (#"x\",\"password\":\"s3cret\"}","b":1}"#, #""REDACTED","b":1}"#),
            ("{\"a\":\n{\"password\":\"s3cret\"}\n{\"b\":1}\n", "{\"a\":\n{\"password\":\"REDACTED\"}\n{\"b\":1}\n"),
            (
                "{\"a\":1, // it's\n\"password\" /* b */ : /* \"c\" */ // d\n\"s3cret\", \"b\":1}",
                "{\"a\":1, // it's\n\"password\" /* b */ : \"REDACTED\", \"b\":1}"
            ),
            ("{\"password\":{\"v\":1 /* } */, \"w\":\"s3cret\"}, \"b\":1}", "{\"password\":\"REDACTED\", \"b\":1}"),
            (#"{"password": /* "token":"s3cret" */"#, #"{"password": "REDACTED""#),
            (#"{"password":,"token":"s3cret"}"#, #"{"password":,"token":"REDACTED"}"#),
            (#"cb({"password":"s3cret","b":1});"#, #"cb({"password":"REDACTED","b":1});"#),
            (#"cb("{\"password\":\"s3cret\"}")"#, #"cb("REDACTED")"#),
            (")]}',\n{\"password\":\"s3cret\"}", ")]}',\n{\"password\":\"REDACTED\"}"),
            ("{'user':'it is','password':'s3cret','b':1}", "{'user':'it is','password':\"REDACTED\",'b':1}"),
            (#"{user:"u",password:"s3cret",b:1}"#, #"{user:"u",password:"REDACTED",b:1}"#),
            ("{user:`u`,password:`s3cret`}", "{user:`u`,password:\"REDACTED\"}"),
            (#"login(password: """a "s3cret" b""")"#, #"login(password: "REDACTED")"#),
            ("event: a\ndata: {\"password\":\"s3cret\"}\n\n", "event: a\ndata: {\"password\":\"REDACTED\"}\n\n"),
            ("\u{1E}{\"password\":\"s3cret\"}\n", "\u{1E}{\"password\":\"REDACTED\"}\n"),
        ])
    func broken(body: String, redacted: String) {
        for type in ["application/json", "application/octet-stream", "text/event-stream", ""] {
            #expect(kept(body, type) == redacted)
            #expect(kept(redacted, type) == redacted)
        }
    }

    @Test(
        "takes values of forms and queries out that are JSON or URLs, whatever stands before, and however often encoded",
        arguments: [
            "%20%7B%22password%22%3A%22s3cret%22%7D", #"+{"password":"s3cret"}"#, #"%20{"password":"s3cret"}"#,
            "%EF%BB%BF%7B%22password%22%3A%22s3cret%22%7D", "%22%7B%5C%22password%5C%22%3A%5C%22s3cret%5C%22%7D%22",
            "it+was%3A%7B%22password%22%3A%22s3cret%22%7D", "%257B%2522password%2522%253A%2522s3cret%2522%257D",
            "https%3A%2F%2Fa.test%2Fcb%3Ftoken%3Ds3cret", "/cb?token=s3cret", "user%3Du%26password%3Ds3cret",
            "b;password=s3cret", "%7B+login%28password%3A%22s3cret%22%29+%7D",
        ])
    func values(value: String) {
        let form = "application/x-www-form-urlencoded"
        #expect(kept("a=1&data=\(value)&b=2", form) == "a=1&data=REDACTED&b=2")
        let url = Self.redaction.url(Array("http://a.test/?a=1&data=\(value)&b=2".utf8))
        #expect(String(decoding: url, as: UTF8.self) == "http://a.test/?a=1&data=REDACTED&b=2")
    }

    @Test("takes parameters out of URLs that begin a line of a text")
    func urls() {
        #expect(
            kept("GET /a?b=1&token=s3cret HTTP/1.1\nhttps://a.test/?token=s3cret\n", "text/plain")
                == "GET /a?b=1&token=REDACTED\nhttps://a.test/?token=REDACTED\n")
    }

    @Test("takes JSON out that is encoded, and stands in a form where a name does")
    func names() {
        let form = "application/x-www-form-urlencoded"
        #expect(kept("%7B%22password%22%3A%22s3cret%22%7D", form) == "REDACTED")
        #expect(kept("a=1&%7B%22password%22%3A%22s3cret%22%7D=&b=2", form) == "a=1&REDACTED&b=2")
        // JSON that is said to be a form has all the bytes of forms.
        for (body, redacted) in [
            (#"{"password":"s3cret","a":"+1 %20"}"#, #"{"password":"REDACTED","a":"+1 %20"}"#),
            (#"{"a":"+b%20=","password":"s3cret"}"#, #"{"a":"+b%20=","password":"REDACTED"}"#),
            (#"{"password":"s3cret","a":"+b=c"}"#, #"{"password":"REDACTED","a":"+b=c"}"#),
        ] {
            #expect(kept(body, form) == redacted)
        }
        let url = Self.redaction.url(Array(#"http://a.test/?{"password":"s3cret"}"#.utf8))
        #expect(String(decoding: url, as: UTF8.self) == "http://a.test/?REDACTED")
    }

    // MARK: Multipart

    @Test(
        "finds the name of a part by whichever way its head is read",
        arguments: [
            #"Content-Disposition: form-data; filename="a\"; name="password""#,
            #"Content-Disposition: form-data; filename="a\\"; name="password""#,
            #"Content-Disposition: form-data; filename="a\"; b"; name="password""#,
            #"Content-Disposition : form-data; name="password""#, "Content-Disposition\t: form-data; name=password",
            "Content-Disposition: form-data; name*=UTF-8''password",
            "Content-Disposition: form-data; name*0=pass; name*1=\"word\"",
            #"Content-Disposition: form-data; name="user%5Bpassword%5D""#,
            "Content-Disposition: form-data; name='password'", "Content-Disposition: name=password",
            "Content-Disposition: attachment\r\nContent-Disposition: form-data; name=password",
        ])
    func heads(head: String) {
        for (first, second) in [("\r\n", "\r\n"), ("\n", "\n"), ("\r\n", "\n"), ("\n", "\r\n")] {
            func body(_ content: String) -> String {
                "--b\r\n\(head)\(first)\(second)\(content)\r\n--b\r\n"
                    + "Content-Disposition: form-data; name=a\r\n\r\n1\r\n--b--\r\n"
            }
            #expect(kept(body("s3cret"), "multipart/form-data; boundary=b") == body("REDACTED"))
        }
    }

    @Test("looks into parts of parts, and what stands before, between and behind parts")
    func nested() {
        func body(_ secret: String) -> String {
            "{\"password\":\"\(secret)\"}\r\n--b\r\nContent-Type: multipart/mixed;\r\n boundary=\"c c\"\r\n\r\n"
                + "{\"password\":\"\(secret)\"}\r\n--c c\r\nA: b\r\nContent-Disposition: form-data; name=\"password\""
                + "\r\n\r\nREDACTED\r\n--c c--\r\n--b\r\n{\"password\":\"\(secret)\"}\r\n--b\r\n"
                + "Content-Type: application/x-www-form-urlencoded\r\n\r\na=1&password=REDACTED\r\n--b--\r\n"
                + "{\"password\":\"\(secret)\"}"
        }
        let planted = body("s3cret").replacing("REDACTED", with: "s3cret")
        #expect(kept(planted, "multipart/mixed; boundary=b") == body("REDACTED"))
    }

    @Test("takes the content of a part out that is in UTF-16, and has a secret within")
    func wideParts() {
        func body(_ content: [UInt8]) -> [UInt8] {
            Array("--b\r\nContent-Disposition: form-data; name=a\r\n\r\n".utf8) + content + Array("\r\n--b--\r\n".utf8)
        }
        func kept(_ content: [UInt8]) -> [UInt8] {
            Self.redaction.requestBody(body(content), type: Array("multipart/form-data; boundary=b".utf8))
        }
        let texts = [(#"{"password":"s3cret"}"#, false), ("a=1&token=2", false), (#"{"a":"password"}"#, true)]
        for (text, isKept) in texts {
            let little = text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
            let big = text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            for content in [little, big, [0xFF, 0xFE] + little] {
                #expect(kept(content) == (isKept ? body(content) : body(Redaction.mark)))
            }
        }
    }

    @Test("finds parts by a boundary of any length")
    func boundaries() {
        let boundary = String(repeating: "-", count: 300) + "b"
        func body(_ content: String) -> String {
            "----\r\n--\(boundary)\r\nContent-Disposition: form-data; name=token\r\n\r\n\(content)\r\n--\(boundary)--\r\n"
        }
        #expect(kept(body("s3cret"), "multipart/form-data; boundary=\(boundary)") == body("REDACTED"))
    }

    @Test("takes the content of a part out that is coded for mail, and has a secret within")
    func coded() {
        func body(_ coding: String, _ content: String) -> String {
            "--b\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: \(coding)\r\n\r\n\(content)\r\n--b--\r\n"
        }
        let base64 = ["eyJwYXNzd29yZCI6\r\nInMzY3JldCJ9", "eyJhIjoi\r\nYiJ9"]
        let quotable = ["{=22password=22:=\r\n=22s3cret=22}", "{=22a=22:=\r\n=22b=22}"]
        for (coding, contents) in [("base64", base64), ("Quoted-Printable", quotable)] {
            #expect(kept(body(coding, contents[0]), "multipart/form-data; boundary=b") == body(coding, "REDACTED"))
            #expect(kept(body(coding, contents[1]), "multipart/form-data; boundary=b") == body(coding, contents[1]))
        }
    }

    @Test("tells parts by their first line where no boundary is said, whatever the first line of their head is")
    func unsaid() {
        func body(_ content: String) -> String {
            "--b\r\nX-A: b\r\ncontent-disposition: form-data; name=\"password\"\r\n\r\n\(content)\r\n--b--\r\n"
        }
        for type in ["", "application/octet-stream", "multipart/form-data", "multipart/form-data; boundary=x"] {
            #expect(kept(body("s3cret"), type) == body("REDACTED"))
        }
    }

    // MARK: Responses

    @Test(
        "finds members in responses that are texts of JSON, or events whose data has several lines",
        arguments: [
            (#""{\"pin\":1}""#, "application/json", #""REDACTED""#), (#""{\"pin\":1}""#, "text/plain", #""REDACTED""#),
            (#"cb("{\"pin\":1}")"#, "text/plain", #"cb("REDACTED")"#),
            (#"{"a":1,,"pin":1}"#, "", #"{"a":1,,"pin":"REDACTED"}"#),
            ("[{\"a\":1}\n{\"pin\":1}\n", "text/plain", "[{\"a\":1}\n{\"pin\":\"REDACTED\"}\n"),
            (
                "id: 1\r\ndata: {\r\ndata: \"pin\": {\r\ndata:  \"v\": 1}\r\ndata: , \"b\":2}\r\n\r\ndata: x\n",
                "text/event-stream",
                "id: 1\r\ndata: {\r\ndata: \"pin\": \"REDACTED\"\r\ndata: , \"b\":2}\r\n\r\ndata: x\n"
            ),
            ("\u{FEFF}data: {\"pin\":1}\r\r", "text/event-stream", "\u{FEFF}data: {\"pin\":\"REDACTED\"}\r\r"),
            ("data: it is {\"pin\":1}\n\n", "text/event-stream", "data: it is {\"pin\":\"REDACTED\"}\n\n"),
            ("data: \"{\\\"pin\\\":1}\"\n\n", "text/event-stream", "data: \"REDACTED\"\n\n"),
        ])
    func responses(body: String, type: String, redacted: String) {
        let kept = Self.redaction.responseBody(Array(body.utf8), type: Array(type.utf8))
        #expect(kept.map { String(decoding: $0, as: UTF8.self) } == redacted)
        #expect(Self.redaction.mayChange(Array(body.utf8), type: Array(type.utf8)))
    }

    // MARK: What is no secret

    @Test(
        "leaves bodies without secrets as they are, byte for byte",
        arguments: [
            #"{"a":"password","b":["token","secret"],"c":"password: x","passwords":"x","x_token":1}"#,
            #"{"token":null,"a":"token:","b":"'token':","c":"secret: 'tis so"}"#,
            #"["token:", "secret: " ]"#, "\"token:\"\n\"x\"\n",
            #"{"a":"C:\\dir\\","b":"\"quoted\", \"token\"","c":"\\\"","d":"{\"e\":\"it's\"}","f":"\ud83d\ude00"}"#,
            #"{"query":"query Q($token: String!) { me(token: $token) { token: id } }","variables":{}}"#,
            #"{"a":"x&y=1","url":"https://a.test:80/?a=b:c","time":"12:30"}"#, #""a text: with a colon""#,
            "{\"a\":1}\n{\"b\":2}\n", "{\"a\":1,}", "{'a':'it\\'s'}", ")]}',\n[1,2]", "cb({\"a\":1})",
            "--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"password\"\r\n\r\ntoken\r\n--b--\r\n",
            "--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"a\\\"\r\n\r\nsecret: x\r\n--b--\r\n",
            "a=1&b=%7B%22c%22%3A1%7D&c=100%25&d=a%3Atoken&e=token%3D1&f=%7Bx&g=%2",
            "a=token=1&b=https%3A%2F%2Fa.test%2F%3Fb%3D1",
            "password", "token: abc", "a\\b\\c \"d\\\" e", "\"\"\"", "'", "\\", "\"\\", "\":", ":", "\"token\":",
            "{\"token\":",
            "", "\u{FEFF}", "\u{FEFF}\"\"", "<p title=\"secret\">it's: x</p>",
        ])
    func harmless(body: String) {
        for type in [
            "application/json", "text/plain", "", "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=b",
            "text/event-stream", "application/octet-stream",
        ] {
            #expect(kept(body, type) == body)
            let response = Self.redaction.responseBody(Array(body.utf8), type: Array(type.utf8))
            #expect(response.map { String(decoding: $0, as: UTF8.self) } == body)
        }
    }

    @Test("leaves bytes that are no text as they are")
    func bytes() {
        var state: UInt64 = 1
        for length in [1, 100, 100_000] {
            let body = (0..<length).map { _ -> UInt8 in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 56)
            }
            #expect(Self.redaction.requestBody(body, type: Array("application/octet-stream".utf8)) == body)
            #expect(Self.redaction.responseBody(body, type: Array("application/json".utf8)) == body)
        }
    }

    // MARK: Time

    /// The least of some times in which a body is searched, in nanoseconds of the processor.
    private static func time(_ body: [UInt8], _ type: String) -> Int {
        func now() -> Int {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return time.tv_sec * 1_000_000_000 + time.tv_nsec
        }
        return (0..<3).reduce(Int.max) { least, _ in
            let start = now()
            let request = redaction.requestBody(body, type: Array(type.utf8))
            let response = redaction.responseBody(body, type: Array("application/json".utf8))
            #expect(request.count + (response?.count ?? 0) > 0)
            return min(least, now() - start)
        }
    }

    @Test(
        "takes as long as a body is, whatever is repeated in it",
        arguments: [
            "\\", "\"", "\\\"", "'", "\"token\"", "\"token\":", "\"token\":\"", "\"token\":[", "\"token\":{\"a\":",
            "\"token\"/*",
            "\"token\"//", "\"token\":/*", "'token':", "'token':{", "\"x 'token':{", "token:'", "token:\"",
            "\"x\" token:'\\'", "/*",
            "//", ":", " :", "[", "{\"a\":", "\\\\\"", "\\u0022", "\\u005c", "\"\\n\",", "\"token\":\\\"", "token=",
            "&", "?token", ";a",
            "%2525", "%22", "-", "--b", "--b\r\n", "--b\r\n\r\n", "--b\r\nContent-Disposition: form-data; name=token",
            "a=1&", "\n",
            "\r\n", "data:", "data: \"token\":\n", "\"token\"    ", "\"\"\"", "token:\"\"\"",
        ])
    func linear(text: String) {
        let boundaries = ["b", String(repeating: "-", count: 60) + "b"]
        let types = boundaries.map { "multipart/form-data; boundary=\($0)" }
        for type in ["application/json", "application/x-www-form-urlencoded"] + types {
            func body(_ count: Int) -> [UInt8] {
                Array(repeatElement(Array(text.utf8), count: count / text.utf8.count).joined())
            }
            // Eight times the length takes 8 times as long, or 64 where it is squared, which no repetition makes 24.
            let isLinear = (1...10).contains { _ in
                Self.time(body(16 << 10), type) < 24 * Self.time(body(2 << 10), type) + 2_000_000
            }
            #expect(isLinear, "\(type)")
        }
    }
}
