import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// What the program finds around it when it starts, and what changes there while it runs.
    @Suite("Surroundings")
    struct Surroundings {
        private static let rules = """
            http://mapped.test/x: { text: x }
            https://mapped.test/x: { text: x }
            """

        /// A way to start the program, as a command that executes another one.
        enum Start: String, CaseIterable, CustomTestStringConvertible {
            case plainLocale = "export LC_ALL=C LANG=C"
            case unknownLocale = "export LC_ALL=xx_YY.UTF-9"
            case oddZone = "export TZ=:/nonexistent/zone"
            case oddOffset = "export TZ='<+1337>-13:37:59'"
            case openMask = "umask 000"
            case closedMask = "umask 077"
            case noHome = "unset HOME"
            case unwritableHome = "export HOME=/proc"
            case fewDescriptors = "ulimit -n 64"

            var testDescription: String { rawValue }
        }

        private func curl(_ binary: RunningBinary, _ authority: String, _ url: String) throws -> ChildProcess {
            try ChildProcess.run([
                "curl", "--disable", "-sS", "--max-time", "300", "--noproxy", "", "-x",
                "http://127.0.0.1:\(binary.port)", "--cacert", authority, url,
            ])
        }

        @Test("It serves in any locale, time zone, mask, home, and with few descriptors", arguments: Start.allCases)
        func starts(start: Start) throws {
            let authority = TemporaryFolder()
            let served = try ServedMap(
                Self.rules, options: ["--ca-dir", "\(authority.path)/ca"],
                wrapper: ["sh", "-c", "\(start.rawValue); exec \"$@\"", "sh"])
            let fetched = try curl(served.binary, "/dev/null", "http://mapped.test/x")
            #expect(fetched.output == "x", "\(fetched.error)")
            #expect(try ChildProcess.run(["ls", "-A", authority.path]).output.isEmpty)
            // The first look makes the authority; its key is its owner's alone, whatever the mask is.
            let folder = "\(authority.path)/ca"
            #expect(try connects(served.binary))
            #expect(Wait.holds { access("\(folder)/ca.pem", R_OK) == 0 })
            let secure = try curl(served.binary, "\(folder)/ca.pem", "https://mapped.test/x")
            #expect(secure.output == "x", "\(secure.error)")
            let modes = try ChildProcess.run(["stat", "-c", "%a", folder, "\(folder)/ca-key.pem", "\(folder)/ca.pem"])
            #expect(modes.output == "700\n600\n644\n")
        }

        private func connects(_ binary: RunningBinary) throws -> Bool {
            let fetched = try ChildProcess.run([
                "curl", "--disable", "-sSk", "--max-time", "300", "--noproxy", "", "-x",
                "http://127.0.0.1:\(binary.port)", "https://mapped.test/x",
            ])
            return fetched.output == "x"
        }

        @Test("Where the authority can't be kept, https hosts of the map get an error, and all else is served")
        func unwritableHome() throws {
            let served = try ServedMap(
                Self.rules, wrapper: ["sh", "-c", "export HOME=/proc; unset XDG_DATA_HOME; exec \"$@\"", "sh"])
            #expect(try served.binary.get("http://mapped.test/x").text == "x")
            let secure = try curl(served.binary, "/dev/null", "https://mapped.test/x")
            #expect(secure.status != 0)
            #expect(Wait.holds { served.binary.process.error.contains("/proc/.local") })
            #expect(try served.binary.get("http://mapped.test/x").text == "x")
        }

        @Test(
            "A user that no database knows can run it",
            .kernel(getuid() == 0 && Surroundings.othersCanRun, "root, and a program that others can read"))
        func unknownUser() throws {
            let folder = TemporaryFolder()
            try folder.write("m.yaml", ServedMap.text(Self.rules))
            try #require(chown(folder.path, 54321, 54321) == 0)
            let echo = try RawOrigin.echo()
            let binary = try RunningBinary(
                map: "\(folder.path)/m.yaml", ["--ca-dir", "\(folder.path)/ca", "--connect-ports", "\(echo.port)"],
                wrapper: Surroundings.asNobody)
            #expect(try binary.get("http://mapped.test/x").text == "x")
            #expect(try connects(binary))
            let tunnel = try binary.tunnel(to: echo.port)
            try tunnel.send("through")
            #expect(try tunnel.receive(exactly: 7) == Array("through".utf8))
        }

        private static let asNobody = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
        static let othersCanRun =
            (try? ChildProcess.run(asNobody + [RunningBinary.path, "--version"]))?.status == 0

        @Test(
            "It needs no folder for temporary files",
            .kernel(
                NetworkNamespace.isAvailableWithMounts && !RunningBinary.path.hasPrefix("/tmp/"),
                "namespaces of networks and mounts, and a program that is not in that folder itself"))
        func noTemporaryFolder() throws {
            let folder = TemporaryFolder()
            try folder.write("m.yaml", ServedMap.text("http://mapped.test/x: x.txt"))
            try folder.write("x.txt", "x")
            let binary = try RunningBinary(
                map: "/mnt/m.yaml",
                wrapper: NetworkNamespace.wrapper(
                    setUp: "mount --bind \(folder.path) /mnt && mount -t tmpfs -o ro,mode=000 none /tmp"))
            let response = try NetworkNamespace.inside(binary.process) { try binary.get("http://mapped.test/x") }
            #expect(response.text == "x")
        }

        @Test("A reader of the log that goes away takes nothing with it")
        func closedLog() throws {
            let served = try ServedMap(
                Self.rules, wrapper: ["bash", "-c", "exec \"$@\" > >(true)", "bash"])
            for _ in 0..<20 { #expect(try served.binary.get("http://mapped.test/x").text == "x") }
        }

        @Test("A program that is replaced while it runs goes on, reloads and stops as if nothing had been")
        func replacedProgram() throws {
            let folder = TemporaryFolder()
            let copy = "\(folder.path)/program"
            try #require(try ChildProcess.run(["cp", RunningBinary.path, copy]).status == 0)
            let served = try ServedMap(Self.rules, wrapper: ["sh", "-c", "shift; exec \(copy) \"$@\"", "sh"])
            let binary = served.binary
            #expect(try resolvedLink("/proc/\(binary.process.identifier)/exe") == copy)
            try folder.write("other", "#!/bin/sh\n")
            try #require(rename("\(folder.path)/other", copy) == 0)
            binary.process.send(SIGHUP)
            #expect(Wait.holds { binary.process.error.contains("loaded anew") })
            #expect(try binary.get("http://mapped.test/x").text == "x")
            #expect(try connects(binary))
            binary.process.send(SIGTERM)
            #expect(try binary.process.finish() == 0)
        }

        @Test("A map that others can change is warned of once, and used", arguments: ["file", "folder", "owner"])
        func exposedMap(what: String) throws {
            try #require(what != "owner" || getuid() == 0)
            let folder = TemporaryFolder()
            let map = try folder.write("m.yaml", ServedMap.text(Self.rules))
            let text: String
            switch what {
            case "file":
                try #require(chmod(map, 0o666) == 0)
                text = "every user of this machine can write \(map)"
            case "folder":
                try #require(chmod(folder.path, 0o777) == 0)
                text = "every user of this machine can replace \(map)"
            default:
                try #require(chown(map, 54321, 54321) == 0)
                text = "\(map) belongs to another user (54321)"
            }
            let binary = try RunningBinary(map: map)
            #expect(Wait.holds { binary.process.error.contains("subproxy: warning: \(text)") })
            #expect(try binary.get("http://mapped.test/x").text == "x")
            binary.process.send(SIGHUP)
            #expect(Wait.holds { binary.process.error.contains("loaded anew") })
            binary.process.send(SIGTERM)
            try binary.process.finish()
            #expect(binary.process.error.split(separator: "\n").count { $0.contains(text) } == 1)
            #expect(binary.process.error.components(of: "warning: ") == 1, "\(binary.process.error)")
            let checked = try ChildProcess.run([RunningBinary.path, "check", map])
            #expect(checked.error.contains("every user of this machine may change this map") == (what == "file"))
        }

        @Test("A map that its owner alone can write, and one of root's, are not warned of")
        func safeMap() throws {
            let served = try ServedMap(Self.rules)
            served.binary.process.send(SIGHUP)
            #expect(Wait.holds { served.binary.process.error.contains("loaded anew") })
            served.binary.process.send(SIGTERM)
            try served.binary.process.finish()
            #expect(!served.binary.process.error.contains("warning"))
        }

        @Test("The memory of bodies is in no core dump, even where a limit that was raised lets one be written")
        func coreDump() throws {
            let folder = TemporaryFolder()
            let secret = "a body that is nobody's business"
            try folder.write("m.yaml", ServedMap.text("http://mapped.test/x: { text: \(secret) }"))
            let binary = try RunningBinary(
                map: "\(folder.path)/m.yaml", wrapper: ["env", "-C", folder.path, "SWIFT_BACKTRACE=enable=no"])
            #expect(try binary.get("http://mapped.test/x").text == secret)
            let process = binary.process.identifier
            let filter = try ChildProcess.run(["cat", "/proc/\(process)/coredump_filter"]).output
            #expect(filter == "00000000\n")
            let limit = "--core=unlimited"
            try #require(try ChildProcess.run(["prlimit", "--pid", "\(process)", limit]).status == 0)
            binary.process.send(SIGABRT)
            #expect(try binary.process.finish() == 128 + SIGABRT)
            // Where the system writes them elsewhere there is nothing to look into.
            let found = try ChildProcess.run(["grep", "-c", "--binary-files=text", "-r", secret, folder.path]).output
            #expect(
                found.split(separator: "\n").allSatisfy { $0.hasSuffix("m.yaml:1") || $0.hasSuffix(":0") }, "\(found)")
        }
    }
}
