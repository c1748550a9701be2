/// The end of a response whose request goes on: it is kept back until the request has ended.
///
/// A response may be complete before its request is (RFC 9113 §8.1). Clients take that badly: libcurl 7.88 stops an
/// upload when it has the whole of a successful response, told so by Content-Length or END_STREAM, and then waits for
/// ever. So the last byte of a body whose length is told is kept back, or the header section where there is no body, or
/// else just END_STREAM. A response that is an error is not: there the clients know that they need not go on.
///
/// Whoever sends next to nothing of its request for the silence timeout gets the end, and after another one the stream
/// is closed.
struct ResponseEnding: Equatable {
    /// Whether the end waits for the request's.
    private(set) var isHeld = false
    /// Bytes of the body that have not been sent; nil where they are not known.
    private var bytesLeft: Int?
    /// Whether what waits is a header section that ends its stream.
    private var holdsHead = false

    /// - Parameter length: of the body; nil where it is not known.
    mutating func begin(status: Int, length: Int?) {
        isHeld = status < 400
        bytesLeft = length
    }

    /// How many of the bytes that are ready may be sent before the request has ended.
    func sendable(of ready: Int) -> Int {
        guard let bytesLeft else { return ready }
        return max(0, min(ready, bytesLeft &- 1))
    }

    mutating func sent(_ count: Int) { bytesLeft = bytesLeft.map { $0 &- count } }

    mutating func holdHead() { holdsHead = true }

    /// Waits no longer.
    ///
    /// - Returns: whether a header section was kept back.
    mutating func release() -> Bool {
        isHeld = false
        defer { holdsHead = false }
        return holdsHead
    }
}
