import ProxyTestKit
import Testing

/// Certificates of all sorts, good ones and bad ones, made by openssl in a folder of a test's own.
final class CertificateWorkshop {
    /// What is wrong with an origin's certificate.
    enum Fault: String, CaseIterable {
        case expired, notYetValid, wrongHost, selfSigned, unknownAuthority, missingIntermediate, issuerIsNoAuthority
        case sha1, shortKey, nameConstraints

        /// What libcurl says of it.
        var reason: String {
            switch self {
            case .expired: "certificate has expired"
            case .notYetValid: "certificate is not yet valid"
            case .wrongHost: "no alternative certificate subject name matches target host name"
            case .selfSigned: "self-signed certificate"
            case .unknownAuthority, .missingIntermediate: "unable to get local issuer certificate"
            case .issuerIsNoAuthority: "invalid CA certificate"
            case .sha1: "CA signature digest algorithm too weak"
            case .shortKey: "EE certificate key too weak"
            case .nameConstraints: "permitted subtree violation"
            }
        }
    }

    /// Files of a certificate: the chain with the leaf first, and its key.
    struct Files {
        var chain: String
        var key: String
    }

    private static let goodKey = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]

    let folder: TemporaryFolder
    /// The authority's certificate, to be trusted.
    var authority: String { "\(folder.path)/root.pem" }

    init() throws {
        folder = TemporaryFolder()
        try folder.write(
            "ca.cnf",
            """
            [ca]
            default_ca = any
            [any]
            database = \(folder.path)/index
            new_certs_dir = \(folder.path)
            rand_serial = yes
            policy = policy
            default_md = sha256
            default_days = 30
            unique_subject = no
            [policy]
            commonName = supplied
            [root]
            basicConstraints = critical, CA:TRUE
            keyUsage = critical, keyCertSign
            [constrained]
            basicConstraints = critical, CA:TRUE
            keyUsage = critical, keyCertSign
            nameConstraints = critical, permitted;DNS:elsewhere.test
            [plain]
            basicConstraints = critical, CA:FALSE
            """)
        try folder.write("index", "")
        try makeRoot("root")
    }

    private func makeRoot(_ name: String) throws {
        try openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-subj",
            "/CN=\(name) of the tests", "-days", "30",
            "-config", "\(folder.path)/ca.cnf", "-extensions", "root", "-keyout", "\(name)-key.pem", "-out",
            "\(name).pem")
    }

    /// Copies files that the next certificate would be written over.
    func keep(_ files: Files) throws -> Files {
        let kept = Files(chain: "\(folder.path)/kept.pem", key: "\(folder.path)/kept-key.pem")
        let copied = try ChildProcess.run([
            "sh", "-c", "cp \(files.chain) \(kept.chain) && cp \(files.key) \(kept.key)",
        ])
        try #require(copied.status == 0)
        return kept
    }

    /// A good certificate for a name, and for 127.0.0.1.
    func make(_ host: String) throws -> Files { try leaf(host, issuer: "root") }

    /// A certificate for a name that has a fault.
    func make(_ host: String, _ fault: Fault) throws -> Files {
        switch fault {
        case .expired:
            return try leaf(host, issuer: "root", ["-startdate", "20240101000000Z", "-enddate", "20240201000000Z"])
        case .notYetValid:
            return try leaf(host, issuer: "root", ["-startdate", "20400101000000Z", "-enddate", "20400201000000Z"])
        case .wrongHost: return try leaf("other.test", issuer: "root")
        case .selfSigned:
            try openssl(
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-subj",
                "/CN=\(host)", "-days", "30", "-addext",
                "subjectAltName=DNS:\(host)", "-keyout", "self-key.pem", "-out", "self.pem")
            return Files(chain: "\(folder.path)/self.pem", key: "\(folder.path)/self-key.pem")
        case .unknownAuthority:
            try makeRoot("stranger")
            return try leaf(host, issuer: "stranger")
        case .missingIntermediate:
            try intermediate("middle", "root")
            return try leaf(host, issuer: "middle")
        case .issuerIsNoAuthority:
            try intermediate("plain", "plain")
            return try leaf(host, issuer: "plain", chain: ["plain"])
        case .nameConstraints:
            try intermediate("constrained", "constrained")
            return try leaf(host, issuer: "constrained", chain: ["constrained"])
        case .sha1: return try leaf(host, issuer: "root", ["-md", "sha1"])
        case .shortKey: return try leaf(host, issuer: "root", key: ["rsa:1024"])
        }
    }

    /// A file of the OCSP answer (RFC 6960) about the certificate that was made last.
    ///
    /// - Parameters:
    ///   - isRevoked: whether the authority revokes it before.
    ///   - signer: whose answer it is; only the authority's own is to be believed.
    func statusAnswer(isRevoked: Bool, signer: String = "root") throws -> String {
        if isRevoked {
            try openssl(
                "ca", "-config", "ca.cnf", "-cert", "root.pem", "-keyfile", "root-key.pem", "-revoke", "leaf.pem")
        }
        if signer != "root" { try makeRoot(signer) }
        try openssl("ocsp", "-issuer", "root.pem", "-cert", "leaf.pem", "-no_nonce", "-reqout", "request.der")
        try openssl(
            "ocsp", "-index", "index", "-CA", "root.pem", "-rsigner", "\(signer).pem", "-rkey", "\(signer)-key.pem",
            "-ndays", "1", "-reqin", "request.der", "-respout", "answer.der")
        return "\(folder.path)/answer.der"
    }

    private func intermediate(_ name: String, _ section: String) throws {
        try request(name, name, key: CertificateWorkshop.goodKey)
        try sign(name, issuer: "root", section, [])
    }

    private func leaf(
        _ host: String, issuer: String, _ options: [String] = [], key: [String] = goodKey, chain: [String] = []
    ) throws -> Files {
        try request("leaf", host, key: key)
        let names = host == "other.test" ? "DNS:\(host)" : "DNS:\(host), IP:127.0.0.1"
        try folder.write("leaf.cnf", "[leaf]\nsubjectAltName = \(names)\nextendedKeyUsage = serverAuth\n")
        try sign("leaf", issuer: issuer, "leaf", ["-extfile", "leaf.cnf"] + options)
        let parts = try ChildProcess.run(["cat"] + (["leaf"] + chain).map { "\(folder.path)/\($0).pem" })
        try folder.write("chain.pem", parts.output)
        return Files(chain: "\(folder.path)/chain.pem", key: "\(folder.path)/leaf-key.pem")
    }

    private func request(_ file: String, _ name: String, key: [String]) throws {
        try openssl(
            ["req", "-newkey"] + key
                + ["-noenc", "-subj", "/CN=\(name)", "-keyout", "\(file)-key.pem", "-out", "\(file).csr"])
    }

    private func sign(_ file: String, issuer: String, _ section: String, _ options: [String]) throws {
        try openssl(
            [
                "ca", "-batch", "-notext", "-config", "ca.cnf", "-extensions", section, "-cert", "\(issuer).pem",
                "-keyfile", "\(issuer)-key.pem", "-in", "\(file).csr", "-out", "\(file).pem",
            ] + options)
    }

    private func openssl(_ arguments: String...) throws { try openssl(arguments) }

    private func openssl(_ arguments: [String]) throws {
        let process = try ChildProcess.run(["env", "-C", folder.path, "openssl"] + arguments)
        guard process.status == 0 else { throw ToolFailure(text: process.error) }
    }
}

/// A program that a test needs has failed.
struct ToolFailure: Error {
    var text: String
}
