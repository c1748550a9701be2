import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// `subproxy session`, and who may see what it has saved.
    @Suite("Sessions")
    struct Sessions {
        private let folder = TemporaryFolder()

        private func session(_ arguments: String...) throws -> SubproxyProcess.Finished {
            try SubproxyProcess.run(["session"] + arguments, folder: folder.path)
        }

        @Test("Sessions are saved, listed, shown and deleted without a proxy")
        func commands() throws {
            try folder.write("m.yaml", "substitutions: {}\n")
            try folder.write(
                "model.json", #"{"history": ["http://a.test/", "https://b.test/?q#f"], "currentPage": -1}"#)
            #expect(try session("list", "--map", "m.yaml").output == "")
            #expect(try session("save", "one", "model.json", "--map", "m.yaml").status == 0)
            let shown = try session("show", "one", "--sessions", "sessions")
            #expect(shown.status == 0 && shown.output.contains("\ncurrent: 0  "))
            #expect(shown.output.hasSuffix("  - { url: \"https://b.test/?q#f\", title: \"\" }\n"))
            try folder.write("shown.yaml", shown.output)
            #expect(try session("save", "two", "shown.yaml", "--map", "m.yaml").status == 0)
            #expect(try session("show", "two", "--map", "m.yaml").output == shown.output)
            let json = try session("show", "one", "--json", "--map", "m.yaml").output
            #expect(
                json.hasPrefix("{\"saved\":\"20")
                    && json.contains("\"current\":0,\"entries\":[{\"url\":\"http://a.test/\""))
            let list = try session("list", "--map", "m.yaml")
            let lines = list.output.split(separator: "\n")
            #expect(lines.map { $0.split(separator: " ").map(String.init)[0] } == ["one", "two"])
            #expect(lines.allSatisfy { $0.hasSuffix("Z  2  http://a.test/") })
            #expect(
                try session("list", "--json", "--map", "m.yaml").output.hasPrefix("[{\"name\":\"one\",\"saved\":\"20"))
            #expect(try session("delete", "one", "--map", "m.yaml").status == 0)
            #expect(try session("delete", "one", "--map", "m.yaml").status == 1)
        }

        @Test(
            "What can't be done is said in a line, with its status",
            arguments: [
                (["show", "none", "--sessions", "s"], 1, "there is no session 'none' in s"),
                (["delete", "none", "--sessions", "s"], 1, "there is no session 'none' in s"),
                (["show", "../x", "--sessions", "s"], 64, "no name of a session"),
                (["save", ".x", "-", "--sessions", "s"], 64, "no name of a session"),
                (["delete", "", "--sessions", "s"], 64, "no name of a session"),
                (["list"], 64, "--map FILE or --sessions FOLDER"), ([], 64, "session list"),
                (["save", "x", "none.yaml", "--sessions", "s"], 66, "'none.yaml' can't be read: No such file"),
                (["save", "x", ".", "--sessions", "s"], 66, "'.' can't be read: Is a directory"),
                (["save", "x", "bad.yaml", "--sessions", "s"], 65, "bad.yaml:1:10: error: 'current' is a number"),
                (["save", "x", "bad.jsonlz4", "--sessions", "s"], 65, "bad.jsonlz4: error: its JSON can't be read"),
                (["save", "x", "good.yaml", "--tab", "1", "--sessions", "s"], 64, "--tab is for"),
                (["save", "x", "bad.jsonlz4", "--tab", "0", "--sessions", "s"], 64, "whole number from 1"),
                (["show", "broken", "--sessions", "t"], 65, "t/broken.yaml:1:1: error: a session is a mapping"),
                (["list", "--sessions", "nowhere"], 66, "the folder 'nowhere' can't be read: No such file"),
                (["list", "--sessions", "bad.yaml"], 66, "the folder 'bad.yaml' can't be read: Not a directory"),
                (["list", "--sessions", "t"], 65, "t/broken.yaml:1:1: error: a session is a mapping"),
                (["save", "x", "good.yaml", "--sessions", "bad.yaml"], 73, "can't be written: "),
                (["save", "x", "good.yaml", "--sessions", "none/deep"], 73, "can't be written: No such file"),
            ] as [([String], Int32, String)])
        func refusals(_ arguments: [String], _ status: Int32, _ message: String) throws {
            try folder.write("bad.yaml", "current: 5\nentries:\n  - { url: \"http://a/\" }\n")
            try folder.write("good.yaml", "entries:\n  - { url: \"http://a/\" }\n")
            try folder.write("bad.jsonlz4", "mozLz40")
            #expect(truncate(folder.at("bad.jsonlz4"), 13) == 0)
            mkdir(folder.at("t"), 0o700)
            try folder.write("t/broken.yaml", "x\n")
            let finished = try SubproxyProcess.run(["session"] + arguments, folder: folder.path)
            #expect(finished.status == status && finished.error.contains(message), "\(finished.error)")
            #expect(finished.output == "")
        }

        // MARK: Who may see them

        private func serve(_ options: [String] = [], wrapper: [String] = []) throws -> ServedMap {
            let served = try ServedMap(options: options, wrapper: wrapper)
            try served.folder.write("s.yaml", "entries:\n  - { url: \"http://a.test/\" }\n")
            let saved = try SubproxyProcess.run(
                ["session", "save", "s", "s.yaml", "--map", "m.yaml"], folder: served.folder.path)
            try #require(saved.status == 0, "\(saved.error)")
            return served
        }

        /// The status that a user of this machine gets for a path.
        private func ask(
            _ port: UInt16, as user: Int, _ path: String = "/sessions/s", host: String = "127.0.0.1",
            more: [String] = []
        ) throws -> String {
            try ChildProcess.run(
                [
                    "setpriv", "--reuid", "\(user)", "--regid", "\(user)", "--clear-groups", "curl", "--disable",
                    "--silent", "--max-time", "300", "--noproxy", "*", "--output", "/dev/null", "--write-out",
                    "%{http_code}",
                    "http://\(host):\(port)\(path)",
                ] + more
            ).output
        }

        @Test(
            "Another user of the machine is not admitted, root neither; --console-users lets some in",
            .kernel(geteuid() == 0, "other users"))
        func users() throws {
            let served = try serve()
            let port = served.binary.port
            #expect(try ask(port, as: 0) == "200")
            #expect(try ask(port, as: 0, host: "localhost") == "200")
            for user in [1, 4711, 65_534] {
                #expect(try ask(port, as: user) == "403")
                #expect(try ask(port, as: user, "/sessions/s/0") == "403")
                #expect(try ask(port, as: user, "/sessions/none") == "403")
                #expect(try ask(port, as: user, more: ["--request", "POST"]) == "403")
                #expect(try ask(port, as: user, "/session/restore") == "200")
                // Through the proxy, as a browser would.
                #expect(
                    try ask(port, as: user, more: ["--noproxy", "", "--proxy", "http://127.0.0.1:\(port)"]) == "403")
            }
            let other = try serve(["--console-users", "daemon,4711"])
            #expect(try ask(other.binary.port, as: 1) == "200")
            #expect(try ask(other.binary.port, as: 4711, "/sessions/s/0") == "302")
            #expect(try ask(other.binary.port, as: 4712) == "403")
            // The proxy is another user's: root is one like any other.
            chmod(folder.path, 0o755)
            let map = try folder.write("m.yaml", "substitutions:\n  http://a/: { text: a }\n")
            let foreign = try RunningBinary(map: map, wrapper: ["setpriv", "--reuid", "4711", "--clear-groups"])
            #expect(try ask(foreign.port, as: 0) == "403")
            #expect(try ask(foreign.port, as: 4711, "/sessions/none") == "404")
        }

        @Test(
            "With --auth a password lets others in, and a client's own user needs none",
            .kernel(geteuid() == 0, "other users"))
        func passwords() throws {
            let served = try serve(["--auth", try folder.write("users", TestUsers.ann + "\n")])
            let port = served.binary.port
            #expect(try ask(port, as: 0) == "200")
            #expect(try ask(port, as: 4711) == "401")
            #expect(try ask(port, as: 4711, more: ["--user", "ann:wrong"]) == "401")
            #expect(try ask(port, as: 4711, more: ["--user", "ann:secret"]) == "200")
            let proxy = ["--noproxy", "", "--proxy", "http://127.0.0.1:\(port)"]
            #expect(try ask(port, as: 0, more: proxy) == "407")
            #expect(try ask(port, as: 4711, more: proxy + ["--proxy-user", "ann:secret"]) == "200")
        }

        @Test(
            "Another machine is not admitted, whatever its user is called",
            .kernel(NetworkNamespace.isAvailable, "namespaces"))
        func machines() throws {
            let stage = try ServedMap(wrapper: NetworkNamespace.wrapper)
            try NetworkNamespace.inside(stage.binary.process) {
                let other = try NetworkNamespace.neighbour(at: "192.0.2.2")
                let served = try serve(["--listen", "192.0.2.1:3128", "--allow-remote", "--console-users", "daemon"])
                func askFromAfar(_ path: String) throws -> String {
                    try NetworkNamespace.inside(other) { try ask(3128, as: 0, path, host: "192.0.2.1") }
                }
                #expect(try askFromAfar("/sessions/s") == "403")
                #expect(try askFromAfar("/sessions/s/0") == "403")
                #expect(try askFromAfar("/session/restore") == "200")
                #expect(try ask(3128, as: 0, host: "192.0.2.1") == "200")
                withExtendedLifetime(served) {}
            }
        }

        @Test(
            "Users that there are not, and lists that are none, are named",
            arguments: ["nobody-of-that-name", "daemon,", "-1", ""])
        func unknownUsers(_ list: String) throws {
            let map = try folder.write("m.yaml", "substitutions:\n  http://a/: { text: a }\n")
            let finished = try SubproxyProcess.run(["--map", map, "--listen", "127.0.0.1:0", "--console-users=\(list)"])
            #expect(finished.status == 64 && finished.error.contains("--console-users"), "\(finished.error)")
        }
    }
}
