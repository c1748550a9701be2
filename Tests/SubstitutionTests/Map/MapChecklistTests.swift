import Diagnostics
import Substitution
import Testing

/// Faulty and large maps: a clear error, or a load that ends.
struct MapChecklistTests {
    private static let empty =
        "1:1: error: the map is empty; a map is a mapping with 'substitutions', from URLs to what answers them. "
        + "'substitutions: {}' is a map without rules"

    @Test(
        "a text that is no map at all is one clear error",
        arguments: [
            ("", empty),
            ("# only\n# comments\n", empty),
            ("null", empty),
            (
                "- a\n- b",
                "1:1: error: a map is a mapping with 'substitutions', from URLs to what answers them, not a list"
            ),
            ("text", "1:1: error: a map is a mapping with 'substitutions', from URLs to what answers them, not text"),
            (
                "root: a\n",
                "2:1: error: there are no 'substitutions' here; a map is a mapping with 'substitutions', from URLs to what answers them"
            ),
            ("substitutions: a", "1:16: error: 'substitutions' is a mapping from URLs to what answers them, not text"),
            (
                "substitutions: [a]",
                "1:16: error: 'substitutions' is a mapping from URLs to what answers them, not a list"
            ),
        ])
    func noMap(_ text: String, _ expected: String) {
        #expect(headlines(text) == [expected])
    }

    @Test("what the error of an empty map names is a map without rules, and without a warning")
    func noRules() throws {
        #expect(headlines("substitutions: {}") == [])
        #expect(try map("substitutions: {}").ruleCount == 0)
    }

    @Test(
        "YAML that is malformed or more than a map needs is refused with its line",
        arguments: [
            ("substitutions:\n\thttp://h/a: a", 2), ("substitutions:\n  http://h/a: \"a", 2), ("substitutions: {", 1),
            ("substitutions: {}\n---\nsubstitutions: {}", 2), ("a: &a [x]\nb: *a", 1), ("substitutions: *b", 1),
            ("a: &a [*a]", 1), ("substitutions: { \"http://h/a\": { <<: { file: a } } }", 1),
            ("substitutions: !!map {}", 1), ("substitutions:\n  http://h/a: !!binary eA==", 2),
            ("substitutions:\n  http://h/a: !!python/object:os.system x", 2),
            ("substitutions: " + String(repeating: "[", count: 100_000), 1),
        ])
    func malformed(_ text: String, _ line: Int) {
        let result = SubstitutionMap.load(text: text)
        #expect(result.map == nil)
        #expect(result.diagnostics.contains { $0.isError && ($0.diagnostic.span?.start.line ?? 0) >= line })
    }

    @Test("an alias bomb is refused at each anchor and alias, and nothing of it is expanded")
    func aliasBomb() {
        var text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
        for level in 1..<10 {
            text +=
                "a\(level): &a\(level) [" + Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ",") + "]\n"
        }
        let found = headlines(text)
        #expect(found.contains { $0.hasPrefix("1:5: error: YAML anchors are not accepted here") })
        #expect(found.count { $0.contains("YAML anchors") } == 10)
        #expect(found.count { $0.contains("YAML aliases") } == 81)
    }

    @Test("a URL that comes twice is told in each file, also where it stands at the same place")
    func duplicatesInFiles() {
        func lines(_ files: (String, String)...) -> [String] {
            var maps: [String: String] = [:]
            for (name, rules) in files { maps[name] = "substitutions:\n" + rules }
            return loadFiles(maps, files.map(\.0)).diagnostics.map { "\($0.diagnostic.headline.prefix(18))" }
        }
        #expect(
            lines(
                ("a.yaml", "  http://h/a: a\n  http://h/a: b\n"), ("b.yaml", "  http://h/b: a\n  http://h/b: b\n"))
                == ["a.yaml:3:3: error:", "b.yaml:3:3: error:"])
        // After a warning there, that it is another file's too.
        #expect(
            lines(
                ("a.yaml", "  http://h/x: x\n"), ("b.yaml", "  http://h/b: b\n  http://h/x: x\n"),
                ("c.yaml", "  http://h/c: c\n  http://h/c: d\n"))
                == ["b.yaml:3:3: warnin", "c.yaml:3:3: error:"])
    }

    @Test("a URL that comes twice names both lines")
    func duplicate() {
        #expect(
            headlines("substitutions:\n  http://h/a: a\n  http://h/b: b\n  http://h/a: c\n") == [
                "4:3: error: this URL comes twice; it is on line 2 already"
            ])
        #expect(
            headlines("substitutions: { \"http://h/a\": a }\nsubstitutions: { \"http://h/b\": b }\n") == [
                "2:1: error: 'substitutions' comes twice; it is on line 1 already"
            ])
    }

    @Test("bytes that are not UTF-8 are refused, a byte-order mark is not")
    func encodings() {
        let good = Array("substitutions: { \"http://h/a\": a }".utf8)
        func load(_ bytes: [UInt8]) -> MapLoadResult {
            let files = MapFileSystem(
                read: { _, _ in .success(MapFileContents(bytes: bytes)) }, kind: { _, _ in nil }, absolutePath: { $0 },
                identity: { $0 })
            return SubstitutionMap.load(files: ["m.yaml"], options: MapLoadOptions(fileSystem: files))
        }
        #expect(load([0xEF, 0xBB, 0xBF] + good).map?.ruleCount == 1)
        #expect(load(good + [0x0A, 0x23, 0xE9]).map == nil)
        #expect(load([0xFF, 0xFE] + good.flatMap { [$0, 0] }).map == nil)
        #expect(load(good.flatMap { [0, $0] }).map == nil)
        #expect(load(good + [0]).map == nil)
    }

    @Test(
        "wrong types are errors, the booleans of YAML 1.1 too",
        arguments: [
            "status: \"201\"", "status: 201.0", "status: 0xC", "status: 0201", "status: yes", "status: 1e3",
            "status: -1",
            "status: 70000", "rate: 10GB", "rate: -1B/s", "rate: 9223372036854775808B/s", "retain: NO", "retain: on",
            "file: [b]", "cors: yes", "delay: 99999999999999999999s",
        ])
    func wrongTypes(_ option: String) {
        let source = option.hasPrefix("file") ? "" : "file: a, "
        let found = SubstitutionMap.load(text: "substitutions:\n  http://h/a: { \(source)\(option) }\n").diagnostics
        #expect(found.map(\.isError) == [true])
        #expect(found.first?.diagnostic.span?.start.line == 2)
    }

    @Test("an unknown key is an error with a suggestion")
    func unknownKey() {
        #expect(
            headlines("substitution: {}\n").first
                == "1:1: error: unknown key 'substitution'; did you mean 'substitutions'?")
    }

    @Test("all bad paths are listed")
    func badPaths() {
        let text = """
            substitutions:
              http://h/1: /abs
              http://h/2: ../up
              http://h/3: $HOME/x
              http://h/4: dir/
              http://h/5: ~/literal
              http://h/6/: missing
            """
        #expect(SubstitutionMap.load(text: text).diagnostics.map(\.diagnostic.span?.start.line) == [2, 3, 4, 5, 7])
    }

    @Test("a hundred thousand rules load, and each is found")
    func manyRules() throws {
        var text = "substitutions:\n"
        for number in 0..<100_000 { text += "  http://cdn\(number % 7).example/a/\(number)/pic.png: p/\(number).png\n" }
        let map = try map(text)
        #expect(map.ruleCount == 100_000)
        #expect(map.namedHosts().count == 7)
        #expect(map.memoryFootprint.index < 100_000 * 64)
        for number in stride(from: 0, to: 100_000, by: 997) {
            #expect(try map.answer("http://cdn\(number % 7).example/a/\(number)/pic.png") == "p/\(number).png")
            #expect(try map.answer("http://cdn\(number % 7).example/a/\(number)/pic.jpg") == "-")
        }
    }

    @Test("ten thousand rules that differ in their query alone, and folders, are found too")
    func manyQueriesAndFolders() throws {
        var text = "substitutions:\n"
        for number in 0..<10_000 {
            text +=
                "  http://h/item?id=\(number)&lang=en: q/\(number)\n  http://h/d/\(number % 100)/\(number)/: d\(number)/\n"
        }
        let map = try map(text)
        for number in stride(from: 0, to: 10_000, by: 97) {
            #expect(try map.answer("http://h/item?lang=en&id=\(number)") == "q/\(number)")
            #expect(try map.answer("http://h/d/\(number % 100)/\(number)/x/y") == "d\(number)/x/y")
        }
        #expect(try map.answer("http://h/item?id=10000&lang=en") == "-")
        #expect(try map.answer("http://h/item") == "-")
    }

    @Test("ten thousand URLs of one path with a mapping load without a comparison of each with each")
    func manyMappings() throws {
        var text = "defaults: { query: { v: 1 } }\nsubstitutions:\n"
        for number in 0..<10_000 { text += "  http://h/item?id=\(number): q/\(number)\n" }
        #expect(try map(text).answer("http://h/item?v=1&id=77") == "q/77")
    }
}
