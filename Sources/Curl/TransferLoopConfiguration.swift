/// What holds for all transfers of a loop.
public struct TransferLoopConfiguration: Sendable {
    /// A parent proxy, `http://`, `socks5://` or `socks5h://`, with `user:password@` where it asks for them.
    ///
    /// The default is nil: connect directly, whatever the environment says (CURLOPT_PROXY).
    public var upstreamProxy: String?
    /// Hosts reached without the parent proxy: names and their subdomains, separated by commas; `*` is every host.
    public var noProxy = ""
    /// `HOST:PORT:ADDRESS` entries (CURLOPT_RESOLVE); the default is none.
    public var resolve: [String] = []
    /// A file of certificates to trust instead of the system's (CURLOPT_CAINFO).
    public var caFile: String?
    /// How long a connection attempt may take, name and TLS included, in milliseconds; the default is 10,000.
    public var connectTimeoutMilliseconds = 10_000
    /// How long an origin may be silent while it is waited for, in milliseconds; the default is 60,000.
    public var silenceTimeoutMilliseconds = 60_000
    /// How long an origin may leave `Expect: 100-continue` unanswered, in milliseconds; then the body is sent. The
    /// default is 1,000.
    public var continueTimeoutMilliseconds = 1_000
    /// Bytes that are read from an origin at a time; the default is 64 KiB, libcurl takes 1 KiB to 512 KiB
    /// (CURLOPT_BUFFERSIZE).
    public var receiveBytes = 64 << 10
    /// Connections kept for reuse; the default is 256 (CURLMOPT_MAXCONNECTS).
    public var keptConnections = 256
    /// How long a kept connection may be idle to be used again, in seconds; the default is 60 (CURLOPT_MAXAGE_CONN).
    public var keptConnectionSeconds = 60

    public init() {}

    /// Whether requests to `host` are sent to a parent proxy that speaks HTTP.
    public func usesHTTPProxy(for host: String) -> Bool {
        usesProxy(for: host) && upstreamProxy?.utf8.starts(with: "socks".utf8) == false
    }

    /// Whether requests to `host` go through the parent proxy.
    public func usesProxy(for host: String) -> Bool {
        guard upstreamProxy != nil else { return false }
        let host = comparable(host.utf8)
        for entry in noProxy.utf8.split(whereSeparator: { $0 == 0x2c || $0 == 0x20 }) {
            var suffix = comparable(entry)
            if suffix == [0x2a] { return false }
            if suffix.first == 0x2e { suffix.removeFirst() }
            guard !suffix.isEmpty, host.count >= suffix.count, host.suffix(suffix.count).elementsEqual(suffix) else {
                continue
            }
            if host.count == suffix.count || host[host.count - suffix.count - 1] == 0x2e { return false }
        }
        return true
    }

    /// In lower case, without the brackets of an IPv6 address and the root's dot.
    private func comparable(_ host: some Sequence<UInt8>) -> [UInt8] {
        var bytes = host.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }
        if bytes.first == 0x5b, bytes.last == 0x5d { bytes = Array(bytes.dropFirst().dropLast()) }
        if bytes.count > 1, bytes.last == 0x2e { bytes.removeLast() }
        return bytes
    }
}
