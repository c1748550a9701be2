import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// What `--mode all` leaves where it comes to no good end.
    @Suite("Ends of recording anew")
    struct RecordEnding {
        private static let kinds = ["r/", "r.har", "r.warc", "r.warc.gz"]

        private let folder = TemporaryFolder()
        private let origin: ScriptedOrigin

        init() throws {
            origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                try connection.respond(fields: "Content-Type: text/plain\r\n", body: "body of \(request.target)")
                return true
            }
        }

        private func record(
            _ name: String, _ script: String, _ options: [String] = [], program: [String] = [SubproxyProcess.path]
        ) throws -> SubproxyProcess.Finished {
            try SubproxyProcess.run(
                program.dropFirst() + ["record", "-o", name, "--ca-dir", folder.at("ca")] + options
                    + ["--", "sh", "-c", script, "sh", "http://127.0.0.1:\(origin.port)"],
                program: program[0], folder: folder.path)
        }

        /// The names in the folder, but for the certificate authority's.
        private func names() throws -> [String] {
            try ChildProcess.run(["ls", "-A", folder.path]).output.split(separator: "\n").map(String.init).filter {
                $0 != "ca"
            }
        }

        private static let fetchOld = "curl --disable -sS -o /dev/null $1/old"

        @Test("What can't be begun leaves nothing, and what is there as it is", arguments: kinds)
        func unbegun(name: String) throws {
            // Files of more than no bytes are refused by the system.
            let refusing = ["sh", "-c", "ulimit -f 0; exec \"$0\" \"$@\"", SubproxyProcess.path]
            for isThere in [false, true] {
                if isThere { #expect(try record(name, Self.fetchOld).status == 0) }
                let before = try names()
                for (options, program, status) in [
                    ([], refusing, 73), (["--listen", "127.0.0.1:\(origin.port)"], [SubproxyProcess.path], 69),
                    (["--map", "none.yaml"], [SubproxyProcess.path], 65),
                ] {
                    let refused = try record(name, "true", ["--mode", "all"] + options, program: program)
                    #expect(refused.status == status, "\(refused)")
                    #expect(try names() == before, "\(options)")
                }
            }
            let replayed = try record(name, Self.fetchOld, ["--mode", "none", "--fail-on-miss"])
            #expect(replayed.status == 0, "\(replayed.error)")
        }

        @Test("What SIGTERM ends before the command has ended is beside the old recording", arguments: kinds)
        func terminated(name: String) throws {
            #expect(try record(name, Self.fetchOld).status == 0)
            let script = "curl --disable -sS -o /dev/null $1/new; kill -TERM $PPID; exec sleep 300"
            let ended = try record(name, script, ["--mode", "all"])
            #expect(ended.status == 128 + SIGTERM, "\(ended)")
            let path = name.hasSuffix("/") ? "r.new" : name + ".new"
            let place = try #require(ended.errorLines.first?.split(separator: " ").last)
            #expect(place.hasSuffix("/" + path))
            #expect(
                ended.errorLines == [
                    "subproxy: \(name) stays as it was; what was recorded is \(place)",
                    "subproxy: recorded 1 exchange of 1 host (12 bytes) to \(place)",
                ])
            #expect(try names().sorted() == [name.hasSuffix("/") ? "r" : name, path])
            for (url, there) in [(name, "/old"), (path, "/new")] {
                #expect(try SubproxyProcess.run(["archive", "list", folder.at(url)]).output.contains(there))
            }
            // The next one begins anew, and one that the command ends takes the place.
            let interrupted = "curl --disable -sS -o /dev/null $1/next; kill -INT $PPID; exec sleep 300"
            let again = try record(name, interrupted, ["--mode", "all"])
            #expect(again.status == 128 + SIGINT, "\(again)")
            #expect(try names() == [name.hasSuffix("/") ? "r" : name])
            let list = try SubproxyProcess.run(["archive", "list", folder.at(name)]).output
            #expect(list.contains("/next") && !list.contains("/old"), "\(list)")
            // Where nothing is there, nothing is lost.
            let first = try record("other/", script, ["--mode", "all"])
            #expect(first.status == 128 + SIGTERM)
            #expect(try SubproxyProcess.run(["archive", "list", folder.at("other")]).output.contains("/new"))
        }
    }
}
