import CCurl
import Glibc

/// How a transfer ended.
public struct TransferResult: Sendable, Equatable {
    /// How far an origin had got when it fell silent.
    public enum SilencePhase: Sendable, Equatable { case beforeHead, inBody }

    /// How long after the start each step was done, in microseconds; 0 where it was not reached.
    public struct Timings: Sendable, Equatable {
        public var nameLookup = 0
        public var connect = 0
        public var startTransfer = 0
        public var total = 0
    }

    /// The kinds of end that callers tell apart.
    public enum Kind: Sendable, Equatable {
        /// The parent proxy refused a tunnel: ``TransferResult/tunnelStatus``.
        case tunnelRefused
        case success, cancelled, silence, hostNotFound, proxyNotFound, notConnected, connectTimeout, incomplete, reset
        /// The system had no descriptor or memory for a connection.
        case noResources
        /// libcurl itself can't be used.
        case noLibrary
        /// The file of the certificates that are trusted can't be used.
        case noTrustAnchors
        case tlsCertificate, tlsProtocol, malformed, other
    }

    /// The CURLcode; 0 is success, unless the transfer was cancelled.
    public var code: UInt32
    /// What libcurl says of a failure (CURLOPT_ERRORBUFFER, else curl_easy_strerror); empty on success.
    public var message: String
    /// Whether the transfer was cancelled, also by the loop's end.
    public var isCancelled = false
    /// Set where the origin was silent for too long.
    public var silence: SilencePhase?
    /// Whether the delegate ended the transfer by a verdict.
    public var isAborted = false
    /// Whether the delegate refused an address of the host.
    public var refusedAddress = false
    /// The errno of the failure, where one was noted (socket(2), CURLINFO_OS_ERRNO) or descriptors are short.
    public var osErrno: CInt = 0
    /// The status with which the parent proxy last answered a CONNECT; 0 if none was sent
    /// (CURLINFO_HTTP_CONNECTCODE).
    public var tunnelStatus = 0
    /// Whether anything of a response came.
    public var hasReceivedBytes = false
    /// Whether a kept connection carried the transfer (CURLINFO_NUM_CONNECTS is 0).
    public var reusedConnection = false
    /// The address connected to, in text, and its port; empty and 0 without a connection.
    public var primaryAddress = ""
    public var primaryPort: UInt16 = 0
    public var timings = Timings()
    /// OpenSSL's verdict on the certificate; 0 is good (CURLINFO_SSL_VERIFYRESULT).
    public var sslVerifyResult = 0

    /// Whether the origin was silent for too long.
    public var isSilence: Bool { silence != nil }
    public var isSuccess: Bool { code == 0 && !isSilence && !isCancelled }

    init(code: CURLcode, message: String) {
        self.code = UInt32(code.rawValue)
        self.message = message
    }

    static var cancelled: TransferResult {
        var result = TransferResult(code: CURLE_OK, message: "cancelled")
        result.isCancelled = true
        return result
    }

    /// A failure that happened before a handle could say more.
    static func failure(_ code: CURLcode) -> TransferResult {
        var result = TransferResult(code: code, message: String(cString: curl_easy_strerror(code)))
        result.noteShortage()
        return result
    }

    private var isShortage: Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(osErrno) }

    /// Notes that the system has no descriptors or memory, if this may be the cause of a failure that names none: a
    /// name that is not found, a library that is not opened. Only for transfers that had no connection.
    mutating func noteShortage() {
        guard !isShortage else { return }
        switch CURLcode(rawValue: code) {
        case CURLE_OUT_OF_MEMORY: osErrno = ENOMEM
        case CURLE_FAILED_INIT, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            let descriptor = subproxy_eventfd()
            if descriptor >= 0 { close(descriptor) } else { osErrno = errno }
        default: break
        }
    }

    /// Whether no address of the host could be connected to.
    public var hasNoConnection: Bool { kind == .notConnected || kind == .connectTimeout }

    public var kind: Kind {
        if isCancelled { return .cancelled }
        if isSilence { return .silence }
        if code != 0, tunnelStatus >= 300 { return .tunnelRefused }
        switch CURLcode(rawValue: code) {
        case CURLE_OK: return .success
        // libcurl says the same of a header line that is longer than its own limit (CURL_MAX_HTTP_HEADER).
        case CURLE_OUT_OF_MEMORY: return isShortage ? .noResources : .malformed
        case CURLE_FAILED_INIT: return isShortage ? .noResources : .noLibrary
        case CURLE_COULDNT_RESOLVE_HOST: return isShortage ? .noResources : .hostNotFound
        case CURLE_COULDNT_RESOLVE_PROXY: return isShortage ? .noResources : .proxyNotFound
        case CURLE_COULDNT_CONNECT: return isShortage ? .noResources : .notConnected
        case CURLE_PROXY: return .notConnected
        // No limit is set but that of the connection attempt.
        case CURLE_OPERATION_TIMEDOUT: return .connectTimeout
        case CURLE_PARTIAL_FILE: return .incomplete
        // RECV_ERROR is a reset, and TLS that ends without close_notify (a truncated body).
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND: return .reset
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return .tlsCertificate
        case CURLE_SSL_CACERT_BADFILE: return .noTrustAnchors
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_CERTPROBLEM:
            return .tlsProtocol
        case CURLE_WEIRD_SERVER_REPLY, CURLE_WRITE_ERROR, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING:
            return .malformed
        default: return .other
        }
    }
}
