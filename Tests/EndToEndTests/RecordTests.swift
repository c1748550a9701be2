import Foundation
import Glibc
import ProxyTestKit
import Testing

/// An origin on loopback, what is recorded of it, and the program with curl as its command.
private final class Stage {
    static let kinds = ["r/", "r.har", "r.warc", "r.warc.gz"]

    let folder = TemporaryFolder()
    let origin: ScriptedOrigin

    /// - Parameter answer: sends a response; by default the path, as text.
    init(_ answer: (@Sendable (ScriptedOrigin.Request, ScriptedOrigin.Connection) throws -> Bool)? = nil) throws {
        origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            if let answer { return try answer(request, connection) }
            let isHead = request.text.hasPrefix("HEAD ")
            let body = "body of \(request.target)"
            try connection.socket.send(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: Mon, 23 Nov 2026 05:00:00 GMT\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(isHead ? "" : body)")
            return true
        }
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(origin.port)\(path)" }

    var targets: [String] { origin.requests.map(\.target) }

    /// Runs the program with a command; the name of what is recorded is relative to the folder.
    func run(_ name: String, _ options: [String] = [], _ command: [String]) throws -> SubproxyProcess.Finished {
        try SubproxyProcess.run(
            ["record", "-o", name, "--ca-dir", folder.at("ca")] + options + ["--"] + command, folder: folder.path)
    }

    /// Runs it with curl, which fetches paths one after the other, and prints the statuses.
    func fetch(_ name: String, _ options: [String] = [], _ paths: String...) throws -> SubproxyProcess.Finished {
        try run(
            name, options, curl + ["--write-out", "%{http_code} "] + paths.flatMap { ["-o", "/dev/null", url($0)] })
    }

    let curl = ["curl", "--disable", "-sS", "--max-time", "300"]

    /// What is said of an archive: `2 entries, 2 usable`.
    func counts(_ name: String) throws -> String {
        let output = try SubproxyProcess.run(["check", folder.at(name)]).output
        return output.split(separator: "(").last?.split(separator: ")").first.map(String.init) ?? output
    }

    /// All text of all files of what was recorded.
    func text(_ name: String) throws -> String {
        let script =
            "case $1 in *.gz) zcat $1;; *) find $1 -type f | sort | while read f; do echo $f; cat $f; done;; esac"
        return try ChildProcess.run(["sh", "-c", script, "sh", folder.at(name)]).output
    }
}

/// The built program as a recorder of what origins answer.
@Suite("Recording", .onThreads)
struct RecordTests {
    // MARK: Modes

    @Test("once records the first time, and replays it ever after", arguments: Stage.kinds)
    func once(name: String) throws {
        let stage = try Stage()
        let first = try stage.fetch(name, [], "/a", "/b?x=1")
        #expect(first.status == 0 && first.output == "200 200 ", "\(first.error)")
        #expect(
            first.errorLines == [
                "subproxy: recorded 2 exchanges of 1 host (\("body of /abody of /b?x=1".utf8.count) bytes) to \(name)"
            ])
        #expect(stage.targets == ["/a", "/b?x=1"])
        let second = try stage.fetch(name, ["--fail-on-miss"], "/b?x=1", "/a")
        #expect(second.status == 0 && second.output == "200 200 ")
        #expect(
            second.errorLines == [
                "subproxy: \(name) has 2 entries, which are replayed; --update adds to them, --mode all records anew"
            ])
        let missed = try stage.fetch(name, ["--fail-on-miss", "--report", "report.json"], "/a", "/new")
        #expect(missed.status == 1 && missed.output == "200 504 ")
        #expect(try stage.folder.text(of: "report.json").contains(#""reason":"path""#))
        let page = try stage.run(name, [], stage.curl + [stage.url("/new")]).output
        #expect(page.contains("Record it with --update, or map the URL."), "\(page)")
        #expect(stage.targets.count == 2)
        #expect(try stage.counts(name) == "2 entries, 2 usable")
    }

    @Test("new_episodes replays what is there, and adds what it lacks", arguments: Stage.kinds)
    func update(name: String) throws {
        let stage = try Stage()
        _ = try stage.fetch(name, ["--mode", "new_episodes"], "/a")
        // What is added is not missed.
        let second = try stage.fetch(name, ["--update", "--fail-on-miss", "--report", "report.json"], "/a", "/b")
        #expect(second.status == 0 && second.output == "200 200 ")
        #expect(try stage.folder.text(of: "report.json").contains(#""misses":[]"#))
        #expect(second.errorLines == ["subproxy: recorded 1 exchange of 1 host (10 bytes) to \(name)"])
        #expect(stage.targets == ["/a", "/b"])
        let third = try stage.fetch(name, ["--mode", "none"], "/b", "/a")
        #expect(third.output == "200 200 " && third.errorLines.count == 1, "\(third.error)")
        #expect(try stage.counts(name) == "2 entries, 2 usable")
    }

    @Test("all records anew, in the place of the old one at the end, and keeps the rules", arguments: Stage.kinds)
    func all(name: String) throws {
        let stage = try Stage()
        _ = try stage.fetch(name, ["--mode", "all"], "/a", "/b")
        if name == "r/" {
            try stage.folder.write("r/substitutions.yaml", "archives: [recording.yaml]\n# mine\n")
            try stage.folder.write("r/README", "mine")
            try stage.folder.write("r/files/own.txt", "mine")
            // What a recorder leaves that was killed while it wrote a body.
            #expect(mkdir(stage.folder.at("r.new"), 0o700) == 0)
            try stage.folder.write("r.new/recording.yaml", "")
            try stage.folder.write("r.new/.recording-part", "a part")
            // And one that was killed while it put the list into its order.
            try stage.folder.write("r.new/recording.yaml.recording-part", "a part")
        }
        let list = stage.folder.at(name == "r/" ? "r/recording.yaml" : name)
        #expect(chmod(list, 0o640) == 0)
        let second = try stage.fetch(name, ["--mode", "all"], "/c")
        #expect(second.status == 0 && second.output == "200 ")
        var status = stat()
        #expect(stat(list, &status) == 0 && status.st_mode & 0o777 == 0o640, "those who may read it stay the same")
        #expect(second.errorLines == ["subproxy: recorded 1 exchange of 1 host (10 bytes) to \(name)"])
        #expect(try stage.counts(name) == "1 entry, 1 usable")
        let text = try stage.text(name)
        #expect(text.contains("body of /c") && !text.contains("body of /a"))
        if name == "r/" {
            #expect(try stage.folder.text(of: "r/substitutions.yaml").hasSuffix("# mine\n"))
            #expect(try stage.folder.text(of: "r/README") == "mine")
            #expect(try stage.folder.text(of: "r/files/own.txt") == "mine")
        }
        let names = try ChildProcess.run(["ls", "-A", stage.folder.path]).output.split(separator: "\n")
        #expect(names.sorted() == ["ca", name == "r/" ? "r" : Substring(name)])
        // Where nothing was asked, all stays.
        let idle = try stage.run(name, ["--mode", "all"], ["true"])
        #expect(idle.errorLines.last == "subproxy: \(name) stays as it was")
        #expect(try stage.counts(name) == "1 entry, 1 usable")
    }

    @Test("all leaves the old recording whole where its list can't be replaced")
    func allPutsBack() throws {
        let stage = try Stage()
        #expect(try stage.fetch("r/", [], "/a").output == "200 ")
        let url = stage.url("/c")
        let script = "curl --disable -sS --max-time 300 \(url) && rm r/recording.yaml && mkdir r/recording.yaml"
        let refused = try stage.run("r/", ["--mode", "all"], ["sh", "-c", script])
        #expect(refused.status == 73 && refused.output == "body of /c", "\(refused)")
        #expect(refused.error.contains("subproxy: error: r/ can't be replaced by /"), "\(refused)")
        #expect(refused.error.contains("/r.new: Is a directory\n"), "\(refused)")
        let left = try ChildProcess.run(["find", stage.folder.at("r/files"), "-type", "f", "-printf", "%f\n"]).output
        #expect(left == "a.txt\n")
        #expect(try stage.folder.text(of: "r.new/recording.yaml").contains(url))
    }

    @Test("all keeps recorded files that rules name, also in a map that is included, and by their folder")
    func allKeepsNamed() throws {
        let stage = try Stage()
        #expect(try stage.fetch("r/", [], "/a", "/b", "/c/1", "/d/1", "/e?n=1").output == "200 200 200 200 200 ")
        let files = "files/127.0.0.1_\(stage.origin.port)"
        try stage.folder.write(
            "r/substitutions.yaml",
            "include: [more.yaml]\narchives: [recording.yaml]\n"
                + "substitutions:\n  http://a.test/: \(files)/c/  # these files stay\n"
                + "  http://c.test/*: { file: \"\(files)/e,n=$1.txt\" }\n")
        try stage.folder.write("r/more.yaml", ServedMap.text("http://b.test/a: \(files)/a.txt"))
        let second = try stage.fetch("r/", ["--mode", "all"], "/new")
        #expect(second.status == 0, "\(second.error)")
        let left = try ChildProcess.run(["find", stage.folder.at("r/files"), "-type", "f", "-printf", "%P\\n"]).output
        let names = ["a.txt", "c/1.txt", "e,n=1.txt", "new.txt"].map { "127.0.0.1_\(stage.origin.port)/\($0)" }
        #expect(left.split(separator: "\n").map(String.init).sorted() == names, "\(left)")
        let replayed = try stage.run("r/", ["--fail-on-miss"], stage.curl + ["http://b.test/a", "http://a.test/1.txt"])
        #expect(replayed.status == 0 && replayed.output == "body of /abody of /c/1", "\(replayed)")
    }

    @Test("none replays what is there, and is an error where nothing is", arguments: Stage.kinds)
    func none(name: String) throws {
        let stage = try Stage()
        let refused = try stage.fetch(name, ["--mode", "none"], "/a")
        #expect(refused.status == 66 && refused.output == "" && stage.targets == [])
        #expect(refused.error == "subproxy: error: \(name) has no recording, and --mode none makes none\n")
        #expect(try ChildProcess.run(["ls", "-A", stage.folder.path]).output == "")
        _ = try stage.fetch(name, [], "/a")
        let replayed = try stage.fetch(name, ["--mode", "none"], "/a", "/b")
        #expect(replayed.status == 0 && replayed.output == "200 504 " && stage.targets == ["/a"])
        #expect(
            replayed.errorLines.first
                == "subproxy: \(name) has 1 entry, which is replayed; --update adds to it, --mode all records anew")
    }

    @Test(
        "What can't be meant is refused",
        arguments: [
            (["record"], 64, "it is not said what to write"),
            (["record", "-o", ""], 64, "-o is empty; it names what to write"),
            (["record", "-o", "x.mhtml"], 64, "a saved page is not recorded"),
            (["record", "-o", "x.wacz"], 64, ".zip and .wacz are read, and not written"),
            (["record", "-o", "x.txt"], 64, "what is, are .har, .warc, .warc.gz, or a folder"),
            (["record", "-o", "x.har.gz"], 64, "what is, are .har, .warc, .warc.gz, or a folder"),
            (["record", "-o", "x/", "--mode", "never"], 64, "mode"),
            (["record", "-o", "x/", "--mode", "all", "--update"], 64, "--update is --mode new_episodes"),
            (
                ["record", "-o", "x/", "--redact", "a", "--no-redact"], 64,
                "--redact and --no-redact exclude each other"
            ),
            (["record", "-o", "none/x/", "--", "true"], 73, "'none/x/' can't be recorded: No such file or directory"),
            (["record", "-o", "none/x.har", "--", "true"], 73, "No such file or directory"),
        ])
    func refusals(arguments: [String], status: Int32, text: String) throws {
        let folder = TemporaryFolder()
        let finished = try SubproxyProcess.run(arguments, folder: folder.path)
        #expect(finished.status == status && finished.error.contains(text), "\(finished)")
        #expect(try ChildProcess.run(["ls", "-A", folder.path]).output == "")
    }

    @Test("A recording that is a symbolic link is told so where it would be written", arguments: ["out/", "out.har"])
    func links(name: String) throws {
        let stage = try Stage()
        let isFolder = name.hasSuffix("/")
        let (list, real) = isFolder ? ("out/recording.yaml", "real.yaml") : (name, "real.har")
        #expect(try stage.run(name, [], ["curl", "-s", stage.url("/a")]).status == 0)
        #expect(rename(stage.folder.at(list), stage.folder.at(real)) == 0)
        #expect(symlink(stage.folder.at(real), stage.folder.at(list)) == 0)
        #expect(try stage.run(name, [], ["true"]).status == 0)
        let refused = try stage.run(name, ["--update"], ["true"])
        #expect(refused.status == 73)
        #expect(
            refused.error
                == "subproxy: error: '\(list)' can't be recorded: it is a symbolic link, through which nothing is written\n"
        )
    }

    @Test("A file that is no recording stays where the new one would be written", arguments: Stage.kinds)
    func others(name: String) throws {
        let stage = try Stage()
        #expect(try stage.run(name, [], ["curl", "-s", stage.url("/a")]).status == 0)
        let place = name.hasSuffix("/") ? name.dropLast() + ".new" : name + ".new"
        try stage.folder.write(String(place), "mine")
        let refused = try stage.run(name, ["--mode", "all"], ["true"])
        #expect(refused.status == 73 && refused.error.contains("\(place)' is there, and is no recording"), "\(refused)")
        #expect(try stage.folder.text(of: String(place)) == "mine")
    }

    @Test("There is one recorder at a time, in each mode", arguments: Stage.kinds)
    func busy(name: String) throws {
        let stage = try Stage()
        let path = stage.folder.at(name)
        let first = try RunningBinary(command: ["record", "-o", path])
        func second(_ options: [String]) throws {
            let refused = try stage.run(name, options, ["true"])
            #expect(refused.status == 73)
            #expect(refused.error == "subproxy: error: '\(name)' can't be recorded: another recorder writes it\n")
        }
        try second([])
        try second(["--mode", "all"])
        // One that makes the first recording in another way.
        let other = "other-\(name)"
        let anew = try RunningBinary(command: ["record", "-o", stage.folder.at(other), "--mode", "all"])
        for options in [[], ["--update"], ["--mode", "all"]] {
            let refused = try stage.run(other, options, ["true"])
            #expect(refused.status == 73 && refused.error.contains("another recorder writes it"), "\(options)")
        }
        anew.process.send(SIGTERM)
        #expect(try anew.process.finish() == 0)
        #expect(try first.get(stage.url("/a")).status == 200)
        try Wait.until { try stage.counts(name).hasPrefix("1 entry") }
        try second([])
        try second(["--update"])
        try second(["--mode", "all"])
        // Who never records, replays what is there so far.
        #expect(try stage.fetch(name, ["--mode", "none"], "/a").output == "200 ")
        first.process.send(SIGTERM)
        #expect(try first.process.finish() == 0)
        #expect(first.process.error.hasSuffix("subproxy: recorded 1 exchange of 1 host (10 bytes) to \(path)\n"))
        let third = try RunningBinary(command: ["record", "-o", path, "--mode", "all"])
        try second(["--update"])
        // The old one is whole meanwhile.
        #expect(try stage.fetch(name, ["--mode", "once"], "/a").output == "200 ")
        third.process.send(SIGTERM)
        #expect(try third.process.finish() == 0)
        #expect(try stage.counts(name) == "1 entry, 1 usable")
    }

    @Test(
        "A HAR without an entry is recorded into, however another program has written it",
        arguments: [
            #"{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[]}}"#,
            "{\n  \"log\": {\n    \"version\": \"1.2\",\n    \"creator\": { \"name\": \"x\", \"version\": \"1\" },\n"
                + "    \"entries\": [\n    ]\n  }\n}\n",
        ])
    func emptyHAR(text: String) throws {
        let stage = try Stage()
        for options in [[], ["--update"], ["--mode", "all"]] {
            try stage.folder.write("r.har", text)
            let run = try stage.fetch("r.har", options, "/a")
            #expect(run.status == 0 && run.output == "200 ", "\(options): \(run)")
            #expect(try stage.counts("r.har") == "1 entry, 1 usable")
        }
    }

    @Test("What another program's HAR has beside the entries, and in them, stays as it is when it is added to")
    func otherPrograms() throws {
        let stage = try Stage()
        let entry = """
            {"startedDateTime": "2026-01-02T03:04:05.678Z", "time": 12.5, "_initiator": {"type": "other"},
              "request": {"method": "GET", "url": "http://other.test/", "httpVersion": "HTTP/2.0", "headers": [],
                "queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0},
              "response": {"status": 200, "statusText": "", "httpVersion": "HTTP/2.0", "headers": [], "cookies": [],
                "content": {"size": 2, "mimeType": "text/plain", "text": "hi"}, "redirectURL": "", "headersSize": -1,
                "bodySize": 2}, "cache": {}, "timings": {"send": 1, "wait": 2, "receive": 3}}
            """
        let start = """
            { "log": { "version": "1.2", "creator": { "name": "x", "version": "1" }, "comment": "mine",
              "pages": [ { "id": "p", "pageTimings": { "onLoad": 7 } } ],
              "entries": [ \(entry)
            """
        let whole = start + "\n  ]\n }\n}"
        try stage.folder.write("r.har", whole)
        let none = try stage.run("r.har", ["--update"], ["true"])
        #expect(none.status == 0, "\(none)")
        #expect(try stage.folder.text(of: "r.har") == whole)
        let added = try stage.fetch("r.har", ["--update"], "/a")
        #expect(added.status == 0 && added.output == "200 ", "\(added)")
        #expect(try stage.folder.text(of: "r.har").hasPrefix(start))
        #expect(try stage.counts("r.har") == "2 entries, 2 usable")
        // One that another program may still be writing, and those with more behind the entries.
        for (text, reason) in [
            (start, "it is cut short"), (start + "], \"_more\": [] } }", "no HAR's end right behind its entries"),
            (#"{"log":{"entries":[],"pages":[]}}"#, "no HAR's end right behind its entries"),
            (#"{"log":{"entries":[]},"x":{"entries":[]}}"#, "no HAR's end right behind its entries"),
        ] {
            try stage.folder.write("r.har", text)
            let refused = try stage.run("r.har", ["--update"], ["true"])
            #expect(refused.status == 73 && refused.error.contains(reason), "\(refused)")
            #expect(try stage.folder.text(of: "r.har") == text)
        }
    }

    @Test(
        "A WARC keeps all its records, of other programs too, when it is added to", arguments: ["r.warc", "r.warc.gz"])
    func otherRecords(name: String) throws {
        let stage = try Stage()
        func record(_ type: String, _ block: String, _ more: String = "") throws -> Data {
            let text = """
                WARC/1.1\r\nWARC-Type: \(type)\r\nWARC-Date: 2026-01-02T03:04:05Z\r\nWARC-Target-URI: http://a.test/\r\n\
                WARC-Record-ID: <urn:uuid:\(UUID().uuidString)>\r\n\(more)Content-Length: \(block.utf8.count)\r\n\r\n\
                \(block)\r\n\r\n
                """
            guard name.hasSuffix("gz") else { return Data(text.utf8) }
            let path = stage.folder.at("record")
            try Data(text.utf8).write(to: URL(filePath: path))
            _ = try ChildProcess.run(["gzip", "-f", path])
            return try Data(contentsOf: URL(filePath: path + ".gz"))
        }
        let response = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + String(repeating: "hi", count: 99)
        let http = "Content-Type: application/http;msgtype=response\r\n"
        let whole =
            try record("warcinfo", "software: other\r\n") + record("response", response, http)
            + record("metadata", "a: b\r\n") + record("response", response, http + "WARC-Truncated: length\r\n")
            + record("conversion", "text")
        let torn = try record("response", response, http)
        for cut in [torn.count - 20, torn.count / 2, 12, 3] {
            let url = URL(filePath: stage.folder.at(name))
            try (whole + torn.prefix(cut)).write(to: url)
            let none = try stage.run(name, ["--update"], ["true"])
            #expect(none.status == 0, "\(cut): \(none)")
            #expect(
                none.error.contains("'\(name)' ended in the midst of a record, which is cut off: \(cut) bytes\n"),
                "\(cut): \(none)")
            #expect(try Data(contentsOf: url) == whole, "\(cut)")
            let added = try stage.fetch(name, ["--update"], "/a")
            #expect(added.status == 0 && added.output == "200 ", "\(cut): \(added)")
            #expect(try Data(contentsOf: url).starts(with: whole))
            #expect(try stage.counts(name) == "3 entries, 2 usable")
        }
        // What is missing behind the last whole record is written.
        for cut in 1...4 {
            let url = URL(filePath: stage.folder.at(name))
            try whole.dropLast(cut).write(to: url)
            let ended = try stage.run(name, ["--update"], ["true"])
            #expect(ended.status == 0 && ended.error.contains("lacked the end of its last record"), "\(cut): \(ended)")
            #expect(try Data(contentsOf: url) == whole, "\(cut)")
        }
        // What can't be cut without losing something, or is something else, stays as it is.
        let shared = try ChildProcess.run(
            ["sh", "-c", "case $1 in *gz) zcat \"$1\" | gzip;; *) cat \"$1\";; esac", "sh", stage.folder.at(name)])
        let isCompressed = name.hasSuffix("gz")
        let nested =
            whole
            + Data(
                String(decoding: torn, as: UTF8.self).replacing("\r\nContent-Length: ", with: "\r\nContent-Length: 9")
                    .utf8)
        for text in [
            isCompressed ? Data(shared.outputBytes.dropLast(30)) : nested + whole,
            Data("{\"log\":{\"entries\":[\n{".utf8),
        ] {
            let url = URL(filePath: stage.folder.at(name))
            try text.write(to: url)
            let refused = try stage.run(name, ["--update"], ["true"])
            #expect([65, 73].contains(refused.status), "\(refused)")
            #expect(try Data(contentsOf: url) == text)
        }
        let entry = #"{"request":{"method":"GET","url":"http://a.test/"},"response":{"status":200}}"#
        for har in [#"{"log":{"entries":[\#(entry)]}}"#, #"{"log":{"entries":[]}}"#] {
            try stage.folder.write(name, har)
            let misnamed = try stage.run(name, ["--update"], ["true"])
            #expect(misnamed.status == 73 && misnamed.error.contains("rename it"), "\(misnamed)")
            #expect(try stage.folder.text(of: name) == har)
        }
        // Nothing can be read of it, and nothing is thrown away.
        if isCompressed {
            let damaged = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]) + Data(repeating: 0xFF, count: 5000)
            try damaged.write(to: URL(filePath: stage.folder.at(name)))
            for options in [[], ["--update"]] {
                let unread = try stage.run(name, options, ["true"])
                #expect(unread.status == 65, "\(unread)")
                #expect(try Data(contentsOf: URL(filePath: stage.folder.at(name))) == damaged)
            }
        }
        // What is compressed otherwise than its name says is not written anew.
        let other = name.hasSuffix("gz") ? "s.warc" : "s.warc.gz"
        try whole.write(to: URL(filePath: stage.folder.at(other)))
        let refused = try stage.run(other, ["--update"], ["true"])
        #expect(refused.status == 73 && refused.error.contains("its name doesn't say so"), "\(refused)")
        #expect(try Data(contentsOf: URL(filePath: stage.folder.at(other))) == whole)
    }

    // MARK: What is recorded

    @Test("The proxy's own fields, pages and answers, and what failed, are not recorded, and are counted")
    func passedOver() throws {
        let stage = try Stage { request, connection in
            switch request.target {
            case "/cut":
                try connection.socket.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
                return false
            case "/reset": return false
            case "/early":
                try connection.socket.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
                try connection.respond(body: "early")
            case "/upgrade":
                try connection.socket.send(
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
                return false
            case "/endless":
                try connection.socket.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx")
                _ = try connection.socket.receive()
                return false
            default: try connection.respond(body: String(repeating: "x", count: 5000))
            }
            return true
        }
        let map = try stage.folder.write("m.yaml", ServedMap.text("http://mapped.test/: { text: mapped }"))
        let path = stage.folder.at("r")
        let binary = try RunningBinary(command: ["record", "-o", path, "--map", map, "--record-body", "4KiB"])
        #expect(try binary.get(stage.url("/early")).interim.count == 1)
        #expect(try binary.get("http://mapped.test/").text == "mapped")
        #expect(try binary.get("http://127.0.0.1:\(binary.port)/").status == 200)
        #expect(try !binary.get(stage.url("/cut")).isComplete)
        #expect(try binary.get(stage.url("/reset")).status == 502)
        #expect(try binary.get(stage.url("/long")).body.count == 5000)
        let upgrade = try binary.connect()
        try upgrade.sendRequest("GET", stage.url("/upgrade"), fields: ["Connection: Upgrade", "Upgrade: x"])
        #expect(try upgrade.receiveResponseHead().status == 101)
        let leaving = try binary.connect()
        try leaving.sendRequest("GET", stage.url("/endless"))
        #expect(try leaving.receiveResponseHead().status == 200)
        leaving.close()
        try Wait.until { stage.origin.openConnectionCount == 0 || stage.targets.last == "/endless" }
        try Wait.until { try binary.get("http://127.0.0.1:\(binary.port)/metrics").text.contains("subproxy") }
        upgrade.close()
        binary.process.send(SIGTERM)
        #expect(try binary.process.finish() == 0)
        #expect(
            binary.process.error.contains(
                "recorded 1 exchange of 1 host (5 bytes) to \(path)/; 5 were not recorded: 1 cut off, 2 failed, "
                    + "1 too long, 1 upgraded\n"), "\(binary.process.error)")
        let list = try stage.folder.text(of: "r/recording.yaml")
        // A port and a time may have the digits of a status.
        #expect(list.contains("/early") && !list.contains("</a>") && !list.contains("status: 103"))
        #expect(!list.contains("Via:") && !list.contains("Date:"))
    }

    @Test("Origins are asked for bodies that can be kept: no conditions, no cache, no coding that nobody knows")
    func whatOriginsGet() throws {
        let stage = try Stage { _, connection in
            try connection.respond(fields: "Cache-Control: max-age=999\r\nETag: \"e\"\r\n")
            return true
        }
        let binary = try RunningBinary(command: ["record", "-o", stage.folder.at("r")])
        let fields = [
            "If-None-Match: \"e\"", "If-Modified-Since: Mon, 23 Nov 2026 05:00:00 GMT", "X-Mine: 1",
            "Accept-Encoding: gzip, xyz;q=0.5, br;q=0.1, *", "Cookie: a=planted", "If-Unmodified-Since: 0",
        ]
        for _ in 0..<2 { #expect(try binary.get(stage.url("/a"), fields: fields).text == "ok") }
        #expect(try binary.exchange("PUT", stage.url("/a"), fields: ["If-None-Match: *"], body: "x").status == 200)
        let requests = stage.origin.requests
        #expect(requests.count == 3)
        for request in requests.prefix(2) {
            #expect(request.field("If-None-Match") == nil && request.field("If-Modified-Since") == nil)
            #expect(request.field("Accept-Encoding") == "gzip, br;q=0.1")
            #expect(request.field("X-Mine") == "1" && request.field("Cookie") == "a=planted")
        }
        // Of another method it says whether something is to be done.
        #expect(requests.last?.field("If-None-Match") == "*")
        binary.process.send(SIGTERM)
        try binary.process.finish()
        #expect(try !stage.text("r").contains("planted"))
        let list = try stage.folder.text(of: "r/recording.yaml")
        #expect(!list.contains("If-Modified-Since") && list.contains("X-Mine") && list.contains("If-None-Match: \"*\""))
    }

    @Test("A replay has the status, fields and bodies of the origin, in each format", arguments: Stage.kinds)
    func roundTrip(name: String) throws {
        let stage = try Stage { request, connection in
            let body: String
            var head =
                "Content-Type: text/html; charset=iso-8859-1\r\nX-A: 1\r\nx-a: 2\r\nX-Odd: \"a: b\" # c\r\nX-Empty:\r\n"
            switch request.target {
            case "/204":
                try connection.socket.send("HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n")
                return true
            case "/moved": (body, head) = ("", head + "Location: /204?a=1\r\n")
            case "/large": body = String(repeating: "0123456789abcdef", count: 40_000)
            case "/chunked":
                try connection.socket.send(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-C: 1\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
                return true
            case "/bytes":
                try connection.socket.send("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\n")
                try connection.socket.send([0, 1, 0xFF, 0xFE])
                return true
            default:
                body = "\(request.text.prefix(4)) \(request.target) \(String(decoding: request.body, as: UTF8.self))"
            }
            try connection.respond(request.target == "/moved" ? "302 Found" : "200 OK", fields: head, body: body)
            return true
        }
        let url = stage.url("")
        let script = """
            i=0; for u in '/' '/a?b=c&d' '/204' '/moved' '/large' '/chunked' '/bytes' '/"<x>|' '/%41%zz' '/..%2f;'; do
            \(stage.curl.joined(separator: " ")) --path-as-is --dump-header - "\(url)$u"; done
            for b in '{"a":1}' '{"a":2}'; do
            \(stage.curl.joined(separator: " ")) -i -H 'Content-Type: application/json' -d "$b" "\(url)/post"; done
            \(stage.curl.joined(separator: " ")) -I "\(url)/head"
            """
        let live = try stage.run(name, [], ["sh", "-c", script])
        #expect(live.status == 0, "\(live.error)")
        let count = stage.targets.count
        stage.origin.stop()
        let replayed = try stage.run(name, ["--fail-on-miss"], ["sh", "-c", script])
        #expect(replayed.status == 0, "\(replayed.error)")
        #expect(count == 13)
        // Made by the proxy, or of the framing.
        let own = [
            "date", "via", "cache-status", "cache-control", "etag", "accept-ranges", "vary", "content-length",
            "transfer-encoding",
        ]
        func comparable(_ text: String) -> [Substring] {
            text.split(separator: "\r\n").filter { line in
                !own.contains { line.lowercased().hasPrefix("\($0):") } && !line.hasPrefix("HTTP/")
            }
        }
        func statuses(_ text: String) -> [Substring] {
            text.split(separator: "\r\n").filter { $0.contains("HTTP/1.1 ") }.map { line in
                line.dropFirst(
                    (line.range(of: "HTTP/1.1 ")?.upperBound).map { line.distance(from: line.startIndex, to: $0) } ?? 0
                )
                .prefix(3)
            }
        }
        let isText = name == "r.har"
        let expected = comparable(live.output)
        let found = comparable(replayed.output)
        // The text of a HAR is UTF-8 whatever it once was.
        #expect(
            isText
                ? found.map { $0.lowercased().replacing("utf-8", with: "iso-8859-1") }
                    == expected.map { $0.lowercased() } : found == expected)
        #expect(statuses(replayed.output) == statuses(live.output))
    }

    @Test("Coded bodies are decoded where they can be, and kept as they came where they can't")
    func codings() throws {
        let folder = TemporaryFolder()
        try folder.write("plain", "hello hello hello")
        #expect(try ChildProcess.run(["gzip", "-k", folder.at("plain")]).status == 0)
        let gzip = try [UInt8](Data(contentsOf: URL(filePath: folder.at("plain.gz"))))
        let stage = try Stage { request, connection in
            let isFalse = request.target == "/false"
            let body = isFalse ? Array("no gzip".utf8) : request.target == "/torn" ? Array(gzip.dropLast(9)) : gzip
            try connection.socket.send(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n"
            )
            try connection.socket.send(body)
            return true
        }
        for name in Stage.kinds {
            #expect(try stage.fetch(name, [], "/whole", "/false", "/torn").output == "200 200 200 ")
            stage.origin.closeConnections()
            let replayed = try stage.run(name, [], stage.curl + ["--compressed", stage.url("/whole")])
            #expect(replayed.output == "hello hello hello")
            #expect(try stage.run(name, [], stage.curl + [stage.url("/false")]).output == "no gzip")
        }
        #expect(try stage.folder.text(of: "r/files/127.0.0.1_\(stage.origin.port)/whole.txt") == "hello hello hello")
    }

    @Test("Two recordings of a site that has not changed are the same bytes")
    func unchanged() throws {
        let count = Counter()
        let stage = try Stage { request, connection in
            let number = count.next()
            try connection.respond(
                fields: "Date: \(number)\r\nAge: \(number)\r\nExpires: \(number)\r\nServer-Timing: t;dur=\(number)\r\n"
                    + "Set-Cookie: s=\(number); Max-Age=9; Expires=\(number)\r\nContent-Type: text/html\r\n",
                body: "page \(request.target)")
            return true
        }
        for name in ["a/", "b/"] { #expect(try stage.fetch(name, [], "/", "/x", "/x?y", "/").status == 0) }
        #expect(try ChildProcess.run(["diff", "-r", stage.folder.at("a"), stage.folder.at("b")]).output == "")
        #expect(try stage.fetch("a/", ["--mode", "all"], "/", "/x", "/x?y", "/").status == 0)
        #expect(try ChildProcess.run(["diff", "-r", stage.folder.at("a"), stage.folder.at("b")]).output == "")
        #expect(
            try ChildProcess.run(["ls", stage.folder.at("a/files/127.0.0.1_\(stage.origin.port)")]).output
                == "index.html\nx,y.html\nx.html\n")
    }

    @Test("In a folder with rules, rules come first, and the recording answers though they don't name it")
    func rulesThatWereThere() throws {
        let stage = try Stage()
        #expect(mkdir(stage.folder.at("r"), 0o700) == 0)
        try stage.folder.write("r/substitutions.yaml", ServedMap.text("\(stage.url("/b")): { text: rule }"))
        let first = try stage.run("r/", [], stage.curl + [stage.url("/a"), stage.url("/b")])
        #expect(first.status == 0 && first.output == "body of /arule", "\(first.error)")
        #expect(
            first.errorLines.last
                == "subproxy: warning: r/substitutions.yaml does not name recording.yaml; 'archives: [recording.yaml]' does"
        )
        let second = try stage.run("r/", [], stage.curl + [stage.url("/a"), stage.url("/b")])
        #expect(second.output == "body of /arule", "\(second.error)")
        #expect(stage.targets == ["/a"])
    }

    @Test("The folder's own rules answer in each mode, and while it is recorded nothing of the old recording does")
    func ownRules() throws {
        let stage = try Stage()
        #expect(mkdir(stage.folder.at("r"), 0o700) == 0)
        try stage.folder.write("r/own.txt", "own")
        try stage.folder.write(
            "r/substitutions.yaml",
            "archives: [./recording.yaml]\nsubstitutions:\n  \(stage.url("/own")): own.txt\n"
                + "  \(stage.url("/to")): { forward: \"\(stage.url("/from"))\" }\n")
        for mode in [[], ["--mode", "once"], ["--mode", "new_episodes"], ["--mode", "none"], ["--mode", "all"]] {
            let run = try stage.run(
                "r/", mode, stage.curl + [stage.url("/a"), stage.url("/own"), stage.url("/to")])
            #expect(run.status == 0 && run.output == "body of /aownbody of /from", "\(mode): \(run.error)")
            #expect(try stage.counts("r/") == "2 entries, 2 usable", "\(mode)")
        }
        #expect(stage.targets == ["/a", "/from", "/a", "/from"])
        let text = try stage.text("r/recording.yaml")
        #expect(text.contains("/a\n") && text.contains("/to\n") && !text.contains("/own"), "\(text)")
        // A map of the command line may name the list that is being written, too.
        try stage.folder.write("m.yaml", "archives: [r]\n")
        let anew = try stage.run("r/", ["--mode", "all", "--map", "m.yaml"], stage.curl + [stage.url("/a")])
        #expect(anew.output == "body of /a" && stage.targets.count == 5, "\(anew.error)")
    }

    @Test(
        "What a rule forwards is looked for in the recording first, and is a miss where that lacks it",
        arguments: Stage.kinds)
    func forwardingRules(name: String) throws {
        let stage = try Stage()
        let map = try stage.folder.write(
            "m.yaml",
            ServedMap.text(
                "\(stage.url("/a")): { forward: \(stage.url("/b")) }\n\(stage.url("/c")): { forward: true }"))
        let first = try stage.run(name, ["--map", map], stage.curl + [stage.url("/a")])
        #expect(first.status == 0 && first.output == "body of /b", "\(first)")
        let again = try stage.run(name, ["--map", map, "--fail-on-miss"], stage.curl + [stage.url("/a")])
        #expect(again.status == 0 && again.output == "body of /b", "\(again)")
        let missed = try stage.fetch(name, ["--map", map, "--fail-on-miss", "--report", "-"], "/c")
        #expect(missed.status == 1 && missed.output == "504 ", "\(missed)")
        #expect(missed.error.contains(stage.url("/c")) && !missed.error.contains("--offline"), "\(missed.error)")
        #expect(stage.targets == ["/b"])
        for _ in 0..<2 {
            let updated = try stage.fetch(name, ["--map", map, "--update"], "/a", "/c")
            #expect(updated.status == 0 && updated.output == "200 200 ", "\(updated)")
        }
        #expect(stage.targets == ["/b", "/c"])
        #expect(try stage.counts(name).contains("2 entries"))
    }

    @Test(
        "What an origin answers before a rule, or past it, is recorded once, and replayed in the rule's place",
        arguments: Stage.kinds)
    func fallbackRules(name: String) throws {
        let stage = try Stage()
        var map = ["/a", "/b", "/c"].map { "  \(stage.url($0)): { text: rule, when: origin-fails }\n" }.joined()
        map += "  \(stage.url("/p")): { text: rule, methods: [POST], when: origin-fails }\n"
        map += "  \(stage.url("/d")): { text: rule }\n"
        var options: [String] = []
        if name == "r/" {
            #expect(mkdir(stage.folder.at("r"), 0o700) == 0)
            try stage.folder.write("r/substitutions.yaml", "archives: [recording.yaml]\nsubstitutions:\n" + map)
        } else {
            options = ["--map", try stage.folder.write("m.yaml", "substitutions:\n" + map)]
        }
        func post(_ options: [String], _ text: String) throws -> String {
            try stage.run(name, options, stage.curl + ["-d", text, stage.url("/p")]).output
        }
        #expect(try stage.fetch(name, options, "/a").output == "200 ")
        for _ in 0..<2 {
            let update = options + ["--update"]
            #expect(try stage.fetch(name, update, "/a", "/b").output == "200 200 ")
            let reload = stage.curl + ["-H", "Cache-Control: no-cache", stage.url("/d")]
            #expect(try stage.run(name, update, reload).output == "body of /d")
            #expect(try post(update, "x=1") + post(update, "x=2") == "body of /pbody of /p")
        }
        #expect(stage.targets == ["/a", "/b", "/d", "/p", "/p"])
        #expect(try stage.counts(name).contains("5 entries"))
        let paths = ["/a", "/b", "/c", "/d"].map(stage.url)
        let replayed = try stage.run(name, options + ["--fail-on-miss"], stage.curl + paths)
        #expect(replayed.status == 0 && replayed.output == "body of /abody of /brulerule", "\(replayed.error)")
        #expect(try post(options, "x=2") + post(options, "x=3") == "body of /prule")
        #expect(stage.targets.count == 5)
    }

    @Test(
        "What a rule has no answer for and leaves to its origin is recorded once, then replayed, and is a miss else",
        arguments: Stage.kinds)
    func missingRules(name: String) throws {
        let stage = try Stage()
        let sources = [
            "{ file: nix.txt, missing: forward }", "{ template: nix.html, missing: forward }",
            "{ sqlite: nix.db, resource: t, missing: forward }", "{ answers: [{ forward: true }, { text: rule }] }",
            "{ answers: [{ forward: \"\(stage.url("/other"))\" }] }",
        ]
        var map = sources.enumerated().map { "\(stage.url("/\($0)")): \($1)" }
        map.append("\(stage.url("/p")): { file: nix.txt, methods: [POST], missing: forward }")
        map.append("\(stage.url("/miss")): { file: nix.txt, missing: forward }")
        let options = ["--map", try stage.folder.write("m.yaml", ServedMap.text(map.joined(separator: "\n")))]
        let urls = sources.indices.map { stage.url("/\($0)") }
        let bodies = ["/0", "/1", "/2", "/3", "/other"].map { "body of \($0)" }.joined()
        func post(_ options: [String], _ text: String) throws -> String {
            try stage.run(name, options, stage.curl + ["-w", " %{http_code} ", "-d", text, stage.url("/p")]).output
        }
        #expect(try stage.run(name, options, stage.curl + urls).output == bodies)
        let asked = ["/0", "/1", "/2", "/3", "/other"]
        #expect(stage.targets == asked)
        // Longer than what is compared, and so equal to any.
        let long = try stage.folder.write("long", String(repeating: "x", count: 3 << 20))
        for _ in 0..<2 {
            let update = options + ["--update"]
            #expect(try stage.run(name, update, stage.curl + urls).output == bodies)
            #expect(try post(update, "x=1") + post(update, "x=2") == "body of /p 200 body of /p 200 ")
        }
        #expect(stage.targets == asked + ["/p", "/p"])
        #expect(try stage.counts(name).contains("7 entries"))
        let replayed = try stage.run(name, options + ["--fail-on-miss"], stage.curl + urls)
        #expect(replayed.status == 0 && replayed.output == bodies, "\(replayed.error)")
        #expect(try post(options, "x=2") == "body of /p 200 ")
        let other = ["--fail-on-miss"] + options
        let unknown = try stage.run(name, other, stage.curl + ["-o", "/dev/null", "-d", "x=3", stage.url("/p")])
        #expect(unknown.status == 1, "\(unknown)")
        #expect(try post(options, "@\(long)") == "body of /p 200 ")
        let missed = try stage.fetch(name, options + ["--fail-on-miss", "--report", "-"], "/miss")
        #expect(missed.status == 1 && missed.output == "504 ", "\(missed)")
        #expect(missed.error.contains(stage.url("/miss")) && !missed.error.contains("--offline"), "\(missed.error)")
        #expect(stage.targets.count == 7)
    }

    @Test("JSON that curl sends as a form is without its password, in each format", arguments: Stage.kinds)
    func mislabelled(name: String) throws {
        let stage = try Stage()
        func log(in password: String) throws -> SubproxyProcess.Finished {
            try stage.run(
                name, [], stage.curl + ["-d", "{\"user\":\"ann\",\"password\":\"\(password)\"}", stage.url("/login")])
        }
        #expect(try log(in: "hunter2").output == "body of /login")
        let text = try stage.text(name)
        #expect(text.contains("ann") && text.contains("REDACTED") && !text.contains("hunter2"))
        #expect(try log(in: "another").output == "body of /login")
        #expect(stage.targets == ["/login"])
    }

    @Test("The command's status is the program's", arguments: [("exit 3", Int32(3)), ("kill -9 $$", 137)])
    func statuses(script: String, status: Int32) throws {
        let stage = try Stage()
        let finished = try stage.run("r/", [], ["sh", "-c", script])
        #expect(finished.status == status)
        #expect(finished.errorLines.last == "subproxy: recorded 0 exchanges of 0 hosts (0 bytes) to r/")
    }

    @Test("JSON is indented on request, and stays as it came else")
    func indentation() throws {
        let stage = try Stage { _, connection in
            try connection.respond(fields: "Content-Type: application/json\r\n", body: #"{"a":[1]}"#)
            return true
        }
        _ = try stage.fetch("a/", [], "/x")
        _ = try stage.fetch("b/", ["--pretty-json"], "/x")
        let file = "files/127.0.0.1_\(stage.origin.port)/x.json"
        #expect(try stage.folder.text(of: "a/\(file)") == #"{"a":[1]}"#)
        #expect(try stage.folder.text(of: "b/\(file)") == "{\n  \"a\": [\n    1\n  ]\n}\n")
    }

    @Test("Names that are odd, long, equal but for their case, or those of devices, stay below the folder")
    func names() throws {
        let stage = try Stage()
        let urls = [
            "/../../up", "/%2e%2e/%2e%2e/up", "/..;/x", "/con", "/aux.txt", "/A/x", "/a/X", "/a", "/a/", "//x//y",
            "/.git/config",
            "/" + String(repeating: "l", count: 3000), "/q?" + String(repeating: "p=1&", count: 300), "/a%00b", "/~",
            "/a:b*c",
        ].map { stage.url($0) }
        let finished = try stage.run("r/", [], stage.curl + ["--path-as-is", "-g"] + urls)
        #expect(finished.status == 0, "\(finished.error)")
        #expect(try stage.counts("r/") == "\(urls.count) entries, \(urls.count) usable")
        let paths = try ChildProcess.run(["find", stage.folder.at("r/files"), "-type", "f", "-printf", "%P\\n"]).output
            .split(separator: "\n")
        #expect(Set(paths.map { $0.lowercased() }).count == urls.count)
        for path in paths {
            #expect(path.utf8.count <= 240)
            for part in path.split(separator: "/") {
                #expect(!part.hasPrefix(".") && part.utf8.count <= 80)
                #expect(!["con", "aux"].contains(part.split(separator: ".").first ?? ""))
            }
        }
        #expect(try ChildProcess.run(["ls", "-A", stage.folder.path]).output == "ca\nr\n")
    }

    @Test("Requests at once, and one behind the other on a connection, are all recorded")
    func manyAtOnce() throws {
        let stage = try Stage()
        let binary = try RunningBinary(command: ["record", "-o", stage.folder.at("r")])
        let clients = try (0..<8).map { _ in try binary.connect() }
        for (number, client) in clients.enumerated() {
            try client.send(
                (0..<50).map { "GET \(stage.url("/\(number)-\($0)")) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined())
        }
        for client in clients { for _ in 0..<50 { #expect(try client.receiveResponse().status == 200) } }
        binary.process.send(SIGTERM)
        #expect(try binary.process.finish() == 0)
        #expect(try stage.counts("r") == "400 entries, 400 usable")
    }
}
