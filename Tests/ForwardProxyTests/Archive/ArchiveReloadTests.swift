import Glibc
import HTTPSemantics
import ProxyTestKit
import Substitution
import Testing

@testable import ForwardProxy

@Suite("Archives over a reload")
struct ArchiveReloadTests {
    private static func entry(
        _ url: String, _ text: String, method: String = "GET", isFile: Bool = false
    ) -> String {
        """
        {"startedDateTime":"2026-01-01T00:00:00Z","time":1,\
        "request":{"method":"\(method)","url":"\(url)","headers":[]},\
        "response":{"status":200,"statusText":"","redirectURL":"","headers":[],\
        "content":{"size":1,"mimeType":"text/plain","\(isFile ? "_file" : "text")":"\(text)"}}}
        """
    }

    private static func har(_ entries: String...) -> String {
        "{\"log\":{\"version\":\"1.2\",\"entries\":[\(entries.joined(separator: ",\n"))]}}"
    }

    private func reload(_ proxy: TestProxy) throws {
        var options = MapLoadOptions()
        options.knownArchives = proxy.server.map.archives
        let loaded = SubstitutionMap.load(files: ["\(proxy.folder)/m.yaml"], options: options)
        proxy.server.adopt(try #require(loaded.map))
    }

    @Test("retain: pinned keeps bodies in files of their own as they were read first")
    func pinned() throws {
        let map = """
            archives: [{ file: a.har, retain: pinned }, { file: r, retain: pinned }, { file: b.har }]
            root: .
            substitutions:
              http://f.test/f: { file: f.txt, retain: pinned }

            """
        let proxy = try TestProxy(
            map,
            files: [
                "a.har": Self.har(
                    Self.entry("http://a.test/", "a.txt", isFile: true),
                    Self.entry("http://a.test/later", "later.txt", isFile: true),
                    Self.entry("http://a.test/new", "new.txt", isFile: true)), "a.txt": "first", "later.txt": "first",
                "r/recording.yaml": "- url: http://r.test/\n  file: r.txt\n", "r/r.txt": "first",
                "b.har": Self.har(Self.entry("http://b.test/", "b.txt", isFile: true)), "b.txt": "first",
                "f.txt": "first",
            ])
        let urls = ["http://a.test/", "http://r.test/", "http://f.test/f", "http://b.test/"]
        func texts() throws -> [String] { try urls.map { try proxy.exchange("GET", $0).body } }
        #expect(try texts() == ["first", "first", "first", "first"])
        for name in ["a.txt", "r/r.txt", "f.txt", "b.txt", "later.txt"] { try proxy.write("second", to: name) }
        #expect(try texts().dropLast() == ["first", "first", "first"])
        for _ in 0..<2 {
            try reload(proxy)
            #expect(try texts() == ["first", "first", "first", "second"])
        }
        // What nobody has asked for was not read.
        #expect(try proxy.exchange("GET", "http://a.test/later").body == "second")
        #expect(try proxy.exchange("GET", "http://a.test/new").status != 200)
        // A file that comes is one that was never read; and what is in it is read then.
        try proxy.write("new", to: "new.txt")
        try reload(proxy)
        #expect(try proxy.exchange("GET", "http://a.test/new").body == "new")
        // Another archive has other bodies.
        try proxy.write("- url: http://r.test/\n  file: r.txt\n# more\n", to: "r/recording.yaml")
        try reload(proxy)
        #expect(try proxy.exchange("GET", "http://r.test/").body == "second")
    }

    @Test("An entry that has answered before its archive was replaced is not among the unused ones")
    func report() throws {
        let report = ReplayReport()
        let poll = ["one", "two", "three"].map { Self.entry("http://a.test/poll", $0) }
        let proxy = try TestProxy(
            "archives: [a.har]\n",
            files: [
                "a.har": Self.har(
                    Self.entry("http://a.test/x", "x"), Self.entry("http://a.test/y", "y"), poll[0], poll[1], poll[2])
            ]
        ) { $0.replay = report }
        func answered() throws -> Set<Int> { report.answered(try #require(proxy.server.map.archives.first)) }
        #expect(try proxy.exchange("GET", "http://a.test/x").body == "x")
        #expect(
            try ["one", "two"].map { _ in try proxy.exchange("GET", "http://a.test/poll").body } == ["one", "two"])
        #expect(try answered() == [0, 2, 3])
        // Others come before and between them, and one goes.
        try proxy.write(
            Self.har(
                Self.entry("http://a.test/new", "new"), poll[0], Self.entry("http://a.test/y", "y"), poll[1],
                Self.entry("http://a.test/x", "x", method: "POST"), Self.entry("http://a.test/x", "x")),
            to: "a.har")
        try reload(proxy)
        #expect(try answered() == [1, 3, 5])
        #expect(try proxy.exchange("GET", "http://a.test/poll").body == "one")
        #expect(try proxy.exchange("GET", "http://a.test/new").body == "new")
        #expect(try answered() == [0, 1, 3, 5])
        try proxy.write(Self.har(Self.entry("http://a.test/y", "y"), poll[0]), to: "a.har")
        try reload(proxy)
        #expect(try answered() == [1])
        #expect(report.answers("exact") == 5)
    }

    @Test("Who asks under many names has nobody else's sequence begin anew")
    func crowd() throws {
        let poll = ["one", "two", "three"].map { Self.entry("http://a.test/poll", $0) }
        let proxy = try TestProxy("archives: [a.har]\n", files: ["a.har": Self.har(poll[0], poll[1], poll[2])])
        let found = proxy.server.map.findArchived(
            try TargetURI("http://a.test/poll"), method: RequestMethod(.get), hasBody: false, hasRange: false)
        guard case .found(let candidates) = found else {
            Issue.record("not found")
            return
        }
        let sequences = ClientSequences()
        func take(_ address: String, _ user: String? = nil) -> Int {
            let client = TurnClient(address: address, user: user.map { Array($0.utf8) })
            return sequences.take([0, 1, 2], of: candidates, for: client, counts: true)
        }
        #expect(take("192.0.2.1") == 0)
        for number in 0..<ClientSequences.capacity + 200 { #expect(take("198.51.100.1", "\(number)") == 0) }
        #expect(sequences.counts.clients == ClientSequences.capacity)
        #expect(take("192.0.2.1") == 1 && take("198.51.100.1", "1100") == 1 && take("198.51.100.1", "0") == 0)
    }
}
