import Substitution
import Testing

/// Maps that were read once, as standard input and pipes are.
struct MapStreamTests {
    private func load(_ text: String, _ files: [String: String] = [:], _ names: [String] = ["-"]) -> MapLoadResult {
        var absolute: [String: String] = [:]
        for (name, text) in files { absolute["/maps/" + name] = text }
        var options = MapLoadOptions(
            fileSystem: memoryFiles(absolute, existing: ["/maps": .folder, "/maps/files": .folder]))
        options.streams["-"] = MapStream(
            name: "<stdin>", contents: .success(MapFileContents(bytes: Array(text.utf8))))
        return SubstitutionMap.load(files: names, options: options)
    }

    @Test("what it names counts from the working directory, and it is no file that can change")
    func workingDirectory() throws {
        let result = load(
            "root: files\ninclude: [sub/b.yaml]\nsubstitutions:\n  http://h/a: a.txt\n",
            ["sub/b.yaml": "substitutions:\n  http://h/b: b.txt\n"])
        let map = try #require(result.map, "\(result.diagnostics.map(\.rendering))")
        #expect(map.roots == ["/maps/files", "/maps/sub"])
        #expect(map.files == ["<stdin>", "/maps/sub/b.yaml"])
        #expect(map.changeableFiles == ["/maps/sub/b.yaml"])
        #expect(map.streams == ["<stdin>"])
        #expect(map.rules.map(\.position) == ["<stdin>:4", "b.yaml:2"])
        #expect(try #require(load("substitutions:\n  http://h/a: a.txt\n").map).roots == ["/maps"])
    }

    @Test("messages name it, also those about its files, with the line that is meant")
    func messages() throws {
        let found = load("substitutions:\n  http://h/a: { text: a, stauts: 1 }\n").diagnostics
        #expect(found.first?.rendering.hasPrefix("<stdin>:2:26: error: unknown option 'stauts'") == true)
        let check = try #require(load("substitutions:\n  http://h/a: nope.txt\n").map).checkFiles()
        #expect(
            check.diagnostics.first?.rendering == """
                <stdin>:2:15: warning: the file '/maps/nope.txt' does not exist
                  http://h/a: nope.txt
                              ^~~~~~~~
                """)
    }

    @Test("it is read once where it is named twice, and a file that includes '-' means a file")
    func names() throws {
        let text = "substitutions:\n  http://h/a: { text: a }\n"
        #expect(load(text, [:], ["-", "-"]).map?.fileCount == 1)
        let including = load(text, ["m.yaml": "include: ['-']\nsubstitutions: {}\n"], ["m.yaml"])
        #expect(including.diagnostics.contains { $0.rendering.contains("the file '-' does not exist") })
    }
}
