import Foundation
import Glibc
import ProxyTestKit
import Testing

@Suite("The program while it serves", .onThreads)
struct ServingTests {
    private let folder: TemporaryFolder
    private let map = """
        substitutions:
          http://a.example/x: { text: x }
          http://a.example/y: { text: y }

        """

    init() throws {
        folder = TemporaryFolder()
        try folder.write("m.yaml", map)
    }

    private func serve(_ options: [String] = [], environment: [String: String] = [:]) throws -> SubproxyProcess {
        try SubproxyProcess(
            ["--map", "m.yaml", "--listen", "127.0.0.1:0"] + options, environment: environment, folder: folder.path)
    }

    /// The port in the line that says that the program is ready.
    private func port(of process: SubproxyProcess) throws -> UInt16 {
        let line = try #require(try process.errorLine())
        let match = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:([0-9]+)/))
        return try #require(UInt16(match.1))
    }

    @Test("One line says that it is ready; SIGTERM and SIGINT end it with 0", arguments: [SIGTERM, SIGINT])
    func readyLine(signal: Int32) throws {
        let process = try serve()
        let line = try #require(try process.errorLine())
        #expect(
            line.wholeMatch(of: /subproxy: listening on http:\/\/127\.0\.0\.1:[1-9][0-9]* \(1 map, 2 rules\)/) != nil)
        process.send(signal)
        let finished = try process.finish()
        #expect(finished.status == 0)
        #expect(finished.output.isEmpty)
        #expect(finished.error.isEmpty)
    }

    @Test("Several listeners and maps are all named in the line")
    func severalListeners() throws {
        try folder.write("n.yaml", "substitutions: { http://b.example/: { block: true } }\n")
        let process = try serve(["--listen", "127.0.0.2:0", "--map", "n.yaml"])
        let line = try #require(try process.errorLine())
        let expected =
            /subproxy: listening on http:\/\/127\.0\.0\.1:[0-9]+, http:\/\/127\.0\.0\.2:[0-9]+ \(2 maps, 3 rules\)/
        #expect(line.wholeMatch(of: expected) != nil)
    }

    @Test("The service manager is told when it is ready, reloads and stops", arguments: [true, false])
    func notifications(isAbstract: Bool) throws {
        let name = isAbstract ? "@subproxy-test-\(getpid())-\(folder.path)" : "\(folder.path)/notify"
        let manager = try NotifySocket(name)
        let process = try serve(environment: ["NOTIFY_SOCKET": name])
        #expect(manager.next()?.hasPrefix("READY=1\nSTATUS=listening on http://127.0.0.1:") == true)
        process.send(SIGHUP)
        #expect(manager.next()?.wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=[0-9]+/) != nil)
        #expect(manager.next()?.hasPrefix("READY=1\n") == true)
        process.send(SIGTERM)
        #expect(manager.next()?.hasPrefix("STOPPING=1") == true)
        #expect(try process.finish().status == 0)
    }

    @Test("A changed map is loaded; one with errors is reported, and the old one stays", arguments: [true, false])
    func reload(byRename: Bool) throws {
        func edit(_ text: String) throws {
            try folder.write(byRename ? "m.new" : "m.yaml", text)
            if byRename { rename("\(folder.path)/m.new", "\(folder.path)/m.yaml") }
        }
        let process = try serve()
        _ = try port(of: process)
        try edit(map + "  http://a.example/z: { stauts: 1, text: z }\n")
        #expect(try process.errorLine(containing: "m.yaml:4:") != nil)
        #expect(
            try process.errorLine(containing: "subproxy: error: ")
                == "subproxy: error: the maps have errors; the old ones stay in force (1 map, 2 rules)")
        try edit(map + "  http://a.example/z: { text: z }\n")
        #expect(try process.errorLine(containing: "subproxy: notice: the maps are loaded anew (1 map, 3 rules)") != nil)
        process.send(SIGTERM)
        #expect(try process.finish().status == 0)
    }

    @Test("An error in a file that the map newly includes is mended by an edit of that file")
    func newlyIncludedFile() throws {
        let process = try serve()
        _ = try port(of: process)
        try folder.write("more.yaml", "substitutions: { http://b.example/x: { txt: x } }\n")
        try folder.write("m.yaml", "include: [more.yaml]\n" + map)
        #expect(try process.errorLine(containing: "the old ones stay in force") != nil)
        try folder.write("more.yaml", "substitutions: { http://b.example/x: { text: x } }\n")
        #expect(
            try process.errorLine(containing: "subproxy: notice: the maps are loaded anew (2 maps, 3 rules)") != nil)
    }

    @Test("A hundred SIGHUPs are few reloads, and nothing is lost")
    func manyReloads() throws {
        let process = try serve()
        _ = try port(of: process)
        for _ in 0..<100 { process.send(SIGHUP) }
        #expect(try process.errorLine()?.hasPrefix("subproxy: notice: the maps are loaded anew") == true)
        process.send(SIGTERM)
        let finished = try process.finish()
        #expect(finished.status == 0)
        #expect(finished.errorLines.count < 50)
    }

    @Test("SIGHUP opens the log file anew")
    func logRotation() throws {
        let process = try serve(["--log-file", "access.log"])
        _ = try port(of: process)
        rename("\(folder.path)/access.log", "\(folder.path)/access.log.1")
        process.send(SIGHUP)
        // The file is opened before the maps are read.
        #expect(try process.errorLine(containing: "loaded anew") != nil)
        process.send(SIGTERM)
        #expect(try process.finish().status == 0)
        #expect(access("\(folder.path)/access.log", F_OK) == 0)
    }

    @Test("Signals without a meaning here have no effect", arguments: [SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ, SIGCHLD])
    func meaninglessSignals(signal: Int32) throws {
        let process = try serve()
        _ = try port(of: process)
        process.send(signal)
        process.send(SIGHUP)
        #expect(try process.errorLine(containing: "loaded anew") != nil)
        process.send(SIGTERM)
        #expect(try process.finish().status == 0)
    }

    @Test("A missing file is a warning after the start")
    func missingFile() throws {
        try folder.write("m.yaml", "substitutions: { http://a.example/x: nowhere.txt }\n")
        let process = try serve()
        #expect(try process.errorLine()?.hasPrefix("subproxy: listening on ") == true)
        #expect(try process.errorLine(containing: "nowhere.txt")?.contains("warning: ") == true)
    }

    @Test("With --log-format json a message is a JSON object on one line")
    func jsonMessages() throws {
        try folder.write("m.yaml", "substitutions: { http://a.example/x: nowhere.txt }\n")
        let process = try serve(["--log-format", "json"])
        _ = try port(of: process)
        let line = try #require(try process.errorLine())
        let object = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["level"] as? String == "warning")
        #expect((object["message"] as? String)?.contains("nowhere.txt") == true)
    }

    @Test("--log-level decides which messages are printed", arguments: ["error", "notice"])
    func logLevel(level: String) throws {
        let process = try serve(["--log-level", level])
        let port = try port(of: process)
        process.send(SIGHUP)
        let reloads = #"subproxy_reloads_total{subject="map",result="success"} 1"#
        #expect(
            try Wait.holds {
                let metrics = try SubproxyProcess.run(["-sS", "http://127.0.0.1:\(port)/metrics"], program: "curl")
                return metrics.output.contains(reloads)
            })
        try folder.write("m.yaml", map + "  http://a.example/z: { text: }}\n")
        let first = try process.errorLine()
        #expect(first?.contains("error: ") == (level == "error"))
        #expect(first?.contains("notice: the maps are loaded anew") == (level == "notice"))
        process.send(SIGTERM)
        #expect(try !process.finish().error.contains("notice"))
    }

    @Test("Closed standard streams are never taken for sockets")
    func closedStreams() throws {
        let name = "\(folder.path)/notify"
        let manager = try NotifySocket(name)
        let process = try SubproxyProcess(
            ["-c", "exec \(SubproxyProcess.path) --map m.yaml --listen 127.0.0.1:0 <&- >&- 2>&-"], program: "sh",
            environment: ["NOTIFY_SOCKET": name], folder: folder.path)
        #expect(manager.next()?.hasPrefix("READY=1") == true)
        for descriptor in 0...2 {
            #expect(try resolvedLink("/proc/\(process.identifier)/fd/\(descriptor)") == "/dev/null")
        }
        process.send(SIGTERM)
        #expect(try process.finish().status == 0)
    }

    @Test("It works without a home, an environment and a working directory")
    func bareSurroundings() throws {
        let gone = TemporaryFolder()
        let script = """
            cd \(gone.path) && rmdir \(gone.path) && \
            exec env -i \(SubproxyProcess.path) --map \(folder.path)/m.yaml --listen 127.0.0.1:0
            """
        let process = try SubproxyProcess(["-c", script], program: "sh")
        #expect(try process.errorLine()?.hasPrefix("subproxy: listening on ") == true)
        try folder.write("m.yaml", "substitutions: { http://a.example/x: { text: x } }\n")
        #expect(try process.errorLine(containing: "subproxy: notice: the maps are loaded anew (1 map, 1 rule)") != nil)
        process.send(SIGTERM)
        #expect(try process.finish().status == 0)
    }

    @Test("Core dumps are off, and as many descriptors are allowed as the system gives")
    func resourceLimits() throws {
        let process = try serve()
        _ = try port(of: process)
        let limits = try String(contentsOfFile: "/proc/\(process.identifier)/limits", encoding: .utf8)
        #expect(limits.contains(#/Max core file size +0 /#))
        let files = try #require(limits.firstMatch(of: /Max open files +([0-9]+) +([0-9]+)/))
        let (soft, hard) = try #require(Int(files.1).flatMap { soft in Int(files.2).map { (soft, $0) } })
        #expect(soft >= min(hard, 65_536))
    }

    @Test("An exchange under way is waited for when it stops, and a second signal ends it at once")
    func secondSignal() throws {
        let origin = try ListeningSocket()
        let process = try serve(["--shutdown-grace", "10m"])
        let port = try port(of: process)
        let client = try SubproxyProcess(
            ["-sS", "-x", "http://127.0.0.1:\(port)", "http://127.0.0.1:\(origin.port)/"], program: "curl")
        let connection = origin.accept()
        defer { close(connection) }
        process.send(SIGTERM)
        // The listener is closed first: when it is, the first signal has been taken.
        while try SubproxyProcess.run(
            ["-sS", "-o", "/dev/null", "http://127.0.0.1:\(port)/"], program: "curl"
        ).status != 7 {}
        process.send(SIGTERM)
        #expect(try process.finish().status == 143)
        #expect(try client.finish().status != 0)
    }
}
