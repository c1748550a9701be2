import Glibc
public import TLSTermination

/// The files and the variables with which the clients in one command trust the CA.
///
/// The files are in a folder of their own with mode 0700, and are removed after the command: then the proxy has ended
/// too, and they would be of no use. They contain nothing secret.
public struct CommandTrust: Sendable {
    /// The variables to set for the command; the certificates that its user had set stay trusted.
    public let variables: [(name: String, value: String)]
    /// Settings for Java, as JAVA_TOOL_OPTIONS has them; empty where the user has named a store for it.
    public let javaOptions: [String]
    private let folder: String
    private let files: [String]

    /// Variables that name the only certificates that clients trust, each with the variables that count if it is unset.
    static let bundleVariables: [(name: String, otherwise: [String])] = [
        ("SSL_CERT_FILE", []), ("CURL_CA_BUNDLE", []), ("REQUESTS_CA_BUNDLE", ["CURL_CA_BUNDLE"]),
        ("PIP_CERT", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"]), ("AWS_CA_BUNDLE", ["REQUESTS_CA_BUNDLE"]),
        ("GIT_SSL_CAINFO", []), ("CARGO_HTTP_CAINFO", []),
    ]
    /// Variables of the same kind that are changed only if they are set.
    static let rarerVariables = [
        "NIX_SSL_CERT_FILE", "HTTPLIB2_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
        "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    ]
    /// Variables that name certificates to trust beside the client's own.
    static let addingVariables = ["NODE_EXTRA_CA_CERTS", "DENO_CERT"]

    /// Writes the files.
    ///
    /// - Throws: ``AuthorityFailure`` where they can't be made; nothing is left then.
    public init(
        _ certificate: AuthorityCertificate, in surroundings: TrustSurroundings
    ) throws(AuthorityFailure) {
        var writer = try FolderWriter(surroundings)
        do {
            var variables: [(name: String, value: String)] = []
            // The file that most clients use if their variable is not set.
            let usual = surroundings.variable("SSL_CERT_FILE")
            for (name, otherwise) in CommandTrust.bundleVariables {
                let named = ([name] + otherwise).lazy.compactMap { surroundings.variable($0) }.first
                variables.append((name, try writer.bundle(named ?? usual, certificate, surroundings)))
            }
            for name in CommandTrust.rarerVariables {
                guard let named = surroundings.variable(name) else { continue }
                variables.append((name, try writer.bundle(named, certificate, surroundings)))
            }
            for name in CommandTrust.addingVariables {
                variables.append((name, try writer.addition(surroundings.variable(name), certificate)))
            }
            self.variables = variables
            let javaIsSet = surroundings.variable("JAVA_TOOL_OPTIONS")?.contains("javax.net.ssl.trustStore") ?? false
            javaOptions = javaIsSet ? [] : try writer.java(usual, certificate, surroundings)
        } catch {
            writer.remove()
            throw error
        }
        folder = writer.folder
        files = writer.files
    }

    /// Removes the files.
    public func remove() { FolderWriter.remove(folder, files) }
}

/// Writes files into a private folder for temporary files.
private struct FolderWriter {
    let folder: String
    private(set) var files: [String] = []
    /// The files made so far, by the path of the file that each extends; the empty path is for the system's
    /// certificates.
    private var bundles: [String: String] = [:]

    init(_ surroundings: TrustSurroundings) throws(AuthorityFailure) {
        let place = surroundings.variable("TMPDIR").flatMap { $0.hasPrefix("/") && LocalFiles.isFolder($0) ? $0 : nil }
        var template = Array("\(place ?? "/tmp")/subproxy-XXXXXX".utf8CString)
        // The folder's mode is 0700. (mkdtemp(3))
        guard mkdtemp(&template) != nil else {
            throw AuthorityFailure(
                .system, "no folder can be made in \(place ?? "/tmp"): \(LocalFiles.text(errno))",
                advice: "name another with TMPDIR")
        }
        folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    func remove() { FolderWriter.remove(folder, files) }

    static func remove(_ folder: String, _ files: [String]) {
        for file in files { unlink(file) }
        rmdir(folder)
    }

    /// A file with the certificates of another file (the system's if that has none) and the CA's.
    mutating func bundle(
        _ named: String?, _ certificate: AuthorityCertificate, _ surroundings: TrustSurroundings
    ) throws(AuthorityFailure) -> String {
        let source = named == CertificateBundle.systemPath(surroundings) ? "" : named ?? ""
        if let made = bundles[source] { return made }
        var bundle = (source.isEmpty ? nil : CertificateBundle(at: source)) ?? .system(surroundings)
        bundle.add(certificate)
        let path = try write(bundle.pem, to: bundles.isEmpty ? "bundle.pem" : "bundle-\(bundles.count + 1).pem")
        bundles[source] = path
        return path
    }

    /// The CA's own file, or one with the certificates of another file and the CA's.
    mutating func addition(
        _ named: String?, _ certificate: AuthorityCertificate
    ) throws(AuthorityFailure) -> String {
        guard let named, var bundle = CertificateBundle(at: named) else { return certificate.path }
        bundle.add(certificate)
        return try write(bundle.pem, to: "addition-\(files.count + 1).pem")
    }

    /// A store for Java, and the settings that name it.
    mutating func java(
        _ named: String?, _ certificate: AuthorityCertificate, _ surroundings: TrustSurroundings
    ) throws(AuthorityFailure) -> [String] {
        var bundle = named.flatMap { CertificateBundle(at: $0) } ?? .system(surroundings)
        bundle.add(certificate)
        let path = try write(JavaKeyStore.render(bundle), to: "java.jks")
        return [
            "-Djavax.net.ssl.trustStore=\(path)", "-Djavax.net.ssl.trustStoreType=JKS",
            "-Djavax.net.ssl.trustStorePassword=\(JavaKeyStore.password)",
        ]
    }

    private mutating func write(_ bytes: [UInt8], to name: String) throws(AuthorityFailure) -> String {
        let path = "\(folder)/\(name)"
        let code = LocalFiles.replace(path, with: bytes, mode: 0o600)
        guard code == 0 else {
            throw AuthorityFailure(
                .system, "\(path) can't be written: \(LocalFiles.text(code))", advice: "name another folder with TMPDIR"
            )
        }
        files.append(path)
        return path
    }
}
