/// One request to an origin, its parts validated by the caller: nothing of it is parsed here.
public struct TransferRequest: Sendable {
    /// The request's body.
    public enum Body: Sendable, Equatable {
        case none
        /// Of a known length, which a Content-Length among the lines states too.
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
    /// The request target, path and query, in the very bytes to send.
    public var pathAndQuery: [UInt8]
    /// Field lines `Name: value` without CRLF, in the order to send; Host is sent first wherever it stands.
    public var lines: [[UInt8]]
    public var body: Body
    /// Whether the response has no body because the request is HEAD.
    public var isHead: Bool
    /// Whether Expect: 100-continue is among the lines and to be waited for.
    public var expectsContinue: Bool
    /// Whether a new connection is made even where one is kept.
    ///
    /// libcurl sends any request again whose kept connection turns out closed; for a method that is not idempotent a
    /// new connection is what keeps it from being sent twice (CURLOPT_FRESH_CONNECT).
    public var needsFreshConnection: Bool
    /// Whether to connect only, and hand the socket over (CURLOPT_CONNECT_ONLY).
    public var isConnectOnly: Bool

    public init(
        method: [UInt8], isHTTPS: Bool, host: String, port: UInt16, pathAndQuery: [UInt8], lines: [[UInt8]],
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

    /// A request for nothing but a connected socket.
    public static func connection(to host: String, port: UInt16) -> TransferRequest {
        TransferRequest(
            method: Array("GET".utf8), isHTTPS: false, host: host, port: port, pathAndQuery: [0x2f], lines: [],
            needsFreshConnection: true, isConnectOnly: true)
    }
}

/// What holds for all transfers of a loop.
public struct TransferLoopConfiguration: Sendable {
    /// A parent proxy, `http://`, `socks5://` or `socks5h://`; nil connects directly, whatever the environment says.
    public var upstreamProxy: String?
    /// Hosts reached without the parent proxy: names and their subdomains, separated by commas; `*` is every host.
    public var noProxy = ""
    /// `HOST:PORT:ADDRESS` entries (CURLOPT_RESOLVE).
    public var resolve: [String] = []
    /// Certificates to trust instead of the system's (CURLOPT_CAINFO).
    public var caFile: String?
    /// How long a connection attempt may take, in milliseconds; the default is 10,000.
    public var connectTimeoutMilliseconds = 10_000
    /// How long an origin may be silent, in milliseconds; the default is 60,000.
    public var silenceTimeoutMilliseconds = 60_000
    /// Connections kept for reuse; the default is 256 (CURLMOPT_MAXCONNECTS).
    public var keptConnections = 256

    public init() {}

    /// Whether requests to `host` go through the parent proxy.
    func usesProxy(for host: String) -> Bool {
        guard upstreamProxy != nil else { return false }
        let host = host.utf8.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }
        for entry in noProxy.utf8.split(whereSeparator: { $0 == 0x2c || $0 == 0x20 }) {
            var suffix = entry.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }
            if suffix == [0x2a] { return false }
            if suffix.first == 0x2e { suffix.removeFirst() }
            guard !suffix.isEmpty, host.count >= suffix.count, host.suffix(suffix.count).elementsEqual(suffix) else {
                continue
            }
            if host.count == suffix.count || host[host.count - suffix.count - 1] == 0x2e { return false }
        }
        return true
    }
}
