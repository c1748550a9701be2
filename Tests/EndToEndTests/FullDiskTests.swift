import Foundation
import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// A disk without room for what the program writes, and for what others write that it reads.
    @Suite("A full disk", .kernel(SmallDisk.isAvailable, "a file system of its own"))
    struct FullDisk {
        private static let rules = """
            http://mapped.test/x: { text: x }
            https://mapped.test/x: { text: secure }
            """

        private func fetch(_ binary: RunningBinary, _ trust: String...) throws -> String {
            let fetched = try ChildProcess.run(
                [
                    "curl", "--disable", "-sS", "--max-time", "300", "--noproxy", "", "-x",
                    "http://127.0.0.1:\(binary.port)", "https://mapped.test/x",
                ] + trust)
            return fetched.output + fetched.error
        }

        @Test("The command that makes the authority fails with the reason, leaves nothing half, and works later")
        func authorityCommand() throws {
            let disk = try SmallDisk()
            let command = disk.wrapper + [RunningBinary.path, "ca", "path", "--ca-dir", "\(disk.path)/ca"]
            try disk.fill()
            let refused = try ChildProcess.run(command)
            #expect(refused.status != 0)
            #expect(refused.error.contains("No space left on device"), "\(refused.error)")
            #expect(try disk.names("ca") == [])
            try disk.makeRoom()
            let made = try ChildProcess.run(command)
            #expect(made.status == 0, "\(made.error)")
            #expect(try disk.names("ca") == ["ca-key.pem", "ca.pem"])
            let certificate = disk.text("ca/ca.pem")
            // What is there is used, and needs no room.
            try disk.fill()
            #expect(try ChildProcess.run(command).status == 0)
            #expect(disk.text("ca/ca.pem") == certificate)
        }

        @Test("A recording that can't be begun leaves no half of a file, and is begun later")
        func recording() throws {
            let disk = try SmallDisk()
            let command =
                disk.wrapper + [
                    RunningBinary.path, "record", "-o", "\(disk.path)/r/", "--ca-dir", "\(disk.path)/ca", "--", "true",
                ]
            try disk.fill()
            let refused = try ChildProcess.run(command)
            #expect(refused.status == 73)
            #expect(refused.error.contains("No space left on device"), "\(refused.error)")
            #expect(try disk.names("r") == [])
            try disk.makeRoom()
            let begun = try ChildProcess.run(command)
            #expect(begun.status == 0, "\(begun.error)")
        }

        @Test("Without room for the authority https hosts get an error that says so, and all else is served")
        func authority() throws {
            let disk = try SmallDisk()
            let served = try ServedMap(
                Self.rules, options: ["--ca-dir", "\(disk.path)/ca"], wrapper: disk.wrapper)
            let binary = served.binary
            try disk.fill()
            for _ in 0..<3 {
                let client = try binary.connect()
                try client.send("CONNECT mapped.test:443 HTTP/1.1\r\nHost: mapped.test:443\r\n\r\n")
                let response = try client.receiveResponse()
                #expect(response.status == 500)
                #expect(response.text.contains("No space left on device"), "\(response.text)")
                #expect(try binary.get("http://mapped.test/x").text == "x")
                #expect(try disk.names("ca") == [])
            }
            try disk.makeRoom()
            let next = try RunningBinary(
                map: served.mapPath, ["--ca-dir", "\(disk.path)/ca"], wrapper: disk.wrapper)
            #expect(try fetch(next, "--insecure") == "secure")
            #expect(try fetch(next, "--cacert", "\(disk.outerPath)/ca/ca.pem") == "secure")
            // The one that runs needs no restart.
            #expect(try fetch(binary, "--cacert", "\(disk.outerPath)/ca/ca.pem") == "secure")
        }

        @Test("With its log on a full disk it serves, counts what is lost, and later goes on")
        func log() throws {
            let disk = try SmallDisk()
            let served = try ServedMap(options: ["--log-file", "\(disk.path)/access.log"], wrapper: disk.wrapper)
            let binary = served.binary
            let series = #"subproxy_log_lines_dropped_total{log="access"}"#
            #expect(try binary.get("http://mapped.test/x").text == "x")
            try disk.fill()
            // What is left of the last page may take some lines.
            let areLost = try Wait.holds {
                #expect(try binary.get("http://mapped.test/x").text == "x")
                return try Metrics.value(series, binary) ?? 0 > 0
            }
            #expect(areLost)
            for _ in 0..<100 { #expect(try binary.get("http://mapped.test/x").text == "x") }
            try disk.makeRoom()
            let last = "http://mapped.test/x?last=1"
            #expect(try binary.get(last, fields: ["Cache-Control: only-if-cached"]).status == 504)
            func lines() -> [Substring] { disk.text("access.log").split(separator: "\n") }
            // Each event loop has its own lines, so that others may come behind it.
            #expect(Wait.holds { lines().contains { $0.contains("/x?last=") } })
            let all = lines()
            let whole = all.filter { line in
                line.contains(" GET ") && ["substituted", "failed", "own"].contains { line.contains(" \($0)") }
            }
            #expect(all.count - whole.count <= 1, "\(all.suffix(5))")
            func warnings() -> [Substring] {
                binary.process.error.split(separator: "\n").filter { $0.contains("access log") }
            }
            #expect(Wait.holds { !warnings().isEmpty })
            #expect(warnings().count == 1, "\(warnings())")
        }

        @Test("A map that is saved to a full disk, and so cut off, is an error; the old one stays in force")
        func mapSaving() throws {
            let disk = try SmallDisk()
            let url = "http://mapped.test/a"
            #expect(disk.write("m.yaml", ServedMap.text("\(url): { text: old }")))
            let binary = try RunningBinary(map: "\(disk.path)/m.yaml", ["--offline"], wrapper: disk.wrapper)
            #expect(try binary.get(url).text == "old")
            try disk.fill()
            // To read what is there takes no room.
            func countOfReloads() -> Int { binary.process.error.components(of: "loaded anew") }
            binary.process.send(SIGHUP)
            #expect(Wait.holds { countOfReloads() == 1 })
            #expect(try binary.get(url).text == "old")
            let text = ServedMap.text(
                "\(url): { text: new }\nhttp://mapped.test/b: { text: \(String(repeating: "b", count: 9000)) }")
            // A copy that is to be renamed over the old map never gets that far.
            #expect(!disk.write("m.yaml.new", text))
            #expect(unlink("\(disk.outerPath)/m.yaml.new") == 0)
            #expect(try binary.get(url).text == "old")
            try disk.fill()
            // In place the old one is gone before the new one is written.
            #expect(!disk.write("m.yaml", text))
            #expect(Wait.holds { binary.process.error.contains("the old ones stay in force") })
            #expect(Wait.holds { binary.process.error.contains("\(disk.path)/m.yaml:") }, "\(binary.process.error)")
            #expect(try binary.get(url).text == "old")
            try disk.makeRoom()
            #expect(disk.write("m.yaml", text))
            #expect(Wait.holds { (try? binary.get(url).text) == "new" })
            #expect(try binary.get("http://mapped.test/b").body.count == 9000)
        }
    }
}

/// A disk of 1 MiB, which one process and those that enter its namespace of mounts have.
final class SmallDisk {
    private let folder: TemporaryFolder
    private let keeper: ChildProcess

    static let isAvailable: Bool = (try? SmallDisk()) != nil

    /// Where it is for those who are in the namespace.
    var path: String { folder.path }
    /// Where it is for all others.
    var outerPath: String { "/proc/\(keeper.identifier)/root\(folder.path)" }
    /// A command that executes another one in the namespace.
    var wrapper: [String] { ["nsenter", "--mount", "--target", "\(keeper.identifier)"] }

    init() throws {
        folder = TemporaryFolder()
        let keeper = try ChildProcess([
            "unshare", "--mount", "sh", "-c",
            "mount -t tmpfs -o size=1m,mode=0700 none \(folder.path) && echo ready && exec sleep 900",
        ])
        self.keeper = keeper
        try Wait.until {
            if keeper.status != nil { throw ToolFailure(text: keeper.error) }
            return keeper.output.contains("ready")
        }
    }

    /// Takes all the room that is left; false where there was none.
    @discardableResult
    func fill() throws -> Bool {
        let file = open("\(outerPath)/filler", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(file) }
        let page = [UInt8](repeating: 0, count: 4096)
        var count = 0
        while Glibc.write(file, page, page.count) > 0 { count += 1 }
        try #require(errno == ENOSPC)
        return count > 0
    }

    func makeRoom() throws { try #require(unlink("\(outerPath)/filler") == 0) }

    /// Writes a file as editors and scripts do that write in place; whether it is there whole.
    @discardableResult
    func write(_ name: String, _ text: String) -> Bool {
        guard let file = fopen("\(outerPath)/\(name)", "w") else { return false }
        let isWritten = fputs(text, file) >= 0
        return fclose(file) == 0 && isWritten
    }

    func text(_ name: String) -> String {
        (try? String(contentsOfFile: "\(outerPath)/\(name)", encoding: .utf8)) ?? ""
    }

    func names(_ name: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(outerPath)/\(name)").sorted()
    }
}
