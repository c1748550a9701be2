import Basics
import Substitution
import Testing

@Suite("An entry of a webarchive is found by the URL that its response came from too")
struct FurtherURLTests {
    /// A resource, and where its response came from.
    private static func resource(_ url: String, from other: String? = nil, type: String = "text/html") -> String {
        let response = other.map { other in
            let text = """
                <plist><dict><key>$top</key><dict><key>WebResourceResponse</key><dict><key>CF$UID</key><integer>1</integer>\
                </dict></dict><key>$objects</key><array><string>$null</string><dict><key>NS.url</key>\
                <string>\(other.replacing("&", with: "&amp;"))</string><key>NS.statusCode</key><integer>200</integer></dict></array></dict></plist>
                """
            return "<key>WebResourceResponse</key><data>\(Base64.text(text.utf8))</data>"
        }
        return """
            <dict><key>WebResourceData</key><data>YQ==</data><key>WebResourceURL</key><string>\(url)</string>\
            <key>WebResourceMIMEType</key><string>\(type)</string>\(response ?? "")</dict>
            """
    }

    private static func stage(_ settings: String = "") throws -> ArchiveStage {
        let others = [
            resource("https://a.example/old.css", from: "https://cdn.example/new.css?a=1&t=1234567890"),
            resource("https://a.example/own.css", from: "https://a.example/other.css"),
            resource("https://a.example/third", from: "https://a.example/own.css"),
            resource("https://a.example/fourth", from: "https://a.example/other.css"),
            resource("https://a.example/w_100/x.png", from: "https://cdn.example/w_200/x.png", type: "image/png"),
        ]
        return try ArchiveStage(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0"><dict><key>WebMainResource</key>\
            \(resource("http://a.example/", from: "https://www.example/"))\
            <key>WebSubresources</key><array>\(others.joined())</array></dict></plist>
            """, named: "a.webarchive", settings)
    }

    @Test(
        "in every step",
        arguments: [
            ("http://a.example/", "#1"), ("https://www.example/", "#1"), ("http://www.example/", "#1 scheme"),
            ("https://a.example/old.css", "#2"), ("https://cdn.example/new.css?a=1&t=1234567890", "#2"),
            ("https://cdn.example/new.css?t=1234567890&a=1", "#2 order"),
            ("https://cdn.example/new.css?a=1&_=5", "#2 without _, t"),
            ("https://cdn.example/new.css?b=7", "#2 without query"),
            ("https://cdn.example/w_150/x.png", "#6 size"), ("https://a.example/w_150/x.png", "#6 size"),
            ("https://cdn.example/none", "miss path"), ("https://none.example/", "unknown"),
        ])
    func steps(_ url: String, _ found: String) throws {
        #expect(try Self.stage().find(url) == found)
    }

    @Test("an entry's own URL comes before it, and of the same one the first")
    func first() throws {
        let stage = try Self.stage()
        #expect(try stage.find("https://a.example/own.css") == "#3")
        #expect(try stage.find("https://a.example/other.css") == "#3")
    }

    @Test("among those that urls counts, and where it was moved to")
    func settings() throws {
        let counted = try Self.stage("urls: ['https://cdn.example/']")
        #expect(try counted.find("https://cdn.example/new.css?a=1&t=1234567890") == "#2")
        #expect(try counted.find("https://a.example/old.css") == "unknown")
        let moved = try Self.stage("as: { 'https://cdn.example/': 'http://localhost:3000/c/' }")
        #expect(try moved.find("http://localhost:3000/c/new.css?a=1&t=1234567890") == "#2")
        #expect(try moved.find("https://cdn.example/new.css?a=1&t=1234567890") == "unknown")
        #expect(try moved.find("https://a.example/old.css") == "#2")
    }

    @Test("and its host is named by the map")
    func hosts() throws {
        let archive = try #require(Self.stage().map.archives.first)
        #expect(archive.hosts.contains { $0.host == "cdn.example" && $0.scheme == "https" })
    }
}
