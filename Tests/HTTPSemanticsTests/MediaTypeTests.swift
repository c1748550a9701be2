import HTTPSemantics
import Testing

@Suite("Media types")
struct MediaTypeTests {
    @Test(
        "A type is written as type/subtype in lower case and its parameters",
        arguments: [
            ("text/html", "text/html"), ("Text/HTML;Charset=UTF-8", "text/html; Charset=UTF-8"),
            (" image/png ", "image/png"), ("text/plain;", "text/plain"),
            ("a/b ; x=\"1;2\" ;; y=z", "a/b; x=\"1;2\"; y=z"),
            ("application/vnd.x+json", "application/vnd.x+json"),
        ])
    func valid(value: String, expected: String) {
        #expect(MediaType(value)?.description == expected)
    }

    @Test(
        "Anything else is none",
        arguments: [
            "", "text", "/", "text/", "/html", "text/html/x", "text /html", "text/ html", "text/html; charset",
            "text/html; =x", "text/html; charset=", "text/html, text/plain", "text/html\r\nX: y", "t\u{e9}xt/html",
            "text/html; a=\"b", "text/html; a=\"\r\n\"", "text/html\0", "{}", "text/html charset=utf-8",
        ])
    func invalid(value: String) {
        #expect(MediaType(value) == nil)
    }

    @Test("Parameters are found in any case and unquoted")
    func parameters() {
        let type = MediaType("text/plain; Charset=\"iso-8859-1\"; x=\"a\\\"b\"")
        #expect(type?.parameter("charset").map { text($0) } == "iso-8859-1")
        #expect(type?.parameter("x").map { text($0) } == "a\"b")
        #expect(type?.parameter("y") == nil)
        #expect(type.map { text($0.essence) } == "text/plain")
    }

    @Test(
        "Text types get charset=utf-8, unless they have one; types without that parameter don't",
        arguments: [
            ("text/html", "text/html; charset=utf-8"), ("text/javascript", "text/javascript; charset=utf-8"),
            ("text/css", "text/css; charset=utf-8"), ("text/vtt", "text/vtt; charset=utf-8"),
            ("text/plain; charset=latin1", "text/plain; charset=latin1"),
            ("text/plain; CHARSET=\"x\"", "text/plain; CHARSET=\"x\""),
            ("text/plain; format=flowed", "text/plain; format=flowed; charset=utf-8"),
            ("image/svg+xml", "image/svg+xml; charset=utf-8"),
            ("application/xml", "application/xml; charset=utf-8"),
            ("application/xhtml+xml", "application/xhtml+xml; charset=utf-8"),
            ("application/javascript", "application/javascript; charset=utf-8"),
            ("application/json", "application/json"), ("application/manifest+json", "application/manifest+json"),
            ("application/ld+json", "application/ld+json"), ("application/yaml", "application/yaml"),
            ("image/png", "image/png"), ("application/wasm", "application/wasm"),
            ("application/octet-stream", "application/octet-stream"), ("texty/html", "texty/html"),
        ])
    func charset(value: String, expected: String) {
        #expect(MediaType(value)?.withDefaultCharset.description == expected)
    }

    @Test("JSON, YAML and playlists are text too")
    func isText() {
        for type in ["text/x", "application/json", "application/a+json", "application/yaml", "application/toml"] {
            #expect(MediaType(type)?.isText == true)
        }
        for type in ["image/png", "application/pdf", "application/jsonx", "font/woff2"] {
            #expect(MediaType(type)?.isText == false)
        }
    }
}
