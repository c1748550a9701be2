import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// What is left on disk between two processes, or shared by them: the certificate authority, and nothing else.
    @Suite("State on disk")
    struct State {
        private static let rules = """
            http://mapped.test/x: { text: x }
            https://mapped.test/x: { text: secure }
            """

        private func curl(_ port: UInt16, _ arguments: [String]) throws -> ChildProcess {
            try ChildProcess.run(
                [
                    "curl", "--disable", "-sS", "--max-time", "300", "--noproxy", "", "-x", "http://127.0.0.1:\(port)",
                ] + arguments)
        }

        private func names(in folder: String) throws -> [Substring] {
            try ChildProcess.run(["ls", "-A", folder]).output.split(separator: "\n")
        }

        /// How often a process is killed; more by hand, with SUBPROXY_KILLS in the environment.
        private static let kills = getenv("SUBPROXY_KILLS").flatMap { Int(String(cString: $0)) } ?? 20

        @Test("Killed at any moment, it starts again, with the authority that was made, or with none")
        func randomKills() throws {
            let manager = try ServiceManager(Self.rules)
            let folder = "\(manager.folder.path)/ca"
            let certificate = "\(folder)/ca.pem"
            var made = 0
            for round in 0..<Self.kills {
                let process = try manager.start(["--ca-dir", folder])
                // Asks for the certificate of a host from the first moment on, as the socket is there already.
                let client = try ChildProcess(
                    [
                        "curl", "--disable", "-sSk", "--max-time", "300", "--noproxy", "", "-x",
                        "http://127.0.0.1:\(manager.port)", "https://mapped.test/x",
                    ])
                // Now and then when there is one, and otherwise at any moment before or after.
                if round % 4 == 0 {
                    try Wait.until { access(certificate, R_OK) == 0 }
                } else {
                    usleep(.random(in: 0..<250_000))
                }
                process.send(SIGKILL)
                #expect(try process.finish() == 128 + SIGKILL)
                client.send(SIGKILL)
                try client.finish()
                let left = (try? ChildProcess.run(["cat", certificate]).output) ?? ""
                let next = try manager.start(["--ca-dir", folder])
                _ = try curl(manager.port, ["-k", "https://mapped.test/x"])
                let answer = try curl(manager.port, ["--cacert", certificate, "https://mapped.test/x"])
                #expect(answer.output == "secure", "\(answer.error) \(next.error)")
                #expect(!next.error.contains("subproxy: error"), "\(next.error)")
                #expect(try names(in: folder) == ["ca-key.pem", "ca.pem"])
                if !left.isEmpty {
                    made += 1
                    #expect(try ChildProcess.run(["cat", certificate]).output == left)
                }
                next.send(SIGTERM)
                #expect(try next.finish() == 0)
                // Most rounds begin without an authority.
                if round % 4 != 3 { _ = try ChildProcess.run(["rm", "-r", folder]) }
                _ = manager.notifications.waiting()
            }
            #expect(made >= Self.kills / 4)
        }

        @Test(
            "Killed in any step of making the authority, the next start makes it, or finds it whole",
            .program("strace", of: "strace"), .kernel(FaultInjection.isAllowed, "leave to trace a process"),
            arguments: ["mkdir", "fchmod", "write", "fsync", "linkat", "unlinkat", "flock"])
        func kills(call: String) throws {
            let folder = TemporaryFolder()
            var killed = 0
            for index in 1...40 {
                let authority = "\(folder.path)/\(index)"
                let first = try ChildProcess.run(
                    [
                        "strace", "-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                        "inject=\(call):signal=KILL:when=\(index)", RunningBinary.path, "ca", "path", "--ca-dir",
                        authority,
                    ])
                if first.status == 0 { break }
                killed += 1
                let left = (try? ChildProcess.run(["cat", "\(authority)/ca.pem"]).output) ?? ""
                let second = try ChildProcess.run([RunningBinary.path, "ca", "path", "--ca-dir", authority])
                #expect(second.status == 0, "\(second.error)")
                #expect(try names(in: authority) == ["ca-key.pem", "ca.pem"])
                if !left.isEmpty { #expect(try ChildProcess.run(["cat", "\(authority)/ca.pem"]).output == left) }
            }
            #expect(killed > 0)
            #expect(killed < 40)
        }

        @Test(
            "Where a disk fails in a step of making the authority, the reason is told, and the next start makes it whole",
            .program("strace", of: "strace"), .kernel(FaultInjection.isAllowed, "leave to trace a process"),
            arguments: [
                ("fsync", "EIO", "Input/output error", 4), ("linkat", "ENOSPC", "No space left on device", 2),
                ("write", "ENOSPC", "No space left on device", 2),
            ])
        func failures(call: String, error: String, reason: String, steps: Int) throws {
            let folder = TemporaryFolder()
            for step in 1...steps {
                let authority = "\(folder.path)/\(step)"
                let command = [RunningBinary.path, "ca", "path", "--ca-dir", authority]
                let first = try ChildProcess.run(
                    [
                        "strace", "-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                        "inject=\(call):error=\(error):when=\(step)",
                    ] + command)
                #expect(first.status == 1)
                #expect(first.output == "")
                #expect(first.error.split(separator: "\n").count == 1)
                #expect(first.error.contains(authority) && first.error.contains(reason), "\(first.error)")
                // No draft is left, and of the two files none that can't be used.
                let left = try names(in: authority)
                #expect(left == [] || left == ["ca-key.pem"] || left == ["ca-key.pem", "ca.pem"], "\(left)")
                let key = try left.isEmpty ? "" : ChildProcess.run(["cat", "\(authority)/ca-key.pem"]).output
                let second = try ChildProcess.run(command)
                #expect(second.status == 0, "\(second.error)")
                #expect(try names(in: authority) == ["ca-key.pem", "ca.pem"])
                if !key.isEmpty { #expect(try ChildProcess.run(["cat", "\(authority)/ca-key.pem"]).output == key) }
            }
            let served = try ServedMap(Self.rules, options: ["--ca-dir", "\(folder.path)/\(steps)"])
            let answer = try curl(
                served.binary.port, ["--cacert", "\(folder.path)/\(steps)/ca.pem", "https://mapped.test/x"])
            #expect(answer.output == "secure", "\(answer.error)")
        }

        @Test(
            "A write of less than all is followed by one of the rest",
            .program("strace", of: "strace"), .kernel(FaultInjection.isAllowed, "leave to trace a process"))
        func shortWrite() throws {
            let folder = TemporaryFolder()
            // The kernel is said to have written a byte, and has written none.
            let made = try ChildProcess.run([
                "strace", "-f", "-o", "/dev/null", "-e", "trace=write", "-e", "inject=write:retval=1:when=1",
                RunningBinary.path, "ca", "path", "--ca-dir", "\(folder.path)/ca",
            ])
            #expect(made.status == 0, "\(made.error)")
            let key = try ChildProcess.run(["cat", "\(folder.path)/ca/ca-key.pem"]).output
            #expect(key.hasPrefix("----BEGIN PRIVATE KEY-----\n") && key.hasSuffix("\n-----END PRIVATE KEY-----\n"))
        }

        @Test("Two at once on one folder have one authority, and either may be killed without the other's noticing")
        func twoAtOnce() async throws {
            let folder = TemporaryFolder()
            let options = ["--ca-dir", "\(folder.path)/ca"]
            let both = [try ServedMap(Self.rules, options: options), try ServedMap(Self.rules, options: options)]
            let ports = both.map(\.binary.port)
            let certificates = try await atOnce(2) { index in
                let shown = try ChildProcess.run([
                    "curl", "--disable", "-skv", "--max-time", "300", "--noproxy", "", "-x",
                    "http://127.0.0.1:\(ports[index])", "https://mapped.test/x",
                ])
                return shown.error.split(separator: "\n").first { $0.contains("issuer:") }
            }
            #expect(certificates[0] != nil)
            #expect(certificates[0] == certificates[1])
            both[0].binary.process.send(SIGKILL)
            #expect(try both[0].binary.process.finish() == 128 + SIGKILL)
            let answer = try curl(ports[1], ["--cacert", "\(folder.path)/ca/ca.pem", "https://mapped.test/x"])
            #expect(answer.output == "secure", "\(answer.error)")
        }

        @Test("What another version has left in the folder is used where it is understood, and never changed")
        func otherVersion() throws {
            let folder = TemporaryFolder()
            let authority = "\(folder.path)/ca"
            #expect(try ChildProcess.run([RunningBinary.path, "ca", "path", "--ca-dir", authority]).status == 0)
            try folder.write("ca/index-of-a-later-version", "7\n")
            let served = try ServedMap(Self.rules, options: ["--ca-dir", authority])
            let answer = try curl(served.binary.port, ["--cacert", "\(authority)/ca.pem", "https://mapped.test/x"])
            #expect(answer.output == "secure", "\(answer.error)")
            // A certificate in a form of its own is refused, which keeps nothing else from being served.
            let key = try ChildProcess.run(["cat", "\(authority)/ca-key.pem"]).output
            try folder.write("ca/ca.pem", "subproxy authority 9\n")
            let other = try ServedMap(Self.rules, options: ["--ca-dir", authority])
            #expect(try curl(other.binary.port, ["-k", "https://mapped.test/x"]).status != 0)
            #expect(Wait.holds { other.binary.process.error.contains("\(authority)/ca.pem") })
            #expect(try other.binary.get("http://mapped.test/x").text == "x")
            let left = try ChildProcess.run(
                ["sh", "-c", "cd \(authority) && cat ca-key.pem ca.pem index-of-a-later-version"])
            #expect(left.output == key + "subproxy authority 9\n7\n")
        }
    }
}
