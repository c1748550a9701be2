public import TLSTermination

/// The certificates of files in PEM, as the text between their first and last lines (RFC 7468).
public struct CertificateBundle: Sendable {
    /// The Base64 of each certificate without line breaks, each once, in their order.
    private(set) var bodies: [[UInt8]] = []
    private var known: Set<[UInt8]> = []

    public init() {}

    /// The certificates in some text; everything around them is left out.
    init(_ text: [UInt8]) { add(text) }

    /// The certificates of a file, or of all files of a folder; nil where there are none.
    public init?(at path: String) {
        if LocalFiles.isFolder(path) {
            for name in LocalFiles.names(in: path) {
                if let text = LocalFiles.contents("\(path)/\(name)") { add(text) }
            }
        } else if let text = LocalFiles.contents(path) {
            add(text)
        }
        guard !bodies.isEmpty else { return nil }
    }

    public var count: Int { bodies.count }

    /// Adds the certificates of some text that are not there yet.
    mutating func add(_ text: [UInt8]) {
        let begin = Array("-----BEGIN CERTIFICATE-----".utf8)
        let trusted = Array("-----BEGIN TRUSTED CERTIFICATE-----".utf8)
        let end = Array("-----END".utf8)
        var body: [UInt8]?
        for line in text.split(whereSeparator: { $0 == 0x0a || $0 == 0x0d }) {
            if line.starts(with: begin) {
                body = []
            } else if line.starts(with: end) {
                if let body, !body.isEmpty, known.insert(body).inserted { bodies.append(body) }
                body = nil
            } else if line.starts(with: trusted) {
                // A form of OpenSSL's own, which other programs don't read.
                body = nil
            } else if body != nil {
                body?.append(contentsOf: line.filter { $0 > 0x20 })
            }
        }
    }

    /// Adds a certificate in PEM that is not there yet.
    public mutating func add(_ certificate: AuthorityCertificate) { add(Array(certificate.pem.utf8)) }

    public mutating func add(_ other: CertificateBundle) {
        for body in other.bodies where known.insert(body).inserted { bodies.append(body) }
    }

    public func contains(_ certificate: AuthorityCertificate) -> Bool {
        let wanted = CertificateBundle(Array(certificate.pem.utf8))
        return !wanted.bodies.isEmpty && wanted.bodies.allSatisfy(known.contains)
    }

    /// All of them as PEM, with lines of 64 characters.
    public var pem: [UInt8] {
        var text: [UInt8] = []
        for body in bodies { text += CertificateBundle.pem(of: body) }
        return text
    }

    /// One of them as PEM.
    static func pem(of body: [UInt8]) -> [UInt8] {
        var text = Array("-----BEGIN CERTIFICATE-----\n".utf8)
        var rest = body[...]
        while !rest.isEmpty {
            text += rest.prefix(64)
            text.append(0x0a)
            rest = rest.dropFirst(64)
        }
        return text + Array("-----END CERTIFICATE-----\n".utf8)
    }
}

extension CertificateBundle {
    /// Where distributions keep the certificates that the system trusts, in one file.
    static let systemFiles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    /// The path of the file with the certificates that the system trusts; nil where none is known.
    static func systemPath(_ surroundings: TrustSurroundings) -> String? {
        systemFiles.map { surroundings.root + $0 }.first(where: LocalFiles.isFile)
    }

    /// The certificates that the system trusts; none where no file is known.
    public static func system(_ surroundings: TrustSurroundings) -> CertificateBundle {
        systemPath(surroundings).flatMap { CertificateBundle(at: $0) } ?? CertificateBundle()
    }
}
