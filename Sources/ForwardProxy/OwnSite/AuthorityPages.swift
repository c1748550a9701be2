import HTTPSemantics
import NIOCore
import Substitution
import TLSTermination

/// The forms in which devices take the authority's certificate.
enum AuthorityFile {
    case certificate
    /// For iOS, iPadOS and macOS.
    case configurationProfile

    func page(_ authority: CertificateAuthority) -> OwnPage {
        switch self {
        case .certificate:
            // The type by which Android and browsers know that a certificate is to be installed.
            OwnPage(type: "application/x-x509-ca-cert", body: ByteBuffer(string: authority.pem))
        case .configurationProfile:
            OwnPage(
                type: ConfigurationProfile.mediaType,
                body: ByteBuffer(
                    bytes: ConfigurationProfile.render(certificate: authority.der, name: authority.name)))
        }
    }
}

extension LoopContext {
    /// What the route of a file answers.
    func answer(with file: AuthorityFile) -> OwnRoute.Answer {
        guard !tunnelPolicy.intercepted.isEmpty else { return .error(.nothingDecrypted) }
        return .later(
            proxy.secureTunnels.certificateAuthority(on: eventLoop).assumeIsolated().map { file.page($0) }.nonisolated()
        )
    }

    /// The authority, or why there is none; nil where nothing is decrypted.
    func authorityIfAny() -> EventLoopFuture<Result<CertificateAuthority, any Error>?> {
        guard !tunnelPolicy.intercepted.isEmpty else { return eventLoop.makeSucceededFuture(nil) }
        return proxy.secureTunnels.certificateAuthority(on: eventLoop).map { .success($0) }
            .flatMapErrorThrowing { .failure($0) }
    }
}

extension ProxyError {
    fileprivate static let nothingDecrypted = ProxyError(
        status: 404, type: "http_request_error",
        failure: "The map names no https host, so nothing is decrypted and there is no certificate authority to trust.",
        advice: "Add a rule for an https URL, or `intercept`, to the map.", isRefusal: true)
}

/// The status page's part about decryption.
enum AuthorityPassage {
    static func html(_ authority: Result<CertificateAuthority, any Error>?) -> String {
        switch authority {
        case nil: return ""
        case .failure(let error):
            let why = (error as? ProxyError)?.failure ?? "The certificate authority can't be used."
            return "<h2>https</h2>\n<p>\(ErrorPage.escaped(why))</p>\n"
        case .success(let authority):
            return """
                <h2>https</h2>
                <p>The map's https hosts are decrypted with certificates of <i>\(ErrorPage.escaped(authority.name))</i>.
                <code>subproxy ca install</code> makes programs of the user who runs this proxy trust it; clients of the
                system's service and other devices take <a href="/ca.pem">the certificate</a>, or on iOS
                <a href="/ca.mobileconfig">the profile</a>.</p>
                <p>SHA-256 <code>\(FingerprintText.of(authority.fingerprint))</code></p>

                """
        }
    }
}
