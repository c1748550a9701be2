import Foundation
import Glibc
import ProxyTestKit
import Testing

/// What a recording may not have, and whom https is decrypted for.
@Suite("Recordings and secrets", .onThreads)
struct RecordSecurityTests {
    private static let kinds = ["r/", "r.har", "r.warc", "r.warc.gz"]

    private let folder = TemporaryFolder()

    /// An origin that sends secrets in fields and JSON.
    private static func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.respond(
                fields: "Content-Type: application/json\r\nSet-Cookie: sid=planted-0; Path=/; HttpOnly\r\n"
                    + "Location: /x?access_token=planted-1#id_token=planted-2\r\nX-Csrf-Token: planted-3\r\n",
                body: #"{"pin":"answer-1","list":[{"token":"answer-2"}]}"#)
            return true
        }
    }

    private func text(_ name: String) throws -> String {
        let script = "case $1 in *.gz) zcat $1;; *) find $1 -type f | while read f; do echo $f; cat $f; done;; esac"
        return try ChildProcess.run(["sh", "-c", script, "sh", folder.at(name)]).output
    }

    private func record(_ name: String, _ options: [String], _ origin: ScriptedOrigin) throws
        -> SubproxyProcess.Finished
    {
        let curl = "curl --disable -sS -i --max-time 300 -H 'X-Session: planted-4' -H 'X-Api-Key: planted-5'"
        let url = "http://127.0.0.1:\(origin.port)"
        let script = """
            \(curl) -b 'a=planted-6' -u user:planted-7 -e 'http://a.test/?sig=planted-8' '\(url)/a?Token=planted-9&page=2'
            \(curl) -d 'user=u&password=planted-10' \(url)/form
            \(curl) -H 'Content-Type: application/json' -d '{"user":"u","deep":[{"client_secret":"planted-11"}]}' \(url)/json
            \(curl) -F password=planted-12 -F 'data={"secret":"planted-13"};type=application/json' \(url)/multipart
            printf '{"password":"planted-14"}' | gzip |
              \(curl) -H 'Content-Type: application/json' -H 'Content-Encoding: gzip' --data-binary @- \(url)/coded
            \(curl) http://user:planted-15@127.0.0.1:\(origin.port)/user
            """
        return try SubproxyProcess.run(
            ["record", "-o", name, "--ca-dir", folder.at("ca")] + options + ["--", "sh", "-c", script],
            folder: folder.path)
    }

    @Test(
        "No credential is in any file, whatever it was sent in; the origin and the client get them all",
        arguments: kinds)
    func redaction(name: String) throws {
        let origin = try Self.origin()
        let finished = try record(name, ["--redact", "X-Session", "--redact", " pin "], origin)
        #expect(finished.status == 0, "\(finished.error)")
        let text = try text(name)
        #expect(text.contains("REDACTED") && text.contains("page=2"))
        #expect(text.contains("sid=REDACTED; Path=/; HttpOnly"))
        #expect(!text.contains("planted"), "\(text.split(separator: "\n").filter { $0.contains("planted") })")
        #expect(!text.contains("dXNlcj") && !text.contains("dXNlcjpwbGFudGVk"))
        #expect(!text.contains("answer-1") && text.contains("answer-2"))
        #expect(
            finished.errorLines.last.map(String.init)
                == "subproxy: warning: 6 members of JSON responses look like credentials; --redact NAME,… takes members "
                + "of these names out")
        // What was sent was what was meant.
        let sent = origin.requests.map { $0.text + String(decoding: $0.body, as: UTF8.self) }.joined()
        for number in 4...13 { #expect(sent.contains("planted-\(number)") || number == 7, "\(number)") }
        #expect(sent.contains("Basic \(Data("user:planted-7".utf8).base64EncodedString())"))
        #expect(finished.output.contains("sid=planted-0") && finished.output.contains("answer-1"))
    }

    @Test("Without --redact responses' JSON stays, and one member is told as one")
    func warning() throws {
        let origin = try ScriptedOrigin(fields: "Content-Type: application/json\r\n", body: #"{"token":"t"}"#)
        let finished = try SubproxyProcess.run(
            ["record", "-o", "r.har", "--", "curl", "--disable", "-sS", "http://127.0.0.1:\(origin.port)/"],
            folder: folder.path)
        #expect(
            finished.errorLines == [
                "subproxy: recorded 1 exchange of 1 host (13 bytes) to r.har",
                "subproxy: warning: 1 member of JSON responses looks like a credential; --redact NAME,… takes members of "
                    + "these names out",
            ])
        let again = try SubproxyProcess.run(["record", "-o", "r.har", "--", "true"], folder: folder.path)
        #expect(
            again.errorLines.first
                == "subproxy: r.har has 1 entry, which is replayed; --update adds to it, --mode all records anew")
    }

    @Test("--no-redact keeps all, in files that their owner alone may read", arguments: kinds)
    func withoutRedaction(name: String) throws {
        let origin = try Self.origin()
        let finished = try record(name, ["--no-redact"], origin)
        #expect(finished.errorLines.count == 1, "\(finished.error)")
        let text = try text(name)
        for number in [0, 1, 3, 4, 5, 6, 8, 9, 10, 11, 12] { #expect(text.contains("planted-\(number)"), "\(number)") }
        #expect(!text.contains("REDACTED"))
        let readable = try ChildProcess.run(["find", folder.at(name), "-perm", "/077"]).output
        #expect(readable == "")
        #expect(try ChildProcess.run(["find", folder.at(name), "-type", "f", "!", "-perm", "0600"]).output == "")
    }

    @Test("What is for its owner alone stays so when it is mended")
    func privacy() throws {
        let origin = try Self.origin()
        _ = try record("r.har", ["--no-redact"], origin)
        let whole = try Data(contentsOf: URL(filePath: folder.at("r.har")))
        #expect(truncate(folder.at("r.har"), whole.count - 100) == 0)
        let mended = try record("r.har", ["--update"], origin)
        #expect(mended.status == 0, "\(mended.error)")
        var status = stat()
        #expect(stat(folder.at("r.har"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    // MARK: https

    private func recordSecurely(
        _ options: [String], _ origin: TLSOrigin, _ workshop: CertificateWorkshop, _ command: [String]
    ) throws -> SubproxyProcess.Finished {
        try SubproxyProcess.run(
            [
                "record", "-o", "r/", "--ca-dir", folder.at("ca"), "--origin-ca", workshop.authority, "--connect-ports",
                "\(origin.port)", "--resolve", "a.test:\(origin.port):127.0.0.1",
            ] + options + command, folder: folder.path)
    }

    @Test("A command's traffic is decrypted whole, but for the hosts that --tunnel names")
    func command() throws {
        let workshop = try CertificateWorkshop()
        let origin = try TLSOrigin(try workshop.make("a.test"), ["--greeting", "hello"])
        let url = "https://a.test:\(origin.port)/x"
        let command = ["--", "curl", "--disable", "-sS", "--max-time", "300", url]
        let tunnelled = try recordSecurely(
            ["--tunnel", "*.test"], origin, workshop,
            ["--", "curl", "--disable", "-sS", "--cacert", workshop.authority, url])
        #expect(tunnelled.output == "hello", "\(tunnelled.error)")
        #expect(
            tunnelled.errorLines == [
                "subproxy: recorded 0 exchanges of 0 hosts (0 bytes) to r/",
                "subproxy: 1 host was tunnelled and not recorded: a.test:\(origin.port) (1 connection); --decrypt",
            ])
        let recorded = try recordSecurely([], origin, workshop, command)
        #expect(recorded.output == "hello", "\(recorded.error)")
        #expect(recorded.errorLines == ["subproxy: recorded 1 exchange of 1 host (5 bytes) to r/"])
        let count = origin.requests.count
        let replayed = try recordSecurely(["--fail-on-miss"], origin, workshop, command)
        #expect(replayed.output == "hello" && replayed.status == 0)
        #expect(origin.requests.count == count)
        #expect(try folder.text(of: "r/recording.yaml").contains("- url: \(url)\n"))
        let missed = try recordSecurely(
            ["--report", "-", "--fail-on-miss"], origin, workshop,
            ["--", "curl", "--disable", "-sS", "-o", "/dev/null", "https://b.test:\(origin.port)/y"])
        #expect(missed.error.contains("b.test") && missed.status == 1, "\(missed.error)")
    }

    @Test("As a server it decrypts what the map or --decrypt names, and tunnels the rest")
    func server() throws {
        let workshop = try CertificateWorkshop()
        let origin = try TLSOrigin(try workshop.make("a.test"), ["--greeting", "hello"])
        let map = try folder.write("m.yaml", "intercept: [b.test]\nsubstitutions: {}\n")
        let resolve = ["a.test", "b.test"].flatMap { ["--resolve", "\($0):\(origin.port):127.0.0.1"] }
        for (index, options) in [[], ["--decrypt", "a.*"], ["--decrypt", "all", "--tunnel", "a.test"]].enumerated() {
            let path = folder.at("r\(index)")
            let binary = try RunningBinary(
                command: [
                    "record", "-o", path, "--ca-dir", folder.at("ca"), "--origin-ca", workshop.authority,
                    "--connect-ports", "\(origin.port)", "--map", map,
                ] + resolve + options)
            func fetch(_ host: String) throws -> String {
                let bundle = try ChildProcess.run(
                    ["sh", "-c", "cat \(folder.at("ca/ca.pem")) \(workshop.authority) 2>/dev/null"])
                let both = try folder.write("both.pem", bundle.output)
                return try ChildProcess.run([
                    "curl", "--disable", "-sS", "--max-time", "300", "--noproxy", "", "-x",
                    "http://127.0.0.1:\(binary.port)", "--cacert", both, "https://\(host):\(origin.port)/x",
                ]).output
            }
            // The first handshake makes the authority.
            _ = try fetch("b.test")
            let isDecrypted = index == 1
            #expect(try fetch("a.test") == "hello")
            binary.process.send(SIGTERM)
            #expect(try binary.process.finish() == 0)
            let list = try folder.text(of: "r\(index)/recording.yaml")
            #expect(list.contains("https://a.test:\(origin.port)/x") == isDecrypted, "\(index)")
            let line = "1 host was tunnelled and not recorded: a.test:\(origin.port) (1 connection); --decrypt\n"
            #expect(binary.process.error.contains(line) == !isDecrypted, "\(binary.process.error)")
        }
    }
}
