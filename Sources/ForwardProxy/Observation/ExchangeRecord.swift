public import NIOCore

/// What happened to an exchange: the closed set that the log, Cache-Status, the metrics and the status page speak of.
public enum Outcome: UInt8, Sendable, CaseIterable {
    case substituted, bypassed, stored, validated, forwarded, own, tunnelled, refused, failed

    /// The word in the log.
    public var name: StaticString {
        switch self {
        case .substituted: "substituted"
        case .bypassed: "bypassed"
        case .stored: "stored"
        case .validated: "validated"
        case .forwarded: "forwarded"
        case .own: "own"
        case .tunnelled: "tunnelled"
        case .refused: "refused"
        case .failed: "failed"
        }
    }
}

/// One exchange as the access log shows it.
public struct ExchangeRecord: Sendable {
    /// When the request's head was complete, in nanoseconds of the monotonic clock.
    public var startedAt: UInt64
    /// The request method as received.
    public var method: ByteBuffer
    /// The target URI in normal form, or the target as received where it is none.
    public var url: ByteBuffer
    /// Whether that is a URL in normal form, which has no user information.
    var isURLRead = false
    /// Whether query values may be shown: the URL is one that the map names.
    public var isMapped: Bool
    /// The final status; 0 where the connection ended before one was sent.
    public var status: Int
    /// Bytes of the response's body that were written to the client.
    public var bodyBytes: Int
    public var outcome: Outcome
    /// The rule's position (`substitutions.yaml:12`), empty where no rule took part.
    public var rule: String
    /// Why: the reason that the decision or the failure gave.
    public var reason: String
    /// The exchange as its observers see it; nil where there are none.
    var observed: ObservedExchange?

    public init(startedAt: UInt64, method: ByteBuffer, url: ByteBuffer) {
        self.startedAt = startedAt
        self.method = method
        self.url = url
        isMapped = false
        status = 0
        bodyBytes = 0
        outcome = .failed
        rule = ""
        reason = ""
    }

    /// What was asked, for the page that tells of an error. HEAD is told of as GET, since both have to have one
    /// Content-Length (RFC 9110 §8.6).
    var askedText: String {
        let method = String(buffer: method)
        return "\(method == "HEAD" ? "GET" : method) \(String(buffer: url))"
    }

    /// Notes that the exchange has failed. The reason replaces an earlier one, but not that of an earlier failure.
    mutating func fail(_ reason: String) {
        if outcome != .failed || self.reason.isEmpty { self.reason = reason }
        outcome = .failed
    }
}
