import Glibc
import ProxyTestKit
import TLSTermination
import Testing

@testable import TrustStores

@Suite("Databases of browsers")
struct SecurityDatabaseFindingTests {
    private let machine = FakeMachine()

    private func found(variables: [String: String] = [:]) -> [String] {
        SecurityDatabase.find(in: machine.surroundings(variables: variables)).map {
            "\($0.owner) \($0.path.dropFirst(machine.home.count + 1))"
        }
    }

    private func add(_ path: String) { machine.write("", to: machine.folder("\(machine.home)/\(path)") + "/cert9.db") }

    @Test("Without a browser there is none")
    func none() { #expect(found().isEmpty) }

    @Test(
        "Chromium's is made where Chromium is installed or its folder is, and never so that it hides another",
        arguments: [
            // (databases, folders, whether Chromium is installed, found)
            ([], [".pki"], false, [".pki/nssdb"]),
            ([], [".local/share/pki"], false, [".local/share/pki/nssdb"]),
            ([], [], true, [".pki/nssdb", ".local/share/pki/nssdb"]),
            ([".pki/nssdb"], [], false, [".pki/nssdb"]),
            ([".local/share/pki/nssdb"], [], true, [".local/share/pki/nssdb"]),
            ([".local/share/pki/nssdb"], [".pki"], true, [".local/share/pki/nssdb"]),
            ([".pki/nssdb", ".local/share/pki/nssdb"], [], false, [".pki/nssdb", ".local/share/pki/nssdb"]),
        ] as [([String], [String], Bool, [String])])
    func chromium(databases: [String], folders: [String], isInstalled: Bool, expected: [String]) {
        for path in databases { add(path) }
        for path in folders { _ = machine.folder("\(machine.home)/\(path)") }
        if isInstalled { machine.tool("chromium", "") }
        #expect(found() == expected.map { "Chromium \($0)" })
    }

    @Test("One that XDG_DATA_HOME names is found there")
    func dataHome() {
        add("data/pki/nssdb")
        #expect(found(variables: ["XDG_DATA_HOME": "\(machine.home)/data"]) == ["Chromium data/pki/nssdb"])
        #expect(found().isEmpty)
    }

    @Test("Snaps and Flatpaks have theirs")
    func packaged() {
        add("snap/other/current/.pki/nssdb")
        add(".var/app/com.google.Chrome/data/pki/nssdb")
        _ = machine.folder("\(machine.home)/snap/chromium/current")
        _ = machine.folder("\(machine.home)/snap/third/current")
        #expect(
            found() == [
                "Chromium snap/chromium/current/.pki/nssdb", "Chromium snap/other/current/.pki/nssdb",
                "Chromium .var/app/com.google.Chrome/data/pki/nssdb",
            ])
    }

    @Test("Profiles of Firefox are those with a database")
    func firefox() {
        let profiles = [
            ".mozilla/firefox/a.default", ".config/mozilla/firefox/b.default",
            "snap/firefox/common/.mozilla/firefox/c.default",
        ]
        for path in profiles { add(path) }
        _ = machine.folder("\(machine.home)/.mozilla/firefox/Crash Reports")
        #expect(found() == profiles.map { "Firefox \($0)" })
    }

    @Test("Without certutil the package that has it is named, and nothing is made")
    func noTool() throws {
        _ = machine.folder("\(machine.home)/.pki")
        let certificate = try machine.certificate()
        let database = try #require(SecurityDatabase.find(in: machine.surroundings()).first)
        guard case .failed(let problem) = database.install(certificate) else {
            Issue.record("it was installed")
            return
        }
        #expect(problem.advice.contains("libnss3-tools"))
        #expect(!LocalFiles.isFolder(database.path))
        #expect(database.uninstall(certificate) == .unchanged)
    }

    @Test(
        "A line of certutil's list is a nickname and flags",
        arguments: [
            ("subproxy CA 1 (a@b, 2025-01-01)                        C,,  ", "subproxy CA 1 (a@b, 2025-01-01)", "C,,"),
            ("name  with C,, in it   CT,c,", "name  with C,, in it", "CT,c,"),
        ])
    func columns(line: String, nickname: String, flags: String) {
        let columns = SecurityDatabase.columns(line[...])
        #expect(columns?.nickname == nickname)
        #expect(columns?.flags == flags)
    }

    @Test(
        "The lines above are none",
        arguments: [
            "", "Certificate Nickname                                         Trust Attributes",
            "                                                             SSL,S/MIME,JAR/XPI",
        ])
    func heading(line: String) { #expect(SecurityDatabase.columns(line[...]) == nil) }
}

@Suite("Databases of browsers, by certutil", .program("certutil", of: "libnss3-tools"))
struct SecurityDatabaseTests {
    private let machine = FakeMachine()

    @Test("The certificate is put in as one to trust for servers, and taken out again; twice is once")
    func roundTrip() throws {
        let path = try machine.addDatabase("\(machine.home)/.mozilla/firefox/a.default")
        let certificate = try machine.certificate()
        let other = try machine.otherCertificate()
        let database = try #require(SecurityDatabase.find(in: machine.surroundings(certutil: true)).first)
        #expect(database.path == path)
        #expect(database.state(of: certificate) == .absent)
        #expect(database.install(certificate) == .done)
        #expect(database.install(other) == .done)
        #expect(database.install(certificate) == .unchanged)
        #expect(database.state(of: certificate) == .trusted)
        let line = try #require(
            try FakeMachine.listing(path).split(separator: "\n").first { $0.hasPrefix(certificate.name) })
        #expect(line.split(separator: " ").last == "C,,")

        #expect(database.uninstall(certificate) == .done)
        #expect(database.uninstall(certificate) == .unchanged)
        #expect(database.state(of: certificate) == .absent)
        #expect(database.state(of: other) == .trusted)
        #expect(database.exists)
    }

    @Test("One that is there without trust gets it; one that a browser imported is known under its own nickname")
    func repaired() throws {
        let path = try machine.addDatabase("\(machine.home)/.pki/nssdb")
        let certificate = try machine.certificate()
        let nickname = "\(certificate.name) - subproxy"
        _ = try ChildProcess.run([
            FakeMachine.certutil ?? "", "-A", "-d", "sql:\(path)", "-n", nickname, "-t", ",,", "-i", certificate.path,
        ])
        let database = try #require(SecurityDatabase.find(in: machine.surroundings(certutil: true)).first)
        #expect(database.state(of: certificate) == .absent)
        #expect(database.install(certificate) == .done)
        #expect(database.state(of: certificate) == .trusted)
        #expect(database.uninstall(certificate) == .done)
        #expect(!(try FakeMachine.listing(path)).contains(certificate.name))
    }

    @Test("A database that was made here goes away with its last certificate, but not one that is in use")
    func ownDatabase() throws {
        _ = machine.folder("\(machine.home)/.pki")
        let certificate = try machine.certificate()
        let other = try machine.otherCertificate()
        let database = try #require(SecurityDatabase.find(in: machine.surroundings(certutil: true)).first)
        #expect(database.install(certificate) == .done)
        #expect(database.install(other) == .done)
        #expect(database.uninstall(certificate) == .done)
        #expect(database.exists)
        #expect(database.uninstall(other) == .done)
        #expect(!LocalFiles.isFolder("\(machine.home)/.pki"))
    }

    @Test("A database that can't be read is a failure with certutil's words")
    func broken() throws {
        let path = machine.folder("\(machine.home)/.pki/nssdb")
        machine.write("no database", to: "\(path)/cert9.db")
        let certificate = try machine.certificate()
        let database = try #require(SecurityDatabase.find(in: machine.surroundings(certutil: true)).first)
        guard case .unknown(let problem) = database.state(of: certificate),
            case .failed(let other) = database.install(certificate)
        else {
            Issue.record("it was read")
            return
        }
        #expect(problem.reason.contains("certutil"))
        #expect(other == problem)
    }
}
