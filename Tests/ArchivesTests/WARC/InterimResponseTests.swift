import Testing

@testable import Archives

/// Recorders that keep all bytes of a connection have interim responses before the final one (RFC 9110 §15.2).
@Suite("A WARC with interim responses")
struct InterimResponseTests {
    private static let final = "HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\nVary: A\r\n\r\nmade"
    private static let early = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nContent-Type: a/b\r\n\r\n"
    private static let others = String(repeating: "HTTP/1.1 100 Continue\nX: 1\n\n", count: 300)

    @Test(
        "has the final one for its entry",
        arguments: ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n" + early, others],
        ["plain", "compressed"])
    func final(_ before: String, _ form: String) throws {
        var text = WARCText()
        text.respond("http://a.example/", id: 1, before + Self.final)
        text.respond("http://a.example/next", id: 2, "HTTP/1.1 200 OK\r\n\r\n")
        let read = try ReadArchive(form == "plain" ? text.plain : try text.compressed(), name: "a.warc")
        #expect(read.lines == ["GET 201 http://a.example/", "GET 200 http://a.example/next"])
        #expect(try read.fields(0) == ["Content-Type: text/plain", "Vary: A"])
        #expect(try read.body(0) == "made")
        #expect(read.archive.table[0].varies && read.warnings.isEmpty)
    }

    @Test("has no entry that can answer where no final one follows, or where another protocol does")
    func none() throws {
        var text = WARCText()
        text.respond("http://a.example/1", "HTTP/1.1 100 Continue\r\n\r\n")
        text.respond("http://a.example/2", "HTTP/1.1 100 Continue\r\n\r\nHTT")
        text.respond("http://a.example/3", "HTTP/1.1 101 Switching Protocols\r\n\r\n" + Self.final)
        let read = try ReadArchive(text.plain, name: "a.warc")
        #expect(
            read.lines == [
                "GET 100 http://a.example/1 status", "GET 100 http://a.example/2 status",
                "GET 101 http://a.example/3 status",
            ])
    }
}
