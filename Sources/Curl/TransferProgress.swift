/// What is known of a running transfer; a value that is made anew for each.
struct TransferProgress {
    /// Monotonic milliseconds of the last sign of the origin, or of the end of a pause.
    var lastActivity: Int64 = 0
    /// How often a connection was ready for the request: 0 while connecting, more than 1 where libcurl repeated it.
    var attempts = 0
    var hasReceivedBytes = false
    /// Whether the kept connection that libcurl chose can't be used, so that the transfer begins again.
    var mustConnectAnew = false
    /// Whether libcurl wanted to send the request again, which it must not.
    var isRepeatRefused = false
    var isAborted = false
    var refusedAddress = false
    /// Whether an address of the host could not be connected to, and libcurl waits to be called for the next one.
    var nextAddressIsDue = false
    /// Why the system gave no socket; 0 where it did.
    var socketErrno: CInt = 0
    /// The delegate said that the body is complete before it was.
    var endedEarly = false
    /// Bytes of the request's body that are still to come; nil in the chunked coding.
    var bodyLeft: Int?

    // MARK: Pauses

    /// Whether libcurl holds receiving, as the delegate wished.
    var receivingIsPaused = false
    /// Whether libcurl holds sending: the delegate has no bytes, or the 100 is awaited.
    var sendingIsHeld = false
    /// Whether the body may not be asked for: Expect: 100-continue was sent and is not answered.
    var awaitsContinue = false
    /// When to stop waiting for the 100; nil before the body was due.
    var continueDeadline: Int64?
    /// Whether the transfer is in the list of those that are looked at at the end of the turn.
    var isInRecheckList = false

    // MARK: Heads

    var hasFinalHead = false
    /// Whether the final head is the end: of a HEAD request with a body, which libcurl doesn't know (CURLOPT_NOBODY
    /// would leave the request's body out too).
    var endsWithHead = false
    var isOver: Bool { endsWithHead && hasFinalHead }
    private var isAtHeadStart = true
    private var status = 0
    /// Whether the head says that a body of a known length follows.
    private var hasLength = false
    var isHead = false
    /// Whether libcurl doesn't say at the transfer's end that bytes came behind the response: it has no body, or the
    /// chunked coding tells its end.
    var mayHideExcess: Bool { isHead || status == 204 || status == 304 || !hasLength }

    /// Follows the lines until the end of the final head.
    mutating func note(_ line: UnsafeRawBufferPointer) {
        guard !hasFinalHead, let first = line.first else { return }
        if isAtHeadStart {
            isAtHeadStart = false
            hasLength = false
            status = TransferProgress.status(line)
            return
        }
        guard first == 0x0d || first == 0x0a else {
            if first | 0x20 == 0x63 { hasLength = hasLength || TransferProgress.isLength(line) }
            return
        }
        if (100..<200).contains(status), status != 101 {
            isAtHeadStart = true
            if status == 100 { awaitsContinue = false }
        } else {
            hasFinalHead = true
            // After a final status of 300 or more the body is unwanted, and libcurl stops sending: go on holding.
            if status < 300 { awaitsContinue = false }
        }
    }

    /// Whether a line is a Content-Length other than 0.
    private static func isLength(_ line: UnsafeRawBufferPointer) -> Bool {
        let name: StaticString = "content-length:"
        guard line.count > name.utf8CodeUnitCount else { return false }
        for index in 0..<name.utf8CodeUnitCount where line[index] | 0x20 != name.utf8Start[index] | 0x20 {
            return false
        }
        return line[name.utf8CodeUnitCount...].contains { (0x31...0x39).contains($0) }
    }

    /// The three digits after the first space of `HTTP/1.1 200 OK`; 0 where there are none.
    private static func status(_ line: UnsafeRawBufferPointer) -> Int {
        guard let space = line.prefix(16).firstIndex(of: 0x20), space + 3 < line.count else { return 0 }
        var status = 0
        for byte in line[(space + 1)...(space + 3)] {
            guard byte &- 0x30 < 10 else { return 0 }
            status = status * 10 + Int(byte &- 0x30)
        }
        return status
    }

    // MARK: Silence

    /// Whether the origin has been silent for too long.
    ///
    /// The time counts while the origin is waited for: not before there is a connection (which has a limit of its own),
    /// not while the client doesn't take the body, and not while it has no more of its own to send.
    func silence(_ now: Int64, limit: Int64) -> TransferResult.SilencePhase? {
        guard attempts > 0, !receivingIsPaused, !sendingIsHeld || awaitsContinue else { return nil }
        guard now - lastActivity >= limit else { return nil }
        return hasFinalHead ? .inBody : .beforeHead
    }
}
