import CCurl
import Glibc

/// What the receiver of header lines says.
public enum HeaderVerdict: Sendable { case proceed, abort }

/// What the receiver of a body says; with `pause` the bytes were not taken and are offered again after a resume.
public enum BodyVerdict: Sendable { case consumed, pause, abort }

/// What the giver of a body says.
public enum ReadVerdict: Sendable {
    /// So many bytes were written, at least one.
    case bytes(Int)
    /// There are none yet: go on after a resume.
    case pause
    case end
    case abort
}

/// Follows one transfer; called on the transfer thread only.
public protocol TransferDelegate: AnyObject, Sendable {
    /// A raw line with its line end: status lines and fields of interim and final heads, empty lines, trailers.
    func transfer(_ transfer: Transfer, didReceiveHeaderLine line: UnsafeRawBufferPointer) -> HeaderVerdict
    /// Bytes of the response's body, transfer coding removed.
    func transfer(_ transfer: Transfer, didReceiveBody bytes: UnsafeRawBufferPointer) -> BodyVerdict
    /// Asks for bytes of the request's body.
    func transfer(_ transfer: Transfer, readBodyInto space: UnsafeMutableRawBufferPointer) -> ReadVerdict
    /// Trailer lines `Name: value`, asked for at the end of a chunked body.
    func trailers(of transfer: Transfer) -> [[UInt8]]
    /// Whether the connection may be made, judged on the very `sockaddr`; not asked for a parent proxy's.
    func transfer(_ transfer: Transfer, mayConnectTo address: UnsafeRawPointer) -> Bool
    /// A connected, non-blocking descriptor, which the receiver owns; for connect-only transfers.
    func transfer(_ transfer: Transfer, didConnect descriptor: CInt)
    /// The transfer is over; called once, whatever happened.
    func transferDidFinish(_ transfer: Transfer, _ result: TransferResult)
}

/// How a transfer ended.
public struct TransferResult: Sendable, Equatable {
    /// The CURLcode; 0 is success.
    public var code: UInt32
    /// What libcurl says of it.
    public var message: String
    /// Whether the origin was silent for too long.
    public var isSilence = false
    /// Whether the transfer was cancelled.
    public var isCancelled = false

    public var isSuccess: Bool { code == 0 && !isSilence && !isCancelled }

    /// The kinds of failure that callers tell apart.
    public enum Kind: Sendable, Equatable {
        case success, cancelled, silence, hostNotFound, proxyNotFound, notConnected, connectTimeout, incomplete, reset
        case tlsCertificate, tlsProtocol, malformed, other
    }

    public var kind: Kind {
        if isCancelled { return .cancelled }
        if isSilence { return .silence }
        switch CURLcode(rawValue: code) {
        case CURLE_OK: return .success
        case CURLE_COULDNT_RESOLVE_HOST: return .hostNotFound
        case CURLE_COULDNT_RESOLVE_PROXY: return .proxyNotFound
        case CURLE_COULDNT_CONNECT, CURLE_PROXY: return .notConnected
        case CURLE_OPERATION_TIMEDOUT: return .connectTimeout
        case CURLE_PARTIAL_FILE: return .incomplete
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND: return .reset
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return .tlsCertificate
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_CERTPROBLEM:
            return .tlsProtocol
        case CURLE_WEIRD_SERVER_REPLY, CURLE_WRITE_ERROR, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING:
            return .malformed
        default: return .other
        }
    }
}

/// One transfer of a ``TransferLoop``.
///
/// Everything but the constants belongs to the loop's thread.
public final class Transfer: @unchecked Sendable {
    // Unchecked: what is mutable is touched on the transfer thread only.

    public let request: TransferRequest
    let delegate: any TransferDelegate
    var handle: EasyHandle?
    var usesProxy = false
    var receivingIsPaused = false
    var sendingIsPaused = false
    var isFinished = false
    /// Monotonic milliseconds of the last sign of the origin.
    var lastActivity: UInt64 = 0

    init(_ request: TransferRequest, _ delegate: any TransferDelegate) {
        self.request = request
        self.delegate = delegate
    }
}
