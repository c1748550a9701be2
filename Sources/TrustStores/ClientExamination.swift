import Basics
public import TLSTermination

/// Finds out what the usual clients of this machine and this environment trust.
public struct ClientExamination: Sendable {
    let surroundings: TrustSurroundings
    let certificate: AuthorityCertificate

    public init(_ certificate: AuthorityCertificate, in surroundings: TrustSurroundings) {
        self.certificate = certificate
        self.surroundings = surroundings
    }

    private var run: String { certificate.command("run") }
    private var orRun: String { "or use \(run), which sets it for one command" }
    private var install: String { certificate.command("ca install") }

    /// Asks all of them; runs python3 and keytool where they are installed.
    public func clients() -> [ClientTrust] {
        let databases = SecurityDatabase.find(in: surroundings)
        return [
            file("curl", program: "curl", variables: ["CURL_CA_BUNDLE", "SSL_CERT_FILE"]),
            browser("Chromium", databases, isInstalled: SecurityDatabase.isChromiumInstalled(surroundings)),
            browser("Firefox", databases, isInstalled: surroundings.tool("firefox") != nil),
        ] + python() + [
            node(), java(), file("Go", program: nil, variables: ["SSL_CERT_FILE"]),
        ]
    }

    // MARK: Clients that read a file

    /// A client that reads the file that the first set variable names, otherwise the system's.
    private func file(_ client: String, program: String?, variables: [String]) -> ClientTrust {
        if let program, surroundings.tool(program) == nil { return ClientTrust(client, .missing, "not installed") }
        for name in variables {
            if let path = surroundings.variable(name) { return file(client, path, of: name) }
        }
        return system(client)
    }

    private func file(_ client: String, _ path: String, of variable: String) -> ClientTrust {
        let isSystems = path == CertificateBundle.systemPath(surroundings)
        return ClientTrust(
            client, isIn(path) ? .trusted : .distrusted, "\(path) (\(variable))",
            advice: isSystems
                ? "run \(install), \(orRun)"
                : "add \(ShellText.quoted(certificate.path)) to that file, or unset \(variable)")
    }

    private func system(_ client: String) -> ClientTrust {
        guard let path = CertificateBundle.systemPath(surroundings) else {
            return ClientTrust(
                client, .unknown, "the system's certificates are in no known place",
                advice: "set SSL_CERT_FILE, \(orRun)")
        }
        return ClientTrust(
            client, isIn(path) ? .trusted : .distrusted, "the system's store (\(path))",
            advice: "run \(install), \(orRun)")
    }

    private func isIn(_ path: String) -> Bool { CertificateBundle(at: path)?.contains(certificate) ?? false }

    // MARK: Browsers

    private func browser(_ client: String, _ databases: [SecurityDatabase], isInstalled: Bool) -> ClientTrust {
        let used = databases.filter { $0.owner == client && $0.exists }
        guard !used.isEmpty else {
            return isInstalled
                ? ClientTrust(
                    client, .distrusted, "no database of its own yet",
                    advice: client == "Firefox"
                        ? "start it once, then run \(install)" : "run \(install)")
                : ClientTrust(client, .missing, "not installed")
        }
        for database in used {
            switch database.state(of: certificate) {
            case .trusted: continue
            case .absent:
                return ClientTrust(
                    client, .distrusted, database.path,
                    advice: "run \(install), then start the browser anew")
            case .unknown(let problem):
                return ClientTrust(client, .unknown, "\(database.path): \(problem.reason)", advice: problem.advice)
            }
        }
        return ClientTrust(client, .trusted, used.map(\.path).joined(separator: ", "))
    }

    // MARK: Python

    /// Prints the file and the folder that the ssl module takes, and the file that requests takes.
    private static let pythonScript = """
        import ssl
        paths = ssl.get_default_verify_paths()
        print(paths.cafile or "")
        print(paths.capath or "")
        try:
            from requests.certs import where
            print(where())
        except Exception:
            print("")
        """

    private func python() -> [ClientTrust] {
        guard let python = surroundings.tool("python3") else {
            return [ClientTrust("Python", .missing, "not installed")]
        }
        let outcome = python.run(["-c", ClientExamination.pythonScript], seconds: 20)
        let lines = outcome.lines.map(String.init)
        guard outcome.succeeded, lines.count >= 3 else {
            return [ClientTrust("Python", .unknown, "\(python.path): \(outcome.complaint)")]
        }
        let places = lines[..<2].filter { !$0.isEmpty }
        var found = [
            ClientTrust(
                "Python", places.contains(where: isIn) ? .trusted : .distrusted,
                places.first ?? "\(python.path) knows no certificates",
                advice: "run \(install), or set SSL_CERT_FILE; \(orRun)")
        ]
        if let variable = ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"].first(where: { surroundings.variable($0) != nil }) {
            found.append(file("Python requests", surroundings.variable(variable) ?? "", of: variable))
        } else if !lines[2].isEmpty {
            found.append(
                ClientTrust(
                    "Python requests", isIn(lines[2]) ? .trusted : .distrusted, lines[2],
                    advice:
                        "set REQUESTS_CA_BUNDLE to a file with the system's certificates, \(orRun)"))
        }
        return found
    }

    // MARK: Node.js and Java

    private func node() -> ClientTrust {
        guard surroundings.tool("node") != nil || surroundings.tool("nodejs") != nil else {
            return ClientTrust("Node", .missing, "not installed")
        }
        let options = surroundings.variable("NODE_OPTIONS") ?? ""
        if options.contains("--use-system-ca") || options.contains("--use-openssl-ca")
            || surroundings.variable("NODE_USE_SYSTEM_CA") == "1"
        {
            return system("Node")
        }
        let advice = "export NODE_EXTRA_CA_CERTS=\(ShellText.quoted(certificate.path)), \(orRun)"
        guard let path = surroundings.variable("NODE_EXTRA_CA_CERTS") else {
            return ClientTrust(
                "Node", .distrusted, "certificates of its own, and NODE_EXTRA_CA_CERTS is not set",
                advice: advice)
        }
        return ClientTrust("Node", isIn(path) ? .trusted : .distrusted, "\(path) (NODE_EXTRA_CA_CERTS)", advice: advice)
    }

    private func java() -> ClientTrust {
        guard let keytool = surroundings.tool("keytool") else {
            return ClientTrust(
                "Java", surroundings.tool("java") == nil ? .missing : .unknown,
                surroundings.tool("java") == nil ? "not installed" : "keytool, which comes with a JDK, is missing")
        }
        let outcome = keytool.run(["-list", "-cacerts", "-storepass", "changeit"], seconds: 60)
        guard outcome.succeeded else { return ClientTrust("Java", .unknown, "keytool: \(outcome.complaint)") }
        let isIn = outcome.lines.contains { $0.contains(certificate.fingerprintText) }
        return ClientTrust(
            "Java", isIn ? .trusted : .distrusted, "the store of \(keytool.path)",
            advice: """
                sudo \(keytool.path) -importcert -cacerts -storepass changeit -noprompt -alias subproxy -file \
                \(ShellText.quoted(certificate.path)), or use \(run)
                """)
    }
}

/// Whether a usual client on this machine would trust a page of a decrypted host.
public struct ClientTrust: Sendable {
    public enum Verdict: String, Sendable {
        case trusted
        case distrusted
        /// It is not installed, or has never been used.
        case missing
        /// It could not be found out.
        case unknown
    }

    public let client: String
    public let verdict: Verdict
    /// Where the client looks, or why it is not known.
    public let detail: String
    /// What to do; empty where nothing is.
    public let advice: String

    init(_ client: String, _ verdict: Verdict, _ detail: String, advice: String = "") {
        self.client = client
        self.verdict = verdict
        self.detail = detail
        self.advice = verdict == .trusted || verdict == .missing ? "" : advice
    }
}
