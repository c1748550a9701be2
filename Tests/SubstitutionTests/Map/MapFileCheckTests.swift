import Diagnostics
import Glibc
import ProxyTestKit
import Substitution
import Testing

struct MapFileCheckTests {
    @Test("files that do not exist are warned of, what can't be served is an error, each at its place")
    func check() throws {
        let result = loadFiles(
            [
                "substitutions.yaml": """
                root: bundle
                substitutions:
                  http://h/a.png: a.png
                  http://h/b.png: b.png
                  http://h/c:
                    status: 201
                    file: sub/c
                  http://h/d/: d/
                  http://h/e/: e/
                  http://h/f/: f/
                  http://h/g: g
                  http://h/h: h
                  http://h/*.gif: $1
                  http://h/*.jpg: one.jpg
                  //h/i: i
                """
            ],
            existing: [
                "/maps/bundle": .folder, "/maps/bundle/a.png": .file, "/maps/bundle/d": .folder,
                "/maps/bundle/f": .file,
                "/maps/bundle/g": .folder, "/maps/bundle/h": .other,
            ])
        let map = try #require(result.map)
        let check = map.checkFiles()
        #expect(check.checked == 10)
        #expect(check.missing == 5)
        #expect(check.unusable == 3)
        #expect(
            check.diagnostics.map(\.rendering).joined(separator: "\n") == """
                substitutions.yaml:4:19: warning: the file '/maps/bundle/b.png' does not exist
                  http://h/b.png: b.png
                                  ^~~~~
                substitutions.yaml:7:11: warning: the file '/maps/bundle/sub/c' does not exist
                    file: sub/c
                          ^~~~~
                substitutions.yaml:9:16: warning: the folder '/maps/bundle/e' does not exist
                  http://h/e/: e/
                               ^~
                substitutions.yaml:10:16: error: a folder is mapped to a file; '/maps/bundle/f' is no folder
                  http://h/f/: f/
                               ^~
                substitutions.yaml:11:15: error: '/maps/bundle/g' is a folder; end key and value in '/' to map the folder
                  http://h/g: g
                              ^
                substitutions.yaml:12:15: error: '/maps/bundle/h' is no regular file
                  http://h/h: h
                              ^
                substitutions.yaml:14:19: warning: the file '/maps/bundle/one.jpg' does not exist
                  http://h/*.jpg: one.jpg
                                  ^~~~~~~
                substitutions.yaml:15:10: warning: the file '/maps/bundle/i' does not exist
                  //h/i: i
                         ^
                """)
        #expect(map.checkFiles(limit: 2).diagnostics.count == 2)
        #expect(map.checkFiles(limit: 2).missing == 5)
    }

    @Test("the machine's own files are seen as they are")
    func system() throws {
        let files = MapFileSystem.system
        #expect(files.kind("/", []) == .folder)
        #expect(files.kind("/dev", Array("null".utf8)) == .other)
        #expect(files.kind("/etc", Array("passwd".utf8)) == .file)
        #expect(files.kind("/etc", Array("no such file".utf8)) == nil)
        #expect(files.kind("/etc", Array("passwd/".utf8)) == .file)
        #expect(files.kind("/etc/passwd", []) == .file)
        #expect(files.kind("/etc", Array("passwd/x".utf8)) == nil)
        #expect(files.kind("/etc", Array("passwd/x/".utf8)) == nil)
        #expect(files.kind("/", Array("etc/".utf8)) == .folder)
        #expect(files.read("/", 10) == .failure(.isFolder))
        #expect(files.read("/dev/null", 10) == .failure(.isNoRegularFile))
        #expect(files.read("/no/such/file", 10) == .failure(.missing))
        #expect(files.read("/etc/passwd", 1) == .failure(.tooLarge(limit: 1)))
        let passwd = try files.read("/etc/passwd", 1 << 20).get()
        #expect(passwd.bytes.starts(with: "root:".utf8) && !passwd.isWorldWritable)
        #expect(files.absolutePath("/a/./b//c") == "/a/b/c")
        #expect(files.absolutePath("x").hasSuffix("/x") && files.absolutePath("x").hasPrefix("/"))
        #expect(files.identity("/usr/../etc/passwd") == "/etc/passwd")
    }

    @Test("a file that a folder or the root is mapped to is no folder, also with a slash behind its name")
    func fileForFolder() throws {
        let folder = TemporaryFolder()
        try folder.write("a.txt", "x")
        try folder.write("m.yaml", "substitutions:\n  http://h/1/: a.txt/\n  http://h/2/: none/\n")
        try folder.write("r.yaml", "root: a.txt\nsubstitutions: {}\n")
        let check = try #require(SubstitutionMap.load(files: [folder.at("m.yaml")]).map).checkFiles()
        #expect((check.missing, check.unusable) == (1, 1))
        #expect(check.diagnostics.first?.rendering.contains("a folder is mapped to a file") == true)
        let root = SubstitutionMap.load(files: [folder.at("r.yaml")])
        #expect(root.map == nil && root.diagnostics.first?.rendering.contains("is no folder") == true)
    }

    @Test("the files of a map that has errors are looked for too, where it is known where they are")
    func withErrors() throws {
        func check(_ text: String) -> MapFileCheck? {
            let result = loadFiles(["substitutions.yaml": text], existing: ["/maps/bundle": .folder, "/maps/f": .file])
            #expect(result.map == nil && !result.diagnostics.isEmpty)
            return result.remainder?.checkFiles()
        }
        let rules = "substitutions:\n  http://h/a: { stauts: 1, file: a }\n  http://h/b: b\n  http://h/c: b\n"
        let found = try #require(check("root: bundle\n" + rules))
        #expect(found.diagnostics.map { $0.diagnostic.span?.start.line } == [3, 4, 5])
        #expect(found.diagnostics.first?.rendering.contains("'/maps/bundle/a' does not exist") == true)
        #expect(check(rules + "root: [bundle]\n") == nil)
        #expect(check(rules + "root: f\n") == nil)
        #expect(check(rules + "root: {\n") == nil)
    }

    @Test("no file is looked for where a rule with an error names none")
    func withoutName() throws {
        let rules = ["{ text: 1 }", "{ file: \"http://x/\" }", "{ answers: [] }", "{ stauts: 1 }", "\"\"", "/"]
        let lines = rules.enumerated().map { "  http://h/\($0.offset): \($0.element)\n" }
        let result = loadFiles(["substitutions.yaml": "substitutions:\n" + lines.joined()], existing: [:])
        #expect(result.diagnostics.count == rules.count)
        #expect(result.remainder?.checkFiles().diagnostics.isEmpty == true)
    }

    @Test("a symbolic link, and a path through one, is an error for the check and none for loading")
    func links() throws {
        let folder = TemporaryFolder()
        for name in ["files", "files/real"] { mkdir(folder.at(name), 0o755) }
        try folder.write("files/real/a.txt", "x")
        symlink("real/a.txt", folder.at("files/link.txt"))
        symlink("nowhere", folder.at("files/dangling.txt"))
        symlink("real", folder.at("files/way"))
        symlink("files", folder.at("root"))
        try folder.write(
            "m.yaml",
            """
            root: root
            substitutions:
              http://h/1: real/a.txt
              http://h/2: link.txt
              http://h/3: dangling.txt
              http://h/4: way/a.txt
              http://h/5/: way/
              http://h/6/: way
              http://h/7/: real

            """)
        let result = SubstitutionMap.load(files: [folder.at("m.yaml")])
        #expect(result.diagnostics.isEmpty)
        let check = try #require(result.map).checkFiles()
        #expect((check.missing, check.unusable) == (0, 5))
        #expect(check.diagnostics.map(\.diagnostic.span?.start.line) == [4, 5, 6, 7, 8])
        #expect(check.diagnostics.allSatisfy { $0.isError && $0.rendering.contains("links are not served") })
    }
}
