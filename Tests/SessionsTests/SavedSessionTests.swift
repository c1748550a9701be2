import Sessions
import Testing

/// A session as text, and as it is told of.
func session(_ text: String) throws(SessionError) -> SavedSession { try SavedSession(Array(text.utf8)) }

@Suite("Saved sessions")
struct SavedSessionTests {
    @Test(
        "the three forms of JSON and YAML say the same",
        arguments: [
            """
            saved: 2026-11-22T14:02:11Z
            current: 1                        # from 0
            entries:
              - { url: "https://shop.example.com/", title: "Shop" }
              - { url: "https://pay.example.net/cart?id=7#top", title: "Cart" }
              - { url: "http://h/", title: "" }
            """,
            "{ current: 1, entries: [{ url: 'https://shop.example.com/', title: Shop }, "
                + "{ url: 'https://pay.example.net/cart?id=7#top', title: Cart }, { url: 'http://h/' }] }",
            #"""
            {"current": 1, "saved": null, "entries": [{"title": "Shop", "url": "https:\/\/shop.example.com/"},
             {"url": "https://pay.example.net/cart?id=7#top", "title": "Cart"}, {"url": "http://h/", "title": null}]}
            """#,
            #"{"urls": ["https://shop.example.com/", "https://pay.example.net/cart?id=7#top", "http://h/"], "#
                + #""titles": ["Shop", "Cart", ""], "offset": -1, "version": 2}"#,
            "\u{FEFF} {\"urls\": [\"https://shop.example.com/\", \"https://pay.example.net/cart?id=7#top\","
                + "\"http://h/\"], \"titles\": [\"Shop\", \"Cart\"], \"offset\": -1}",
        ])
    func forms(_ text: String) throws {
        let session = try session(text)
        #expect(session.current == 1)
        #expect(session.entries.map(\.title) == ["Shop", "Cart", ""])
        #expect(
            session.entries.map(\.url)
                == ["https://shop.example.com/", "https://pay.example.net/cart?id=7#top", "http://h/"])
        #expect(session.saved == (text.contains("11-22") ? "2026-11-22T14:02:11Z" : nil))
    }

    @Test(
        "the current page is counted from the last one, 0 included",
        arguments: [("0", 2), ("-1", 1), ("-2", 0), ("-0", 2)])
    func currentPage(_ offset: String, _ current: Int) throws {
        let list = #"["http://a/", "http://b/", "http://c/"]"#
        #expect(try session(#"{"history": \#(list), "currentPage": \#(offset)}"#).current == current)
        #expect(try session(#"{"urls": \#(list), "offset": \#(offset)}"#).current == current)
        #expect(try session(#"{"history": \#(list)}"#).current == 2)
    }

    @Test(
        "what is no session is refused with its place",
        arguments: [
            ("", "line 1, column 1: the text is empty; a session"),
            ("x", "line 1, column 1: a session is a mapping with 'entries'"),
            ("{}", "line 1, column 1: a session is a mapping with 'entries'"),
            ("current: 0\nentry: []\n", "line 2, column 1: a session has no such member; a session is"),
            (
                "current: 1\nentries:\n  - { url: \"http://a/\" }\n",
                "line 1, column 10: 'current' is a number from 0 to 0"
            ),
            ("current: -1\nentries:\n  - { url: \"http://a/\" }\n", "line 1, column 10: 'current' is a number"),
            ("current: a\nentries:\n  - { url: \"http://a/\" }\n", "line 1, column 10: 'current' is the number"),
            ("entries: []\n", "line 1, column 10: 'entries' is empty"),
            ("entries:\n  - { url: \"ftp://a/\" }\n", "line 2, column 12: only http and https"),
            ("entries:\n  - { url: \"javascript:alert(1)\" }\n", "line 2, column 12: only http and https"),
            ("entries:\n  - { url: \"http://a/\", size: 1 }\n", "line 2, column 25: an entry is a mapping"),
            ("entries:\n  - http://a/\n", "line 2, column 5: an entry is a mapping"),
            ("entries:\n  - { title: a }\n", "line 2, column 5: an entry is a mapping"),
            ("entries: [}\n", "line 1, column 11:"),
            ("saved: today\nentries:\n  - { url: \"http://a/\" }\n", "line 1, column 8: 'saved' is a time"),
            (#"{"history": ["http://a/"], "currentPage": 1}"#, "line 1, column 43: 'currentPage' leads outside"),
            (#"{"history": ["http://a/"], "currentPage": -1}"#, "line 1, column 43: 'currentPage' leads outside"),
            (#"{"history": ["http://a/"], "currentPage": 0.5}"#, "line 1, column 43: 'currentPage' is a number"),
            (
                #"{"history": ["http://a/"], "currentPage": 99999999999999999999}"#,
                "line 1, column 43: 'currentPage' is"
            ),
            ("{\"urls\": [\"http://a/\"],\n \"offset\": -9}", "line 2, column 12: 'offset' leads outside"),
            (#"{"urls": ["http://a/"], "titles": ["a", "b"]}"#, "line 1, column 41: there are more titles"),
            (#"{"urls": [1]}"#, "line 1, column 11: only http"),
            (#"{"urls": "http://a/"}"#, "line 1, column 10: 'urls' is"),
            (#"{"urls": [["http://a/"]]}"#, "line 1, column 11: a URL is text"),
            (#"{"urls": ["http://a/"], "urls": []}"#, "line 1, column 25: 'urls' comes twice"),
            (#"{"urls": ["http://a/"]"#, "line 1, column 23: a comma or }"),
            (#"{"history": []}"#, "line 1, column 13: 'history' is empty"),
            ("{\"urls\": [\"http://a/\u{1}\"]}", "line 1, column 21:"),
        ])
    func refusals(_ text: String, _ beginning: String) {
        let error = #expect(throws: SessionError.self) { try session(text) }
        #expect(error?.description.hasPrefix(beginning) == true, "\(error?.description ?? "")")
    }

    @Test("a session has at most 50 entries, and 4 MiB")
    func limits() throws {
        func urls(_ count: Int) -> String {
            "{\"urls\": [" + (0..<count).map { "\"http://a/\($0)\"" }.joined(separator: ", ") + "]}"
        }
        #expect(try session(urls(50)).entries.count == 50)
        let error = #expect(throws: SessionError.self) { try session(urls(51)) }
        #expect(error?.message == "'urls' has 51 entries; at most 50 can be restored")
        #expect(throws: SessionError.self) { try session(urls(1) + String(repeating: " ", count: 4 << 20)) }
        #expect(throws: SessionError.self) { try session(String(repeating: "[", count: 100_000)) }
        #expect(throws: SessionError.self) { try session("{\"urls\":" + String(repeating: "[", count: 100_000)) }
    }

    @Test("what is written reads as the same session, in YAML and in JSON, whatever stands in a title")
    func roundTrip() throws {
        let titles = [
            "\"quoted\" \\ #: {}", "line\nbreak\ttab\u{0}\u{7F}\u{85}\u{A0}", "\u{2028}\u{2029}\u{FEFF}\u{FFFE}",
            "é 😀 日本",
            String(repeating: "é", count: 2000), "- x: y", " lead",
        ]
        let entries = try titles.map {
            SavedSession.Entry(url: try SessionURL("http://a.test/?q='\"{}\\%20#f"), title: $0)
        }
        let made = try #require(SavedSession(saved: SavedSession.time(1_795_442_531), current: 3, entries: entries))
        #expect(made.saved == "2026-11-23T14:02:11Z")
        #expect(try SavedSession(made.yaml) == made)
        #expect(try SavedSession(made.json) == made)
        #expect(made.entries[4].title.utf8.count <= 1024)
        #expect(made.entries[4].title.hasSuffix("é…"))
    }

    @Test(
        "names have letters, digits, '.', '_' and '-', 64 at most",
        arguments: [
            ("a", true), ("A1._-", true), ("9", true), (String(repeating: "x", count: 64), true),
            (String(repeating: "x", count: 65), false), ("", false), (".a", false), ("-a", false), ("_a", false),
            ("a/b", false), ("..", false), ("a\u{0}", false), ("é", false), ("a b", false), ("a%2f", false),
        ])
    func names(_ text: String, _ isName: Bool) { #expect((SessionName(text) != nil) == isName) }
}

@Suite("URLs of sessions")
struct SessionURLTests {
    @Test(
        "http and https URLs are kept, as ASCII",
        arguments: [
            ("http://a.test", "http://a.test"), ("HTTPS://A.test:8443/x?y#z", "HTTPS://A.test:8443/x?y#z"),
            ("http://a.test/é b", "http://a.test/%C3%A9%20b"), ("http://a.test?é", "http://a.test?%C3%A9"),
            ("http://[::1]:80/", "http://[::1]:80/"), ("http://a.test/\\x", "http://a.test/\\x"),
            ("http://a.test#//b", "http://a.test#//b"),
            ("http://a.test/\"><x>?\"#<", "http://a.test/%22%3E%3Cx%3E?%22#%3C"),
        ])
    func kept(_ text: String, _ url: String) throws { #expect(try SessionURL(text).text == url) }

    @Test(
        "anything else is refused",
        arguments: [
            "", "a.test/", "//a.test/", "/x", "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd",
            "ftp://a/",
            "blob:http://a/x", "about:blank", "view-source:http://a/", "http:/a", "http:a", "http:\\\\a.test/",
            "http://a\\@b/", "http:///x", "http://", "http://a b/", "http://é.test/", "http://a/\r\nSet-Cookie: x",
            "http://a/\u{0}", "http://a/\u{7F}", " http://a/", "http://a:99999/", "http://%00/",
            "java\nscript:http://a/",
        ])
    func refused(_ text: String) { #expect(throws: SessionURLError.self) { try SessionURL(text) } }

    @Test("a URL has at most 32 KiB, also when it is encoded")
    func length() throws {
        let path = String(repeating: "a", count: (32 << 10) - 9)
        #expect(try SessionURL("http://a/" + path).text.utf8.count == 32 << 10)
        #expect(throws: SessionURLError.tooLong) { try SessionURL("http://a/a" + path) }
        #expect(throws: SessionURLError.tooLong) { try SessionURL("http://a/" + path.replacing("a", with: "é")) }
    }
}
