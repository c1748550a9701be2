import Foundation
import Glibc
import ProxyTestKit
import Testing

/// Maps from standard input and from pipes, which can be read only once.
@Suite("Maps that are no files", .onThreads)
struct MapSourceTests {
    private static let text = "root: files\nsubstitutions:\n  http://a.example/f: f.txt\n"

    /// A folder with the map, and the file that it names.
    private func sandbox() throws -> TemporaryFolder {
        let folder = TemporaryFolder()
        mkdir(folder.path + "/files", 0o755)
        try folder.write("files/f.txt", "content")
        try folder.write("m.yaml", Self.text)
        return folder
    }

    /// Runs a script of bash in a folder, in which `$subproxy` is the program.
    private func run(_ script: String, in folder: TemporaryFolder) throws -> SubproxyProcess.Finished {
        try SubproxyProcess.run(
            ["-c", script], program: "bash", environment: ["subproxy": SubproxyProcess.path], folder: folder.path)
    }

    @Test(
        "check and explain read standard input, pipes and process substitution; their files count from the working folder",
        arguments: [
            ("$subproxy check - < m.yaml", "<stdin>: 1 map, 1 rule, no errors\n"),
            ("cat m.yaml | $subproxy check -", "<stdin>: 1 map, 1 rule, no errors\n"),
            ("cat m.yaml | $subproxy check /dev/stdin", "/dev/stdin: 1 map, 1 rule, no errors\n"),
            ("$subproxy check /dev/fd/7 7< <(cat m.yaml)", "/dev/fd/7: 1 map, 1 rule, no errors\n"),
            ("mkfifo p; cat m.yaml > p & $subproxy check p", "p: 1 map, 1 rule, no errors\n"),
            ("cat m.yaml | $subproxy check - /dev/stdin", "<stdin>, /dev/stdin: 1 map, 1 rule, no errors\n"),
            ("cat m.yaml | $subproxy explain --map - http://a.example/f", "<stdin>:3 answers with the file "),
            ("$subproxy explain --map <(cat m.yaml) http://a.example/f", "file: 7 bytes"),
        ])
    func commands(script: String, output: String) throws {
        let finished = try run(script, in: sandbox())
        #expect(finished.status == 0, "\(finished.error)")
        #expect(finished.output.contains(output), "\(finished.output)")
    }

    @Test("Errors name what was read")
    func errors() throws {
        let folder = TemporaryFolder()
        let map = "printf 'substitutions:\\n  http://a/x: { text: x, stauts: 4 }\\n'"
        let piped = try run("\(map) | $subproxy check -", in: folder)
        #expect(piped.status == 1 && piped.error.hasPrefix("<stdin>:2:26: error: unknown option 'stauts'"))
        let substituted = try run("$subproxy check /dev/fd/9 9< <(\(map))", in: folder)
        #expect(substituted.error.hasPrefix("/dev/fd/9:2:26: error: "))
        let empty = try run("$subproxy check - < /dev/null", in: folder)
        #expect(empty.status == 1 && empty.error.contains("<stdin>:1:1: error: the map is empty"))
        let closed = try run("$subproxy check - <&-", in: folder)
        #expect(closed.status == 1 && closed.error.contains("the map is empty"))
        let aFolder = try run("$subproxy check - < .", in: folder)
        #expect(aFolder.status == 1 && aFolder.error.contains("<stdin>: error: the map is a folder"))
    }

    @Test("serve keeps what it read when it reloads, says so, and goes on with the files")
    func reload() throws {
        let folder = try sandbox()
        try folder.write("more.yaml", "substitutions:\n  http://a.example/more: { text: one }\n")
        let proxy = try SubproxyProcess(
            // Not at the end of a pipe: the proxy takes the shell's place, and ends with it.
            ["-c", "exec $subproxy --map - --map more.yaml --listen 127.0.0.1:0 < <(cat m.yaml)"], program: "bash",
            environment: ["subproxy": SubproxyProcess.path], folder: folder.path)
        let line = try #require(try proxy.errorLine(containing: "listening on"))
        #expect(line.hasSuffix("(2 maps, 2 rules)"))
        let digits = line.split(separator: ":").compactMap { UInt16($0.prefix { $0.isNumber }) }
        let port = try #require(digits.last)
        func get(_ path: String) throws -> String {
            let socket = try Socket.connect(port: port)
            try socket.sendRequest("GET", "http://a.example/\(path)", fields: ["Connection: close"])
            return try socket.receiveResponse().text
        }
        #expect(try get("f") == "content")
        try folder.write("more.yaml", "substitutions:\n  http://a.example/more: { text: two }\n")
        let reloaded = try #require(try proxy.errorLine(containing: "loaded anew"))
        #expect(reloaded.contains("(2 maps, 2 rules); <stdin> can be read only once and stays as it was"))
        #expect(try get("more") == "two")
        #expect(try get("f") == "content")
    }

    @Test("run reads the map from standard input, of which the command gets nothing")
    func command() throws {
        let command = "sh -c 'curl -s http://a.example/f; readlink /proc/self/fd/0; cat'"
        let script = "cat m.yaml | $subproxy run --map - -- \(command)"
        let finished = try run(script, in: sandbox())
        #expect(finished.status == 0)
        #expect(finished.output == "content/dev/null\n")
        let other = try run("echo text | $subproxy run --map m.yaml -- cat", in: sandbox())
        #expect(other.output == "text\n")
    }

    @Test("A pipe that does not end is waited for with a word, and a signal ends that")
    func endless() throws {
        let folder = try sandbox()
        for arguments in [["--map", "p", "--listen", "127.0.0.1:0"], ["check", "p"]] {
            let path = folder.path + "/p"
            mkfifo(path, 0o600)
            let process = try SubproxyProcess(arguments, folder: folder.path)
            #expect(try process.errorLine() == "subproxy: the map is read from p, whose end has not come yet")
            process.send(SIGTERM)
            #expect(try process.finish().status == 128 + SIGTERM)
            unlink(path)
        }
    }
}
