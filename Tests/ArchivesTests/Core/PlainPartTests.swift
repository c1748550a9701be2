import Synchronization
import Testing

@testable import Archives

@Suite("A part of a saved page that stands in the file as it is")
struct PlainPartTests {
    private static let body = (0..<40_000).map { String($0 % 10) }.joined()
    private static let page = """
        Content-Type: multipart/related; boundary=b

        --b
        Content-Type: text/plain
        Content-Location: http://a.example/

        \(body)
        --b--

        """

    @Test("is read from any place on, without what is before it")
    func skipping() throws {
        let count = Mutex(0)
        let bytes = Array(Self.page.utf8)
        let counting = ArchiveBytes(count: bytes.count) { buffer, offset in
            let part = bytes[offset..<min(bytes.count, offset + buffer.count)]
            count.withLock { $0 += part.count }
            buffer.copyBytes(from: part)
            return part.count
        }
        let archive = try Archive.open(ArchiveInput(name: "a.mhtml", bytes: counting))
        let body = try archive.exchange(0).body
        #expect(body.isSeekable && body.size == Self.body.utf8.count)
        var stream = try archive.openBody(0)
        count.withLock { $0 = 0 }
        try stream.skip(39_990)
        var read: [UInt8] = []
        while try stream.read(4, into: &read) {}
        #expect(read == Array("0123456789".utf8))
        #expect(count.withLock { $0 } == 10)
    }

    @Test("is refused before any of it is read where it is too long")
    func limit() throws {
        var limits = ArchiveLimits()
        limits.body = 40_000
        #expect(try ReadArchive(Array(Self.page.utf8), name: "a.mhtml", limits: limits).body(0) == Self.body)
        limits.body = 39_999
        let read = try ReadArchive(Array(Self.page.utf8), name: "a.mhtml", limits: limits)
        let problem = ArchiveProblem.thrown { try read.archive.openBody(0) }
        #expect(problem?.message.contains("--max-entry-body") == true)
    }
}
