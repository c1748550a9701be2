/// The answer of the receiver of header lines.
public enum HeaderVerdict: Sendable { case proceed, abort }

/// The answer of the receiver of a body.
public enum BodyVerdict: Sendable {
    case consumed
    /// The bytes were taken, and what libcurl has read already will be; nothing more is read before
    /// ``Transfer/resumeReceiving()``.
    case consumedLast
    case abort
}

/// The answer of the sender of a body.
public enum ReadVerdict: Sendable {
    /// So many bytes were written; 0 is as ``pause``.
    case bytes(Int)
    /// There are none yet: ask again after ``TransferLoop/resumeSending(_:)``.
    case pause
    /// The body is complete. Before the length that the request announced, the transfer fails.
    case end
    case abort
}

/// Follows one transfer; called on the transfer thread only, and not after the transfer's end was told.
///
/// Released with the transfer's end, so a delegate may hold its transfer.
public protocol TransferDelegate: AnyObject, Sendable {
    /// A raw line with its line end: status lines and fields of interim and final heads, empty lines, trailers.
    func transfer(_ transfer: Transfer, didReceiveHeaderLine line: UnsafeRawBufferPointer) -> HeaderVerdict
    /// Bytes of the response's body, transfer coding removed and content coding left alone; at most 16 KiB
    /// (CURL_MAX_WRITE_SIZE), and any number of times in a turn.
    func transfer(_ transfer: Transfer, didReceiveBody bytes: UnsafeRawBufferPointer) -> BodyVerdict
    /// Asks for bytes of the request's body, never for more than the request announced.
    func transfer(_ transfer: Transfer, readBodyInto space: UnsafeMutableRawBufferPointer) -> ReadVerdict
    /// Trailer lines `Name: value`, asked for at the end of a chunked body.
    func trailers(of transfer: Transfer) -> [[UInt8]]
    /// Whether a connection may be made to this address, a `sockaddr` of its family's length.
    ///
    /// Asked for each address that a name has (CURLOPT_OPENSOCKETFUNCTION); not for a parent proxy's, which is the
    /// operator's choice, and not for a kept connection, whose address was judged when it was made.
    func transfer(_ transfer: Transfer, mayConnectTo address: UnsafeRawPointer) -> Bool
    /// A connected, non-blocking descriptor, which the receiver owns; for connect-only transfers.
    func transfer(_ transfer: Transfer, didConnect descriptor: CInt)
    /// The transfer is over; called once, whatever happened.
    func transferDidFinish(_ transfer: Transfer, _ result: TransferResult)
}
