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
