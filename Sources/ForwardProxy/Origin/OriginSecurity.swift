import HTTPSemantics
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import TLSTermination

/// TLS towards origins where libcurl does not do it: for connections whose protocol is switched.
///
/// The certificate is verified as libcurl does, against the same roots and for the same host; TLS 1.2 is the least.
final class OriginSecurity: Sendable {
    private let rootsFile: String?
    private let pool: NIOThreadPool
    private let context = Mutex<NIOSSLContext?>(nil)

    /// - Parameter rootsFile: certificates to trust instead of the system's.
    init(rootsFile: String?, pool: NIOThreadPool) {
        self.rootsFile = rootsFile
        self.pool = pool
    }

    /// The handlers that speak TLS for a connection to `host`, from the network's side on.
    ///
    /// - Throws: the future fails where the roots can't be read.
    func handlers(for host: String, on loop: any EventLoop) -> EventLoopFuture<[any ChannelHandler]>.Isolated {
        let (name, isAddress) = OriginSecurity.identity(host)
        let known = context.withLock { $0 }
        let ready = known.map { loop.makeSucceededFuture($0) } ?? pool.runIfActive(eventLoop: loop) { try self.make() }
        return ready.assumeIsolated().flatMapThrowing { context in
            // An address is not sent in the handshake (RFC 6066 §3).
            [try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : name), RecordGathering()]
        }
    }

    /// Reads the roots, which takes some milliseconds.
    private func make() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        configuration.trustRoots = rootsFile.map { .file($0) } ?? .default
        configuration.verifySignatureAlgorithms = [
            .ecdsaSecp256R1Sha256, .ecdsaSecp384R1Sha384, .ecdsaSecp521R1Sha512, .ed25519, .rsaPssRsaeSha256,
            .rsaPssRsaeSha384, .rsaPssRsaeSha512, .rsaPkcs1Sha256, .rsaPkcs1Sha384, .rsaPkcs1Sha512,
        ]
        // An origin that goes on sending to a client that has gone does not read the end of it first.
        configuration.shutdownTimeout = .seconds(1)
        // The host is compared by `OriginCertificate`.
        configuration.certificateVerification = .noHostnameVerification
        let made = try NIOSSLContext(configuration: configuration)
        context.withLock { $0 = made }
        return made
    }

    /// Why the certificate of a connection to `host`, its handshake done, is not accepted; nil where it is.
    static func refusal(of channel: any Channel, host: String) -> String? {
        guard let certificate = try? channel.pipeline.syncOperations.nioSSL_peerCertificate() else {
            return "no certificate came"
        }
        let (name, isAddress) = identity(host)
        return OriginCertificate.refusal(certificate, host: name, isAddress: isAddress)
    }

    /// A host as certificates have it: without brackets, and without the root's dot.
    private static func identity(_ host: String) -> (name: String, isAddress: Bool) {
        if host.hasPrefix("[") { return (String(host.dropFirst().dropLast()), true) }
        var host = host.hasSuffix(".") ? String(host.dropLast()) : host
        let isAddress = host.withUTF8 { IPAddressText.isIPv4(UnsafeRawBufferPointer($0)) }
        return (host, isAddress)
    }
}
