/// The life of one HTTP/1 connection from a client, as a value: which message is under way on either side, and what
/// has to happen next (RFC 9112 §9).
///
/// It holds no channel and no bytes; ``ClientConnection`` performs what the functions return.
struct ConnectionState: Equatable {
    enum Phase: Equatable {
        /// Between messages, or inside a header section.
        case idle
        /// A request has been read up to its head at least, and its response is not complete.
        case exchange(requestIsComplete: Bool, responseHasStarted: Bool)
        /// The response is complete and the rest of the request's body is read and thrown away.
        case draining(bytesLeft: Int)
        /// The output is closed; input is thrown away until the client closes too, so that no reset
        /// overtakes the response (RFC 9112 §9.6).
        case lingering
        /// The connection carries another protocol now.
        case relaying
        case closed
    }

    /// What the connection does next.
    enum Action: Equatable {
        case none
        /// Read the next event from the parser.
        case proceed
        /// Close the output and enter ``Phase/lingering``.
        case closeOutput
        /// Close the connection behind all that is still to be written.
        case close
        /// Cut the connection off at once.
        case abort
    }

    /// What to do with bytes of a request body.
    enum BodyAction: Equatable {
        case deliver
        case discard
        case closeOutput
    }

    /// Bytes of an unwanted request body that are read after the response, before the connection is given up.
    static let drainLimit = 256 << 10

    private(set) var phase = Phase.idle
    /// Whether the connection may be used for another request after this one.
    private(set) var isPersistent = true
    /// Whether the client has closed its side.
    private(set) var inputHasEnded = false
    /// Whether the server is stopping: the response under way is the last one.
    private(set) var isStopping = false
    /// The client waits for 100 (Continue) before it sends the body.
    private(set) var awaitsContinue = false
    /// What is still to come of the request's body; nil where only its end tells.
    private var bodyLeft: Int? = 0
    /// The response says that the connection will be closed, since the body is too long to be read: up to the bound it
    /// is read all the same, for clients that read nothing before they have sent it.
    private var isGivenUp = false

    var isIdle: Bool { phase == .idle }

    /// Whether the client still owes a part of the request's body.
    var awaitsBody: Bool {
        switch phase {
        case .exchange(requestIsComplete: false, _), .draining: true
        default: false
        }
    }

    /// Whether the rest of a body is read only for clients that send it before they read: this one has been told that
    /// its connection will be closed, and may send no more of it.
    var readsGivenUpBody: Bool {
        if case .draining = phase { return isGivenUp }
        return false
    }

    /// Whether more of the body is to come than is read after a response: the connection ends behind one that needs no
    /// more of it. Of a body in chunks nobody knows.
    var leavesTooMuch: Bool { awaitsBody && (bodyLeft ?? 0) > ConnectionState.drainLimit }

    /// Whether more bytes should be read from the socket, given what the exchange wants of the body.
    func wantsBytes(bodyIsWanted: Bool) -> Bool {
        switch phase {
        case .idle, .draining, .lingering: true
        case .exchange(let requestIsComplete, _): !requestIsComplete && bodyIsWanted
        case .relaying, .closed: false
        }
    }

    /// The parser has read a head.
    ///
    /// - Parameter bodyLength: nil where only the body's end tells.
    mutating func receivedHead(isPersistent: Bool, expectsContinue: Bool, bodyLength: Int? = 0) {
        phase = .exchange(requestIsComplete: false, responseHasStarted: false)
        bodyLeft = bodyLength
        isGivenUp = false
        self.isPersistent = isPersistent && !isStopping
        awaitsContinue = expectsContinue
    }

    /// The parser has read bytes of a body.
    mutating func receivedBody(_ count: Int) -> BodyAction {
        awaitsContinue = false
        bodyLeft = bodyLeft.map { max(0, $0 &- count) }
        switch phase {
        case .exchange: return .deliver
        case .draining(let left):
            guard count <= left else {
                phase = .lingering
                return .closeOutput
            }
            phase = .draining(bytesLeft: left &- count)
            return .discard
        case .idle, .lingering, .relaying, .closed: return .discard
        }
    }

    /// The parser has read the end of a request.
    mutating func receivedEnd() -> Action {
        awaitsContinue = false
        switch phase {
        case .exchange(_, let hasStarted):
            phase = .exchange(requestIsComplete: true, responseHasStarted: hasStarted)
            return .none
        case .draining:
            phase = .idle
            return next()
        case .idle, .lingering, .relaying, .closed: return .none
        }
    }

    /// 100 (Continue) has been sent.
    mutating func sentContinue() { awaitsContinue = false }

    /// The head of the final response goes out.
    ///
    /// - Parameter usesBody: whether the exchange goes on with the rest of the request's body.
    /// - Returns: whether the response may say that the connection stays open.
    mutating func startedResponse(usesBody: Bool = false) -> Bool {
        if case .exchange(let requestIsComplete, _) = phase {
            // A client that still waits for 100 may or may not send the body after a final response: the next bytes
            // can't be told from a request (RFC 9110 §10.1.1).
            if awaitsContinue { isPersistent = false }
            // A client should be told that its connection will be closed (RFC 9112 §9.6).
            if isPersistent, !usesBody, leavesTooMuch {
                isPersistent = false
                isGivenUp = true
            }
            phase = .exchange(requestIsComplete: requestIsComplete, responseHasStarted: true)
        }
        if isStopping { isPersistent = false }
        return isPersistent
    }

    /// The response must be the last one of this connection, by its own framing.
    mutating func mustClose() { isPersistent = false }

    /// The last byte of the response has been written.
    mutating func finishedResponse() -> Action {
        guard case .exchange(let requestIsComplete, _) = phase else { return .none }
        if requestIsComplete {
            phase = .idle
            return next()
        }
        guard isPersistent || isGivenUp, !inputHasEnded else {
            phase = .lingering
            return .closeOutput
        }
        phase = .draining(bytesLeft: ConnectionState.drainLimit)
        return .proceed
    }

    /// No more has come of a body that is given up.
    mutating func endedReading() -> Action {
        guard readsGivenUpBody else { return .none }
        phase = .lingering
        return .closeOutput
    }

    /// A response has been written to bytes that are no request: nothing more can be read from here.
    mutating func finishedErrorResponse() -> Action {
        phase = .lingering
        return inputHasEnded ? .close : .closeOutput
    }

    /// The client has closed its side of the connection.
    ///
    /// - Parameter requestsWait: whether whole requests have come that are not begun yet; they are answered first.
    mutating func inputEnded(requestsWait: Bool = false) -> Action {
        inputHasEnded = true
        if requestsWait, isIdle { return .none }
        switch phase {
        case .idle, .draining, .lingering:
            phase = .closed
            return .close
        case .exchange, .relaying, .closed: return .none
        }
    }

    /// The response can't be completed: the client must see that it is cut off.
    mutating func aborted() -> Action {
        guard phase != .closed else { return .none }
        phase = .closed
        return .abort
    }

    /// The exchange takes the connection over for another protocol.
    mutating func startedRelaying() { phase = .relaying }

    /// The server stops: the exchange under way, or the request that is on its way, is the last one.
    mutating func stop() { isStopping = true }

    /// The channel is closed.
    mutating func closed() { phase = .closed }

    private mutating func next() -> Action {
        if isPersistent, !isStopping {
            // Requests that came before the client closed its side are still answered.
            return .proceed
        }
        phase = inputHasEnded ? .closed : .lingering
        return inputHasEnded ? .close : .closeOutput
    }
}
