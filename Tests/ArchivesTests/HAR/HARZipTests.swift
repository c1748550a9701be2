import Testing

@testable import Archives

@Suite("A HAR in a zip")
struct HARZipTests {
    /// Writes a zip of stored files.
    private func zip(_ files: [(name: String, bytes: [UInt8])]) -> [UInt8] {
        var bytes: [UInt8] = []
        var directory: [UInt8] = []
        func number(_ value: Int, _ width: Int) -> [UInt8] { (0..<width).map { UInt8(value >> (8 * $0) & 0xFF) } }
        for file in files {
            var checksum = CRC32()
            file.bytes.withUnsafeBytes { checksum.update($0) }
            let name = Array(file.name.utf8)
            let sizes = number(Int(checksum.value), 4) + number(file.bytes.count, 4) + number(file.bytes.count, 4)
            let common = number(0, 2) + number(0, 2) + number(0, 4) + sizes + number(name.count, 2) + number(0, 2)
            directory += number(0x0201_4B50, 4) + number(20, 2) + number(20, 2) + common + number(0, 2) + number(0, 2)
            directory += number(0, 2) + number(0, 4) + number(bytes.count, 4) + name
            bytes += number(0x0403_4B50, 4) + number(20, 2) + common + name + file.bytes
        }
        let start = bytes.count
        return bytes + directory + number(0x0605_4B50, 4) + number(0, 4) + number(files.count, 2)
            + number(files.count, 2) + number(directory.count, 4) + number(start, 4) + number(0, 2)
    }

    private func open(_ files: [(name: String, bytes: [UInt8])]) throws -> Archive {
        try Archive.open(ArchiveInput(name: "a.zip", bytes: ArchiveBytes(zip(files))))
    }

    private func har(_ entries: String...) -> [UInt8] { Array(HARSample.har(entries.joined(separator: ",")).utf8) }

    @Test("is read with the files of its bodies")
    func files() throws {
        let archive = try open([
            ("x.txt", Array("body".utf8)), ("d/y.har", []),
            (
                "har.har",
                har(
                    HARSample.entry(content: #""_file":"x.txt","mimeType":"text/plain""#),
                    HARSample.entry(content: #""_file":"none""#), HARSample.entry(content: #""text":"inside""#))
            ),
        ])
        #expect(archive.format == .har)
        let named = ArchiveInput(name: "a.wacz", bytes: ArchiveBytes(zip([("a.har", har(HARSample.entry()))])))
        #expect(try Archive.open(named).format == .har)
        #expect(try archive.text(0) == "body")
        #expect(try archive.fields(0) == ["Content-Type: text/plain"])
        #expect(try archive.exchange(0).body.size == 4)
        #expect(archive.table[1].unusable == .bodyNotRecorded)
        #expect(try archive.text(2) == "inside")
    }

    @Test("has exactly one .har at its top, and no file outside")
    func refused() {
        let one = har(HARSample.entry())
        #expect(throws: ArchiveProblem.error("this zip has no .har at its top", at: 0)) { try open([("d/a.har", one)]) }
        #expect(throws: ArchiveProblem.self) { try open([("a.har", one), ("b.HAR", one)]) }
        #expect(throws: ArchiveProblem.self) {
            try open([("a.har", har(HARSample.entry(content: #""_file":"../x""#)))])
        }
        #expect(throws: Never.self) { try open([("._a.har", []), ("a.har", one)]) }
    }
}
