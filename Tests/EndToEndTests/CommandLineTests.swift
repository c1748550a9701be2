import Foundation
import Glibc
import ProxyTestKit
import Testing

/// The root of the package.
private let package = folder(of: folder(of: folder(of: #filePath)))
private let exampleMap = "\(package)/config/substitutions.yaml"

private let twoRules = """
    substitutions:
      http://a.example/x: { text: x }
      http://a.example/y: { text: y }

    """

@Suite("The command line", .onThreads)
struct CommandLineTests {
    @Test(
        "Help and version go to standard output, and the status is 0",
        arguments: [
            (["--version"], "subproxy 0.1.0"), (["--help"], "check"), (["serve", "--help"], "--shutdown-grace"),
            (["help", "run"], "COMMAND"), (["check", "-h"], "--strict"), (["explain", "--help"], "--json"),
            (["ca", "--help"], "uninstall"), (["ca", "install", "--help"], "--only-mapped"),
        ])
    func help(arguments: [String], text: String) throws {
        let finished = try SubproxyProcess.run(arguments)
        #expect(finished.status == 0)
        #expect(finished.output.localizedStandardContains(text))
        #expect(finished.error.isEmpty)
    }

    @Test(
        "An unusable option is one clear line and status 64",
        arguments: [
            (["--map", "m", "--lisen", "127.0.0.1:1"], "unknown option '--lisen'; did you mean '--listen'?"),
            (["--map", "m", "--password", "f"], "unknown option '--password'"),
            (["--map", "m", "-q"], "unknown option '-q'"),
            ([], "no map is named"),
            (["--map"], "missing value for '--map"),
            (["--map", "m", "--offline=3"], "does not take any value"),
            (["ca"], "say what to do: ca path, ca install, ca uninstall or ca doctor"),
            (["ca", "bogus"], "unexpected argument 'bogus'; there are path, install, uninstall and doctor"),
            (["ca", "docter"], "did you mean 'doctor'?"), (["session", "lst"], "did you mean 'list'?"),
            (["archive", "lst"], "did you mean 'list'?"), (["rcord"], "did you mean 'record'?"),
            (["help", "serv"], "there is no command 'serv'; did you mean 'serve'?"),
            (["help", "zzzzz"], "there is no command 'zzzzz'; 'subproxy --help' lists the commands"),
            (["help", "archive", "lst"], "there is no command 'lst'; did you mean 'list'?"),
            (["help", "save", "extra"], "unexpected argument 'extra'"),
            (["ca", "install", "--stores", "sytem"], "did you mean 'system'?"),
            (["ca", "install", "--only-mapped"], "use --map FILE"),
            (["ca", "install", "--map", "m"], "--only-mapped"),
            (["ca", "uninstall", "--delete", "--stores", "nss"], "all stores"),
            (["chek", "m.yaml"], "did you mean 'check'?"),
            (["m.yaml"], "--map"),
            (["check"], "no map is named"), (["check", ""], "no map is named"),
            (["--map", ""], "--map needs the name of a file"), (["run", "--map", "", "--", "true"], "--map needs"),
            (["explain", "--map", "", "http://a.example/"], "--map needs the name of a file"),
            (["explain", "http://a.example/"], "no map is named"),
            (["explain", "--map", "m"], "missing expected argument '<url>'"),
            (["--map", "m", "--retain-file", "2GiB"], "1GiB"),
            (["explain", "--map", "m", "no url"], "no URL that a proxy can be asked for"),
            (["explain", "--map", "m", "a.test/x"], "the URL has no scheme; did you mean http://a.test/x?"),
            (["explain", "--map", "m", "localhost:80"], "the URL has no scheme; did you mean http://localhost"),
            (["explain", "--map", "m", "http:/a.test/x"], "no URL that a proxy can be asked for"),
            (["explain", "--map", "m", "http://a.example/", "-H", "x y"], "no field"),
            (["explain", "--map", "m", "http://a.example/", "-H", "x: a\nb: c"], "no field"),
            (["explain", "--map", "m", "http://a.example/", "-X", "GE T"], "no method"),
            (["run", "--map", "m"], "follows '--'"),
            (["run", "--map", "m", "true"], "follows '--'"),
            (["run", "--map", "m", "curl", "-s", "http://x"], "'--', as in: subproxy run --map FILE -- COMMAND"),
            (["record", "-o", "r/", "curl", "-s"], "'--', as in: subproxy record -o checkout/ -- npm test"),
            (["record", "-o", "r/", "npm"], "'--', as in: subproxy record -o checkout/ -- npm test"),
            (["replay", "m", "curl", "-s"], "'--', as in: subproxy replay checkout.har -- npm test"),
            (["--map", "m", "--listen", "0.0.0.0:0"], "needs --allow-remote"),
            (["--map", "m", "--listen", "[::]:0"], "needs --allow-remote"),
            (["--map", "m", "--listen", "[::ffff:10.0.0.1]:0"], "needs --allow-remote"),
            (["--map", "m", "--listen", "::1:88"], "brackets"),
            (["--map", "m", "--listen", "www.example.com:88"], "not an IP address"),
            (["--map", "m", "--listen", "127.1:88"], "not an IP address"),
            (["--map", "m", "--listen", "1.2.3.4"], "port is missing"),
            (["--map", "m", "--listen", "[::1]"], "port is missing"),
            (["--map", "m", "--listen", "127.0.0.1:70000"], "from 0 to 65535"),
            (["--map", "m", "--listen", "127.0.0.1:+80"], "from 0 to 65535"),
            (["--map", "m", "--listen", "127.0.0.1:"], "from 0 to 65535"),
            (["--map", "m", "--listen", "127.0.0.1:8", "--listen", ":8"], "given twice"),
            (["--map", "m", "--idle-timeout", "10"], "needs a unit"),
            (["--map", "m", "--idle-timeout", "0s"], "from 1ms to 365d"),
            (["--map", "m", "--idle-timeout", "366d"], "must be from"),
            (["--map", "m", "--max-header-bytes", "64k"], "unknown unit"),
            (["--map", "m", "--max-header-bytes", "1TiB"], "from 1KiB to 16MiB"),
            (["--map", "m", "--max-connections", "0"], "whole number"),
            (["--map", "m", "--threads", "x"], "whole number"),
            (["--map", "m", "--threads", "-1"], "a number can't be negative"),
            (["--map", "m", "--cache-memory", "-5MB"], "a size can't be negative"),
            (["--map", "m", "--idle-timeout", "-5s"], "a duration can't be negative"),
            (["--map", "m", "--bypass", "nver"], "did you mean 'never'?"),
            (["--map", "m", "--log-level", "loud"], "must be trace, debug"),
            (["--map", "m", "--log-format", "xml"], "must be text or json"),
            (["--map", "m", "--connect-ports", "443,x"], "ports from 1 to 65535"),
            (["--map", "m", "--resolve", "a:b:c"], "HOST:PORT:ADDRESS"),
            (["--map", "m", "--resolve", "a:80:example.com"], "HOST:PORT:ADDRESS"),
            (["--map", "m", "--resolve", "a..:80:127.0.0.1"], "HOST:PORT:ADDRESS"),
            (["--map", "m", "--upstream-proxy", "ftp://a:1"], "must be http://HOST:PORT"),
            (["--map", "m", "--upstream-proxy", "http://a"], "must be http://HOST:PORT"),
            (["--map", "m", "--no-proxy", "a"], "--upstream-proxy"),
        ])
    func unusableOption(arguments: [String], text: String) throws {
        let finished = try SubproxyProcess.run(arguments)
        #expect(finished.status == 64)
        #expect(finished.output.isEmpty)
        #expect(finished.errorLines.count == 1)
        #expect(finished.error.hasPrefix("subproxy: error: "))
        #expect(finished.error.contains(text))
    }

    @Test(
        "A map with errors: all of them, compiler-style, and status 65, or 1 for check",
        arguments: [
            (["--map", "bad.yaml", "--listen", "127.0.0.1:0"], Int32(65)),
            (["run", "--map", "bad.yaml", "--", "true"], 65),
            (["explain", "--map", "bad.yaml", "http://a.example/"], 65),
            (["check", "bad.yaml"], 1),
        ] as [([String], Int32)])
    func badMap(arguments: [String], status: Int32) throws {
        let folder = TemporaryFolder()
        try folder.write(
            "bad.yaml",
            """
            substitutions:
              http://a.example/: { block: true, stauts: 201 }
              http://b.example/x: { text: a, json: b }

            """)
        let finished = try SubproxyProcess.run(arguments, folder: folder.path)
        #expect(finished.status == status)
        #expect(finished.output.isEmpty)
        #expect(finished.error.contains("bad.yaml:2:"))
        #expect(finished.error.contains("did you mean 'status'?"))
        #expect(finished.error.contains("^~~"))
        #expect(finished.error.contains("bad.yaml:3:"))
    }

    @Test(
        "A file of certificates to trust for origins is read at the start: 66 where it can't be, 65 where it has none",
        arguments: [
            ("/nonexistent", Int32(66), "the file '/nonexistent' of --origin-ca can't be read: No such file"),
            ("empty.pem", 65, "the file 'empty.pem' has no certificate in PEM"),
            ("text.pem", 65, "the file 'text.pem' has no certificate in PEM"),
        ] as [(String, Int32, String)])
    func originCertificates(file: String, status: Int32, message: String) throws {
        let folder = TemporaryFolder()
        try folder.write("m.yaml", twoRules)
        try folder.write("empty.pem", "")
        try folder.write("text.pem", "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n")
        let finished = try SubproxyProcess.run(
            ["--map", "m.yaml", "--listen", "127.0.0.1:0", "--origin-ca", file], folder: folder.path)
        #expect(finished.status == status)
        #expect(finished.errorLines.count == 1 && finished.error.contains(message), "\(finished.error)")
    }

    @Test(
        "A folder that has neither a map nor a recording is told so, wherever it is named",
        arguments: [
            (["--map", "none"], Int32(65)), (["replay", "none"], 66), (["check", "none"], 1),
            (["archive", "list", "none"], 66),
        ] as [([String], Int32)])
    func folderOfNothing(arguments: [String], status: Int32) throws {
        let folder = TemporaryFolder()
        mkdir(folder.at("none"), 0o755)
        let finished = try SubproxyProcess.run(arguments, folder: folder.path)
        #expect(finished.status == status)
        #expect(finished.error == "none: error: the folder has neither substitutions.yaml nor recording.yaml\n")
    }

    @Test("A folder that is a recording may have the name of an archive's file", arguments: ["replay", "--map"])
    func folderNamedAsFile(argument: String) throws {
        let folder = TemporaryFolder()
        mkdir(folder.at("shop.har"), 0o755)
        try folder.write("shop.har/recording.yaml", "- url: http://a.test/\n  text: hi\n")
        let arguments = argument == "replay" ? ["replay", "shop.har"] : ["run", "--map", "shop.har"]
        let finished = try SubproxyProcess.run(
            arguments + ["--ca-dir", folder.at("ca"), "--", "curl", "--silent", "http://a.test/"], folder: folder.path)
        #expect(finished.status == 0 && finished.output == "hi", "\(finished.error)")
    }

    @Test("A word behind an archive that is no file may be a command whose '--' was forgotten")
    func commandAmongArchives() throws {
        let folder = TemporaryFolder()
        try folder.write("x.har", "{}")
        let found = try SubproxyProcess.run(["replay", "x.har", "npm", "test"], folder: folder.path)
        #expect(found.status == 66)
        #expect(found.error.contains("'npm' can't be read: No such file or directory; a command follows '--', as in: "))
        let archive = try SubproxyProcess.run(["replay", "x.har", "y.har"], folder: folder.path)
        #expect(archive.status == 66 && !archive.error.contains("'--'"))
    }

    @Test("A folder of sessions that is a file is an error at the start")
    func sessionsInFile() throws {
        let folder = TemporaryFolder()
        try folder.write("m.yaml", twoRules)
        let finished = try SubproxyProcess.run(
            ["--map", "m.yaml", "--listen", "127.0.0.1:0", "--sessions", "m.yaml"], folder: folder.path)
        #expect(finished.status == 66)
        #expect(finished.error.contains("the folder 'm.yaml' of --sessions can't be read: Not a directory"))
    }

    @Test("A map that does not exist is a map with an error")
    func missingMap() throws {
        let finished = try SubproxyProcess.run(["--map", "/nonexistent/m.yaml"])
        #expect(finished.status == 65)
        #expect(finished.error == "/nonexistent/m.yaml: error: the map does not exist\n")
    }

    @Test("check says what was checked; a missing file is a warning, and an error with --strict")
    func check() throws {
        let folder = TemporaryFolder()
        try folder.write("good.yaml", twoRules)
        try folder.write("half.yaml", "substitutions:\n  http://a.example/x: nowhere.txt\n")
        let good = try SubproxyProcess.run(["check", "--strict", "good.yaml"], folder: folder.path)
        #expect(good.status == 0)
        #expect(good.output == "good.yaml: 1 map, 2 rules, no errors\n")
        #expect(good.error.isEmpty)

        let lenient = try SubproxyProcess.run(["check", "half.yaml"], folder: folder.path)
        #expect(lenient.status == 0)
        #expect(lenient.output == "half.yaml: 1 map, 1 rule, no errors, 1 warning\n")
        #expect(lenient.error.contains("half.yaml:2:"))
        let strict = try SubproxyProcess.run(["check", "half.yaml", "--strict"], folder: folder.path)
        #expect(strict.status == 1)
        #expect(strict.output.isEmpty)
        #expect(lenient.error.contains(": warning: the file "))
        try folder.write(
            "wrong.yaml", "substitutions:\n  http://a.example/x: nowhere.txt\n  http://a.example/y: { txt: y }\n")
        let wrong = try SubproxyProcess.run(["check", "wrong.yaml"], folder: folder.path)
        #expect(wrong.status == 1)
        #expect(wrong.error.contains("unknown option 'txt'") && wrong.error.contains("nowhere.txt' does not exist"))
        #expect(strict.error == lenient.error.replacing(": warning: ", with: ": error: "))
    }

    @Test("The example map and its bundle have no fault")
    func exampleMapIsRight() throws {
        let finished = try SubproxyProcess.run(["check", "--strict", exampleMap])
        #expect(finished.status == 0)
        #expect(finished.error.isEmpty)
    }

    @Test("explain names the rule, the file, its type and size, and why")
    func explainAnswer() throws {
        let finished = try SubproxyProcess.run(
            ["explain", "--map", exampleMap, "http://images.apple.com/global/nav/images/globalnavbg.png"])
        #expect(finished.status == 0)
        #expect(finished.error.isEmpty)
        #expect(finished.output.contains("bundle/fakeGlobalNavBG.png"))
        #expect(finished.output.contains("image/png"))
        #expect(finished.output.contains("because the URL is the rule's"))
        #expect(finished.output.contains("Cache-Status: subproxy; hit; detail=\"substitutions.yaml:"))
    }

    @Test(
        "explain says what the fields of a request change, and names the nearest miss",
        arguments: [
            (["http://a.example/x", "-H", "Cache-Control: no-cache"], "outcome: bypassed"),
            (["http://a.example/x", "-HPragma: no-cache"], "outcome: bypassed"),
            (["http://a.example/x", "-H", "Cache-Control: no-cache", "--bypass", "never"], "outcome: substituted"),
            (["http://a.example/x", "-H", "Cache-Control: no-cache", "--offline"], "outcome: substituted"),
            (["http://a.example/x", "-H", "Cache-Control: max-age=0"], "checked against the file on disk"),
            (["http://a.example/z"], "no rule answers"),
            (["http://a.example/x?q=1"], "add 'query: ignore'"),
            (["http://b.example/", "--offline"], "status: 504"),
            (["http://b.example/", "-H", "Cache-Control: only-if-cached"], "status: 504"),
            (["http://a.example/f", "-XPOST"], "for the method"),
            (["http://a.example/f"], "no such file"),
            (["http://a.example/f"], "status: 502"),
            (["http://a.example/to/good"], "the answer of http://good/"),
            (["http://a.example/to/good@evil"], "outcome: refused: The rule at m.yaml:"),
            (["http://a.example/to/good@evil"], "status: 400"),
            (["http://a.example/to/good@evil", "--offline"], "status: 504"),
            (["http://a.example/at/good/"], "status: 400"),
            (["http://a.example/to/good", "--offline"], "The rule at m.yaml:5 forwards this URL, and with"),
            (["https://sec.example/x"], "CONNECT sec.example:443: decrypted: "),
            (["https://b.example/x"], "CONNECT b.example:443: tunnelled: "),
            (["https://b.example:22/x"], "CONNECT b.example:22: refused: "),
            (["https://b.example/x", "--offline"], "CONNECT b.example:443: refused: The proxy runs with --offline"),
            (["https://sec.example/x", "--json"], #""connect":{"outcome":"decrypted""#),
            (["https://b.example/x", "--json", "--offline"], #""connect":{"outcome":"refused""#),
            (["http://a.example/form", "-d", "a=1"], "m.yaml:8 answers"),
            (["http://a.example/form", "-d", "{}", "-H", "Content-Type: application/json"], "no rule answers"),
        ])
    func explainRequest(arguments: [String], text: String) throws {
        let folder = TemporaryFolder()
        try folder.write(
            "m.yaml",
            twoRules + "  http://a.example/f: nowhere.txt\n"
                + "  ~^http://a\\.example/to/(.*)$: { forward: \"http://$1/\" }\n"
                + "  ~^http://a\\.example/at/(.*)$: { redirect: \"http://$1.example/\" }\n"
                + "  https://sec.example/x: { text: x }\n"
                + "  http://a.example/form:\n    text: x\n    methods: [POST]\n"
                + "    request-headers: { Content-Type: application/x-www-form-urlencoded }\n")
        let finished = try SubproxyProcess.run(["explain", "--map", "m.yaml"] + arguments, folder: folder.path)
        #expect(finished.status == 0)
        #expect(finished.output.contains(text))
    }

    @Test("explain --json is one JSON object with the same members whether a rule answers or not")
    func explainJSON() throws {
        let folder = TemporaryFolder()
        try folder.write("m.yaml", twoRules)
        func object(_ url: String) throws -> [String: Any] {
            let finished = try SubproxyProcess.run(["explain", "--json", "--map", "m.yaml", url], folder: folder.path)
            #expect(finished.status == 0)
            return try #require(
                JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
        }
        let hit = try object("http://a.example/x")
        let miss = try object("http://a.example/x?y")
        #expect(Set(hit.keys) == Set(miss.keys))
        #expect(hit["answered"] as? Bool == true)
        #expect((hit["rule"] as? [String: Any])?["position"] as? String == "m.yaml:2")
        #expect(miss["answered"] as? Bool == false)
        #expect(miss["rule"] is NSNull)
        #expect((miss["nearest_miss"] as? [String: Any])?["line"] as? Int == 2)
    }

    @Test("explain names the rule that answers a preflight, in text and JSON")
    func explainPreflight() throws {
        let folder = TemporaryFolder()
        try folder.write("m.yaml", twoRules)
        let request = [
            "http://a.example/x", "-X", "OPTIONS", "-H", "Origin: http://a.localhost", "-H",
            "Access-Control-Request-Method: GET",
        ]
        func explain(_ options: [String]) throws -> String {
            try SubproxyProcess.run(["explain", "--map", "m.yaml"] + options, folder: folder.path).output
        }
        let text = try explain(request)
        #expect(text.contains("m.yaml:2 answers the preflight\n  rule: http://a.example/x\n"), "\(text)")
        #expect(text.contains("  status: 204\n"))
        for absent in ["no rule answers", "nearest miss", "passed over"] { #expect(!text.contains(absent), "\(text)") }
        func object(_ options: [String]) throws -> [String: Any] {
            let output = try explain(["--json"] + options)
            return try #require(JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
        }
        let preflight = try object(request)
        let answer = try object(["http://a.example/x"])
        #expect(Set(preflight.keys) == Set(answer.keys))
        #expect(preflight["answered"] as? Bool == true)
        let rule = try #require(preflight["rule"] as? [String: Any])
        #expect(rule["position"] as? String == "m.yaml:2")
        #expect(Set(rule.keys) == Set((answer["rule"] as? [String: Any] ?? [:]).keys))
        #expect(preflight["nearest_miss"] is NSNull)
        // Another request of the same method is none.
        #expect(try explain(["http://a.example/x", "-X", "OPTIONS"]).contains("answers the preflight") == false)
    }

    @Test("explain names no rule for a CONNECT, which asks for a tunnel", arguments: ["https", "http"])
    func explainConnect(scheme: String) throws {
        let folder = TemporaryFolder()
        try folder.write("m.yaml", "substitutions:\n  //sec.example/: { text: x }\n")
        func explain(_ options: [String]) throws -> String {
            try SubproxyProcess.run(
                ["explain", "--map", "m.yaml", "-X", "CONNECT", "\(scheme)://sec.example/"] + options,
                folder: folder.path
            ).output
        }
        let text = try explain([])
        #expect(text.contains("no rule answers a CONNECT") && text.contains("outcome: "), "\(text)")
        #expect(!text.contains("answers with") && !text.contains("nearest miss"), "\(text)")
        let object = try #require(JSONSerialization.jsonObject(with: Data(explain(["--json"]).utf8)) as? [String: Any])
        #expect(object["answered"] as? Bool == false && object["rule"] is NSNull && object["connect"] is NSNull)
        #expect(object["outcome"] as? String == "tunnelled", "\(object)")
    }

    @Test("An address in use is one line that says who may hold it, and status 69")
    func addressInUse() throws {
        let folder = TemporaryFolder()
        try folder.write("m.yaml", twoRules)
        let holder = try ListeningSocket()
        let finished = try SubproxyProcess.run(
            ["--map", "m.yaml", "--listen", "127.0.0.1:\(holder.port)"], folder: folder.path)
        #expect(finished.status == 69)
        #expect(finished.errorLines.count == 1)
        #expect(finished.error.contains("can't listen on 127.0.0.1:\(holder.port)"))
        #expect(finished.error.contains("process \(getpid())"))
    }

    @Test("A log file that can't be opened is one line and status 73")
    func unusableLogFile() throws {
        let folder = TemporaryFolder()
        try folder.write("m.yaml", twoRules)
        let finished = try SubproxyProcess.run(
            ["--map", "m.yaml", "--listen", "127.0.0.1:0", "--log-file", "no/where.log"], folder: folder.path)
        #expect(finished.status == 73)
        #expect(finished.errorLines.count == 1)
        #expect(finished.error.contains("can't open the log file 'no/where.log': No such file or directory"))
    }
}

@Suite("subproxy run", .onThreads)
struct RunCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = TemporaryFolder()
        try folder.write("m.yaml", twoRules)
    }

    private func run(
        _ command: [String], options: [String] = [], environment: [String: String] = [:]
    ) throws -> SubproxyProcess.Finished {
        try SubproxyProcess.run(
            ["run", "--map", "m.yaml"] + options + ["--"] + command, environment: environment, folder: folder.path)
    }

    @Test("The command finds the proxy in the variables that clients read, over those that were there")
    func environment() throws {
        let finished = try run(
            ["env"], environment: ["http_proxy": "http://192.0.2.1:1", "no_proxy": "*", "KEPT": "a=b"])
        #expect(finished.status == 0)
        #expect(finished.error.isEmpty)
        let lines = finished.output.split(separator: "\n")
        let proxy = try #require(lines.first { $0.hasPrefix("http_proxy=http://127.0.0.1:") }).dropFirst(
            "http_proxy=".count)
        for name in ["HTTP_PROXY", "https_proxy", "HTTPS_PROXY"] { #expect(lines.contains("\(name)=\(proxy)")) }
        for line in ["no_proxy=", "NO_PROXY=", "NODE_USE_ENV_PROXY=1", "KEPT=a=b"] {
            #expect(lines.contains { $0 == line })
        }
        #expect(lines.count { $0.hasPrefix("http_proxy=") } == 1)
    }

    @Test(
        "It exits with the command's status",
        arguments: [
            (["true"], Int32(0)), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137),
        ] as [([String], Int32)])
    func status(command: [String], status: Int32) throws {
        #expect(try run(command).status == status)
    }

    @Test(
        "A command that can't be run is one line, with the status that shells have",
        arguments: [
            ("no-such-command-here", Int32(127)), ("/etc/passwd", 126),
        ] as [(String, Int32)])
    func unusableCommand(name: String, status: Int32) throws {
        let finished = try run([name])
        #expect(finished.status == status)
        #expect(finished.errorLines.count == 1)
        #expect(finished.error.contains("'\(name)'"))
    }

    @Test("The command starts with no signal blocked or ignored, no descriptor of the proxy's, and its own limits")
    func cleanStart() throws {
        // Twice in one shell: by itself, and as the command of the proxy.
        let script = "grep -E 'SigBlk|SigIgn' /proc/self/status; ls /proc/self/fd; ulimit -n; ulimit -c"
        let both = "\(script); echo --; exec \(SubproxyProcess.path) run --map m.yaml -- sh -c \"\(script)\""
        let finished = try SubproxyProcess.run(["-c", both], program: "sh", folder: folder.path)
        let parts = finished.output.split(separator: "--\n")
        #expect(parts.count == 2)
        // The C library's own two signals appear as ignored after any posix_spawn. (signal(7), "NPTL")
        let none = "0000000000000000"
        #expect(
            parts.last?.replacing("0000000180000000", with: none)
                == parts.first?.replacing("0000000180000000", with: none))
    }

    @Test("SIGTERM is passed on to the command")
    func terminate() throws {
        let process = try SubproxyProcess(
            [
                "run", "--map", "m.yaml", "--", "sh", "-c",
                "trap 'exit 9' TERM; echo ready >&2; while :; do sleep 0.05; done",
            ],
            folder: folder.path)
        #expect(try process.errorLine() == "ready")
        process.send(SIGTERM)
        #expect(try process.finish().status == 9)
    }

    @Test("What a terminal gives to both is left to the command")
    func interrupt() throws {
        // The signal goes to the whole group, as Ctrl-C does, but from a process, so the command may get it twice.
        let script = "trap 'exit 9' INT; echo ready >&2; while :; do sleep 0.05; done"
        let process = try SubproxyProcess(
            ["run", "--map", "m.yaml", "--", "sh", "-c", script], folder: folder.path)
        #expect(try process.errorLine() == "ready")
        process.send(SIGINT)
        #expect(try process.finish().status == 9)
    }

    @Test("A client that obeys the variables gets the bundled image, without a network")
    func bundledImage() throws {
        let copy = "\(folder.path)/image.png"
        let finished = try SubproxyProcess.run([
            "run", "--map", exampleMap, "--offline", "--", "curl", "-sS", "-D", "-", "-o", copy,
            "http://images.apple.com/global/nav/images/globalnavbg.png",
        ])
        #expect(finished.status == 0)
        #expect(finished.output.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(finished.output.contains("Content-Type: image/png\r\n"))
        #expect(finished.output.contains("Cache-Status: subproxy; hit; detail=\"substitutions.yaml:"))
        let original = try Data(contentsOf: URL(filePath: "\(package)/config/bundle/fakeGlobalNavBG.png"))
        #expect(try Data(contentsOf: URL(filePath: copy)) == original)
    }

    @Test(
        "explain --json is JSON with the Cache-Status that is sent, whatever the map's name",
        arguments: [
            (#"we"ird\na.yaml"#, #"subproxy; hit; detail="we\"ird\\na.yaml:2""#),
            ("c\u{1}\n\u{1b}.yaml", #"subproxy; hit; detail="c???.yaml:2""#),
            ("caf\u{e9}.yaml", #"subproxy; hit; detail="caf??.yaml:2""#),
        ])
    func oddNames(name: String, cacheStatus: String) throws {
        let folder = TemporaryFolder()
        try folder.write(name, twoRules)
        let finished = try SubproxyProcess.run(
            ["explain", "--json", "--map", name, "http://a.example/x"], folder: folder.path)
        let object = try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any]
        #expect(object?["cache_status"] as? String == cacheStatus)
        #expect((object?["rule"] as? [String: Any])?["map"] as? String == name)
    }

    @Test("A folder whose name is not UTF-8 can be worked in, and a map with such a name is told of")
    func oddBytes() throws {
        let folder = TemporaryFolder()
        let script = """
            mkdir "$(printf 'd\\351')" && cd "$(printf 'd\\351')" && echo hi > f.txt &&
            printf 'substitutions:\\n  http://a.example/f: f.txt\\n' > m.yaml && cp m.yaml "$(printf '\\377.yaml')"
            '\(SubproxyProcess.path)' check m.yaml && '\(SubproxyProcess.path)' check "$(printf '\\377.yaml')"
            """
        let finished = try SubproxyProcess.run(["-c", script], program: "sh", folder: folder.path)
        #expect(finished.status == 1)
        #expect(finished.output == "m.yaml: 1 map, 1 rule, no errors\n")
        #expect(finished.error.contains("names that are not UTF-8 can't be read"))
    }

    @Test("check and serve warn of a regular expression for https, of which nothing is decrypted")
    func undecrypted() throws {
        let folder = TemporaryFolder()
        try folder.write("m.yaml", "substitutions:\n  ~^https://a\\.test/: { text: x }\n")
        let warning = "m.yaml:2:3: warning: the tunnels to a.test are not decrypted"
        let finished = try SubproxyProcess.run(["check", "m.yaml"], folder: folder.path)
        #expect(finished.status == 0)
        #expect(finished.error.hasPrefix(warning))
        #expect(try SubproxyProcess.run(["check", "--strict", "m.yaml"], folder: folder.path).status == 1)
        let proxy = try SubproxyProcess(["--map", "m.yaml", "--listen", "127.0.0.1:0"], folder: folder.path)
        #expect(try proxy.errorLine(containing: warning) != nil)
        proxy.send(SIGTERM)
        #expect(try proxy.finish().status == 0)
        try folder.write("m.yaml", "intercept: [a.test]\nsubstitutions:\n  ~^https://a\\.test/: { text: x }\n")
        #expect(try SubproxyProcess.run(["check", "--strict", "m.yaml"], folder: folder.path).status == 0)
    }

    @Test("check takes a symbolic link for the error that it is, and serve starts all the same")
    func links() throws {
        let folder = TemporaryFolder()
        try folder.write("real.txt", "x")
        symlink("real.txt", folder.path + "/link.txt")
        try folder.write("m.yaml", "substitutions:\n  http://a.example/x: link.txt\n")
        let finished = try SubproxyProcess.run(["check", "m.yaml"], folder: folder.path)
        #expect(finished.status == 1)
        #expect(finished.error.contains("m.yaml:2:23: error: "))
        #expect(finished.error.contains("is a symbolic link, or goes through one"))
        let proxy = try SubproxyProcess(["--map", "m.yaml", "--listen", "127.0.0.1:0"], folder: folder.path)
        #expect(try proxy.errorLine(containing: "listening on") != nil)
        #expect(try proxy.errorLine(containing: "is a symbolic link, or goes through one") != nil)
        proxy.send(SIGTERM)
        #expect(try proxy.finish().status == 0)
    }
}
