import Glibc
import ProxyTestKit
import Testing

/// What commands print where it can't be written.
@Suite("Output that is lost", .onThreads)
struct FullOutputTests {
    private let folder = TemporaryFolder()

    init() throws {
        try folder.write(
            "a.har",
            #"""
            {"log":{"entries":[{"request":{"method":"GET","url":"http://a.test/"},"response":{"status":200,
            "headers":[],"content":{"size":2,"mimeType":"text/plain","text":"hi"}}}]}}
            """#)
        try folder.write("m.yaml", "substitutions:\n  http://a.test/x: { text: x }\n")
    }

    /// Runs the program in a shell.
    private func run(_ arguments: String, _ redirection: String) throws -> ChildProcess {
        try ChildProcess.run([
            "bash", "-c", "cd \"$1\" && set -o pipefail && \"$0\" \(arguments) \(redirection)", RunningBinary.path,
            folder.path,
        ])
    }

    @Test(
        "ends every command that prints a report with 74 and one line, however right it is",
        arguments: [
            "archive list a.har", "archive list --json a.har", "archive cat a.har 1", "archive cat -i a.har 1",
            "check m.yaml", "check a.har", "explain --map a.har http://a.test/",
            "explain --map m.yaml --json http://a.test/x",
            "--help", "--version", "replay --help", "ca doctor --ca-dir ca --json",
        ])
    func full(arguments: String) throws {
        let process = try run(arguments, "> /dev/full")
        let usual = try run(arguments, "")
        // What would have told something by its status does so still.
        #expect(process.status == (usual.status == 0 ? 74 : usual.status))
        #expect(!usual.output.isEmpty)
        #expect(
            process.error == usual.error
                + "subproxy: error: standard output can't be written: No space left on device\n")
    }

    @Test("is told by the status alone where the reader has gone away, which has what it wanted")
    func pipe() throws {
        let process = try run("archive list a.har", "| true")
        #expect(process.error == "")
        #expect(process.status == 74 || process.status == 0)
    }

    @Test(
        "is not that of what is replayed or recorded: --report leaves it as it is",
        arguments: [
            "replay a.har --report a.har", "replay a.har --report ./a.har", "replay a.har --report link.har",
            "replay b.har --map a.har --report a.har", "record -o a.har --report a.har",
            "record -o new.har --report new.har", "record -o new.har --report new.json",
            "record -o out/ --map a.har --report a.har",
        ])
    func reportInPlace(command: String) throws {
        #expect(symlink("a.har", folder.at("link.har")) == 0)
        #expect(symlink("./new.har", folder.at("new.json")) == 0)
        let archive = try folder.text(of: "a.har")
        try folder.write("b.har", archive)
        let refused = try run("\(command) -- echo ran", "")
        #expect(refused.status == 64 && refused.output.isEmpty, "\(refused.error)")
        #expect(refused.error.contains("would be written over"), "\(refused.error)")
        #expect(try folder.text(of: "a.har") == archive)
        #expect(access(folder.at("new.har"), F_OK) != 0)
    }

    @Test(
        "is no file of a recording either, nor a map or an archive that a map names, by whatever path",
        arguments: [
            "replay out --report out/recording.yaml", "replay out/ --report ./out/substitutions.yaml",
            "replay out/recording.yaml --report out/substitutions.yaml", "replay out/ --report out/files/new.json",
            "replay out/ --report list.json", "replay out/ --report body.json", "record -o out --report body.json",
            "record -o out/ --mode all --report list.json", "record -o out/ --report out/files/new.json",
            "record -o new.har --report ./new.har", "record -o new.har --mode all --report new.har.new",
            "record -o new/ --report ./new", "replay out/ --map top.yaml --report more.yaml",
            "record -o new/ --map top.yaml --report a.har",
        ])
    func reportInRecording(command: String) throws {
        #expect(try run("archive convert a.har out/", "").status == 0)
        try folder.write("top.yaml", "include: [more.yaml]\narchives: [a.har]\n")
        try folder.write("more.yaml", "substitutions:\n  http://a.test/: { text: a }\n")
        let body = try ChildProcess.run(["find", folder.at("out/files"), "-type", "f"]).output.split(separator: "\n")
        #expect(link(folder.at("out/recording.yaml"), folder.at("list.json")) == 0)
        #expect(link(String(try #require(body.first)), folder.at("body.json")) == 0)
        // Who follows them never comes to an end.
        for name in ["one", "two"] { #expect(symlink(".", folder.at("out/files/\(name)")) == 0) }
        let digests = ["sh", "-c", "cd $0 && find . -type f ! -path './ca/*' | sort | xargs sha256sum", folder.path]
        let before = try ChildProcess.run(digests).output
        let refused = try run("\(command) --ca-dir ca -- echo ran", "")
        #expect(refused.status == 64 && refused.output.isEmpty, "\(refused.error)")
        #expect(refused.error.contains("would be written over"), "\(refused.error)")
        let after = try ChildProcess.run(digests).output
        let isBegun = command.contains("new/ --map")
        #expect(isBegun ? before.split(separator: "\n").allSatisfy { after.contains($0) } : after == before)
        // Beside them there is room.
        let beside = try run("replay out/ --report out/report.json --ca-dir ca -- true", "")
        #expect(beside.status == 0, "\(beside.error)")
    }

    @Test("is that of --report too, whose file is told by its name")
    func report() throws {
        let line = "subproxy: error: the report '/dev/full' can't be written: No space left on device\n"
        let replayed = try run("replay a.har --report /dev/full -- true", "")
        #expect(replayed.status == 74 && replayed.error.hasSuffix(line), "\(replayed.error)")
        let recorded = try run("record -o out/ --report /dev/full -- true", "")
        #expect(recorded.status == 74 && recorded.error.contains(line), "\(recorded.error)")
        let failing = try run("replay a.har --report /dev/full -- false", "")
        #expect(failing.status == 1 && failing.error.hasSuffix(line), "\(failing.error)")
        // Where no report can be made, the command is not run.
        for command in ["replay a.har", "record -o out/"] {
            let unmade = try run("\(command) --report none/r.json -- echo ran", "")
            #expect(unmade.status == 73 && unmade.output.isEmpty, "\(unmade.error)")
            #expect(unmade.error.contains("the report 'none/r.json' can't be written: No such file or directory"))
            #expect(try run("\(command) --report . -- true", "").status == 73)
            let unnamed = try run("\(command) --report '' -- echo ran", "")
            #expect(unnamed.status == 64 && unnamed.output.isEmpty, "\(unnamed.error)")
        }
        #expect(try run("replay a.har --report - -- true", "2> /dev/full").status == 74)
    }
}
