import HTTPSemantics

/// What a connection has to know of the request under way, and how the response to it is delimited (RFC 9112 §6.3).
struct RequestUnderWay: Equatable {
    /// Where the body of the response ends.
    enum Ending: Equatable {
        /// Where its fields say.
        case told
        /// At the last chunk.
        case chunked
        /// Where the connection does: an orderly end would make any of it whole.
        case close
    }

    private var version = HTTPVersion.http1_1
    private(set) var isHead = false
    private var isConnect = false
    /// Whether the exchange wants more of the body now.
    private(set) var bodyIsWanted = true
    private(set) var ending = Ending.told

    /// A request begins, in the place of the one before.
    @inline(__always)
    mutating func begin(_ version: HTTPVersion, _ method: Method) {
        self.version = version
        isHead = method == .head
        isConnect = method == .connect
        bodyIsWanted = true
        ending = .told
    }

    /// An HTTP/1.0 client knows neither chunks nor interim responses (RFC 9110 §15.2, RFC 9112 §7.1).
    var isHTTP11: Bool { version == .http1_1 }

    /// Whether the bytes behind the request may be read while it is answered: what may become a tunnel is read by the
    /// tunnel.
    ///
    /// - Parameter fields: the request's; nil where it was answered at once.
    func letsReadAhead(_ fields: FieldSection?) -> Bool { !isConnect && fields?.contains(.upgrade) == false }

    /// - Returns: whether that is another answer than before.
    mutating func setWantsBody(_ wants: Bool) -> Bool {
        guard wants != bodyIsWanted else { return false }
        bodyIsWanted = wants
        return true
    }

    /// A response begins.
    mutating func startResponse(_ body: ResponseStart.Body) {
        guard body == .unknown else { return ending = .told }
        ending = isHTTP11 ? .chunked : .close
    }

    mutating func endResponse() {
        if ending == .close { ending = .told }
    }

    /// Whether the connection ends behind the response to a request that is refused.
    ///
    /// Bytes behind a CONNECT may be meant for the tunnel, sent before the answer came, and chosen by others than the
    /// client: they must not be read as a request. So the connection ends, except that a client which is asked for its
    /// credentials, and has sent nothing yet, may give them here. If bytes for the tunnel are on their way then, they
    /// do no harm: read as a request, they would need the credentials themselves.
    ///
    /// - Parameter hasUnread: whether bytes behind the request have come.
    func mustClose(behind status: Int, hasUnread: Bool) -> Bool {
        if status == 400 || status == 417 { return true }
        return isConnect && (status != 407 || hasUnread)
    }
}
