import Testing

@testable import Archives

@Suite("Fields of a HAR")
struct HARFieldsTests {
    private func fields(_ headers: String, content: String = #""text":"abc""#, status: String = "200") throws
        -> [String]
    {
        let entry = HARSample.entry(status: status, response: #","headers":\#(headers)"#, content: content)
        return try HARSample.open(HARSample.har(entry)).fields(0)
    }

    @Test("keep their order and repetitions; joined cookies are several")
    func cookies() throws {
        #expect(
            try fields(
                #"[{"name":"B","value":"1"},{"name":"set-cookie","value":"a=1\r\nb=2; Path=/\nc=3"},{"name":"B","value":"2"}]"#
            )
                == ["B: 1", "set-cookie: a=1", "set-cookie: b=2; Path=/", "set-cookie: c=3", "B: 2"])
    }

    @Test("are several where a writer has joined those that were repeated, or has a list of them")
    func repeated() throws {
        #expect(
            try fields(
                #"[{"name":"Vary","value":"Origin\nAccept"},{"name":"Link","value":"<a>\n <b> \n"},"#
                    + #"{"name":"set-cookie","value":["a=1","b=2; Path=/"]},{"name":"C","value":["d"]}]"#)
                == [
                    "Vary: Origin", "Vary: Accept", "Link: <a>", "Link: <b>", "set-cookie: a=1",
                    "set-cookie: b=2; Path=/", "C: d",
                ])
        #expect(try fields(#"{"A":["b","c"],"D":"e"}"#) == ["A: b", "A: c", "D: e"])
        // Nothing of a value becomes a field of another name, and what is no text is none.
        #expect(
            try fields(
                #"[{"name":"A","value":"b\r\nC: d"},{"name":"E","value":"f\n\u0000"},{"name":"G","value":["h",7]}]"#)
                == ["E: f"])
    }

    @Test("are those that are valid")
    func invalid() throws {
        #expect(
            try fields(
                #"[{"name":":status","value":"200"},{"name":"","value":"x"},{"name":"A","value":" \tb\t"},"#
                    + #"{"name":"C","value":"a\r\nb"},{"name":"D","value":"a\u0000"},{"name":"E"},{"name":"F","value":null},7,"#
                    + #"{"name":"G","value":""}]"#)
                == ["A: b", "G: "])
        #expect(try fields(#"{"A":"b","C":"d"}"#) == ["A: b", "C: d"])
    }

    @Test(
        "get the charset of text that is not base64",
        arguments: [
            ("text/html", "text/html; charset=utf-8"), ("text/html;", "text/html; charset=utf-8"),
            ("text/html; charset=ISO-8859-1", "text/html; charset=utf-8"),
            ("text/html;charset=\"koi8-r\";x=y", "text/html;charset=utf-8;x=y"),
            ("text/html; CharSet=UTF-8", "text/html; CharSet=UTF-8"),
            ("application/json", "application/json"),
            ("application/json; charset=latin1", "application/json; charset=utf-8"),
            ("application/javascript", "application/javascript; charset=utf-8"),
            ("image/svg+xml", "image/svg+xml; charset=utf-8"), ("application/xml", "application/xml; charset=utf-8"),
            ("image/png", "image/png"), ("bogus", "bogus"),
        ])
    func charset(_ recorded: String, _ sent: String) throws {
        let value = recorded.replacing("\"", with: "\\\"")
        #expect(try fields(#"[{"name":"Content-Type","value":"\#(value)"}]"#) == ["Content-Type: \(sent)"])
        let coded = #""text":"YWJj","encoding":"base64""#
        #expect(
            try fields(#"[{"name":"Content-Type","value":"\#(value)"}]"#, content: coded) == [
                "Content-Type: \(recorded)"
            ])
    }

    @Test("get the charset of files that are UTF-8 in spite of it")
    func recoded() throws {
        func type(_ bytes: [UInt8], _ recorded: String) throws -> [String] {
            let content = #""_file":"f","mimeType":"\#(recorded)""#
            let har = HARSample.har(HARSample.entry(content: content))
            return try HARSample.open(har, files: ["f": bytes]).fields(0)
        }
        let latin = "text/plain; charset=iso-8859-1"
        #expect(try type(Array("größe".utf8), latin) == ["Content-Type: text/plain; charset=utf-8"])
        #expect(try type([0x67, 0xF6], latin) == ["Content-Type: \(latin)"])
        #expect(try type([0x67], latin) == ["Content-Type: \(latin)"])
        #expect(try type(Array("größe".utf8), "text/plain") == ["Content-Type: text/plain"])
        let long = [UInt8](repeating: 0x61, count: 262_143) + Array("ü".utf8)
        #expect(try type(long, latin) == ["Content-Type: text/plain; charset=utf-8"])
    }

    @Test("get a Content-Type from mimeType, and a Location from redirectURL, where there is none")
    func members() throws {
        #expect(
            try fields("[]", content: #""mimeType":"text/css","text":"a""#) == ["Content-Type: text/css; charset=utf-8"]
        )
        #expect(try fields("[]", content: #""mimeType":"x-unknown","text":"a""#) == [])
        #expect(
            try fields(#"[{"name":"content-type","value":"a/b"}]"#, content: #""mimeType":"text/css","text":"a""#)
                == ["content-type: a/b"])
        let redirect =
            #"{"request":{"url":"http://a.example/"},"response":{"status":302,"redirectURL":"/b","headers":["#
        #expect(try HARSample.open(HARSample.har(redirect + "]}}")).fields(0) == ["Location: /b"])
        #expect(
            try HARSample.open(HARSample.har(redirect + #"{"name":"location","value":"/c"}]}}"#)).fields(0)
                == ["location: /c"])
    }

    @Test(
        "believe Content-Encoding if the body begins so",
        arguments: [
            ("gzip", #""text":"H4sIAAAA","encoding":"base64""#, true),
            ("GZIP", #""text":"H4sIAAAA","encoding":"base64""#, true),
            ("zstd", #""text":"KLUv/QAA","encoding":"base64""#, true),
            ("br, gzip", #""text":"H4sIAAAA","encoding":"base64""#, true),
            ("gzip", #""text":"abc""#, false), ("br", #""text":"iwGAYWJjAw==","encoding":"base64""#, false),
            ("gzip", #""text":"KLUv/QAA","encoding":"base64""#, false), ("gzip", #""size":0"#, false),
        ])
    func contentEncoding(_ coding: String, _ content: String, _ isBelieved: Bool) throws {
        let headers =
            #"[{"name":"Content-Encoding","value":"\#(coding)"},{"name":"Digest","value":"x"},"#
            + #"{"name":"Content-MD5","value":"x"},{"name":"content-digest","value":"x"},{"name":"A","value":"b"}]"#
        let entry = HARSample.entry(response: #","headers":\#(headers)"#, content: content)
        let archive = try HARSample.open(HARSample.har(entry))
        #expect(try archive.fields(0).count == (isBelieved ? 5 : 1))
        #expect(try archive.exchange(0).body.codings.isEmpty == !isBelieved)
    }
}
