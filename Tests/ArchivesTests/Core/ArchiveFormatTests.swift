import Testing

@testable import Archives

@Suite("What an archive is")
struct ArchiveFormatTests {
    @Test(
        "is told by its first bytes, whatever it is called",
        arguments: ["page.har", "page.warc", "page.webarchive", "page.wacz", "page.yaml", "page.mhtml", "page"])
    func messages(name: String) throws {
        let page = """
            From: <Saved by Blink>
            Snapshot-Content-Location: https://a.example/
            MIME-Version: 1.0
            Content-Type: multipart/related; type="text/html"; boundary="b"

            --b
            Content-Type: text/html
            Content-Location: https://a.example/

            <p>page
            --b--

            """
        let archive = try openArchive(page.crlf, name)
        #expect(archive.format == .mhtml && archive.urls == ["https://a.example/"])
    }
}
