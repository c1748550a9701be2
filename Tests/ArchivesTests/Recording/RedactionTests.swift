import HTTPSemantics
import Testing

@testable import Archives

@Suite("Redaction")
struct RedactionTests {
    private static let standard = Redaction(names: ["default"])
    private static let own = Redaction(names: ["default", "X-Session", "pin"])

    @Test(
        "takes the values of credentials out of URLs, and nothing else",
        arguments: [
            ("https://a.example/?page=2", "https://a.example/?page=2"),
            ("https://a.example/?token=x&page=2", "https://a.example/?token=REDACTED&page=2"),
            ("https://a.example/?a=1&Access_Token=x%20y", "https://a.example/?a=1&Access_Token=REDACTED"),
            ("https://a.example/?to%6Ben=x", "https://a.example/?to%6Ben=REDACTED"),
            ("https://a.example/?token", "https://a.example/?token"),
            ("https://a.example/?token=", "https://a.example/?token=REDACTED"),
            ("https://a.example/?user[password]=x", "https://a.example/?user[password]=REDACTED"),
            ("https://a.example/?token[]=x&b[]=y", "https://a.example/?token[]=REDACTED&b[]=y"),
            ("https://a.example/?token[0]=x&b[0]=y", "https://a.example/?token[0]=REDACTED&b[0]=y"),
            ("https://a.example/?Input.Password=x&a.b=y", "https://a.example/?Input.Password=REDACTED&a.b=y"),
            ("https://a.example/?token.a=x&user[a.token]=x", "https://a.example/?token.a=x&user[a.token]=REDACTED"),
            ("https://a.example/?u[token][1]=x", "https://a.example/?u[token][1]=REDACTED"),
            ("https://a.example/?user[token][]=x&[]=y", "https://a.example/?user[token][]=REDACTED&[]=y"),
            ("https://a.example/?tokens=1&&sig=2&", "https://a.example/?tokens=1&&sig=REDACTED&"),
            ("https://a.example/cb#id_token=x&state=1", "https://a.example/cb#id_token=REDACTED&state=1"),
            ("https://a.example/?a=token=1", "https://a.example/?a=token=1"),
            ("https://a.example/token=1", "https://a.example/token=1"),
            ("https://a.example/?SAMLResponse=PHM%2B", "https://a.example/?SAMLResponse=REDACTED"),
            ("https://u:PW@p.test/cred", "https://p.test/cred"), ("https://u@p.test", "https://p.test"),
            ("https://u:p@w@p.test:8443?token=x", "https://p.test:8443?token=REDACTED"),
            ("//u:PW@p.test/", "//p.test/"), ("https://p.test/a//u@b", "https://p.test/a//u@b"),
            ("https://p.test/@u?to=u@b#@", "https://p.test/@u?to=u@b#@"), ("mailto:u@p.test", "mailto:u@p.test"),
        ])
    func urls(url: String, redacted: String) {
        #expect(String(decoding: Self.standard.url(Array(url.utf8)), as: UTF8.self) == redacted)
    }

    @Test(
        "takes the values of fields out, and leaves a cookie's name and attributes",
        arguments: [
            ("Set-Cookie", "sid=abc; Path=/; HttpOnly", "sid=REDACTED; Path=/; HttpOnly"),
            ("set-cookie", "a=b=c", "a=REDACTED"), ("Set-Cookie", "abc; Path=/", "REDACTED; Path=/"),
            ("Set-Cookie", "sid=", "sid=REDACTED"), ("Authorization", "Bearer abc", "REDACTED"),
            // Several in one value, as some programs write them.
            (
                "Set-Cookie", "a=1; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT, sid=2; Path=/x,b = 3;Secure",
                "a=REDACTED; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT, sid=REDACTED; Path=/x,b =REDACTED;Secure"
            ),
            ("Set-Cookie", "a=1; Secure\nb=2; Path=/\n3", "a=REDACTED; Secure\nb=REDACTED; Path=/\nREDACTED"),
            ("Set-Cookie", "a=1; Path=/, prefs[sid]=2", "a=REDACTED; Path=/, prefs[sid]=REDACTED"),
            ("Set-Cookie", "a=1, b=2", "a=REDACTED"), ("Set-Cookie", "a=1; Path=/, c; x", "a=REDACTED; Path=/, c; x"),
            ("X-API-Key", "k", "REDACTED"), ("Content-Type", "text/html", "text/html"),
            ("Location", "/next?code=1&token=x", "/next?code=1&token=REDACTED"), ("X-Session", "1", "1"),
        ])
    func fields(name: String, value: String, redacted: String) {
        #expect(Self.standard.responseField(RecordedField(name, value)) == RecordedField(name, redacted))
    }

    @Test(
        "takes parameters out of the URLs that any field has",
        arguments: [
            (
                "Link", "</p?token=x&page=2>; rel=next, <https://a/?page=1&sig=y>; rel=prev",
                "</p?token=REDACTED&page=2>; rel=next, <https://a/?page=1&sig=REDACTED>; rel=prev"
            ),
            ("Refresh", "5; url=https://a/?Token=x,y;z#sig=1", "5; url=https://a/?Token=REDACTED#sig=REDACTED"),
            ("Refresh", "0;URL='/next?password=p'", "0;URL='/next?password=REDACTED'"),
            (
                "Content-Security-Policy", "report-uri /r?token=x; default-src 'self'",
                "report-uri /r?token=REDACTED; default-src 'self'"
            ),
            ("X-Original-URL", "/a?x=1&api_key=k", "/a?x=1&api_key=REDACTED"),
            ("Location", "https://u:PW@p.test/", "https://p.test/"),
            ("Referer", "https://u@p.test/a@b", "https://p.test/a@b"),
            ("Link", "<https://u:PW@p.test/>; rel=next, <//u@q.test>", "<https://p.test/>; rel=next, <//q.test>"),
            ("Refresh", "0;url=https://u:PW@p.test", "0;url=https://p.test"),
            ("From", "u@p.test", "u@p.test"),
            ("User-Agent", "a (+https://p.test/; u@p.test)", "a (+https://p.test/; u@p.test)"),
            ("X-Next", "/a?x=1&token", "/a?x=1&token"), ("ETag", "\"token=1\"", "\"token=1\""),
        ])
    func urlsInFields(name: String, value: String, redacted: String) {
        #expect(Self.standard.responseField(RecordedField(name, value)) == RecordedField(name, redacted))
        #expect(Self.standard.requestField(RecordedField(name, value)) == RecordedField(name, redacted))
        #expect(Redaction.ofFields.responseField(RecordedField(name, value)) == RecordedField(name, value))
        var exchange = RecordedExchange()
        exchange.requestFields = [RecordedField(name, value)]
        exchange.fields = [RecordedField(name, value)]
        let kept = Self.standard.redacted(exchange)
        #expect(kept.requestFields == [RecordedField(name, redacted)] && kept.fields == [RecordedField(name, redacted)])
    }

    @Test("reads a cookie's attributes once, whatever line ends there are in them")
    func lineEnds() {
        // Each line end behind each other one would be tens of billions of steps.
        for ends in ["\n", "\r"].map({ String(repeating: $0, count: 300_000) }) {
            #expect(
                Self.standard.responseField(RecordedField("Set-Cookie", "a=b;" + ends))
                    == RecordedField("Set-Cookie", "a=REDACTED;" + ends))
        }
    }

    @Test("takes the values of a request's fields out")
    func requestFields() {
        for name in ["Cookie", "authorization", "Proxy-Authorization", "X-Auth-Token", "X-CSRF-Token", "X-XSRF-TOKEN"] {
            #expect(Self.standard.requestField(RecordedField(name, "a=b")) == RecordedField(name, "REDACTED"))
        }
        #expect(Self.own.requestField(RecordedField("x-session", "1")) == RecordedField("x-session", "REDACTED"))
        #expect(
            Self.standard.requestField(RecordedField("Referer", "https://a/?sig=1"))
                == RecordedField("Referer", "https://a/?sig=REDACTED"))
    }

    @Test(
        "takes the values of members and pairs out of bodies of requests",
        arguments: [
            ("application/json", #"{"user":"u", "password":"p"}"#, #"{"user":"u", "password":"REDACTED"}"#),
            ("application/json", #"[{"a":{"TOKEN":[1,{"b":2}]}},3]"#, #"[{"a":{"TOKEN":"REDACTED"}},3]"#),
            ("application/json", #"{"token":null,"sig":1.5}"#, #"{"token":null,"sig":"REDACTED"}"#),
            ("text/plain", #" {"pass\u0077ord":"p"}"#, #" {"pass\u0077ord":"REDACTED"}"#),
            ("application/x-ndjson", "{\"sig\":1}\n{\"sig\":2}\n", "{\"sig\":\"REDACTED\"}\n{\"sig\":\"REDACTED\"}\n"),
            ("application/json", #"{"password":"cut"#, #"{"password":"REDACTED""#),
            ("application/json", #"{"password":"p"} x"#, #"{"password":"REDACTED"} x"#),
            (
                "application/json", #"{"password":"p"} x "sig": 'a\'b'}"#,
                #"{"password":"REDACTED"} x "sig": "REDACTED"}"#
            ),
            ("application/json", #"{'a':1, "password":"p", "b":2}"#, #"{'a':1, "password":"REDACTED", "b":2}"#),
            ("application/json", ")]}',\n{\"sig\":1,\"a\":\"sig\"}", ")]}',\n{\"sig\":\"REDACTED\",\"a\":\"sig\"}"),
            ("text/plain", #"x "token" : null, "token":[1,2] y"#, #"x "token" : null, "token":"REDACTED" y"#),
            ("text/plain", #""password" "token":"#, #""password" "token":"#),
            ("application/json", "password", "password"),
            (
                "application/x-www-form-urlencoded; charset=utf-8", "user=u&passwd=a+b&x=%26",
                "user=u&passwd=REDACTED&x=%26"
            ),
            (
                "multipart/form-data; boundary=b",
                "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\np\r\n--b\r\n"
                    + "Content-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n",
                "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nREDACTED\r\n--b\r\n"
                    + "Content-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n"
            ),
            (
                "multipart/form-data; boundary=b",
                "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{\"secret\":\"p\"}\r\n--b--\r\n",
                "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{\"secret\":\"REDACTED\"}\r\n--b--\r\n"
            ),
            ("text/plain", "token=1", "token=REDACTED"), ("", "a=1&Token=2&b=3", "a=1&Token=REDACTED&b=3"),
            ("application/json", "user=u&password=p", "user=u&password=REDACTED"),
            ("text/plain", "a=1\r\npassword=p q\r\nb=2\r\n", "a=1\r\npassword=REDACTED\r\nb=2\r\n"),
            (
                "application/x-www-form-urlencoded", #"{"user":"ann","password":"p&q"}"#,
                #"{"user":"ann","password":"REDACTED"}"#
            ),
            ("application/x-www-form-urlencoded", #"[1]&password=p"#, #"[1]&password=REDACTED"#),
            (
                "application/x-www-form-urlencoded", "a=1&data=%7B%22password%22%3A%22p%22%7D&b=%7B%7D",
                "a=1&data=REDACTED&b=%7B%7D"
            ),
            ("application/json", #"{"a":"x&token=1"}"#, #"{"a":"x&token=1"}"#),
            ("application/json", #"{"a":"{\"password\":\"p\"}","b":1}"#, #"{"a":"REDACTED","b":1}"#),
            ("application/json", #"["\n[{\"a\":\"{\\\"sig\\\":1}\"}]"]"#, #"["REDACTED"]"#),
            ("application/json", #"{"a":"{\"b\":\"password\"}"}"#, #"{"a":"{\"b\":\"password\"}"}"#),
            ("multipart/form-data; boundary=b", #"{"password":"p"}"#, #"{"password":"REDACTED"}"#),
            ("multipart/form-data", "user=u&password=p", "user=u&password=REDACTED"),
            (
                "",
                "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\np\r\n--b--\r\n",
                "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nREDACTED\r\n--b--\r\n"
            ),
            (
                "multipart/mixed; boundary=b", "--b\n\nuser=u&password=p\n--b--\n",
                "--b\n\nuser=u&password=REDACTED\n--b--\n"
            ),
            ("image/png", "\u{89}PNG&x=token", "\u{89}PNG&x=token"),
        ])
    func bodies(type: String, body: String, redacted: String) {
        let made = Self.standard.requestBody(Array(body.utf8), type: Array(type.utf8))
        #expect(String(decoding: made, as: UTF8.self) == redacted)
    }

    @Test("takes out a long text in JSON too")
    func longText() {
        let filler = String(repeating: "x", count: 300_000)
        let body = #"{"a":"{\"filler\":\"\#(filler)\",\"password\":\"p\"}","b":1}"#
        let made = Self.standard.requestBody(Array(body.utf8), type: Array("application/json".utf8))
        #expect(String(decoding: made, as: UTF8.self) == #"{"a":"REDACTED","b":1}"#)
    }

    @Test(
        "finds the name of a part however it is written",
        arguments: [
            #"name="password""#, "name=password", #"NAME = "password""#, #"filename="a;name=x"; name="password""#,
            #"filename="a\";name=x"; name="password""#, "name*=utf-8''pass%77ord", "\r\n name=\"password\"",
            #"name="user[password]"; filename="f""#, #"name="pass\word""#,
        ])
    func partNames(parameters: String) {
        func body(_ content: String) -> String {
            "--b\r\nA: b\r\nContent-Disposition: form-data; \(parameters)\r\nC: d\r\n\r\n\(content)\r\n--b--\r\n"
        }
        let made = Self.standard.requestBody(Array(body("p").utf8), type: Array("multipart/form-data; boundary=b".utf8))
        #expect(String(decoding: made, as: UTF8.self) == body("REDACTED"))
    }

    @Test("takes members out that are nested too deep to be read")
    func deep() {
        let body = String(repeating: "[", count: 100) + #"{"password":"p"}"# + String(repeating: "]", count: 100)
        let made = String(decoding: Self.standard.requestBody(Array(body.utf8), type: []), as: UTF8.self)
        #expect(made == body.replacing(#""p""#, with: #""REDACTED""#))
    }

    @Test("takes as long as the text is, whatever quotes are in it")
    func linear() {
        let body = Array(String(repeating: #""token" : "#, count: 200_000).utf8)
        #expect(Self.standard.requestBody(body, type: []).count < body.count * 2)
        let quotes = [UInt8](repeating: UInt8(ascii: "\""), count: 1 << 20)
        #expect(Self.standard.requestBody(quotes, type: []) == quotes)
    }

    @Test("keeps the coded body of a request only where nothing is to be taken out of it")
    func codedRequests() throws {
        func coded(_ text: String, _ name: String) throws -> RecordedExchange {
            let encoder = try GzipEncoder()
            var bytes: [UInt8] = []
            encoder.encode(Array(text.utf8), into: &bytes)
            encoder.finish(into: &bytes)
            var exchange = RecordedExchange()
            exchange.requestFields = [
                RecordedField("Content-Type", "application/json"), RecordedField("Content-Encoding", name),
            ]
            exchange.requestBody = bytes
            return exchange
        }
        let harmless = try coded(#"{"a":1}"#, "gzip")
        #expect(Self.standard.redacted(harmless).requestBody == harmless.requestBody)
        #expect(try Self.standard.redacted(coded(#"{"password":"p"}"#, "gzip")).requestBody == nil)
        #expect(try Self.standard.redacted(coded(#"{"a":1}"#, "unknown")).requestBody == nil)
        #expect(try Self.standard.redacted(coded(#"{"a":1}"#, "br")).requestBody == nil)
    }

    @Test(
        "keeps no body of a request in UTF-16 or UTF-32, which it can't look into",
        arguments: [
            ("application/json", [0xFF, 0xFE, 0x7B, 0x00], false), ("text/plain", [0xFE, 0xFF, 0x00, 0x7B], false),
            ("", [0xFF, 0xFE, 0x00, 0x00, 0x7B, 0x00, 0x00, 0x00], false),
            ("", [0x00, 0x00, 0xFE, 0xFF, 0x00, 0x00, 0x00, 0x7B], false),
            ("application/json", [0x7B, 0x00, 0x7D, 0x00], false),
            ("application/x-www-form-urlencoded", [0x00, 0x61, 0x00, 0x3D], false),
            ("text/plain; charset=UTF-16LE", [0x7B, 0x00], false),
            ("text/plain; charset=\"utf-32be\"", [0x00, 0x00, 0x00, 0x7B], false),
            ("application/connect+json", [0x00, 0x00, 0x00, 0x00, 0x02, 0x7B, 0x7D], true),
            ("application/grpc+json", [0x00, 0x00, 0x00, 0x20, 0x01, 0x7B, 0x22, 0x61], true),
            ("application/octet-stream", [0x7B, 0x00, 0x22, 0x00], false), ("", [0x00, 0x5B, 0x00, 0x22], false),
            ("text/plain", [0x22, 0x00, 0x7B, 0x00], false), ("", [0x61, 0x00, 0x62, 0x00], true),
            ("application/json", [0x7B, 0x7D], true), ("application/octet-stream", [0x00, 0x61, 0x73, 0x6D], true),
        ] as [(String, [UInt8], Bool)])
    func wideRequests(type: String, body: [UInt8], isKept: Bool) throws {
        var exchange = RecordedExchange()
        exchange.requestFields = [RecordedField("Content-Type", type)]
        exchange.requestBody = body
        #expect(Self.standard.redacted(exchange).requestBody == (isKept ? body : nil))
        #expect(Redaction.ofFields.redacted(exchange).requestBody == body)
        let encoder = try GzipEncoder()
        var bytes: [UInt8] = []
        encoder.encode(body, into: &bytes)
        encoder.finish(into: &bytes)
        exchange.requestFields.append(RecordedField("Content-Encoding", "gzip"))
        exchange.requestBody = bytes
        #expect(Self.standard.redacted(exchange).requestBody == (isKept ? bytes : nil))
    }

    @Test("looks in responses for the names alone that were named")
    func responses() throws {
        let body = Array(#"{"token":"t","pin":"1"}"#.utf8)
        #expect(!Self.standard.changesResponses && Self.own.changesResponses)
        let json = Array("application/json".utf8)
        #expect(Self.standard.responseBody(body, type: json) == body)
        let kept = try #require(Self.own.responseBody(body, type: json))
        #expect(String(decoding: kept, as: UTF8.self) == #"{"token":"t","pin":"REDACTED"}"#)
        #expect(Redaction.credentialCount(body) == 1)
        #expect(Redaction.credentialCount(Array(#"[{"token":"REDACTED"},{"token":""},{"secret":1}]"#.utf8)) == 0)
    }

    @Test(
        "tells JSON of responses by its first bytes too, JSONP by the whole, and finds nothing in wide texts",
        arguments: [
            (#"{"pin":"1"}"#, "", #"{"pin":"REDACTED"}"#),
            (" [{\"pin\":1}]", "text/plain", " [{\"pin\":\"REDACTED\"}]"),
            (#"{"pin":"1"}"#, "text/html", #"{"pin":"REDACTED"}"#),
            (#"{"pin":"1"}"#, "text/javascript", #"{"pin":"REDACTED"}"#),
            (#"/**/cb.a["b"]({"pin":"1"});"#, "application/javascript", #"/**/cb.a["b"]({"pin":"REDACTED"});"#),
            (
                #"typeof cb === 'function' && cb({"pin":"1"})"#, "text/plain",
                #"typeof cb === 'function' && cb({"pin":"REDACTED"})"#
            ),
            (")]}',\n{\"pin\":\"1\"}", "text/plain", ")]}',\n{\"pin\":\"REDACTED\"}"),
            (
                #"cb({"pin":{"a":1},"items":[1]});"#, "text/javascript",
                #"cb({"pin":"REDACTED","items":[1]});"#
            ),
            (")]}'\n{\"pin\":1}", "text/javascript", ")]}'\n{\"pin\":\"REDACTED\"}"),
            (#"for(;;);{"pin":1}"#, "application/x-javascript", #"for(;;);{"pin":"REDACTED"}"#),
            (#"while(1);[{"pin":1}]"#, "text/javascript", #"while(1);[{"pin":"REDACTED"}]"#),
            (")]}',\n{\"pin\":[1],\"b\":2}", "text/plain", ")]}',\n{\"pin\":\"REDACTED\",\"b\":2}"),
            ("[" + String(repeating: "a", count: 1022) + "/*", "text/javascript", nil),
            ("// API callback\ncb({\"pin\":1});", "text/javascript", "// API callback\ncb({\"pin\":\"REDACTED\"});"),
            (#"define({"pin": f()})"#, "text/javascript", nil),
            (#"<p>{"pin":"1"}</p>"#, "text/html", nil),
            (#"{"pin":"1"#, "text/plain", #"{"pin":"REDACTED""#),
        ] as [(String, String, String?)])
    func unlabelled(body: String, type: String, redacted: String?) {
        let kept = Self.own.responseBody(Array(body.utf8), type: Array(type.utf8))
        #expect(kept.map { String(decoding: $0, as: UTF8.self) } == redacted ?? body)
        let wide = [0xFF, 0xFE] + body.utf8.flatMap { byte -> [UInt8] in [byte, 0] }
        let isFound = Self.own.responseBody(wide, type: Array(type.utf8)) == nil
        #expect(isFound == (redacted != nil || body.hasPrefix("define(") || body.hasPrefix("[")))
    }

    @Test("looks into each event of a stream")
    func events() throws {
        let body = "event: a\ndata: {\"pin\":1,\"b\":2}\n\ndata: text\r\ndata:[{\"pin\":{}}]\n"
        let kept = try #require(Self.own.responseBody(Array(body.utf8), type: Array("text/event-stream".utf8)))
        #expect(
            String(decoding: kept, as: UTF8.self)
                == "event: a\ndata: {\"pin\":\"REDACTED\",\"b\":2}\n\ndata: text\r\ndata:[{\"pin\":\"REDACTED\"}]\n")
    }

    @Test("reads names with brackets and points in as many ways as they have bytes, whatever they have")
    func readings() {
        let names = RedactedNames([Array("pin".utf8), Array("token".utf8)])
        func holds(_ name: String) -> Bool { names.contains(Array(name.utf8)) }
        for name in [
            "pin", "a[Pin]", "pin[]", "pin[0][1]", "a.b.pin", "a.pin[][]", "a[b.pin]", "a[pin][0]", "pin[a]",
            "a[pin][b]",
        ] {
            #expect(holds(name))
        }
        for name in ["pins", "pin.a", "pins[a]", "a[pins][b]", "[pin", "pin]", "pin.", ".", "[]", "]", ""] {
            #expect(!holds(name))
        }
        let brackets = ["[]", "[1]", "[.]", ".[]", "[].", "[[]", "[]]", "pin[]", "a.b[0]"]
        for text in brackets {
            let name = Array(repeatElement(Array(text.utf8), count: 1000 / text.utf8.count).joined())
            let readings = RedactedNames.readings(of: name, upTo: 5)
            #expect(readings.reduce(0) { $0 + $1.count } <= 4 * name.count, "\(text)")
        }
        #expect(holds("pin" + String(repeating: "[]", count: 510)))
    }

    @Test("leaves all where no name is one of a credential")
    func ownNamesAlone() {
        let redaction = Redaction(names: ["pin"])
        #expect(redaction.requestField(RecordedField("Cookie", "a=b")) == RecordedField("Cookie", "a=b"))
        #expect(redaction.url(Array("http://a/?PIN=1&token=2".utf8)) == Array("http://a/?PIN=REDACTED&token=2".utf8))
        #expect(redaction.url(Array("http://u:p@a/".utf8)) == Array("http://u:p@a/".utf8))
    }
}
