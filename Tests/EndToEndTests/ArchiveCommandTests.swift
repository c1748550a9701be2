import Foundation
import ProxyTestKit
import Testing

/// `archive list`, `archive cat` and `archive convert`.
@Suite("Commands on archives", .onThreads)
struct ArchiveCommandTests {
    private let folder = TemporaryFolder()

    private func run(_ arguments: String...) throws -> (status: Int32, output: String, error: String) {
        let finished = try SubproxyProcess.run(arguments, folder: folder.path)
        return (finished.status, finished.output, finished.error)
    }

    private static func entry(
        _ url: String, _ type: String, _ text: String?, method: String = "GET", status: Int = 200, fields: String = "",
        request: String = ""
    ) -> String {
        let content = text.map { #","text":"\#($0)""# } ?? ""
        return """
            {"startedDateTime":"2026-11-23T05:00:00.000Z","time":1,"request":{"method":"\(method)","url":"\(url)",\
            "httpVersion":"HTTP/1.1","headers":[],"queryString":[],"cookies":[],"headersSize":-1,"bodySize":-1\(request)},\
            "response":{"status":\(status),"statusText":"","httpVersion":"HTTP/1.1","headers":[{"name":"Content-Type",\
            "value":"\(type)"}\(fields)],"cookies":[],"content":{"size":9,"mimeType":"\(type)"\(content)},\
            "redirectURL":"","headersSize":-1,"bodySize":-1},"cache":{},"timings":{}}
            """
    }

    @Test("A folder with a map and without a recording is said to have none")
    func folderWithoutRecording() throws {
        mkdir(folder.at("maps"), 0o700)
        try folder.write("maps/substitutions.yaml", "substitutions: {}\n")
        for command in [["archive", "list", "maps"], ["archive", "convert", "maps", "out.har"]] {
            let refused = try SubproxyProcess.run(command, folder: folder.path)
            #expect(refused.status == 66)
            #expect(refused.error == "subproxy: error: the folder 'maps' has no recording.yaml\n")
        }
    }

    @Test("An entry without a response is not printed as one", arguments: [[], ["-i"]] as [[String]])
    func failedEntry(options: [String]) throws {
        try writeHAR("f.har", [Self.entry("http://a.test/", "text/plain", "x", status: 0)])
        let refused = try SubproxyProcess.run(["archive", "cat", "f.har", "1"] + options, folder: folder.path)
        #expect(refused.status == 1 && refused.output.isEmpty)
        #expect(refused.error == "subproxy: error: f.har#1 has no response to print: the exchange failed\n")
    }

    private func writeHAR(_ name: String = "a.har", _ entries: [String]? = nil) throws {
        let entries =
            entries ?? [
                Self.entry("https://www.example.com/", "text/html; charset=utf-8", "<p>hi</p>"),
                Self.entry("https://www.example.com/b.json", "application/json", #"{\"a\":1}"#, method: "POST"),
                Self.entry("https://www.example.com/c.png", "image/png", nil),
                Self.entry("about:blank", "text/plain", "x"),
                Self.entry(
                    "https://www.example.com/d?token=t", "text/plain", "no", status: 404,
                    fields: #",{"name":"Set-Cookie","value":"s=1; Path=/"},{"name":"Date","value":"x"}"#),
            ]
        try folder.write(
            name,
            #"{"log":{"version":"1.2","creator":{"name":"t","version":"1"},"entries":[\#(entries.joined(separator: ","))]}}"#
        )
    }

    @Test(
        "What is not read is refused with what to do, wherever an archive or a map is named",
        arguments: [
            ("a.arc", "filedesc://a.arc 0.0.0.0 20260101000000 text/plain 9\n1 0 t\n", "warcio recompress"),
            ("b.bin", "filedesc://b.bin 0.0.0.0 20260101000000 text/plain 9\n", "warcio recompress"),
            ("c.flow", "1743:9:websocket;0:~8:response;1:x,}", "hardump=out.har"), ("d.mitm", "x", "hardump=out.har"),
            ("e.dump", "20:9:websocket;0:~1:a;}", "hardump=out.har"),
            ("f.html", "<!DOCTYPE html> <html lang=en><!--\n Page saved with SingleFile", ".html file is not read"),
            ("g.txt", "<!-- saved from url=(0014)about:internet -->\n<html>", ".html file is not read"),
            ("h.htm", "text", ".html file is not read"),
            ("i.warc.zst", "\u{28}\u{B5}", nil),
            ("j.har.gz", #"{"log":{"entries":[]}}"#, "a compressed HAR is not read: 'gunzip FILE'"),
            ("k.gz", "MIME-Version: 1.0\n\n", "a compressed MHTML is not read: 'gunzip FILE'"),
        ] as [(String, String, String?)])
    func notRead(name: String, text: String, advice: String?) throws {
        if advice == nil {
            #expect(
                try ChildProcess.run(["sh", "-c", "printf '\\050\\265\\057\\375' > \(folder.at(name))"]).status == 0)
        } else {
            try folder.write(name, text)
            if name.hasSuffix(".gz") {
                let packed = folder.at(name)
                let command = "gzip -c \(packed) > \(packed).x && mv \(packed).x \(packed)"
                try #require(try ChildProcess.run(["sh", "-c", command]).status == 0)
            }
        }
        try folder.write("m.yaml", "archives: [\(name)]\n")
        let commands = [
            ["check", name], ["check", "m.yaml"], ["replay", name, "--", "true"], ["run", "--map", name, "--", "true"],
            ["archive", "list", name], ["archive", "convert", name, "out.har"],
        ]
        for command in commands {
            let finished = try SubproxyProcess.run(command, folder: folder.path)
            #expect(finished.status == (command[0] == "check" ? 1 : 65), "\(command) \(finished)")
            #expect(finished.error.contains(advice ?? "zstd -d"), "\(command) \(finished.error)")
        }
    }

    @Test("list has a line an entry, and says why one can't answer")
    func list() throws {
        try writeHAR()
        let found = try run("archive", "list", "a.har")
        #expect(found.status == 0 && found.error.isEmpty, "\(found.error)")
        #expect(
            found.output == """
                1 GET 200 text/html 9 https://www.example.com/
                2 POST 200 application/json 7 https://www.example.com/b.json
                3 GET 200 image/png - https://www.example.com/c.png (the body was not recorded)
                4 GET 200 text/plain 1 about:blank (its URL is none of http or https)
                5 GET 404 text/plain 2 https://www.example.com/d?token=t

                """)
        let lines = try run("archive", "list", "--json", "a.har").output.split(separator: "\n")
        #expect(lines.count == 5)
        #expect(
            lines.last.map(String.init)?.contains(
                #""method":"GET","url":"https://www.example.com/d?token=t","status":404,"type":"text/plain","size":2,"usable":true,"note":null}"#
            ) == true)
        #expect(lines[2].hasPrefix(#"{"position":"a.har#3","offset":"#))
        #expect(lines[2].hasSuffix(#""size":null,"usable":false,"note":"the body was not recorded"}"#))
    }

    @Test("Files that are no archives have statuses of their own")
    func refusals() throws {
        #expect(try run("archive", "list", "gone.har").status == 66)
        try folder.write("x.har", "no JSON")
        let found = try run("archive", "list", "x.har")
        #expect(found.status == 65 && found.error.hasPrefix("x.har:1:1: error: "), "\(found.error)")
        #expect(try run("archive").status == 64)
        #expect(try run("archive", "convert", "x.har").status == 64)
    }

    @Test("cat prints a body by number and URL, with its head on request")
    func cat() throws {
        try writeHAR()
        #expect(try run("archive", "cat", "a.har", "1").output == "<p>hi</p>")
        #expect(try run("archive", "cat", "a.har", "https://WWW.example.com:443/d?token=t#x").output == "no")
        let head = try run("archive", "cat", "-i", "a.har", "5").output
        #expect(
            head == "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\nSet-Cookie: s=1; Path=/\r\n"
                + "Cache-Control: no-cache\r\nContent-Length: 2\r\n\r\nno")
        // SHA-256 of the body, as it is sent where none was recorded.
        #expect(
            try run("archive", "cat", "-i", "a.har", "1").output.contains(
                "\r\nETag: \"0a4735281db700223af63abc387c351f\"\r\n"))
        for name in ["0", "6", "https://www.example.com/none", "3"] {
            let found = try run("archive", "cat", "a.har", name)
            #expect(found.status == 1 && found.output.isEmpty && found.error.hasPrefix("subproxy: error: "))
        }
    }

    @Test("cat prints no body with a status that has none", arguments: [(204, ""), (205, "Content-Length: 0\r\n")])
    func catWithoutContent(status: Int, length: String) throws {
        let entry = Self.entry("http://a.test/", "text/plain", "x", status: status)
        try folder.write("e.har", "{\"log\":{\"version\":\"1.2\",\"entries\":[\(entry)]}}")
        let printed = try run("archive", "cat", "e.har", "1")
        #expect(printed.status == 0 && printed.output.isEmpty, "\(printed.error)")
        let head = try run("archive", "cat", "-i", "e.har", "1").output
        #expect(head.hasPrefix("HTTP/1.1 \(status) "))
        #expect(head.hasSuffix("Cache-Control: no-cache\r\n\(length)\r\n"), "\(head)")
    }

    @Test("Bodies in files beside a HAR that is named without a folder are there")
    func beside() throws {
        try folder.write("body.txt", "beside")
        let entry =
            #"{"request":{"method":"GET","url":"http://a.test/","headers":[]},"response":{"status":200,"headers":[],"#
            + #""content":{"size":6,"mimeType":"text/plain","_file":"body.txt"}}}"#
        try folder.write("b.har", #"{"log":{"version":"1.2","entries":[\#(entry)]}}"#)
        #expect(try run("archive", "cat", "b.har", "1").output == "beside")
        #expect(try run("archive", "convert", "b.har", "c.har").status == 0)
        #expect(try run("archive", "cat", "c.har", "1").output == "beside")
    }

    @Test("convert writes a recording that replays, and that edits count in")
    func recording() throws {
        try writeHAR()
        let found = try run("archive", "convert", "a.har", "rec/", "--redact", "default")
        #expect(found.status == 0, "\(found.error)")
        #expect(found.error == "lost: the times of 5 entries\n")
        let text = try folder.text(of: "rec/recording.yaml")
        #expect(text.contains("- url: https://www.example.com/d?token=REDACTED\n  status: 404\n  headers:\n"))
        #expect(text.contains("    - Set-Cookie: s=REDACTED; Path=/\n") && !text.contains("Date"))
        #expect(text.contains("  method: POST\n") && text.contains("  file: files/www.example.com/b.json.POST.json\n"))
        #expect(try folder.text(of: "rec/files/www.example.com/index.html") == "<p>hi</p>")
        #expect(try run("archive", "cat", "rec", "https://www.example.com/").output == "<p>hi</p>")
        let check = try run("check", "--strict", "rec")
        #expect(check.status == 0, "\(check.error)")
        #expect(check.output.contains("1 map, 0 rules, 1 archive (5 entries, 3 usable)"), "\(check.output)")
        try folder.write("m.yaml", "archives: [rec]\n")
        #expect(try run("check", "m.yaml").output.contains("1 archive (5 entries, 3 usable)"))
        // The same again is an equal folder.
        #expect(try run("archive", "convert", "a.har", "again/", "--redact", "default").status == 0)
        #expect(try ChildProcess.run(["diff", "-r", folder.at("rec"), folder.at("again")]).status == 0)
    }

    @Test("A recording's files and entries count at once when they are edited")
    func edits() throws {
        try writeHAR()
        #expect(try run("archive", "convert", "a.har", "rec/").status == 0)
        let proxy = try SubproxyProcess(
            ["replay", "rec", "--listen", "127.0.0.1:0"], environment: ["HOME": folder.path], folder: folder.path)
        let line = try #require(try proxy.errorLine(containing: "listening on"))
        let port = try #require(
            line.split(separator: " ").first { $0.hasPrefix("http://") }?.split(separator: ":").last)
        func get(_ path: String) throws -> String {
            try ChildProcess.run(
                ["curl", "-sk", "-x", "http://127.0.0.1:\(port)", "https://www.example.com\(path)"]
            ).output
        }
        #expect(try get("/") == "<p>hi</p>" && get("/") == "<p>hi</p>")
        try folder.write("rec/files/www.example.com/index.html", "<p>edited</p>")
        #expect(try get("/") == "<p>edited</p>")
        let text = try folder.text(of: "rec/recording.yaml").replacing(
            "https://www.example.com/b.json", with: "https://www.example.com/z")
        try folder.write("rec/recording.yaml", text + "- url: https://www.example.com/new\n  text: new\n")
        try Wait.until { try get("/new") == "new" }
        proxy.send(SIGTERM)
        #expect(try proxy.finish().status == 0)
    }

    @Test("No archive is written to standard output, nor to a name that is empty", arguments: ["-", ""])
    func nameless(name: String) throws {
        try writeHAR()
        let commands = [
            ["archive", "convert", "a.har", name], ["archive", "convert", "a.har", name, "--force"],
            ["record", "-o", name, "--", "true"], ["save", "http://127.0.0.1:1/", "-o", name],
            ["save", "-i", "list", "-o", name],
        ]
        for command in commands {
            let refused = try SubproxyProcess.run(
                command, environment: ["HOME": folder.path, "PATH": "/usr/bin:/bin"], folder: folder.path)
            #expect(refused.status == 64, "\(command) \(refused.error)")
            #expect(
                refused.error.contains(name.isEmpty ? "is empty" : "is not written to standard output"),
                "\(command) \(refused.error)")
        }
        #expect(access(folder.at("-"), F_OK) != 0)
    }

    @Test("convert replaces what is there only with --force, and whole")
    func force() throws {
        try writeHAR()
        try folder.write("b.mhtml", "old")
        let refused = try run("archive", "convert", "a.har", "b.mhtml")
        #expect(refused.status == 73 && refused.error == "subproxy: error: 'b.mhtml' exists; --force replaces it\n")
        #expect(try folder.text(of: "b.mhtml") == "old")
        let made = try run("archive", "convert", "a.har", "b.mhtml", "--force")
        #expect(made.status == 0, "\(made.error)")
        #expect(
            made.error == """
                lost: 1 entry that is not GET
                lost: 2 entries that can't answer
                lost: the status of 1 entry
                lost: the fields of 1 entry

                """)
        #expect(try run("archive", "cat", "b.mhtml", "https://www.example.com/").output == "<p>hi</p>")
        #expect(try run("archive", "convert", "a.har", "rec/").status == 0)
        try folder.write("rec/substitutions.yaml", "archives: [recording.yaml]\n# mine\n")
        #expect(try run("archive", "convert", "b.mhtml", "rec").status == 73)
        #expect(try run("archive", "convert", "b.mhtml", "rec", "--force").status == 0)
        #expect(try folder.text(of: "rec/substitutions.yaml").contains("# mine"))
        for name in ["b.mhtml", "rec"] {
            #expect(chmod(folder.at(name), 0o700) == 0)
            #expect(try run("archive", "convert", "a.har", name, "--force").status == 0)
            #expect(try ChildProcess.run(["stat", "-c", "%a", folder.at(name)]).output == "700\n")
        }
        #expect(chmod(folder.at("rec/recording.yaml"), 0o600) == 0)
        #expect(try run("archive", "convert", "a.har", "rec", "--force").status == 0)
        #expect(try ChildProcess.run(["stat", "-c", "%a", folder.at("rec/recording.yaml")]).output == "600\n")
        // What was not for all in it is for its owner alone.
        let files = ["find", folder.at("rec/files"), "-type", "f", "!", "-perm", "600"]
        #expect(try ChildProcess.run(files).output == "")
        for (part, mode) in [("recording.yaml", 0o640), ("files", 0o700)] as [(String, mode_t)] {
            for (name, usual) in [("recording.yaml", 0o644), ("files", 0o755)] as [(String, mode_t)] {
                #expect(chmod(folder.at("rec/\(name)"), usual) == 0)
            }
            #expect(chmod(folder.at("rec/\(part)"), mode) == 0)
            #expect(try run("archive", "convert", "a.har", "rec", "--force").status == 0)
            #expect(try ChildProcess.run(files).output == "")
        }
        try folder.write("rec/mine.txt", "x")
        #expect(try run("archive", "convert", "a.har", "rec", "--force").status == 73)
        // What a link leads to would stay, and nobody would be told.
        #expect(symlink("b.mhtml", folder.at("c.mhtml")) == 0)
        let link = try run("archive", "convert", "a.har", "c.mhtml", "--force")
        #expect(link.status == 73 && link.error.contains("'c.mhtml' is a symbolic link"), "\(link.error)")
        unlink(folder.at("c.mhtml"))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a.har", "b.mhtml", "rec"])
    }

    @Test("convert leaves nothing behind where a signal ends it", arguments: ["out.har", "out"])
    func interrupted(output: String) throws {
        let text = String(repeating: "x", count: 1000)
        try writeHAR(
            "a.har", (0..<20_000).map { Self.entry("https://www.example.com/\($0)", "text/plain", text) })
        let process = try SubproxyProcess(["archive", "convert", "a.har", output], folder: folder.path)
        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }
        try Wait.until { try names().contains { $0.hasSuffix(".part") || $0 == output } }
        process.send(SIGTERM)
        let finished = try process.finish()
        // It may have been done before the signal came.
        let isDone = access(folder.at(output), F_OK) == 0
        #expect(isDone || finished.status != 0)
        #expect(try names().sorted() == (isDone ? ["a.har", output] : ["a.har"]), "\(finished.error)")
    }

    @Test(
        "convert --force leaves the files that are not the recording's, and what it writes answers",
        arguments: [
            ("- url: [\n", "archives: [recording.yaml]\n"), ("# nothing\n", "archives: [recording.yaml]\n"),
            (nil, "archives: [recording.yaml]\nsubstitutions:\n  https://b.test/a.txt: files/a.test/a.txt\n"),
        ] as [(String?, String)])
    func forceKeeps(list: String?, rules: String) throws {
        for text in ["old", "new"] {
            try writeHAR("\(text).har", [Self.entry("https://a.test/a.txt", "text/plain", text)])
        }
        #expect(try run("archive", "convert", "old.har", "rec/").status == 0)
        try folder.write("rec/substitutions.yaml", rules)
        if let list { try folder.write("rec/recording.yaml", list) }
        let made = try run("archive", "convert", "new.har", "rec/", "--force")
        #expect(made.status == 0, "\(made.error)")
        #expect(try run("archive", "cat", "rec", "https://a.test/a.txt").output == "new")
        #expect(try folder.text(of: "rec/files/a.test/a.txt") == "old")
    }

    @Test("convert replaces no pipe, and removes what a program that was killed has left of its file, and nothing else")
    func leftovers() throws {
        try writeHAR()
        #expect(mkfifo(folder.at("pipe.har"), 0o600) == 0)
        let refused = try run("archive", "convert", "a.har", "pipe.har", "--force")
        #expect(refused.status == 73 && refused.error == "subproxy: error: 'pipe.har' is neither a file nor a folder\n")
        // No process has so high a number, and there is always one with the number 1.
        let gone = ".b.har.99999999.part"
        let others = ".b.har.99999997.part"
        var stays = [".b.har.1.part", ".b.har.x.part", ".c.har.99999999.part"]
        for name in [gone, others] + stays {
            try folder.write(name, "")
            #expect(try ChildProcess.run(["touch", "-d", "2001-01-01", folder.at(name)]).status == 0)
        }
        // Root alone can make what is another user's.
        if chown(folder.at(others), 65_534, 65_534) == 0 { stays.append(others) }
        // This one may be another machine's, on a shared disk.
        let new = ".b.har.99999998.part"
        try folder.write(new, "")
        #expect(try run("archive", "convert", "a.har", "b.har").status == 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(left == (stays + [new, "a.har", "b.har", "pipe.har"]).sorted())
    }

    @Test("convert doesn't replace what is being recorded", arguments: ["b.har", "rec/"])
    func recorded(name: String) throws {
        try writeHAR()
        #expect(try run("archive", "convert", "a.har", name).status == 0)
        let file = folder.at(name.hasSuffix("/") ? name + "recording.yaml" : name)
        let before = try ChildProcess.run(["stat", "-c", "%i", file]).output
        let descriptor = open(file, O_RDWR | O_CLOEXEC)
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        let refused = try run("archive", "convert", "a.har", name, "--force")
        #expect(refused.status == 73 && refused.error.contains("is being recorded by another program"), "\(refused)")
        #expect(try ChildProcess.run(["stat", "-c", "%i", file]).output == before)
        // A program that another test starts just now may have a copy of the descriptor for a moment.
        flock(descriptor, LOCK_UN)
        close(descriptor)
        let made = try run("archive", "convert", "a.har", name, "--force")
        #expect(made.status == 0, "\(made.error)")
    }

    @Test("convert is not ended by a time that no clock has had")
    func impossibleTime() throws {
        try writeHAR()
        // A tmpfs keeps such a time as it is.
        var template = Array("/dev/shm/subproxy-test-XXXXXX".utf8CString)
        let hasMemory = mkdtemp(&template) != nil
        let memory =
            hasMemory
            ? String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self) : folder.path
        defer { if hasMemory { _ = try? ChildProcess.run(["rm", "-rf", memory]) } }
        let left = "\(memory)/.b.har.99999999.part"
        #expect(try ChildProcess.run(["touch", left]).status == 0)
        let times = [timespec(tv_sec: .min, tv_nsec: 0), timespec(tv_sec: .min, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, left, times, 0) == 0)
        let made = try run("archive", "convert", "a.har", "\(memory)/b.har")
        #expect(made.status == 0, "\(made.error)")
        #expect(access(left, F_OK) != 0)
    }

    @Test(
        "convert leaves a folder as it is that comes while it writes, or into which something else comes",
        arguments: [false, true])
    func folderMeanwhile(isForced: Bool) throws {
        try writeHAR("many.har", (0..<2000).map { Self.entry("https://www.example.com/\($0)", "text/plain", "\($0)") })
        let out = folder.at("out")
        var isSeen = false
        for _ in 0..<100 where !isSeen {
            _ = try ChildProcess.run(["rm", "-rf", out])
            if isForced { #expect(try run("archive", "convert", "many.har", "out/").status == 0) }
            let before = Self.number(of: out)
            let writing = try SubproxyProcess(
                ["archive", "convert", "many.har", "out/"] + (isForced ? ["--force"] : []), folder: folder.path)
            let part = folder.at(".out.\(writing.identifier).part")
            try Wait.until { access(part, F_OK) == 0 || writing.status != nil }
            try writing.suspend()
            // Where it was quicker it has given its folder the name already.
            isSeen = access(part, F_OK) == 0 && Self.number(of: out) == before
            if isSeen {
                // What it replaces may be for fewer than all. It has those permissions when it is whole.
                if isForced, Self.size(of: "\(part)/recording.yaml") ?? 0 < Self.size(of: "\(out)/recording.yaml") ?? 0
                {
                    #expect(try ChildProcess.run(["stat", "-c", "%a", part]).output == "700\n")
                }
                mkdir(out, 0o755)
                try folder.write("out/notes.txt", "mine")
            }
            writing.send(SIGCONT)
            let finished = try writing.finish()
            #expect(finished.status == (isSeen ? 73 : 0), "\(finished.error)")
            #expect(access(part, F_OK) != 0)
        }
        #expect(isSeen)
        #expect(try folder.text(of: "out/notes.txt") == "mine")
    }

    @Test("convert writes what replaces a file so that nobody else reads it before it has that one's permissions")
    func privateMeanwhile() throws {
        try writeHAR("many.har", (0..<2000).map { Self.entry("https://www.example.com/\($0)", "text/plain", "\($0)") })
        let out = try folder.write("b.har", "")
        #expect(try run("archive", "convert", "many.har", "b.har", "--force").status == 0)
        let size = try #require(Self.size(of: out))
        #expect(chmod(out, 0o640) == 0)
        var isSeen = false
        for _ in 0..<100 where !isSeen {
            let writing = try SubproxyProcess(
                ["archive", "convert", "many.har", "b.har", "--force"], folder: folder.path)
            let part = folder.at(".b.har.\(writing.identifier).part")
            try Wait.until { access(part, F_OK) == 0 || writing.status != nil }
            try writing.suspend()
            if let written = Self.size(of: part), written < size {
                isSeen = true
                #expect(try ChildProcess.run(["stat", "-c", "%a", part]).output == "600\n")
            }
            writing.send(SIGCONT)
            #expect(try writing.finish().status == 0)
            #expect(try ChildProcess.run(["stat", "-c", "%a", out]).output == "640\n")
        }
        #expect(isSeen)
    }

    /// In bytes; nil where nothing is.
    private static func size(of path: String) -> off_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_size : nil
    }

    /// The inode's number; nil where nothing is.
    private static func number(of path: String) -> ino_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_ino : nil
    }

    @Test("convert has --main, and refuses what it can't write or find")
    func refusedConversions() throws {
        try writeHAR()
        for name in ["a.pdf", "a.wacz", "a.html", "a.zip"] {
            #expect(try run("archive", "convert", "a.har", name).status == 64)
        }
        let url = "https://www.example.com/d?token=t"
        #expect(try run("archive", "convert", "a.har", "m.mhtml", "--main", url).status == 0)
        #expect(try folder.text(of: "m.mhtml").contains("Snapshot-Content-Location: \(url)\r\n"))
        #expect(try run("archive", "convert", "a.har", "n.mhtml", "--main", "https://none.example/").status == 64)
        try writeHAR("c.har", [Self.entry("https://www.example.com/x", "text/plain", "x")])
        let none = try run("archive", "convert", "c.har", "c.webarchive")
        #expect(none.status == 65 && none.error.contains("no HTML with status 200"))
        #expect(try run("archive", "convert", "c.har", "gone/c.har").status == 73)
        mkdir(folder.at("empty"), 0o755)
        for name in [".", "empty/.", "empty/.."] {
            let itself = try run("archive", "convert", "c.har", name, "--force")
            #expect(itself.status == 73 && itself.error.contains("name a folder within it"), "\(itself.error)")
        }
        let long = try run("archive", "convert", "c.har", String(repeating: "n", count: 248) + ".har")
        #expect(long.status == 73 && long.error.hasSuffix("can't be written: File name too long\n"), "\(long.error)")
    }
}
