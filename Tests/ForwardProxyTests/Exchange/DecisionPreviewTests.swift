import Files
import ForwardProxy
import Foundation
import HTTPSemantics
import NIOCore
import ProxyTestKit
import Substitution
import Testing

@Suite("What is told of a request beforehand is what it gets")
struct DecisionPreviewTests {
    @Test("for random maps and requests", arguments: 0..<24)
    func property(seed: Int) throws {
        var random = Choices(seed: UInt64(seed))
        let origin = try Self.origin()
        let isOffline = random.isTrue(1, of: 4)
        let bypass = random.isTrue(1, of: 3) ? random.one(of: RuleOptions.Bypass.allCases) : nil
        let proxy = try TestProxy(Self.map(&random, origin.port), files: ["f.txt": "a file"]) { configuration in
            configuration.isOffline = isOffline
            configuration.bypass = bypass
            configuration.logFormat = .json
        }
        let map = try #require(SubstitutionMap.load(files: ["\(proxy.folder)/m.yaml"]).map)
        var settings = DecisionPreview.Settings()
        settings.isOffline = isOffline
        settings.bypass = bypass
        settings.listeners = proxy.server.addresses
        var told: [Told] = []
        for _ in 0..<40 {
            let request = Request(&random, origin: origin.port, proxy: proxy.port)
            let expected = try Told(request, map, settings)
            let socket = try proxy.connect()
            try socket.sendRequest(
                request.method, request.url, fields: request.fields + ["Connection: close"], body: request.body)
            let response = try socket.receiveResponse(to: request.method)
            let preview = expected.preview
            if let status = preview.status { #expect(response.status == status, "\(expected)") }
            let cacheStatus = response.field("Cache-Status")
            let isSame = cacheStatus == preview.cacheStatus
            // What an origin has answered adds to it.
            let isMore = preview.cacheStatus.map { cacheStatus?.hasPrefix("\($0);") == true } ?? false
            #expect(isSame || isMore, "\(cacheStatus ?? "none"), told \(expected)")
            told.append(expected)
        }
        let lines = try proxy.stopAndReadLog().split(separator: "\n")
        #expect(lines.count == told.count)
        for (line, expected) in zip(lines, told) {
            let entry = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(entry["outcome"] as? String == expected.preview.outcome, "\(expected): \(line)")
            if let rule = expected.rule { #expect(entry["rule"] as? String == rule, "\(expected): \(line)") }
        }
    }

    @Test(
        "for CONNECT",
        arguments: [
            ("https://m.test/", false, "tunnelled", 200), ("https://m.test/", true, "tunnelled", 200),
            ("https://m.test:8443/", true, "failed", 504), ("https://other.test/", true, "failed", 504),
            ("https://other.test:22/", false, "refused", 403),
        ])
    func connect(url: String, isOffline: Bool, outcome: String, status: Int) throws {
        let text = "substitutions:\n  https://m.test/x: { text: x }\n"
        let map = try #require(SubstitutionMap.load(text: text).map)
        var settings = DecisionPreview.Settings()
        settings.isOffline = isOffline
        let preview = DecisionPreview(
            try TargetURI(url), method: RequestMethod(.connect), fields: FieldSection(), map: map, settings: settings)
        #expect(preview.outcome == outcome)
        #expect(preview.isDecrypted == (outcome == "tunnelled"))
        #expect(preview.status == status)
        #expect(preview.cacheStatus == nil)
        let proxy = try TestProxy(text) { $0.isOffline = isOffline }
        let socket = try proxy.connect()
        let uri = try TargetURI(url)
        try socket.send("CONNECT \(uri.host):\(uri.port) HTTP/1.1\r\nHost: \(uri.host):\(uri.port)\r\n\r\n")
        #expect(try socket.receiveResponseHead().status == status)
    }

    @Test("a preflight that a rule answers names the rule")
    func preflight() throws {
        let map = try #require(SubstitutionMap.load(text: "substitutions:\n  http://m.test/x: { text: x }\n").map)
        var fields = FieldSection()
        fields.append(name: "Origin".utf8, value: "http://a.test".utf8)
        fields.append(name: "Access-Control-Request-Method".utf8, value: "GET".utf8)
        func rule(_ url: String, _ method: Method) throws -> String? {
            DecisionPreview(try TargetURI(url), method: RequestMethod(method), fields: fields, map: map)
                .preflightRule?.position
        }
        #expect(try rule("http://m.test/x", .options)?.hasSuffix(":2") == true)
        #expect(try rule("http://m.test/x", .get) == nil)
        #expect(try rule("http://m.test/y", .options) == nil)
    }

    @Test("with --offline a request for another protocol reaches no origin")
    func offlineUpgrade() throws {
        let origin = try ScriptedOrigin(body: "ok")
        let proxy = try TestProxy { $0.isOffline = true }
        let socket = try proxy.connect()
        try socket.sendRequest(
            "GET", "http://127.0.0.1:\(origin.port)/", fields: ["Upgrade: other", "Connection: Upgrade, close"])
        #expect(try socket.receiveResponse().status == 504)
        #expect(origin.requests.isEmpty)
    }

    /// An origin that answers everything, and lets nothing be stored.
    private static func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request, isKept: false)
            let head = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\n"
            try connection.socket.send(request.text.hasPrefix("HEAD ") ? head : "\(head)ok")
            return true
        }
    }

    private static func map(_ random: inout Choices, _ port: UInt16) -> String {
        var lines = ["substitutions:"]
        for path in ["a", "b", "c", "d", "e", "d/", "*.txt"] where random.isTrue(3, of: 4) {
            let host = random.one(of: ["http://127.0.0.1:\(port)", "http://127.0.0.1:\(port)", "assets://local"])
            var options = [
                random.one(of: [
                    "file: f.txt", "file: nope.txt, missing: error", "file: nope.txt, missing: 404",
                    "file: nope.txt, missing: forward", "text: a text", "text: a text, status: 201", "json: { a: 1 }",
                    "base64: aGVsbG8=", "forward: true", "forward: \"http://127.0.0.1:\(port)/other\"",
                    "redirect: /elsewhere", "redirect: \"http://other.test/\"", "block: true",
                    "answers: [{ text: a, status: 202 }]", "answers: [nope.txt], missing: forward",
                    "answers: [{ forward: true }], repeat: cycle",
                ])
            ]
            let isBlock = options[0].hasPrefix("block")
            if path == "d/", options[0].hasPrefix("file") {
                options[0] = "file: ./" + options[0].drop { $0 != "," }
            }
            if random.isTrue(1, of: 3) { options.append("cors: off") }
            if random.isTrue(1, of: 4), !isBlock {
                options.append("bypass: \(random.one(of: RuleOptions.Bypass.allCases).rawValue)")
            }
            if random.isTrue(1, of: 5) { options.append("when: origin-fails") }
            if random.isTrue(1, of: 4) {
                options.append("methods: [\(random.one(of: ["POST", "GET, OPTIONS", "GET, OPTIONS", "PUT"]))]")
            }
            lines.append("  \"\(host)/\(path)\": { \(options.joined(separator: ", ")) }")
        }
        lines.append("  http://unused.test/: { text: unused }")
        return lines.joined(separator: "\n") + "\n"
    }

    /// A request, as a client sends it.
    private struct Request {
        let method: String
        let url: String
        var fields: [String] = []
        var body: String?

        init(_ random: inout Choices, origin: UInt16, proxy: UInt16) {
            method = random.one(of: [
                "GET", "GET", "GET", "GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "TRACE", "PROPFIND",
            ])
            let path = random.one(of: [
                "a", "b", "c", "d", "e", "d/f.txt", "d/none", "x.txt", "z", "a?q=1", "d/a%5Cb",
                // No file can have a name so long.
                "d/" + String(repeating: "n", count: 300),
            ])
            url = random.one(of: [
                "http://127.0.0.1:\(origin)/\(path)", "http://127.0.0.1:\(origin)/\(path)", "assets://local/\(path)",
                "https://127.0.0.1:9/\(path)",
                "http://127.0.0.1:\(proxy)\(random.one(of: ["", "/", "/healthz", "/proxy.pac", "/nope"]))",
            ])
            let all: [[String]] = [
                ["Cache-Control: no-cache"], ["Pragma: no-cache"], ["Cache-Control: only-if-cached"],
                ["Cache-Control: max-age=0"], ["Cache-Control: no-store"], ["Expect: something"],
                ["Origin: http://o.test", "Access-Control-Request-Method: GET"],
                ["Origin: http://o.test", "Access-Control-Request-Method: PUT"], ["Origin: http://o.test"],
                ["Max-Forwards: 0"], ["Upgrade: other", "Connection: Upgrade"], ["Range: bytes=0-0"],
                ["If-None-Match: *"], ["Authorization: Basic YTpi"],
            ]
            for _ in 0..<3 where random.isTrue(1, of: 2) {
                for field in random.one(of: all) where !fields.contains(where: { $0.prefix(8) == field.prefix(8) }) {
                    fields.append(field)
                }
            }
            if random.isTrue(1, of: 6), method != "TRACE" { body = "abc" }
        }
    }

    /// What is told of a request, as `explain` puts it together.
    private struct Told: CustomStringConvertible {
        let request: Request
        let preview: DecisionPreview
        /// The rule that the log is to name, where one matches.
        let rule: String?

        init(_ request: Request, _ map: SubstitutionMap, _ settings: DecisionPreview.Settings) throws {
            self.request = request
            let uri = try TargetURI(request.url)
            let method = Array(request.method.utf8).withUnsafeBytes { RequestMethod($0) }
            var fields = FieldSection()
            for field in request.fields + (request.body == nil ? [] : ["Content-Length: 3"]) {
                let parts = field.split(separator: ":", maxSplits: 1)
                fields.append(name: Array(parts[0].utf8), value: Array(parts[1].dropFirst().utf8))
            }
            var scratch = LookupScratch()
            let explanation = map.explain(uri, method: method, fields: fields, scratch: &scratch)
            var preview = DecisionPreview(uri, method: method, fields: fields, map: map, settings: settings)
            if let answer = explanation.answer?.first, case .file(let root, let path) = answer.source {
                do throws(FileRefusal) {
                    _ = try FolderRoot(path: root).identity(of: path)
                } catch {
                    preview = preview.refusing(error, path: path, rule: answer.rule)
                }
            }
            self.preview = preview
            // A preflight is answered by the rule for the method that it asks about.
            rule = preview.status == 204 ? nil : explanation.answer?.rule.position
        }

        var description: String {
            "\(request.method) \(request.url) \(request.fields): \(preview.outcome) \(preview.status ?? 0) \(preview.sentence)"
        }
    }
}

/// Random choices that a seed decides, so that a failure comes again.
private struct Choices {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: (seed &+ 1) &* 0xd134_2543_de82_ef95) }

    mutating func isTrue(_ count: UInt64, of all: UInt64) -> Bool { generator.next() % all < count }

    mutating func one<Element>(of all: [Element]) -> Element { all[Int(generator.next() % UInt64(all.count))] }
}
