import Glibc
import ProxyTestKit

/// The origin of `Scripts/tlsorigin.py`: TLS with a certificate of a test's own, or WebSocket in the clear.
final class TLSOrigin {
    let port: UInt16
    private let process: ChildProcess

    /// - Parameters:
    ///   - files: its certificate; nil for HTTP in the clear.
    ///   - options: further options of the script.
    init(_ files: CertificateWorkshop.Files?, _ options: [String] = []) throws {
        let identity = files.map { ["--cert", $0.chain, "--key", $0.key] } ?? []
        let process = try ChildProcess(["python3", "-B", "\(EndToEnd.scripts)/tlsorigin.py"] + identity + options)
        var port: UInt16?
        try Wait.until {
            if process.status != nil { throw ToolFailure(text: process.error) }
            port = process.output.split(separator: "\n").first.flatMap { UInt16($0) }
            return port != nil
        }
        self.process = process
        self.port = port ?? 0
    }

    /// Ends it, and with it its connections.
    func stop() { process.send(SIGKILL) }

    /// What it has told: `name HOST`, `handshake VERSION`, `request PATH`, `early BYTES`, `failed REASON`.
    var events: [String] { process.output.split(separator: "\n").dropFirst().map(String.init) }

    /// The paths that it was asked for.
    var requests: [String] {
        events.filter { $0.hasPrefix("request ") }.map { String($0.dropFirst("request ".count)) }
    }
}

/// The program with a map whose https hosts it decrypts, and a certificate authority of its own.
final class DecryptingProxy {
    let workshop: CertificateWorkshop
    let served: ServedMap
    var binary: RunningBinary { served.binary }
    var port: UInt16 { served.binary.port }
    /// The certificate that clients have to trust.
    var authority: String { "\(workshop.folder.path)/authority/ca.pem" }

    /// - Parameters:
    ///   - rules: of the map; hosts of https rules are decrypted.
    ///   - files: names and contents of files beside the map.
    ///   - resolving: names that are 127.0.0.1, each with a port.
    init(
        _ rules: String, files: [String: String] = [:], resolving: [(host: String, port: UInt16)] = [],
        workshop: CertificateWorkshop,
        options: [String] = [], wrapper: [String] = []
    ) throws {
        self.workshop = workshop
        served = try ServedMap(
            rules, files: files,
            options: [
                "--ca-dir", "\(workshop.folder.path)/authority", "--origin-ca", workshop.authority,
            ] + resolving.flatMap { ["--resolve", "\($0.host):\($0.port):127.0.0.1"] } + options, wrapper: wrapper)
    }

    /// curl's arguments for a request through the proxy.
    func curl(_ arguments: [String]) -> [String] {
        [
            "curl", "--disable", "--silent", "--show-error", "--max-time", "300", "--noproxy", "", "-x",
            "http://127.0.0.1:\(port)", "--cacert", authority, "--suppress-connect-headers",
        ] + arguments
    }

    /// Fetches a URL with curl, which trusts the authority.
    func fetch(_ url: String, _ arguments: [String] = []) throws -> ChildProcess {
        try ChildProcess.run(curl(arguments + [url]))
    }
}
