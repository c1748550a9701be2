import Foundation
import Glibc
import ProxyTestKit
import Testing

/// certutil(1), and what Debian's update-ca-certificates(8) needs to be tried on copies of the system's files.
private let certutil = InstalledProgram.path("certutil")

/// A user with a home of a test's own; the real one's stores are not looked at.
private struct User {
    let folder: TemporaryFolder
    var home: String { "\(folder.path)/home" }
    var authority: String { "\(home)/.local/share/subproxy" }

    init() throws {
        folder = TemporaryFolder()
        mkdir("\(folder.path)/home", 0o700)
    }

    /// Runs `subproxy ca`.
    func ca(
        _ arguments: [String], variables: [String: String] = [:], wrapper: [String] = []
    ) throws -> ChildProcess {
        var environment = ["HOME": home]
        for name in [
            "XDG_DATA_HOME", "XDG_CONFIG_HOME", "STATE_DIRECTORY", "SSL_CERT_FILE", "CURL_CA_BUNDLE",
            "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "NODE_OPTIONS",
        ] { environment[name] = "" }
        return try ChildProcess.run(
            wrapper + [RunningBinary.path, "ca"] + arguments, environment: environment.merging(variables) { $1 },
            seconds: 2 * Wait.limit)
    }

    func makeFolder(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: "\(home)/\(path)", withIntermediateDirectories: true)
    }

    func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: "\(home)/\(path)") }
}

@Suite("subproxy ca", .onThreads)
struct AuthorityCommandTests {
    @Test("path makes the authority once, with a key for its owner alone, and prints where the certificate is")
    func path() throws {
        let user = try User()
        let first = try user.ca(["path"])
        #expect(first.status == 0)
        #expect(first.output == "\(user.authority)/ca.pem\n")
        #expect(first.error.isEmpty)
        let made = FileManager.default.contents(atPath: "\(user.authority)/ca.pem")
        #expect(try user.ca(["path"]).output == first.output)
        #expect(FileManager.default.contents(atPath: "\(user.authority)/ca.pem") == made)
        var status = stat()
        #expect(stat("\(user.authority)/ca-key.pem", &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try user.ca(["path", "--ca-dir", "\(user.home)/other"]).output == "\(user.home)/other/ca.pem\n")
    }

    @Test("A folder that can't be used is one line, and status 1")
    func unusableFolder() throws {
        let answer = try User().ca(["path", "--ca-dir", "/proc/none"])
        #expect(answer.status == 1)
        #expect(answer.error.hasPrefix("subproxy: error: ") && answer.error.split(separator: "\n").count == 1)
        #expect(answer.error.contains("/proc/none"))
    }

    @Test("--only-mapped limits a new authority to the map's https hosts, and says that an old one keeps its limits")
    func onlyMapped() throws {
        let user = try User()
        let map = try user.folder.write(
            "m.yaml", "intercept: [\"*.corp.test\"]\n" + ServedMap.text("https://a.test/x: { text: x }"))
        let answer = try user.ca(["install", "--stores", "nss", "--only-mapped", "--map", map])
        #expect(answer.output.contains("for some hosts only"))
        #expect(answer.output.contains("may sign for a.test, corp.test and all names below them\n"))
        let text = try ChildProcess.run(["openssl", "x509", "-in", "\(user.authority)/ca.pem", "-noout", "-text"])
        #expect(text.output.contains("X509v3 Name Constraints: critical"))
        for name in ["DNS:a.test", "DNS:corp.test"] { #expect(text.output.contains(name)) }

        let other = try user.folder.write("o.yaml", ServedMap.text("https://b.test/x: { text: x }"))
        let again = try user.ca(["install", "--stores", "nss", "--only-mapped", "--map", other])
        #expect(again.error.contains("keeps its limits (some hosts only)"))
        #expect(again.error.contains("may not sign for b.test"))
        #expect(again.output.contains("may sign for a.test, corp.test and all names below them\n"))
        #expect(try user.ca(["doctor"]).output.contains("may sign for a.test, corp.test and all names below them\n"))
        #expect(try user.ca(["doctor", "--map", other]).output.contains("may not sign for b.test"))
    }

    @Test(
        "A map whose hosts can't be limits is refused, and no authority is made",
        arguments: [("http://a.test/x: { text: x }", "no https host"), ("https://a.*/x: { text: x }", "'a.*'")])
    func unlimited(rule: String, text: String) throws {
        let user = try User()
        let map = try user.folder.write("m.yaml", ServedMap.text(rule))
        let answer = try user.ca(["install", "--stores", "nss", "--only-mapped", "--map", map])
        #expect(answer.status == 65)
        #expect(answer.error.contains(text))
        #expect(!user.exists(".local"))
    }

    @Test(
        "A host whose limit would be a domain of the first level is refused with its line, and no authority is made",
        arguments: [
            ("https://*.com/x: { text: x }", "m.yaml:3: error: for '*.com' ", "'.com'", "(*.example.com)"),
            (
                "https://*example.net/x: { text: x }", "m.yaml:3: error: for '*example.net', ", "'.net'",
                "'*.example.net'"
            ),
            ("//a*.org/x: { text: x }", "m.yaml:3: error: for 'a*.org' ", "'.org'", "(*.example.org)"),
            ("https://intranet/x: { text: x }", "m.yaml:3: error: for 'intranet' ", "'.intranet'", "with its domain"),
            ("intercept: [a.test, \"*.dev\"]", "m.yaml:2: error: for '*.dev' ", "'.dev'", "(*.example.dev)"),
        ])
    func tooWide(line: String, place: String, domain: String, advice: String) throws {
        let user = try User()
        let rules = "substitutions:\n  https://b.test/x: { text: x }\n"
        let map = try user.folder.write(
            "m.yaml", line.hasPrefix("intercept") ? "# A comment.\n\(line)\n\(rules)" : "\(rules)  \(line)\n")
        let answer = try user.ca(["install", "--stores", "nss", "--only-mapped", "--map", map])
        #expect(answer.status == 65)
        // The map's name stands there as it was given.
        for text in ["\(user.folder.path)/\(place)", "every name that ends in \(domain)", advice] {
            #expect(answer.error.contains(text), "\(answer.error)")
        }
        #expect(!user.exists(".local"))
        // An authority without limits may sign for them as for any other.
        #expect(try user.ca(["install", "--stores", "nss"]).output.contains("for any host"))
        #expect(!(try user.ca(["doctor", "--map", map]).output.contains("may not sign")))
    }

    @Test("Domains that are reserved for networks of one's own are limits, as are addresses")
    func reservedDomains() throws {
        let user = try User()
        let map = try user.folder.write(
            "m.yaml",
            ServedMap.text(
                """
                https://*.test/x: { text: x }
                https://localhost:8443/x: { text: x }
                https://10.0.0.1/x: { text: x }
                https://[::1]/x: { text: x }
                """))
        let answer = try user.ca(["install", "--stores", "nss", "--only-mapped", "--map", map])
        #expect(
            answer.output.contains("may sign for localhost, test and all names below them, 10.0.0.1, ::1\n"),
            "\(answer.output)\(answer.error)")
    }

    @Test("doctor without an authority says how to get one, and makes none")
    func noAuthority() throws {
        let user = try User()
        let answer = try user.ca(["doctor", "--json"])
        #expect(answer.status == 1)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(answer.outputBytes)) as? [String: Any])
        #expect(object["good"] as? Bool == false)
        #expect(((object["authority"] as? [String: Any])?["problem"] as? String)?.contains("ca install") == true)
        #expect(!user.exists(".local"))
        #expect(try user.ca(["uninstall", "--delete"]).status == 0)
    }

    @Test("A certificate that can't be read is told of, and goes away with --delete")
    func malformed() throws {
        let user = try User()
        _ = try user.ca(["path"])
        try "no certificate".write(toFile: "\(user.authority)/ca.pem", atomically: false, encoding: .utf8)
        for command in ["path", "install", "uninstall", "doctor"] {
            let answer = try user.ca([command])
            #expect(answer.status == 1)
            #expect(answer.error.contains("ca.pem holds no certificate"))
        }
        #expect(try user.ca(["uninstall", "--delete"]).status == 1)
        #expect(!user.exists(".local/share/subproxy/ca.pem") && !user.exists(".local/share/subproxy/ca-key.pem"))
        #expect(try user.ca(["path"]).status == 0)
    }

    @Test(
        "Without certutil a browser's database is a failure that names the package",
        .kernel(access("/usr/sbin/certutil", F_OK) != 0, "a certutil that can be hidden"))
    func noTool() throws {
        let user = try User()
        try user.makeFolder(".pki")
        let answer = try user.ca(["install", "--stores", "nss"], variables: ["PATH": "/nonexistent"])
        #expect(answer.status == 1)
        #expect(answer.output.contains("FAILED") && answer.output.contains("libnss3-tools"))
    }

    @Test(
        "install, doctor and uninstall agree about browsers' databases, and leave a home as it was",
        .program("certutil", of: "libnss3-tools"))
    func browsers() throws {
        let user = try User()
        try user.makeFolder(".pki")
        try user.makeFolder(".mozilla/firefox/a.default")
        _ = try ChildProcess.run([
            certutil ?? "", "-N", "--empty-password", "-d", "sql:\(user.home)/.mozilla/firefox/a.default",
        ])
        let installed = try user.ca(["install", "--stores", "nss"])
        #expect(installed.status == 0)
        #expect(installed.output.contains("Chromium: installed: \(user.home)/.pki/nssdb"))
        #expect(installed.output.contains("Firefox: installed: \(user.home)/.mozilla/firefox/a.default"))
        #expect(!(try user.ca(["install", "--stores", "nss"]).output.contains(": installed:")))
        // The certificate that is there is the authority's, as one to trust.
        let listing = try ChildProcess.run([certutil ?? "", "-L", "-d", "sql:\(user.home)/.pki/nssdb"]).output
        #expect(listing.contains("subproxy CA ") && listing.contains(" C,, "))

        let answer = try user.ca(["doctor", "--json"])
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(answer.outputBytes)) as? [String: Any])
        let clients = try #require(object["clients"] as? [[String: Any]])
        let verdicts = Dictionary(
            clients.map { ($0["client"] as? String ?? "", $0["verdict"] as? String ?? "") }
        ) { first, _ in first }
        #expect(verdicts["Chromium"] == "trusted")
        #expect(verdicts["Firefox"] == "trusted")
        #expect(Set(verdicts.keys).isSuperset(of: ["curl", "Python", "Node", "Java", "Go"]))

        let removed = try user.ca(["uninstall", "--stores", "nss"])
        #expect(removed.status == 0)
        #expect(removed.output.contains("Chromium: removed:") && removed.output.contains("Firefox: removed:"))
        #expect(!user.exists(".pki"))
        #expect(user.exists(".mozilla/firefox/a.default/cert9.db"))
        #expect(user.exists(".local/share/subproxy/ca.pem"))
    }

    @Test(
        "Chromium shows a substituted page over TLS once the authority is in its database, and not before",
        .program(InstalledProgram.chromium, of: "chromium"), .program("certutil", of: "libnss3-tools"))
    func browser() throws {
        let user = try User()
        try user.makeFolder(".local/share/pki")
        let map = try user.folder.write("m.yaml", ServedMap.text("https://a.test/: { text: substituted over TLS }"))
        let script = """
            exec '\(InstalledProgram.chromium)' --headless=new --no-sandbox --disable-gpu --disable-background-networking \
                --user-data-dir='\(user.home)/profile' --proxy-server=$http_proxy --dump-dom https://a.test/
            """
        func page() throws -> String {
            try ChildProcess.run(
                (NetworkNamespace.isAvailable ? NetworkNamespace.wrapper : []) + [
                    RunningBinary.path, "run", "--map", map, "--", "sh", "-c", script,
                ], environment: ["HOME": user.home, "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""], seconds: 2 * Wait.limit
            ).output
        }
        #expect(!(try page()).contains("substituted over TLS"))
        #expect(try user.ca(["install", "--stores", "nss"]).status == 0)
        #expect(try page().contains("substituted over TLS"))
    }

    /// A command that runs another one with copies of the system's certificates in their place.
    private func copies(in folder: String) -> [String] {
        NetworkNamespace.wrapper(
            setUp: """
                mkdir '\(folder)/local' '\(folder)/certs' && cp -a /etc/ssl/certs/. '\(folder)/certs' && \
                cp -a /usr/local/share/ca-certificates/. '\(folder)/local' && \
                mount --bind '\(folder)/local' /usr/local/share/ca-certificates && \
                mount --bind '\(folder)/certs' /etc/ssl/certs && \
                { [ ! -d /etc/ca-certificates/update.d ] || mount -t tmpfs none /etc/ca-certificates/update.d; }
                """)
    }

    @Test(
        "In Debian's store the certificate is one that curl and Python trust by, and it goes away without a trace",
        .program("/usr/sbin/update-ca-certificates", of: "ca-certificates"), .program("certutil", of: "libnss3-tools"),
        .kernel(NetworkNamespace.isAvailableWithMounts, "namespaces of networks and mounts"))
    func system() throws {
        let user = try User()
        let map = try user.folder.write("m.yaml", ServedMap.text("https://a.test/x: { text: substituted }"))
        let subproxy = RunningBinary.path
        let script = """
            update-ca-certificates --fresh > '\(user.folder.path)/updated'
            cp -a /etc/ssl/certs/. '\(user.folder.path)/before'
            ls /usr/local/share/ca-certificates > '\(user.folder.path)/listed'
            '\(subproxy)' ca install || exit 10
            '\(subproxy)' ca install | grep -q 'system: already there' || exit 11
            '\(subproxy)' --map '\(map)' --listen 127.0.0.1:8888 --log-file /dev/null 2> '\(user.folder.path)/ready' &
            until grep -q listening '\(user.folder.path)/ready'; do sleep 0.05; done
            export https_proxy=http://127.0.0.1:8888
            curl --disable -sS https://a.test/x || exit 12
            python3 -c 'import urllib.request as u; print(u.urlopen("https://a.test/x").read().decode())' || exit 13
            '\(subproxy)' ca doctor | grep -q 'curl: trusted' || exit 14
            '\(subproxy)' ca uninstall --delete || exit 15
            kill $!
            diff -r --no-dereference '\(user.folder.path)/before' /etc/ssl/certs || exit 16
            ls /usr/local/share/ca-certificates | diff '\(user.folder.path)/listed' -
            """
        mkdir("\(user.folder.path)/before", 0o700)
        let answer = try ChildProcess.run(
            copies(in: user.folder.path) + ["sh", "-c", script],
            environment: [
                "HOME": user.home, "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": "", "CURL_CA_BUNDLE": "",
                "SSL_CERT_FILE": "", "SSL_CERT_DIR": "", "no_proxy": "", "NO_PROXY": "",
            ],
            // Debian's script starts some hundred processes, and runs four times.
            seconds: 10 * Wait.limit)
        #expect(answer.status == 0, "\(answer.output)\(answer.error)")
        #expect(answer.output.contains("system: installed: /usr/local/share/ca-certificates"))
        #expect(answer.output.contains("substitutedsubstituted\n"))
        #expect(answer.output.contains("system: removed:"))
        #expect(answer.output.hasSuffix("the key and the certificate are deleted\n"))
    }
}
