/// One request to an origin, its parts validated by the caller: nothing of it is parsed here.
///
/// What would break a line of the request in two is refused all the same (``TransferResult/Kind/other``).
public struct TransferRequest: Sendable {
    /// The request's body.
    public enum Body: Sendable, Equatable {
        case none
        /// Of a known length in bytes, which a Content-Length among the lines states too.
        case length(Int)
        /// In the chunked transfer coding, which a Transfer-Encoding among the lines states too.
        case chunked
    }

    /// The method, any token.
    public var method: [UInt8]
    /// Whether the connection is TLS.
    public var isHTTPS: Bool
    /// A host name or an address, IPv6 ones in brackets.
    public var host: String
    public var port: UInt16
    /// The request target, path and query, in the very bytes to send; `*` for the server itself (OPTIONS).
    public var pathAndQuery: [UInt8]
    /// Field lines `Name: value` without CRLF, in the order to send; Host is sent first wherever it stands.
    ///
    /// Nothing is added to them but, where they lack it, Host. Where the connection leads through a parent proxy, that
    /// gets the Via lines too, with CONNECT.
    public var lines: RequestLines
    public var body: Body
    /// Whether the response has no body because the request is HEAD.
    public var isHead: Bool
    /// Whether `Expect: 100-continue` is among the lines and to be waited for.
    ///
    /// The body is asked for once the origin has sent 100, or a final response below 300, or nothing for a second
    /// (RFC 9110 §10.1.1).
    public var expectsContinue: Bool
    /// Whether a new connection is made even where one is kept.
    ///
    /// libcurl sends any request again whose kept connection turns out closed; for a method that is not idempotent a
    /// new connection is what keeps it from being sent twice (CURLOPT_FRESH_CONNECT).
    public var needsFreshConnection: Bool
    /// Whether the connection is closed behind the response (CURLOPT_FORBID_REUSE). The default is false.
    public var isLastOnConnection = false
    /// Where the connection is taken from and kept in; the default is nil, those that all such transfers share.
    public var pool: ConnectionPool?
    /// Whether the request may be sent again on another connection where a kept one turns out closed; else the transfer
    /// fails then. The default is true.
    public var mayBeRepeated = true
    /// Whether to connect only, and hand the socket over (CURLOPT_CONNECT_ONLY).
    public var isConnectOnly: Bool

    public init(
        method: [UInt8], isHTTPS: Bool, host: String, port: UInt16, pathAndQuery: [UInt8], lines: RequestLines,
        body: Body = .none, isHead: Bool = false, expectsContinue: Bool = false, needsFreshConnection: Bool = false,
        isConnectOnly: Bool = false
    ) {
        self.method = method
        self.isHTTPS = isHTTPS
        self.host = host
        self.port = port
        self.pathAndQuery = pathAndQuery
        self.lines = lines
        self.body = body
        self.isHead = isHead
        self.expectsContinue = expectsContinue
        self.needsFreshConnection = needsFreshConnection
        self.isConnectOnly = isConnectOnly
    }

    /// A request for nothing but a connected socket, through the parent proxy where one applies.
    ///
    /// - Parameters:
    ///   - isHTTPS: whether a TLS handshake is made on it. The socket is of no use then, only the result is.
    ///   - via: the Via lines that the parent proxy gets; the default is none.
    public static func connection(
        to host: String, port: UInt16, isHTTPS: Bool = false, via: RequestLines = RequestLines()
    ) -> TransferRequest {
        TransferRequest(
            method: Array("GET".utf8), isHTTPS: isHTTPS, host: host, port: port, pathAndQuery: [0x2f], lines: via,
            needsFreshConnection: true, isConnectOnly: true)
    }
}
