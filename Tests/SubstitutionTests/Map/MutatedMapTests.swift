import HTTPSemantics
import NIOCore
import Substitution
import Testing

/// Maps and URLs with random damage: refused or loaded, never a trap.
struct MutatedMapTests {
    private static let text = """
        root: bundle
        include: [a.yaml, "../b.yaml"]
        defaults: { query: { v: "1*" }, headers: { X-A: b, Y: null }, methods: [GET, POST], delay: 1ms }
        intercept: ["*.corp.example", "[::1]"]
        substitutions:
          http://h/a%20b/?x=1&y=2#f: a/b.png
          https://u@*.h:8*/img/**/*.png?v=*: img/$2/${3}.png
          ~^https?://api\\.h/(?<n>v\\d+)[a-z]*$: u-${n}-$1.json
          //h:443/f/: f/../g/
          assets://e: "t$$\\u00e9.jpg"
          http://h/s:
            - { json: { a: [1, 2.5, ~] }, status: 201, request-headers: { A: "*b" }, rate: 64KiB/s }
            - { base64: eA==, type: text/html }
            - forward: "http://o/$$x?y"
            - { redirect: "/r", status: 301, cors: off, retain: pinned }
            - { block: true, bypass: never, missing: 404, when: origin-fails }
          http://h/t/*: { answers: [{ file: $1, times: 2 }, b, { redirect: /$1, delay: 1ms }, { text: t }], repeat: cycle }
        """
    private static let alphabet = Array("~*/:?#@[]{}()|\\$%&!<,.-+='\" \n\tax01é\u{0}".utf8)

    private static func mutated(_ bytes: [UInt8], _ generator: inout PrecedenceModelTests.Generator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
            let index = Int.random(in: 0..<bytes.count, using: &generator)
            let byte = alphabet.randomElement(using: &generator) ?? 0
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes.remove(at: index)
            case 1: bytes.insert(byte, at: index)
            case 2: bytes[index] = UInt8.random(in: 0...255, using: &generator)
            default: bytes[index] = byte
            }
        }
        return bytes
    }

    @Test("a damaged map is refused or loaded, and answers or does not", arguments: 0..<8)
    func damagedMaps(_ seed: Int) throws {
        var generator = PrecedenceModelTests.Generator(state: UInt64(seed) &+ 77)
        let urls = [
            "http://h/a%20b/?y=2&x=1&v=1", "https://a.h:81/img/x/y.png?v=1", "http://api.h/v1?v=1", "http://h/s?v=1",
            "http://h/t/u?v=1",
        ]
        var loaded = 0
        for round in 0..<250 {
            let bytes = round == 0 ? Array(Self.text.utf8) : Self.mutated(Array(Self.text.utf8), &generator)
            let files = MapFileSystem(
                read: { path, _ in
                    path == "/m/map.yaml"
                        ? .success(MapFileContents(bytes: bytes))
                        : .success(MapFileContents(bytes: Array("substitutions: { \"http://i/\": i/ }".utf8)))
                }, kind: { _, _ in nil }, absolutePath: { "/m/" + $0 }, identity: { $0 })
            let result = SubstitutionMap.load(files: ["map.yaml"], options: MapLoadOptions(fileSystem: files))
            #expect((result.map == nil) == result.hasErrors)
            guard let map = result.map else { continue }
            loaded += 1
            _ = map.checkFiles()
            _ = map.namedHosts()
            var scratch = LookupScratch()
            for url in urls {
                let uri = try TargetURI(url)
                _ = map.explain(uri, method: RequestMethod(.get), fields: FieldSection(), scratch: &scratch)
            }
        }
        #expect(loaded > 10)
    }

    @Test("a host of digits, letters of numbers, dots and stars is refused or loaded")
    func damagedHosts() throws {
        var generator = PrecedenceModelTests.Generator(state: 11)
        let alphabet = Array("0017af9x*.".utf8)
        var loaded = 0
        for _ in 0..<2000 {
            let count = Int.random(in: 1...16, using: &generator)
            let host = (0..<count).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
            let result = SubstitutionMap.load(
                text: "substitutions: { \"http://\(String(decoding: host, as: UTF8.self))/\": x/ }")
            #expect((result.map == nil) == result.hasErrors)
            if result.map != nil { loaded += 1 }
        }
        #expect(loaded > 500)
    }

    @Test("a damaged URL is looked up and resolved")
    func damagedURLs() throws {
        let map = try rules(
            "http://h/a/: a/", "http://*.h/**: $1/$2", "~/(.*)\\.(.*)$: { forward: \"http://o/$1?$2\" }",
            "http://h/q?x=1&y=2: q", "http://h/b/: { forward: \"http://o\" }",
            "http://h/c/: { redirect: \"http://o/\" }")
        var generator = PrecedenceModelTests.Generator(state: 5)
        var scratch = LookupScratch()
        let urls = [
            "http://h/a/b%20c/../d.x", "http://x.h/a//b/", "http://h/q?y=2&x=1", "http://h/b/x?y", "http://h/c/x?y",
        ]
        for _ in 0..<4000 {
            let bytes = Self.mutated(Array((urls.randomElement(using: &generator) ?? "").utf8), &generator)
            guard let uri = try? TargetURI(absolute: ByteBuffer(bytes: bytes)) else { continue }
            let explanation = map.explain(
                uri, method: RequestMethod(.get), fields: FieldSection(), scratch: &scratch)
            guard case .file(_, let path) = explanation.answer?.source else { continue }
            let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            #expect(!path.contains(0) && !segments.contains { $0.isEmpty || $0.elementsEqual("..".utf8) })
        }
    }
}
