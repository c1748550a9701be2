import Foundation
import Glibc
import ProxyTestKit
import Testing

/// The built program with rules that give several answers in turn, and curl as the client.
@Suite("Answers in turn", .onThreads)
struct AnswersInTurnTests {
    private static let polling =
        "{ answers: [{ json: { state: queued }, status: 202, times: 2 }, { json: { state: done } }], repeat: last }"

    private func serve(_ rules: String = "http://api.test/jobs/7: \(polling)", options: [String] = []) throws
        -> ServedMap
    {
        try ServedMap(rules, options: ["--offline"] + options)
    }

    /// The status of each of several requests by curl.
    private func curl(_ served: ServedMap, _ count: Int, as user: String = "", _ arguments: [String] = []) throws
        -> [Int]
    {
        let name = user.isEmpty ? "" : "\(user)@"
        return try (0..<count).map { _ in
            let finished = try ChildProcess.run(
                [
                    "curl", "--disable", "--silent", "--show-error", "--max-time", "300", "--noproxy", "", "--output",
                    "/dev/null", "--write-out", "%{http_code}", "-x", "http://\(name)127.0.0.1:\(served.binary.port)",
                ] + (arguments.isEmpty ? ["http://api.test/jobs/7"] : arguments))
            return try #require(Int(finished.output), "\(finished.error)")
        }
    }

    @Test("curl polls a job, as several workers, and begins anew after a reset")
    func polling() throws {
        let served = try serve()
        #expect(try curl(served, 4) == [202, 202, 200, 200])
        #expect(try curl(served, 3, as: "worker-1") == [202, 202, 200])
        #expect(try curl(served, 1, as: "worker-2") == [202])
        let reset = ["-X", "POST", "http://127.0.0.1:\(served.binary.port)/reset?mine"]
        #expect(try curl(served, 1, as: "worker-1", reset) == [204])
        #expect(try curl(served, 1, as: "worker-1") == [202])
        #expect(try curl(served, 1) == [200])
        #expect(try curl(served, 1, as: "", ["-X", "POST", "http://127.0.0.1:\(served.binary.port)/reset"]) == [204])
        #expect(try curl(served, 3) == [202, 202, 200])
        #expect(try curl(served, 1, as: "worker-2") == [202])
    }

    @Test("An edit of another rule leaves the turns, an edit of the rule begins them anew")
    func edits() throws {
        let served = try serve("http://api.test/jobs/7: \(Self.polling)\nhttp://api.test/v: { text: first }")
        #expect(try curl(served, 3) == [202, 202, 200])
        func edit(_ old: String, _ new: String, until isInForce: () throws -> Bool) throws {
            let map = try String(contentsOfFile: served.mapPath, encoding: .utf8)
            try map.replacing(old, with: new).write(toFile: served.mapPath, atomically: true, encoding: .utf8)
            try Wait.until(isInForce)
        }
        try edit("first", "second") { try served.binary.get("http://api.test/v").text == "second" }
        #expect(try curl(served, 1) == [200])
        try edit("status: 202", "status: 203") {
            try served.binary.exchange("HEAD", "http://api.test/jobs/7").status == 203
        }
        #expect(try curl(served, 3) == [203, 203, 200])
    }

    @Test("In a decrypted tunnel the client is the one that asked for the tunnel, over HTTP/1.1 and HTTP/2")
    func tunnels() throws {
        let proxy = try DecryptingProxy("//api.test/jobs/7: \(Self.polling)", workshop: try CertificateWorkshop())
        func fetch(_ user: String, _ version: String, _ url: String = "https://api.test/jobs/7") throws -> String {
            let finished = try proxy.fetch(
                url,
                [
                    version, "--output", "/dev/null", "--write-out", "%{http_code} ", "-x",
                    "http://\(user)127.0.0.1:\(proxy.port)", "--header", "Proxy-Authorization: Basic aW5uZXI6",
                ])
            return "\(finished.output)\(finished.error)"
        }
        // curl sends the field of the command line to the proxy for a CONNECT only without a name of its own.
        #expect(try fetch("worker-1:@", "--http1.1") == "202 ")
        #expect(try fetch("worker-1:@", "--http2") == "202 ")
        #expect(try fetch("worker-1:@", "--http1.1") == "200 ")
        #expect(try fetch("worker-2:@", "--http2") == "202 ")
    }

    @Test("explain and check say what comes when, and count nothing")
    func commands() throws {
        let folder = TemporaryFolder()
        let map = try folder.write(
            "m.yaml",
            """
            substitutions:
              http://api.test/jobs/7:
                answers:
                  - { json: { state: queued }, status: 202, times: 2 }
                  - done.json
                repeat: cycle

            """)
        let text = try SubproxyProcess.run(["explain", "--map", map, "http://api.test/jobs/7"])
        #expect(text.status == 0)
        for line in [
            "m.yaml:2 answers with 2 answers, each client's in turn\n",
            "  requests 1 to 2 of a client: 18 bytes of application/json with status 202, m.yaml:4\n",
            "  request 3 of a client: the file \(folder.path)/done.json with status 200, m.yaml:5\n",
            "  request 4 of a client: as request 1\n", "outcome: substituted: the rule answers\n", "  status: 202\n",
            "  Cache-Status: subproxy; hit; detail=\"m.yaml:4\"",
        ] {
            #expect(text.output.contains(line), "\(line) in \(text.output)")
        }
        let json = try SubproxyProcess.run(["explain", "--map", map, "http://api.test/jobs/7", "--json"])
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any], "\(json.output)")
        let rule = try #require(document["rule"] as? [String: Any])
        #expect(rule["source"] as? String == "answers" && rule["repeat"] as? String == "cycle")
        let answers = try #require(rule["answers"] as? [[String: Any]])
        #expect(answers.map { $0["position"] as? String } == ["m.yaml:4", "m.yaml:5"])
        #expect(answers.map { $0["times"] as? Int } == [2, 1])
        #expect(answers.map { $0["status"] as? Int } == [202, 200])
        #expect(answers.map { $0["source"] as? String } == ["json", "file"])
        #expect(document["status"] as? Int == 202)

        let missing = try SubproxyProcess.run(["check", map])
        #expect(missing.error.contains("m.yaml:5:9: warning: the file '\(folder.path)/done.json' does not exist"))
        try folder.write("done.json", "{}")
        let found = try SubproxyProcess.run(["check", "--strict", map])
        #expect(found.status == 0 && found.output.contains("1 map, 1 rule, no errors"), "\(found.output)\(found.error)")
    }
}
