import Testing

@testable import Archives

@Suite("Names of a recording's files")
struct RecordingNamesTests {
    private static func name(_ names: inout RecordingNames, _ url: String, _ method: String, _ type: String) -> String {
        String(decoding: names.name(Array(url.utf8), method: method, type: Array(type.utf8)), as: UTF8.self)
    }

    @Test(
        "are made of the URL, the method and the media type",
        arguments: [
            ("https://a.example/", "GET", "text/html; charset=utf-8", "files/a.example/index.html"),
            ("https://a.example/docs/", "GET", "text/html", "files/a.example/docs/index.html"),
            (
                "https://api.example.com/items?page=2", "POST", "application/json",
                "files/api.example.com/items,page=2.POST.json"
            ),
            ("http://a.example:8080/a.png", "GET", "image/png", "files/a.example_8080/a.png"),
            ("https://a.example:443/a.jpeg", "GET", "image/jpeg", "files/a.example/a.jpeg"),
            ("https://a.example/a.js?v=2", "GET", "text/javascript", "files/a.example/a.js,v=2.js"),
            ("https://a.example/a/b", "GET", "text/css", "files/a.example/a/b.css"),
            ("https://a.example/a%20b/c%C3%A9", "GET", "", "files/a.example/a_20b/c_C3_A9"),
            ("https://a.example/.well-known/x", "GET", "text/plain", "files/a.example/_well-known/x.txt"),
            ("https://a.example/con", "GET", "application/json", "files/a.example/_con.json"),
            ("https://a.example/Aux/LPT1.txt", "GET", "text/plain", "files/a.example/_Aux/_LPT1.txt"),
            ("https://a.example/?q=a/b&c", "GET", "text/html", "files/a.example/index.html,q=a_b_c.html"),
            ("https://a.example/x", "GET", "application/vnd.api+json", "files/a.example/x.json"),
            ("http://[::1]:81/a", "GET", "text/plain", "files/___1__81/a.txt"),
            ("https://a.example/a//b", "GET", "text/plain", "files/a.example/a/_/b.txt"),
            ("https://a.example/p", "PATCH", "text/plain", "files/a.example/p.PATCH.txt"),
            ("https://a.example/p.txt", "PATCH", "text/plain", "files/a.example/p.txt.PATCH.txt"),
            ("https://a.example./foo./x", "GET", "text/css", "files/a.example_/foo_/x.css"),
            ("https://a.example/t.", "GET", "", "files/a.example/t_"),
            ("https://a.example/t.?a.", "GET", "", "files/a.example/t.,a_"),
            ("https://a.example/a.bin", "GET", "application/octet-stream", "files/a.example/a.bin"),
        ])
    func forms(url: String, method: String, type: String, expected: String) {
        var names = RecordingNames()
        #expect(Self.name(&names, url, method, type) == expected)
    }

    @Test("that are taken get numbers, whatever their case")
    func taken() {
        var names = RecordingNames()
        let url = "https://a.example/A.json"
        #expect(Self.name(&names, url, "GET", "application/json") == "files/a.example/A.json")
        #expect(Self.name(&names, "https://a.example/a.json", "GET", "application/json") == "files/a.example/a~2.json")
        #expect(Self.name(&names, url, "GET", "application/json") == "files/a.example/A~3.json")
        // What is a file is no folder.
        #expect(
            Self.name(&names, "https://a.example/a.json/b", "GET", "text/plain") == "files/a.example/a.json~2/b.txt")
        // And the other way round.
        #expect(Self.name(&names, "https://b.example/c/d", "GET", "text/plain") == "files/b.example/c/d.txt")
        #expect(Self.name(&names, "https://b.example/c", "GET", "") == "files/b.example/c~2")
    }

    @Test("are cut to 80 bytes a segment and 240 in all, and keep their extension")
    func lengths() {
        var names = RecordingNames()
        let long = String(repeating: "x", count: 200)
        let one = Self.name(&names, "https://a.example/\(long)?y", "GET", "application/json")
        let segment = one.split(separator: "/").last ?? ""
        #expect(segment.utf8.count == 80 && segment.hasSuffix(".json"))
        #expect(segment.dropLast(5).suffix(9).first == "~")
        let other = Self.name(&names, "https://a.example/\(long)?z", "GET", "application/json")
        #expect(other != one && !other.contains("~2"))
        let deep = Self.name(&names, "https://a.example/\(long)/\(long)/\(long)/\(long)/b.css", "GET", "text/css")
        #expect(deep.utf8.count <= 240 && deep.hasSuffix("/b.css") && deep.hasPrefix("files/a.example/xxx"))
        for part in deep.split(separator: "/") { #expect(part.utf8.count <= 80) }
    }

    @Test("are found quickly for many entries of one URL")
    func many() {
        var names = RecordingNames()
        var last = ""
        for _ in 0..<20_000 { last = Self.name(&names, "https://a.example/x", "POST", "application/json") }
        #expect(last == "files/a.example/x.POST~20000.json")
    }
}
