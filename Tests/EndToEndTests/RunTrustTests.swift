import Foundation
import Glibc
import ProxyTestKit
import Testing

/// Debian's Python, which has the modules of its packages; one before it in PATH has not.
private let python = "/usr/bin/python3"
private let hasRequests = (try? ChildProcess.run([python, "-c", "import requests"]))?.status == 0

/// Whom the command of `subproxy run` trusts, in a network namespace without any route where that can be had.
@Suite("subproxy run, with https hosts in the map", .onThreads)
struct RunTrustTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = TemporaryFolder()
        try folder.write("m.yaml", ServedMap.text("https://a.test/x: { text: substituted }"))
        try folder.write("plain.yaml", ServedMap.text("http://a.test/x: { text: substituted }"))
    }

    private func run(
        _ command: [String], map: String = "m.yaml", environment: [String: String] = [:]
    ) throws -> ChildProcess {
        var variables = ["HOME": folder.path, "TMPDIR": folder.path]
        for name in [
            "XDG_DATA_HOME", "STATE_DIRECTORY", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "PIP_CERT",
            "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "AWS_CA_BUNDLE", "JAVA_TOOL_OPTIONS",
            "NIX_SSL_CERT_FILE",
        ] { variables[name] = "" }
        // A busy machine's Java may take a while for its part of a handshake.
        return try ChildProcess.run(
            (NetworkNamespace.isAvailable ? NetworkNamespace.wrapper : []) + [
                RunningBinary.path, "run", "--map", "\(folder.path)/\(map)", "--ca-dir", "\(folder.path)/ca",
                "--header-timeout", "10m", "--",
            ] + command, environment: variables.merging(environment) { $1 })
    }

    private func variables(of process: ChildProcess) -> [String: String] {
        let pairs = process.output.split(separator: "\n").map { line in
            let name = line.prefix { $0 != "=" }
            return (String(name), String(line.dropFirst(name.count + 1)))
        }
        return Dictionary(pairs) { first, _ in first }
    }

    @Test(
        "Clients get the map's page over TLS that they have verified",
        arguments: [
            ["curl", "--disable", "-sS", "https://a.test/x"],
            [
                "python3", "-c",
                "import urllib.request as u; print(u.urlopen('https://a.test/x').read().decode(), end='')",
            ],
        ])
    func clients(command: [String]) throws {
        let answer = try run(command)
        #expect(answer.status == 0, "\(answer.error)")
        #expect(answer.output == "substituted")
        #expect(answer.error.isEmpty)
    }

    @Test(
        "Python's requests too, whose own bundle of certificates is another",
        .enabled(if: hasRequests, "package: python3-requests"))
    func requests() throws {
        let script = "import requests; print(requests.get('https://a.test/x', timeout=60).text, end='')"
        let answer = try run([python, "-c", script])
        #expect(answer.status == 0, "\(answer.error)")
        #expect(answer.output == "substituted")
        let distrusting = try run(["env", "-u", "REQUESTS_CA_BUNDLE", "-u", "CURL_CA_BUNDLE", python, "-c", script])
        #expect(distrusting.error.contains("CERTIFICATE_VERIFY_FAILED"))
    }

    @Test("git reads a repository that exists in the map alone", .program("git", of: "git"))
    func git() throws {
        let script = """
            cd '\(folder.path)' && git init -q repo && cd repo && git config http.dumb true &&
            git -c user.name=a -c user.email=a@b.test commit -q --allow-empty -m x && git update-server-info &&
            mv .git/* .
            """
        #expect(try ChildProcess.run(["sh", "-c", script], environment: ["HOME": folder.path]).status == 0)
        // git asks for fresh answers, which would be the origin's.
        try folder.write(
            "m.yaml", ServedMap.text("https://git.test/r/: { file: repo/, query: ignore, bypass: never }"))
        let answer = try run(["git", "ls-remote", "https://git.test/r/", "HEAD"])
        #expect(answer.status == 0, "\(answer.error)")
        #expect(answer.output.hasSuffix("\tHEAD\n"))
    }

    @Test(
        "Java too, with a store of its own", .program("java", of: "default-jdk-headless"),
        .program("keytool", of: "default-jdk-headless"))
    func java() throws {
        let source = try folder.write(
            "Get.java",
            """
            public class Get {
                public static void main(String[] words) throws Exception {
                    System.out.print(new String(new java.net.URL(words[0]).openStream().readAllBytes()));
                }
            }
            """)
        let answer = try run(
            ["java", source, "https://a.test/x"], environment: ["JAVA_TOOL_OPTIONS": "-Dsubproxy.test=kept"])
        #expect(answer.status == 0, "\(answer.error)")
        #expect(answer.output == "substituted")
        #expect(answer.error.contains("JAVA_TOOL_OPTIONS: -Dsubproxy.test=kept -Dhttp.proxyHost=127.0.0.1"))
    }

    @Test("The variables name a file with the system's certificates and ours, in a private folder that goes away")
    func bundle() throws {
        let answer = try run([
            "sh", "-c", "env; stat -c mode=%a $(dirname $SSL_CERT_FILE); cp $SSL_CERT_FILE $HOME/copy",
        ])
        let found = variables(of: answer)
        let bundle = try #require(found["SSL_CERT_FILE"])
        for name in [
            "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "AWS_CA_BUNDLE", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO",
        ] { #expect(found[name] == bundle) }
        for name in ["NODE_EXTRA_CA_CERTS", "DENO_CERT"] { #expect(found[name] == "\(folder.path)/ca/ca.pem") }
        #expect(found["NODE_USE_ENV_PROXY"] == "1")
        #expect(found["NIX_SSL_CERT_FILE"] == nil)
        #expect(found["mode"] == "700")
        #expect(bundle.hasPrefix("\(folder.path)/subproxy-"))
        #expect(access(EndToEndTests.folder(of: bundle), F_OK) != 0)
        let copy = try String(contentsOfFile: "\(folder.path)/copy", encoding: .utf8)
        let ours = try String(contentsOfFile: "\(folder.path)/ca/ca.pem", encoding: .utf8)
        #expect(copy.hasSuffix(ours))
        if access("/etc/ssl/certs/ca-certificates.crt", R_OK) == 0 {
            #expect(copy.split(separator: "BEGIN CERTIFICATE").count > 2)
        }
        let verified = try ChildProcess.run([
            "openssl", "verify", "-CAfile", "\(folder.path)/copy", "\(folder.path)/ca/ca.pem",
        ])
        #expect(verified.status == 0, "\(verified.error)")
    }

    @Test("What the user has set goes on counting beside ours")
    func userSettings() throws {
        let other = try ChildProcess.run([RunningBinary.path, "ca", "path", "--ca-dir", "\(folder.path)/other"])
        let path = String(other.output.dropLast())
        let theirs = try String(contentsOfFile: path, encoding: .utf8)
        let answer = try run(
            ["sh", "-c", "cat $GIT_SSL_CAINFO; echo ===; cat $NODE_EXTRA_CA_CERTS; echo ===; cat $CURL_CA_BUNDLE"],
            environment: ["GIT_SSL_CAINFO": path, "NODE_EXTRA_CA_CERTS": path])
        let ours = try String(contentsOfFile: "\(folder.path)/ca/ca.pem", encoding: .utf8)
        let parts = answer.output.components(separatedBy: "===\n")
        try #require(parts.count == 3)
        #expect(parts[0] == theirs + ours)
        #expect(parts[1] == theirs + ours)
        #expect(!parts[2].contains(theirs) && parts[2].hasSuffix(ours))
    }

    @Test("Without https hosts nothing is made, and nothing is set")
    func plain() throws {
        let answer = try run(["env"], map: "plain.yaml")
        #expect(variables(of: answer)["SSL_CERT_FILE"] == nil)
        #expect(variables(of: answer)["NODE_EXTRA_CA_CERTS"] == nil)
        #expect(access("\(folder.path)/ca", F_OK) != 0)
        let java = variables(of: answer)["JAVA_TOOL_OPTIONS"] ?? ""
        #expect(java.contains("-Dhttps.proxyPort=") && !java.contains("trustStore"))
    }

    @Test("An authority that can't be used is said, and the command runs all the same")
    func unusable() throws {
        mkdir("\(folder.path)/ca", 0o777)
        chmod("\(folder.path)/ca", 0o777)
        let answer = try run(["sh", "-c", "exit 5"])
        #expect(answer.status == 5)
        #expect(answer.error.contains("can't be decrypted") && answer.error.contains("chmod 700"))
        #expect(answer.error.components(of: "can't be decrypted") == 1)
    }

    @Test("A key that is open to others is told of once")
    func openKey() throws {
        #expect(try run(["true"]).status == 0)
        chmod("\(folder.path)/ca/ca-key.pem", 0o644)
        let answer = try run(["sh", "-c", "curl --disable -s https://a.test/x; exit 5"])
        #expect(answer.status == 5)
        #expect(answer.error.components(of: "can't be decrypted") == 1, "\(answer.error)")
        #expect(answer.error.contains("`subproxy ca uninstall --delete --ca-dir \(folder.path)/ca`"))
    }

    @Test("A host that the authority may not sign for is told of, once")
    func limitedAuthority() throws {
        try folder.write("other.yaml", ServedMap.text("https://b.test/x: { text: substituted }"))
        let made = try SubproxyProcess.run(
            [
                "ca", "install", "--only-mapped", "--map", "\(folder.path)/other.yaml", "--ca-dir",
                "\(folder.path)/ca", "--stores", "nss",
            ], environment: ["HOME": folder.path, "XDG_DATA_HOME": ""])
        #expect(made.output.contains("/ca/ca.pem\n"), "\(made.error)")
        let fetch = "curl --disable -s https://a.test/x"
        let answer = try run(["sh", "-c", "\(fetch); \(fetch); exit 5"])
        #expect(answer.status == 5)
        let warning =
            "warning: a.test can't be decrypted: the certificate authority is limited to other hosts than a.test"
        #expect(answer.error.components(of: warning) == 1, "\(answer.error)")
    }
}
