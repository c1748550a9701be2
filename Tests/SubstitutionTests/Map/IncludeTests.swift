import Diagnostics
import HTTPSemantics
import Substitution
import Testing
import YAML

/// `include`, `root`, `defaults`, several files.
struct IncludeTests {
    @Test("included files have their own root and defaults, and come after the file that includes them")
    func roots() throws {
        let result = loadFiles([
            "substitutions.yaml": """
            include: [icons/icons.yaml, /srv/other.yaml]
            defaults: { query: ignore, status: 203 }
            root: ../bundle
            substitutions:
              http://h/a: a
              ~x: { text: first }
            """,
            "icons/icons.yaml": "include: [deep.yaml]\nsubstitutions: { \"http://h/b\": b, \"~x\": { text: second } }",
            "icons/deep.yaml": "root: /data//./icons\nsubstitutions: { \"http://h/c\": c, \"~xy\": { text: third } }",
            "/srv/other.yaml": "root: ./\nsubstitutions: { \"http://h/d/\": d/ }",
        ])
        let map = try #require(result.map)
        #expect(
            map.files == [
                "/maps/substitutions.yaml", "/maps/icons/icons.yaml", "/maps/icons/deep.yaml", "/srv/other.yaml",
            ])
        #expect(map.roots == ["/maps/../bundle", "/maps/icons", "/data/icons", "/srv"])
        #expect(map.fileCount == 4)
        #expect(map.ruleCount == 7)
        #expect(try map.answer("http://h/a?q") == "a")
        #expect(try map.answer("http://h/b?q") == "-")
        #expect(try map.answer("http://h/xy") == "text/plain; charset=utf-8: first")
        var scratch = LookupScratch()
        let match = try #require(try map.match("http://h/c", scratch: &scratch))
        let rule = map.rule(match.id)
        #expect(rule.root == "/data/icons")
        #expect(rule.position == "deep.yaml:2")
        #expect(rule.mapFile == "icons/deep.yaml")
        #expect(rule.status == 200)
    }

    @Test("maps with the same file name have as many folders in front of it as tell them apart")
    func sameName() throws {
        let names = ["m.yaml", "a/m.yaml", "b/a/m.yaml", "c/a/m.yaml", "c/n.yaml"]
        func positions(_ numbers: [Int]) throws -> [String] {
            let files = numbers.map { names[$0] }
            let texts = files.map { ($0, "substitutions: { \"http://h/\($0)\": { text: x } }") }
            let result = loadFiles(Dictionary(uniqueKeysWithValues: texts), files)
            return try #require(result.map).rules.map(\.position)
        }
        #expect(try positions([0, 4]) == ["m.yaml:1", "n.yaml:1"])
        #expect(try positions([1, 0, 4]).first == "a/m.yaml:1")
        #expect(try positions([2, 3, 4]) == ["b/a/m.yaml:1", "c/a/m.yaml:1", "n.yaml:1"])
    }

    @Test("defaults count for rules before them too, and give way to the rule's own options")
    func defaults() throws {
        let map = try map(
            """
            substitutions:
              http://h/a: a
              http://h/b: { file: b, methods: [PUT], headers: { x-mock: null, X-B: b }, cors: auto }
              http://h/c: { redirect: "http://h/d" }
              http://h/d: { block: true }
              http://h/e/: e/
            defaults:
              methods: [POST]
              query: { v: 1 }
              status: 404
              headers: { X-Mock: "yes", X-A: a }
              cors: off
              delay: 1.5s
              rate: 64KiB/s
              bypass: never
              missing: 404
              when: origin-fails
              retain: pinned
              type: text/plain
              request-headers: { X: "*" }
            """)
        func rule(_ url: String, _ method: String) throws -> Rule? {
            var scratch = LookupScratch()
            return try map.match(url, method, [("X", "")], scratch: &scratch).map { map.rule($0.id) }
        }
        let first = try #require(try rule("http://h/a?v=1", "POST")?.options)
        #expect(try rule("http://h/a", "POST") == nil)
        #expect(try rule("http://h/a?v=1", "GET") == nil)
        #expect(first.headers.map(\.name) == ["X-Mock", "X-A"])
        #expect(first.status == 404)
        #expect(first.cors == .off)
        #expect(first.delay == .milliseconds(1500))
        #expect(first.rate == 65536)
        #expect(first.bypass == .never && first.isBypassGiven)
        #expect(first.missing == .notFound)
        #expect(first.when == .originFails)
        #expect(first.retain == .pinned)
        #expect(first.type?.description == "text/plain")
        let second = try #require(try rule("http://h/b?v=1", "PUT")?.options)
        #expect(second.headers.map(\.name) == ["X-A", "x-mock", "X-B"])
        #expect(second.headers.map(\.value) == [Array("a".utf8), nil, Array("b".utf8)])
        #expect(second.cors == .auto)
        #expect(try rule("http://h/c?v=1", "POST")?.status == 302)
        #expect(try rule("http://h/d?v=1", "POST")?.status == 404)
        #expect(try rule("http://h/e/x?v=1", "POST")?.options === first)
        #expect(try rule("http://h/e/x", "POST") == nil)
    }

    @Test("options have their documented defaults")
    func documentedDefaults() throws {
        let map = try rules("http://h/a: a", "http://h/b: { block: true }", "http://h/c: { redirect: \"/d\" }")
        let all = Array(map.rules)
        let options = all[0].options
        #expect(all.map(\.status) == [200, 403, 302])
        #expect(options.status == nil && options.type == nil && options.headers.isEmpty && options.rate == nil)
        #expect(options.cors == .auto && options.delay == .zero && options.bypass == .origin && !options.isBypassGiven)
        #expect(options.missing == .error && options.when == .always && options.retain == .whileUnchanged)
        #expect(options.allowedMethods == ["GET", "HEAD"])
        #expect(all[1].options.allowedMethods == [])
        #expect(all.map(\.dependency) == [.nothing, .nothing, .request])
        #expect(all.map(\.sourceName) == ["file", "block", "redirect"])
    }

    @Test("rules with equal options share one object")
    func sharing() throws {
        let map = try rules(
            "http://h/a: a", "http://h/b: { file: b, query: exact }", "http://h/c: { query: exact, file: c }",
            "http://h/d: { file: d, status: 201 }", "http://h/e: { status: 201, file: e }")
        let options = map.rules.map { ObjectIdentifier($0.options) }
        #expect(options[0] == options[1] && options[1] == options[2])
        #expect(options[3] == options[4] && options[2] != options[3])
    }

    @Test("where there is an error, all files that were read are told, since the mistake may be in any of them")
    func filesTried() throws {
        let result = loadFiles([
            "substitutions.yaml": "include: [a.yaml, b.yaml, gone.yaml]\nsubstitutions: {}",
            "a.yaml": "substitutions: { \"http://h/a/\": { sqlite: s.db, writes: memory } }",
            "b.yaml": "substitutions: { \"http://h/b/\": { sqlite: s.db, writes: file } }",
        ])
        #expect(result.map == nil && result.diagnostics.map(\.diagnostic.file) == ["b.yaml", "substitutions.yaml"])
        #expect(
            result.filesTried == [
                "/maps/substitutions.yaml", "/maps/a.yaml", "/maps/b.yaml", "/maps/gone.yaml",
            ])
    }

    @Test("files whose names are the same to readers alone are two")
    func equivalentNames() throws {
        let names = ["caf\u{e9}.yaml", "cafe\u{301}.yaml"]
        var files = memoryFiles([:])
        files.read = { path, _ in
            let number = names.firstIndex { path.utf8.elementsEqual("/maps/\($0)".utf8) } ?? 0
            let text = "substitutions: { \"http://h/\(number)\": { text: x } }"
            return .success(MapFileContents(bytes: Array(text.utf8)))
        }
        let result = SubstitutionMap.load(files: names, options: MapLoadOptions(fileSystem: files))
        let map = try #require(result.map)
        #expect(map.fileCount == 2 && map.ruleCount == 2)
    }

    @Test("a conflict about a database names the rule that says otherwise, in the file where it is")
    func conflictPlace() {
        let result = loadFiles([
            "substitutions.yaml": "include: [b.yaml]\nsubstitutions:\n  http://h/a/: { sqlite: s.db }\n",
            "b.yaml": """
            # one
            # two
            substitutions:
              http://h/b/: { sqlite: s.db, writes: memory, seed: a.sql }
              http://h/c/: { sqlite: s.db, writes: file, seed: b.sql }
            """,
        ])
        #expect(
            result.diagnostics.map(\.diagnostic.headline) == [
                "b.yaml:5:3: error: s.db has 'writes: memory' in line 4",
                "b.yaml:5:3: error: s.db has other seeds in line 4",
            ])
    }

    @Test("seeds of a database are the same where they are the same files")
    func seedPlaces() {
        func found(_ seed: String) -> [String] {
            loadFiles([
                "substitutions.yaml": """
                root: a
                include: [b.yaml]
                substitutions:
                  http://h/a/: { sqlite: b/s.db, writes: memory, seed: \(seed) }
                """,
                "b.yaml": """
                root: a/b
                substitutions:
                  http://h/b/: { sqlite: s.db, writes: memory, seed: s.sql }
                """,
            ]).diagnostics.map(\.diagnostic.headline).filter { $0.contains("error") }
        }
        #expect(found("b/s.sql") == [])
        #expect(found("s.sql") == ["b.yaml:3:3: error: s.db has other seeds in substitutions.yaml:4"])
    }

    @Test("an include loop is an error with its chain")
    func loop() {
        let result = loadFiles([
            "substitutions.yaml": "include: [a/b.yaml]\nsubstitutions: {}",
            "a/b.yaml": "include: [../c.yaml]",
            "c.yaml": "substitutions: {}\n# a comment\ninclude:\n  - ok.yaml\n  - a/../a/b.yaml",
            "ok.yaml": "substitutions: { \"http://h/a\": a }",
        ])
        #expect(result.map == nil)
        #expect(
            result.diagnostics.filter(\.isError).map(\.rendering) == [
                """
                a/../c.yaml:5:5: error: an include loop: a/b.yaml → a/../c.yaml → a/b.yaml
                  - a/../a/b.yaml
                    ^~~~~~~~~~~~~
                """
            ])
        let own = loadFiles(["substitutions.yaml": "include: [./substitutions.yaml]\nsubstitutions: {}"])
        #expect(
            own.diagnostics.map(\.diagnostic.message).contains(
                "an include loop: substitutions.yaml → substitutions.yaml"))
    }

    @Test("a file that is included twice without a loop, or named twice, is read once")
    func diamond() throws {
        let result = loadFiles(
            [
                "substitutions.yaml": "include: [b.yaml, c.yaml]",
                "b.yaml": "include: [d.yaml]\nsubstitutions: { \"~a\": { text: b } }",
                "c.yaml": "include: [d.yaml]\nsubstitutions: { \"~a.\": { text: c } }",
                "d.yaml": "substitutions: { \"~a..\": { text: d } }",
            ], ["substitutions.yaml", "./substitutions.yaml", "d.yaml"])
        let map = try #require(result.map)
        #expect(result.diagnostics.isEmpty)
        #expect(map.files == ["/maps/substitutions.yaml", "/maps/b.yaml", "/maps/d.yaml", "/maps/c.yaml"])
        #expect(map.rules.map(\.sourceText).count == 3)
        #expect(map.rules.map(\.position) == ["b.yaml:2", "d.yaml:1", "c.yaml:2"])
    }

    @Test("files that can't be read are errors where they are included, or of their own")
    func unreadable() {
        let result = loadFiles(
            ["substitutions.yaml": "substitutions: {}\ninclude: [missing.yaml, folder]"],
            ["substitutions.yaml", "other.yaml", "other.har", "folder"], existing: ["/maps/folder": .folder])
        #expect(
            result.diagnostics.filter(\.isError).map(\.rendering) == [
                """
                substitutions.yaml:2:11: error: the file 'missing.yaml' does not exist
                include: [missing.yaml, folder]
                          ^~~~~~~~~~~~
                """,
                """
                substitutions.yaml:2:25: error: the file 'folder' is a folder; a map is a file
                include: [missing.yaml, folder]
                                        ^~~~~~
                """,
                "other.yaml: error: the map does not exist",
                "other.har: error: the archive does not exist",
            ])
    }

    @Test("errors of all files are reported at once")
    func allFiles() {
        let result = loadFiles(
            [
                "substitutions.yaml": "include: [b.yaml]\nsubstitutions: { \"x\": x }", "b.yaml": "substitutions: [",
                "c.yaml": "substitutions: { \"http://h/a\": { fil: a } }",
            ], ["substitutions.yaml", "c.yaml"])
        #expect(result.diagnostics.map(\.diagnostic.file) == ["substitutions.yaml", "b.yaml", "c.yaml"])
        #expect(result.map == nil)
    }

    @Test("a URL of an included file that the including file has too is warned of, and comes second")
    func acrossFiles() throws {
        let result = loadFiles([
            "substitutions.yaml":
                "include: [sub/b.yaml]\nsubstitutions:\n  http://h/a: { text: post, methods: [POST] }\n  http://h/d/: d/\n  ~e: e",
            "sub/b.yaml": "substitutions:\n  HTTP://h/a: b\n  http://h/d/: d2/\n  ~e: e2\n  http://h/new: new",
        ])
        let map = try #require(result.map)
        #expect(
            result.diagnostics.map(\.diagnostic.headline) == [
                "sub/b.yaml:2:3: warning: this URL is in substitutions.yaml:3 too, which is tried first; normalised it is http://h/a",
                "sub/b.yaml:3:3: warning: this URL is in substitutions.yaml:4 too, which is tried first",
                "sub/b.yaml:4:3: warning: this regular expression is in substitutions.yaml:5 too, which is tried first",
            ])
        #expect(map.warnings == result.diagnostics)
        #expect(try map.answer("http://h/a", "POST") == "text/plain; charset=utf-8: post")
        #expect(try map.answer("http://h/a") == "b")
        #expect(try map.answer("http://h/d/x") == "d/x")
    }

    @Test("a URL with a query that two files have is tried in the order that its warning says")
    func queriesAcrossFiles() throws {
        func loaded(_ first: String, _ second: String) throws -> (map: SubstitutionMap, headlines: [String]) {
            let result = loadFiles(
                [
                    "a.yaml": "substitutions:\n  http://h/a?p=1&q=2: { text: first, query: \(first) }",
                    "b.yaml": "substitutions:\n  http://h/a?q=2&p=1: { text: second, query: \(second) }",
                ], ["a.yaml", "b.yaml"])
            return (try #require(result.map), result.diagnostics.map(\.diagnostic.headline))
        }
        let conditions = ["exact", "{ p: \"*\" }", "ignore"]
        for (first, second) in conditions.flatMap({ first in conditions.map { (first, $0) } }) {
            let isSecondFirst = first == "ignore" && second != "ignore"
            let (map, headlines) = try loaded(first, second)
            let order = isSecondFirst ? "after this one" : "first"
            let warnings = headlines.filter { $0.contains("this URL is in") }
            #expect(warnings == ["b.yaml:2:3: warning: this URL is in a.yaml:2 too, which is tried \(order)"])
            let answer = try map.answer("http://h/a?p=1&q=2")
            #expect(answer.hasSuffix(isSecondFirst ? "second" : "first"), "\(first), then \(second)")
        }
        let (map, _) = try loaded("{ p: \"*\" }", "exact")
        #expect(try map.answer("http://h/a?q=2&p=1&r=3").hasSuffix("first"))
    }

    @Test("a root that does not exist is a warning, one that is a file an error")
    func missingRoot() {
        let text = "root: bundle\nsubstitutions: { \"http://h/a\": a }"
        func found(_ existing: [String: MappedKind]) -> [String] {
            loadFiles(["substitutions.yaml": text], existing: existing).diagnostics.map(\.diagnostic.headline)
        }
        #expect(
            found(["/maps/x": .file]) == [
                "substitutions.yaml:1:7: warning: the folder '/maps/bundle' does not exist"
            ])
        #expect(found(["/maps/bundle": .file]) == ["substitutions.yaml:1:7: error: '/maps/bundle' is no folder"])
        #expect(found(["/maps/bundle": .folder]) == [])
    }

    @Test("a file is refused by its size, and so many files at once")
    func limits() {
        var options = MapLoadOptions(fileSystem: memoryFiles(["/maps/a": "include: [b]", "/maps/b": "include: [c]"]))
        options.limits.inputBytes = 10
        let tooLarge = SubstitutionMap.load(files: ["a"], options: options).diagnostics
        #expect(tooLarge.map(\.rendering) == ["a: error: the map has more than 10 bytes, the most that is read"])
        options = MapLoadOptions(maximumFiles: 1, fileSystem: options.fileSystem)
        let tooMany = SubstitutionMap.load(files: ["a"], options: options).diagnostics
        #expect(tooMany.map(\.diagnostic.message) == ["more than 1 map files, or includes deeper than 64"])
    }

    @Test("hosts are named once, with their ports, and intercept patterns in lower case")
    func hosts() throws {
        let map = try map(
            """
            intercept: ["*.Corp.example", www.example.com, "[::1]", "*.corp.example"]
            substitutions:
              http://a/x: x
              http://a/y: y
              https://b:8443/: b/
              https://*.c/: "1"
              https://a/x: x
              //d/: d/
              http://a/z?q=//e/: z
              assets://f/x: x
              "//g:*/x": x
              http://[::1]:81/: six/
              ~^https://h/: { text: h }
            """)
        #expect(map.interceptPatterns == ["*.corp.example", "www.example.com", "[::1]"])
        for (host, line) in [("b", 5), ("*.c", 6), ("a", 7), ("d", 8), ("g", 11), ("*.corp.example", 1), ("[::1]", 1)] {
            #expect(map.positionOfInterception(of: host)?.hasSuffix(":\(line)") == true, "\(host)")
        }
        #expect(map.positionOfInterception(of: "f") == nil)
        #expect(
            map.namedHosts().map { "\($0.scheme) \($0.host) \($0.port.map(String.init) ?? ($0.isAnyPort ? "*" : "-"))" }
                == [
                    "http a 80", "https b 8443", "https *.c 443", "https a 443", "http d 80", "https d 443",
                    "assets f -",
                    "http g *", "https g *", "http [::1] 81",
                ])
        #expect(map.hasExpressions)
    }

    @Test("a block is passed by for nothing, whatever the defaults are")
    func blocks() throws {
        let map = try map(
            """
            defaults: { bypass: origin, when: origin-fails }
            substitutions:
              http://h/a: { block: true }
              http://h/b: { block: true, bypass: never, when: always }
              http://h/c: { text: c }

            """)
        let options = map.rules.map(\.options)
        #expect(options.map(\.bypass) == [.never, .never, .origin])
        #expect(options.map(\.isBypassOwn) == [true, true, false])
        #expect(options.map(\.when) == [.always, .always, .originFails])
    }
}
