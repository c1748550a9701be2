import NIOCore
import NIOSSL

/// Why a TLS handshake with a client has failed, in a few words for the log.
struct HandshakeFailure: Error, Equatable {
    let phrase: String
    /// Whether this is how clients end a handshake whose certificate they don't trust.
    let isDistrust: Bool
    /// Whether the proxy has ended the handshake for a reason of its own: the client has done nothing wrong.
    let isOfProxy: Bool

    init(_ phrase: String, isDistrust: Bool = false, isOfProxy: Bool = false) {
        self.phrase = phrase
        self.isDistrust = isDistrust
        self.isOfProxy = isOfProxy
    }

    static let stopped = HandshakeFailure("the proxy stopped", isOfProxy: true)
    static let closed = HandshakeFailure("the client closed the connection", isDistrust: true)
    static let timedOut = HandshakeFailure("no TLS handshake came")
    static let notTLS = HandshakeFailure("not TLS")
    static let otherHost = HandshakeFailure("the client asks for another host in TLS")
    /// Not expected: the TLS library has completed a handshake whose ClientHello ``ClientHelloReader`` can't read.
    static let unreadable = HandshakeFailure("the host that the client asks for in TLS can't be told")

    /// - Parameter error: what the proxy itself could not do for the handshake, or behind it.
    init(inProxy error: any Error) {
        switch error {
        case let failure as HandshakeFailure: self = failure
        case ChannelError.ioOnClosedChannel: self = .closed
        default: self.init("the proxy could not do its part: \(error)", isOfProxy: true)
        }
    }

    /// - Parameter error: what the channel or its TLS handler has told.
    init(_ error: any Error) {
        switch error {
        case NIOSSLError.handshakeFailed(.sslError(let stack)), NIOSSLError.handshakeFailed(.unknownError(let stack)):
            if stack.contains(.eofDuringHandshake) {
                self = .closed
            } else {
                self.init(code: stack.lazy.compactMap { HandshakeFailure.code("\($0)") }.first ?? "")
            }
        case NIOSSLError.handshakeFailed(.syscallError), NIOSSLError.handshakeFailed(.zeroReturn),
            NIOSSLError.uncleanShutdown, is ChannelError, is IOError:
            self = .closed
        default: self.init("TLS error")
        }
    }

    /// BoringSSL's name of an error: HTTP_REQUEST in `error:1000009c:SSL routines:OPENSSL_internal:HTTP_REQUEST at …`
    static func code(_ description: String) -> String? {
        let mark = "OPENSSL_internal:"
        guard let range = description.firstRange(of: mark) else { return nil }
        let code = description[range.upperBound...].prefix { $0 == "_" || $0.isLetter || $0.isNumber }
        return code.isEmpty ? nil : String(code)
    }

    /// - Parameter code: BoringSSL's name of the error.
    init(code: String) {
        let alert = ["SSLV3_ALERT_", "TLSV1_ALERT_", "TLSV1_"].first(where: code.hasPrefix).map {
            String(code.dropFirst($0.count))
        }
        switch (alert, code) {
        case ("UNKNOWN_CA", _): self.init("TLS alert: unknown certificate authority", isDistrust: true)
        case ("BAD_CERTIFICATE", _), ("CERTIFICATE_UNKNOWN", _), ("CERTIFICATE_EXPIRED", _),
            ("CERTIFICATE_REVOKED", _), ("UNSUPPORTED_CERTIFICATE", _), ("ACCESS_DENIED", _):
            self.init("TLS alert: \(HandshakeFailure.words(alert ?? ""))", isDistrust: true)
        case (let alert?, _): self.init("TLS alert: \(HandshakeFailure.words(alert))")
        case (nil, "HTTP_REQUEST"), (nil, "HTTPS_PROXY_REQUEST"), (nil, "WRONG_VERSION_NUMBER"):
            self = .notTLS
        case (nil, "UNSUPPORTED_PROTOCOL"), (nil, "NO_SHARED_CIPHER"), (nil, "NO_SHARED_GROUP"),
            (nil, "NO_COMMON_SIGNATURE_ALGORITHMS"), (nil, "NO_CIPHERS_SPECIFIED"), (nil, "NO_CIPHER_MATCH"),
            (nil, "INAPPROPRIATE_FALLBACK"):
            self.init("no shared protocol version or cipher")
        case (nil, ""): self.init("TLS error")
        default: self.init("TLS error: \(HandshakeFailure.words(code))")
        }
    }

    /// - Parameter alert: the description in an alert from the client (RFC 8446 §6).
    init(alert: UInt8) {
        if let name = HandshakeFailure.alerts[alert] {
            self.init(code: "TLSV1_ALERT_\(name)")
        } else {
            self.init("TLS alert \(alert)")
        }
    }

    private static let alerts: [UInt8: String] = [
        0: "CLOSE_NOTIFY", 10: "UNEXPECTED_MESSAGE", 20: "BAD_RECORD_MAC", 22: "RECORD_OVERFLOW",
        40: "HANDSHAKE_FAILURE", 42: "BAD_CERTIFICATE", 43: "UNSUPPORTED_CERTIFICATE", 44: "CERTIFICATE_REVOKED",
        45: "CERTIFICATE_EXPIRED", 46: "CERTIFICATE_UNKNOWN", 47: "ILLEGAL_PARAMETER", 48: "UNKNOWN_CA",
        49: "ACCESS_DENIED", 50: "DECODE_ERROR", 51: "DECRYPT_ERROR", 70: "PROTOCOL_VERSION",
        71: "INSUFFICIENT_SECURITY", 80: "INTERNAL_ERROR", 90: "USER_CANCELED", 109: "MISSING_EXTENSION",
        110: "UNSUPPORTED_EXTENSION", 112: "UNRECOGNIZED_NAME", 120: "NO_APPLICATION_PROTOCOL",
    ]

    private static func words(_ code: String) -> String {
        code.lowercased().split(separator: "_").joined(separator: " ")
    }
}
