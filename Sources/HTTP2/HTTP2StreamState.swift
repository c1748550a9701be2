/// The life of one stream of an HTTP/2 connection as a value: what of its request has come, what of its response has
/// gone, and what has to happen next (RFC 9113 §5.1, §5.2).
///
/// It holds no bytes and reads no clock; ``HTTP2Stream`` performs what the functions return. A stream that is idle, or
/// was closed before, has no state of its own: see ``HTTP2ConnectionState``.
public struct HTTP2StreamState: Equatable, Sendable {
    /// The states of RFC 9113 §5.1; the peer that is remote is the client.
    public enum Phase: Equatable, Sendable { case open, halfClosedLocal, halfClosedRemote, closed }

    /// How far the response has come.
    public enum Response: Int, Equatable, Comparable, Sendable {
        case awaited
        /// Its header section is written, or kept back.
        case started
        /// All of it is known, and not all of it is written.
        case complete
        /// END_STREAM or RST_STREAM is written, or never will be.
        case sent

        public static func < (left: Response, right: Response) -> Bool { left.rawValue < right.rawValue }
    }

    /// What to do with a part of the request's body.
    public enum BodyAction: Equatable, Sendable {
        /// The exchange gets it.
        case deliver
        /// It is kept until the exchange wants it.
        case hold
        case discard
    }

    /// What to do with a request whose trailer section is not taken.
    public enum RefusalAction: Equatable, Sendable {
        /// Answer it with the error.
        case answer
        /// The response is complete; the request's end is all that matters.
        case discard
    }

    /// What to do with the header section of a response.
    public enum HeadAction: Equatable, Sendable {
        case write
        /// It has END_STREAM.
        case writeLast
        /// It would have END_STREAM, and is kept back until the request has ended.
        case hold
        /// The stream is closed, or has had one.
        case discard
    }

    /// What is written next of a response.
    public enum NextFrame: Equatable, Sendable {
        case nothing
        /// DATA, with no more bytes than this.
        case data(atMost: Int)
        /// The trailers, or an empty DATA frame, with END_STREAM.
        case end
    }

    /// What a DATA frame that is about to be written means.
    public struct Sent: Equatable, Sendable {
        /// Whether it has END_STREAM.
        public var isLast: Bool
        /// Whether the exchange is to be told that there is room again.
        public var makesRoom: Bool
    }

    /// What becomes of an end of the response that was kept back.
    public enum EndingAction: Equatable, Sendable {
        case nothing
        /// The header section is written, with END_STREAM.
        case writeHead
        /// It takes its turn with the other streams.
        case enqueue
    }

    public enum TimeoutAction: Equatable, Sendable {
        case none
        /// Let the end of the response go, which was kept back.
        case endResponse
        /// The response is sent, and the client doesn't end its request.
        case close
        /// The client neither sends nor takes.
        case giveUp
    }

    public let id: UInt32

    // The request.
    public private(set) var requestIsComplete: Bool
    private(set) var receiveWindow = HTTP2Window()
    private var expectedBytes: Int?
    private var receivedBytes = 0
    public private(set) var bodyIsWanted = true
    /// The client waits for 100 (Continue) before it sends the body.
    public private(set) var awaitsContinue = false

    // The response.
    public private(set) var response = Response.awaited
    private(set) var sendWindow: HTTP2Window
    /// Bytes of the body that are here and not written.
    public private(set) var pendingBytes = 0
    private var hasTrailers = false
    private var ending = ResponseEnding()
    private var exchangeWaits = false
    private var progress: HTTP2Progress

    /// How much of a response is held before its source is stopped, and down to what it is started again: bytes.
    static let highWatermark = 64 << 10
    static let lowWatermark = 32 << 10

    /// A stream that a HEADERS frame has opened.
    ///
    /// - Parameters:
    ///   - requestIsComplete: whether the frame had END_STREAM.
    ///   - window: what the client lets each stream send: bytes.
    ///   - now: the monotonic time in nanoseconds, as everywhere here.
    public init(_ id: UInt32, requestIsComplete: Bool, window: Int, now: UInt64) {
        self.id = id
        self.requestIsComplete = requestIsComplete
        sendWindow = HTTP2Window(window)
        progress = HTTP2Progress(now)
    }

    public var phase: Phase {
        switch (requestIsComplete, response == .sent) {
        case (false, false): .open
        case (false, true): .halfClosedLocal
        case (true, false): .halfClosedRemote
        case (true, true): .closed
        }
    }

    public var responseHasStarted: Bool { response >= .started }
    public var responseIsComplete: Bool { response >= .complete }

    // MARK: The request

    /// The header section has been read.
    ///
    /// - Parameter length: what Content-Length says of the body: bytes.
    public mutating func receivedHead(length: Int?, expectsContinue: Bool) {
        expectedBytes = length
        awaitsContinue = expectsContinue && !requestIsComplete
    }

    /// A DATA frame has come.
    ///
    /// - Parameters:
    ///   - content: bytes of it that are the body's.
    ///   - frame: bytes of it that count for the window, its padding among them.
    /// - Throws: An error of the stream: STREAM_CLOSED behind the request's end, FLOW_CONTROL_ERROR beyond the window,
    ///   PROTOCOL_ERROR where the body has another length than Content-Length says.
    public mutating func receivedData(
        _ content: Int, frame: Int, isLast: Bool, now: UInt64
    ) throws(HTTP2Violation) -> BodyAction {
        guard !requestIsComplete else { throw .stream(id, .streamClosed) }
        receiveWindow.take(frame)
        guard receiveWindow.size >= 0 else { throw .stream(id, .flowControlError) }
        receivedBytes &+= content
        if let expectedBytes, receivedBytes > expectedBytes || (isLast && receivedBytes < expectedBytes) {
            throw .stream(id, .protocolError)
        }
        progress.received(content, isDiscarded: responseIsComplete, now: now)
        requestIsComplete = isLast
        return bodyAction
    }

    /// A second header block has come, which has to be the trailer section and the request's end.
    ///
    /// - Throws: An error of the stream: STREAM_CLOSED behind the request's end, PROTOCOL_ERROR where it isn't the end,
    ///   or the body has another length than Content-Length says.
    public func receivedTrailers(isLast: Bool) throws(HTTP2Violation) {
        guard !requestIsComplete else { throw .stream(id, .streamClosed) }
        guard isLast else { throw .stream(id, .protocolError) }
        if let expectedBytes, receivedBytes != expectedBytes { throw .stream(id, .protocolError) }
    }

    /// The trailer section is a good one.
    public mutating func endedRequest() -> BodyAction {
        requestIsComplete = true
        return bodyAction
    }

    /// The trailer section is more than is taken.
    ///
    /// - Throws: PROTOCOL_ERROR of the stream where its response is under way, so that nothing else tells the client.
    public mutating func refusedEnd() throws(HTTP2Violation) -> RefusalAction {
        requestIsComplete = true
        if responseIsComplete { return .discard }
        guard !responseHasStarted else { throw .stream(id, .protocolError) }
        return .answer
    }

    private var bodyAction: BodyAction { responseIsComplete ? .discard : bodyIsWanted ? .deliver : .hold }

    /// Whether the exchange wants more of the body now.
    ///
    /// - Returns: whether that has changed.
    public mutating func setWantsBody(_ wants: Bool) -> Bool {
        defer { bodyIsWanted = wants }
        return wants != bodyIsWanted
    }

    /// Widens the window of what the client may send.
    ///
    /// - Returns: the increment of a WINDOW_UPDATE; nil where none is due.
    public mutating func widenWindow() -> Int? {
        guard bodyIsWanted || responseIsComplete, !requestIsComplete,
            receiveWindow.size < HTTP2Window.initialSize / 2
        else { return nil }
        let more = HTTP2Window.initialSize &- receiveWindow.size
        _ = receiveWindow.grow(by: more)
        return more
    }

    /// Whether 100 (Continue) is to be sent, because the exchange asks for the body.
    public mutating func continues() -> Bool {
        guard awaitsContinue, !responseHasStarted else { return false }
        awaitsContinue = false
        return true
    }

    // MARK: The response

    /// Whether the end of a response that begins now would be kept back until the request has ended; then the client
    /// has to be asked for the rest, which it would not send.
    public mutating func willHoldEnding(status: Int, length: Int?) -> Bool {
        guard !requestIsComplete else { return false }
        ending.begin(status: status, length: length)
        return ending.isHeld
    }

    /// The header section of the final response is to be written.
    ///
    /// - Parameter length: of the body; nil where it is not known.
    public mutating func startedResponse(length: Int?) -> HeadAction {
        guard response == .awaited else { return .discard }
        response = .started
        guard length == 0 else { return .write }
        completedResponse()
        guard ending.isHeld else { return .writeLast }
        ending.holdHead()
        return .hold
    }

    /// Nothing more of the response will come.
    public mutating func completedResponse(hasTrailers: Bool = false) {
        guard !responseIsComplete else { return }
        response = .complete
        self.hasTrailers = hasTrailers
    }

    /// A part of the body has come, and waits for its turn.
    public mutating func appended(_ count: Int, now: UInt64) {
        if pendingBytes == 0 { progress.restart(now) }
        pendingBytes &+= count
    }

    /// Whether what is given now leaves soon; if not, the exchange is told when it does.
    public mutating func takesMore() -> Bool {
        let takesMore = pendingBytes < HTTP2StreamState.highWatermark
        if !takesMore { exchangeWaits = true }
        return takesMore
    }

    private var endingIsHeld: Bool { ending.isHeld && !requestIsComplete }

    private var sendableBytes: Int { endingIsHeld ? ending.sendable(of: pendingBytes) : pendingBytes }

    /// Whether a frame may be written, as far as this stream is concerned.
    public var maySend: Bool {
        response != .sent && (hasOnlyItsEndToSend || (sendableBytes > 0 && sendWindow.size > 0))
    }

    /// Whether nothing is left to send that takes room in a window.
    public var hasOnlyItsEndToSend: Bool { pendingBytes == 0 && response == .complete && !endingIsHeld }

    /// - Parameter limit: what the connection allows: bytes.
    public func nextFrame(atMost limit: Int) -> NextFrame {
        guard pendingBytes > 0 else { return responseIsComplete ? .end : .nothing }
        let limit = min(limit, sendWindow.size, sendableBytes)
        return limit > 0 ? .data(atMost: limit) : .nothing
    }

    /// A DATA frame is being written.
    public mutating func sentData(_ count: Int, now: UInt64) -> Sent {
        pendingBytes &-= count
        ending.sent(count)
        sendWindow.take(count)
        progress.sent(count, isAll: pendingBytes == 0, now: now)
        let isLast = pendingBytes == 0 && responseIsComplete && !hasTrailers && !endingIsHeld
        let makesRoom = !isLast && exchangeWaits && pendingBytes < HTTP2StreamState.lowWatermark
        if makesRoom { exchangeWaits = false }
        return Sent(isLast: isLast, makesRoom: makesRoom)
    }

    /// END_STREAM has been written.
    public mutating func sentEnd(now: UInt64) {
        response = .sent
        progress.restart(now)
    }

    /// Lets the end of the response go, since the request has ended, or since the client may wait for it.
    public mutating func releaseEnding() -> EndingAction {
        guard response == .complete else { return .nothing }
        return ending.release() ? .writeHead : .enqueue
    }

    // MARK: Windows, ends and time

    /// A WINDOW_UPDATE frame has come (RFC 9113 §6.9).
    ///
    /// - Throws: An error of the stream: PROTOCOL_ERROR for an increment of 0, FLOW_CONTROL_ERROR where the window
    ///   grows beyond 2^31-1.
    public mutating func receivedWindowUpdate(_ increment: Int) throws(HTTP2Violation) {
        guard increment > 0 else { throw .stream(id, .protocolError) }
        guard sendWindow.grow(by: increment) else { throw .stream(id, .flowControlError) }
    }

    /// A SETTINGS frame has changed the windows of all streams (RFC 9113 §6.9.2).
    ///
    /// - Throws: FLOW_CONTROL_ERROR of the connection where the window grows beyond 2^31-1.
    public mutating func changeWindow(by change: Int) throws(HTTP2Violation) {
        guard sendWindow.grow(by: change) else { throw .connection(.flowControlError) }
    }

    /// RST_STREAM has come or is sent, or the connection is gone.
    public mutating func close() {
        requestIsComplete = true
        response = .sent
        pendingBytes = 0
    }

    /// - Parameter silence: for how long the client may owe something: nanoseconds.
    public mutating func check(now: UInt64, silence: UInt64) -> TimeoutAction {
        // Progress is owed by the client where it holds the response up, or has not sent the rest of its request.
        let isOwed = sendableBytes > 0 || (!requestIsComplete && (bodyIsWanted || responseIsComplete))
        guard isOwed else {
            progress.restart(now)
            return .none
        }
        guard progress.isOlder(than: silence, now: now) else { return .none }
        if response == .sent { return .close }
        if endingIsHeld, responseIsComplete, sendableBytes == 0 {
            // The client waits for the response, maybe, before it ends its request.
            progress.restart(now)
            return .endResponse
        }
        return .giveUp
    }
}

/// When a stream last got on. A client that moves next to nothing is taken for silent.
struct HTTP2Progress: Equatable {
    private var last: UInt64
    /// Bytes since then that were sent, and that came of a request that is answered already.
    private var sentBytes = 0
    private var discardedBytes = 0

    /// Fewer bytes than this are no progress.
    static let least = 4 << 10

    init(_ now: UInt64) { last = now }

    mutating func restart(_ now: UInt64) { last = now }

    /// What is thrown away has to come at some speed: nothing else bounds how long the stream and its response are
    /// held.
    mutating func received(_ count: Int, isDiscarded: Bool, now: UInt64) {
        if isDiscarded {
            discardedBytes &+= count
            guard discardedBytes >= HTTP2Progress.least else { return }
            discardedBytes = 0
        }
        last = now
    }

    /// - Parameter isAll: whether nothing else was to be sent.
    mutating func sent(_ count: Int, isAll: Bool, now: UInt64) {
        sentBytes &+= count
        guard sentBytes >= HTTP2Progress.least || isAll else { return }
        sentBytes = 0
        last = now
    }

    func isOlder(than age: UInt64, now: UInt64) -> Bool { now > last && now &- last > age }
}
