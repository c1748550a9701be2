/// The options of Connection that have a meaning to every recipient (RFC 9110 §7.6.1, RFC 9112 §9).
public struct ConnectionOptions: OptionSet, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let close = ConnectionOptions(rawValue: 1)
    public static let keepAlive = ConnectionOptions(rawValue: 2)
    public static let upgrade = ConnectionOptions(rawValue: 4)
    /// `TE` is nominated, so that a TE field counts.
    public static let te = ConnectionOptions(rawValue: 8)

    /// Whether the connection persists after this message (RFC 9112 §9.3).
    ///
    /// - Parameter honouringKeepAlive: Whether `keep-alive` of an HTTP/1.0 message counts. The default is true, as for
    ///   a response or an origin server; a proxy that only forwards passes false for requests.
    public func persists(_ version: HTTPVersion, honouringKeepAlive: Bool = true) -> Bool {
        if contains(.close) { return false }
        return version >= .http1_1 || (honouringKeepAlive && contains(.keepAlive))
    }
}
