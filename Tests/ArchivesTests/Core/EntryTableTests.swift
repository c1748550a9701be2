import Testing

@testable import Archives

@Suite("The entries of an archive")
struct EntryTableTests {
    @Test("are numbered from 1, inside of a WACZ for each file")
    func numbers() throws {
        var table = EntryTable()
        var entry = FoundEntry(at: EntryPlace(offset: 0))
        entry.url = Array("http://a.example/".utf8)
        try table.add(entry, limits: ArchiveLimits())
        #expect(table.number(0) == "#1")
        var inside = EntryTable()
        inside.begin(member: "a.warc")
        try inside.add(entry, limits: ArchiveLimits())
        inside.begin(member: "b.warc")
        try inside.add(entry, limits: ArchiveLimits())
        #expect(inside.number(0) == ":a.warc#1")
        #expect(inside.number(1) == ":b.warc#1")
    }

    @Test(
        "have their URL in normal form, and say why they can't answer",
        arguments: [
            ("HTTP://A.example:80/b#c", "http://a.example/b", nil), ("", "", Unusable.noURL),
            ("data:text/plain,x", "", .scheme), ("http://a.example:x/", "", .malformedURL),
            ("<https://a.example/ü x>", "https://a.example/%C3%BC%20x", nil),
        ] as [(String, String, Unusable?)])
    func urls(_ recorded: String, _ url: String, _ unusable: Unusable?) throws {
        var table = EntryTable()
        var entry = FoundEntry(at: EntryPlace(offset: 0))
        entry.url = Array(recorded.utf8)
        try table.add(entry, limits: ArchiveLimits())
        #expect(String(decoding: table[0].url, as: UTF8.self) == url)
        #expect(table[0].unusable == unusable)
        #expect(table.usableCount == (unusable == nil ? 1 : 0))
    }

    @Test("have URLs that are mended if there is a byte that needs it, wherever it stands")
    func plain() {
        for byte in UInt8.min...UInt8.max {
            let isPlain = (0x21...0x7E).contains(byte) && !Array("\"#<>\\".utf8).contains(byte)
            for place in 0..<19 {
                var url = Array("http://a.example/bc".utf8)
                url[place] = byte
                #expect(url.withUnsafeBytes { RecordedURL.isPlain($0) } == isPlain, "\(byte) at \(place)")
            }
        }
    }
}
