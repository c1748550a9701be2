import Basics
import Glibc
import NIOCore
import NIOSSL
import Synchronization
import TLSTermination

/// The certificate and the key by which https listeners of the proxy itself are known to clients.
public final class ListenerIdentity: Sendable {
    private struct State: Sendable {
        var certificate: [UInt8]
        var key: [UInt8]
        var context: NIOSSLContext
    }

    private let certificateFile: String
    private let keyFile: String
    private let state: Mutex<State>

    /// Reads both files, of at most 1 MiB each.
    ///
    /// - Parameters:
    ///   - certificateFile: the certificate in PEM, and behind it those that lead to the root.
    ///   - keyFile: its private key in PEM, without a passphrase.
    /// - Throws: what is wrong with the files.
    public init(certificateFile: String, keyFile: String) throws(ListenerIdentityError) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        state = Mutex(try ListenerIdentity.load(certificateFile, keyFile))
    }

    /// Reads the files again; connections from now on get what they hold. After an error the old ones stay in force.
    ///
    /// - Returns: whether they hold something else than before.
    /// - Throws: what is wrong with the files.
    public func reload() throws(ListenerIdentityError) -> Bool {
        let loaded = try ListenerIdentity.load(certificateFile, keyFile)
        return state.withLock { state in
            guard state.certificate != loaded.certificate || state.key != loaded.key else { return false }
            state = loaded
            return true
        }
    }

    /// Puts TLS in front of a client's connection, which begins, with HTTP/1.1, when the handshake is complete.
    ///
    /// - Throws: the channel's error where it is closed already.
    func secure(_ connection: ClientConnection, on channel: any Channel) throws {
        let handshake = ClientHandshake(
            connection.loop,
            whenCompleted: { _, channel in try channel.pipeline.syncOperations.addHandler(connection) },
            whenFailed: { connection.loop.proxy.secureTunnels.listenersHandshakeFailed($0) })
        try channel.pipeline.syncOperations.addHandlers([
            NIOSSLServerHandler(context: state.withLock(\.context)), RecordGathering(), handshake,
        ])
    }

    private static func load(_ certificateFile: String, _ keyFile: String) throws(ListenerIdentityError) -> State {
        let certificate = try contents(of: certificateFile)
        let key = try contents(of: keyFile)
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(certificate), !chain.isEmpty else {
            throw .noCertificate(certificateFile)
        }
        // A passphrase could only be asked for at a terminal.
        guard let privateKey = try? NIOSSLPrivateKey(bytes: key, format: .pem, passphraseCallback: { $0([]) }) else {
            throw .noKey(keyFile)
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        // As for decrypted hosts, with the same for RSA keys: the default has suites without forward secrecy, and CBC.
        configuration.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        ]
        configuration.applicationProtocols = ["http/1.1"]
        // A client that does not answer close_notify holds nothing up, least of all the end of the program.
        configuration.shutdownTimeout = .seconds(1)
        do {
            return State(
                certificate: certificate, key: key, context: try NIOSSLContext(configuration: configuration))
        } catch {
            throw .mismatch(certificateFile, keyFile)
        }
    }

    /// Looks whether a file has certificates, as that of those to trust for origins has to.
    ///
    /// - Throws: what is wrong with the file.
    public static func checkCertificates(in path: String) throws(ListenerIdentityError) {
        let mostBytes = 16 << 20
        let certificates: [UInt8]
        do { certificates = try FileReading.contents(of: path, upTo: mostBytes) } catch {
            throw .unreadable(path, code: error.code)
        }
        guard let list = try? NIOSSLCertificate.fromPEMBytes(certificates), !list.isEmpty else {
            throw .noCertificate(path)
        }
    }

    private static func contents(of path: String) throws(ListenerIdentityError) -> [UInt8] {
        let bytes: [UInt8]
        do { bytes = try FileReading.contents(of: path, upTo: (1 << 20) + 1) } catch {
            throw .unreadable(path, code: error.code)
        }
        guard bytes.count <= 1 << 20 else { throw .tooLarge(path) }
        return bytes
    }
}

/// Why an https listener can't be known by a certificate and a key.
public enum ListenerIdentityError: Error, CustomStringConvertible {
    case unreadable(String, code: CInt)
    /// The file has more than 1 MiB.
    case tooLarge(String)
    case noCertificate(String)
    case noKey(String)
    case mismatch(String, String)

    public var description: String {
        switch self {
        case .unreadable(let path, let code): "the file '\(path)' can't be read: \(String(cString: strerror(code)))"
        case .tooLarge(let path): "the file '\(path)' has more than 1MiB"
        case .noCertificate(let path): "the file '\(path)' has no certificate in PEM"
        case .noKey(let path): "the file '\(path)' has no private key in PEM, or one with a passphrase"
        case .mismatch(let certificate, let key):
            "the key in '\(key)' is not that of the certificate in '\(certificate)'"
        }
    }
}
