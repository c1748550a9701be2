import Glibc
import Substitution
import Testing

@Suite("An archive that has an error")
struct TriedArchiveTests {
    @Test("is told with the files that it names, since the mistake may be in any of them")
    func filesTried() throws {
        let stage = try ArchiveStage([.init("http://a.example/")])
        let link = stage.folder + "/b.bin"
        try #require(symlink("m.yaml", link) == 0)
        defer { unlink(link) }
        try ArchiveStage.write(
            """
            {"log":{"entries":[{"request":{"method":"GET","url":"http://a.example/","headers":[]},"response":
            {"status":200,"headers":[],"content":{"mimeType":"text/plain","_file":"b.bin"}}}]}}
            """, to: stage.folder + "/a.har")
        let result = SubstitutionMap.load(files: [stage.folder + "/m.yaml"])
        #expect(result.map == nil)
        #expect(result.filesTried == ["m.yaml", "a.har", "b.bin"].map { "\(stage.folder)/\($0)" })
    }
}
