import Glibc
import ProxyTestKit
import Testing

/// The unit files, where systemd's own tool can judge them. (systemd-analyze(1))
@Suite("Unit files", .program("systemd-analyze", of: "systemd"), .onThreads)
struct UnitFileTests {
    private static let units = EndToEnd.folder + "/../../systemd"

    /// Copies with the program that was built, since systemd-analyze looks whether it is there.
    private func copies(of folder: String) throws -> (folder: TemporaryFolder, paths: [String]) {
        let copies = TemporaryFolder()
        let paths = try ["service", "socket"].map { kind in
            let unit = try ChildProcess.run(["cat", "\(folder)/subproxy.\(kind)"])
            #expect(unit.status == 0)
            return try copies.write(
                "subproxy.\(kind)", unit.output.replacing("/usr/bin/subproxy", with: RunningBinary.path))
        }
        return (copies, paths)
    }

    @Test("systemd finds no fault in the units of the system and of users", arguments: [false, true])
    func verify(isUser: Bool) throws {
        let (copies, paths) = try copies(of: Self.units + (isUser ? "/user" : ""))
        let verified = try ChildProcess.run(
            ["systemd-analyze", "verify", "--man=no"] + (isUser ? ["--user"] : []) + paths,
            environment: ["XDG_RUNTIME_DIR": copies.path])
        #expect(verified.status == 0)
        #expect(verified.output + verified.error == "")
    }

    @Test("The system's service is exposed to little: 1.5 of 10 at the most")
    func security() throws {
        let (copies, paths) = try copies(of: Self.units)
        defer { withExtendedLifetime(copies) {} }
        let verdict = try ChildProcess.run(
            ["systemd-analyze", "security", "--offline=true", "--threshold=15"] + paths.prefix(1),
            environment: ["SYSTEMD_COLORS": "0"])
        #expect(verdict.status == 0, "\(verdict.output.suffix(200))")
    }
}
