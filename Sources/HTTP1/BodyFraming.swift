/// How the end of a message's body is found (RFC 9112 §6.3).
public enum BodyFraming: Sendable, Equatable {
    /// The message ends with its head.
    case none
    /// By Content-Length, which is this.
    case length(Int)
    /// By the chunked transfer coding.
    case chunked
    /// By the end of the connection; only responses.
    case untilClose
}
