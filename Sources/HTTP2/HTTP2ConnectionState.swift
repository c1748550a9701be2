public import NIOCore

/// The life of an HTTP/2 connection from a client as a value: what may come next, which streams there were, the windows
/// of all streams together, and what a client may not do too often (RFC 9113).
///
/// It holds no channel, reads no clock, and knows an open stream only as one that the caller says is open: those have
/// an ``HTTP2StreamState`` each. ``HTTP2Connection`` performs what the functions return.
public struct HTTP2ConnectionState: Sendable {
    public enum Phase: Equatable, Sendable {
        /// The client's preface has to come (RFC 9113 §3.4).
        case preface
        /// Then its SETTINGS.
        case settings
        case open
        /// GOAWAY has been sent for an error; what comes is thrown away until the connection is closed.
        case failed
    }

    /// What a stream is that is not open (RFC 9113 §5.1).
    enum AbsentStream: Equatable {
        case idle
        /// Closed, and by this side before the client had ended it: what comes may have been on its way.
        case closedByProxy
        case closedByClient
        /// Closed so long ago that it isn't known by whom, or passed over by a higher one.
        case forgotten
    }

    public private(set) var phase = Phase.preface
    /// What the client has said of itself.
    public private(set) var settings = HTTP2Settings()
    /// The highest stream that the client has used, and the highest that was served.
    public private(set) var highestStream: UInt32 = 0
    public private(set) var lastStream: UInt32 = 0
    private var closedStreams = ClosedStreams()
    /// The header block whose CONTINUATION frames have not all come.
    public private(set) var openBlock: HTTP2HeaderBlock?
    private var receiveWindow = HTTP2Window()
    public private(set) var sendWindow = HTTP2Window()
    private var floods = HTTP2Floods()
    /// Whether the client has acknowledged the SETTINGS that tell it how many streams it may open.
    private var clientKnowsLimits = false
    /// Streams that it opened beyond that before.
    private var earlyStreams = 0
    /// Whether GOAWAY has been sent in order: the streams that are open are the last.
    private(set) var isStopping = false
    private var clientIsLeaving = false
    private let maxBlockBytes: Int
    /// CONTINUATION frames of one header block: as many full ones as it may have, and five at the least.
    private let maxContinuations: Int

    /// Streams at a time.
    public static let maxStreams = 100
    /// Streams beyond these that a client may have opened before it knew of the limit: they are refused, and are no
    /// errors of its own (RFC 9113 §5.1.2, §8.7).
    static let maxEarlyStreams = 4 * maxStreams
    /// What a client may send on all streams together before it is taken in: bytes.
    static let receiveWindowSize = 1 << 20
    /// - Parameter maxBlockBytes: of a compressed header block that comes in several frames.
    public init(maxBlockBytes: Int) {
        self.maxBlockBytes = maxBlockBytes
        maxContinuations = max(5, maxBlockBytes / HTTP2Settings.leastFrameSize &+ 1)
    }

    func absence(of id: UInt32) -> AbsentStream {
        guard id & 1 == 1, id <= highestStream else { return .idle }
        return switch closedStreams.isClosedByProxy(id) {
        case true?: .closedByProxy
        case false?: .closedByClient
        case nil: .forgotten
        }
    }

    // MARK: Frames

    /// The preface has come.
    public mutating func receivedPreface() { phase = .settings }

    /// The header of a frame has come: SETTINGS are the first, and nothing comes inside of a header block.
    ///
    /// - Throws: PROTOCOL_ERROR of the connection where another frame has to come, for CONTINUATION outside of a block,
    ///   and for PUSH_PROMISE.
    public mutating func received(_ header: HTTP2FrameHeader) throws(HTTP2Violation) {
        if phase == .settings {
            guard header.kind == .settings, !header.flags.contains(.acknowledgement) else {
                throw .connection(.protocolError)
            }
            phase = .open
        }
        if let openBlock {
            guard header.kind == .continuation, header.stream == openBlock.stream else {
                throw .connection(.protocolError)
            }
        } else if header.kind == .continuation || header.kind == .pushPromise {
            throw .connection(.protocolError)
        }
    }

    /// A DATA frame takes room in the connection's window (RFC 9113 §6.9), whatever becomes of it.
    ///
    /// - Returns: the increment of a WINDOW_UPDATE; nil where none is due.
    /// - Throws: An error of the connection: PROTOCOL_ERROR on stream 0, FLOW_CONTROL_ERROR beyond the window.
    public mutating func receivedData(_ header: HTTP2FrameHeader) throws(HTTP2Violation) -> Int? {
        guard header.stream != 0 else { throw .connection(.protocolError) }
        receiveWindow.take(header.length)
        guard receiveWindow.size >= 0 else { throw .connection(.flowControlError) }
        // What a stream may hold is bounded by its own window.
        guard receiveWindow.size < HTTP2ConnectionState.receiveWindowSize / 2 else { return nil }
        return widenWindow()
    }

    /// - Returns: the increment of the WINDOW_UPDATE that widens the connection's window to its full size.
    public mutating func widenWindow() -> Int {
        let more = HTTP2ConnectionState.receiveWindowSize &- receiveWindow.size
        _ = receiveWindow.grow(by: more)
        return more
    }

    /// A DATA frame on a stream that is open has no content, and doesn't end it.
    ///
    /// - Throws: ENHANCE_YOUR_CALM of the connection where there are too many such frames.
    public mutating func receivedEmptyData(now: UInt64) throws(HTTP2Violation) { try floods.emptyFrames.count(at: now) }

    /// A DATA frame is for a stream that is not open; where nothing is thrown, it is thrown away.
    ///
    /// - Throws: PROTOCOL_ERROR of the connection on a stream that was never open, STREAM_CLOSED of a stream that the
    ///   client has ended, ENHANCE_YOUR_CALM of the connection where there are too many such frames.
    public mutating func receivedData(onAbsent id: UInt32, now: UInt64) throws(HTTP2Violation) {
        switch absence(of: id) {
        case .idle: throw .connection(.protocolError)
        case .closedByProxy: try floods.idleFrames.count(at: now)
        case .closedByClient, .forgotten: throw .stream(id, .streamClosed)
        }
    }

    /// A HEADERS frame begins a header block.
    ///
    /// - Returns: the block, where it is whole.
    /// - Throws: An error of the connection: PROTOCOL_ERROR where no client opens such a stream, or the padding is
    ///   longer than the frame; FRAME_SIZE_ERROR where a field of the frame is missing.
    public mutating func receivedHeaders(
        _ header: HTTP2FrameHeader, _ payload: ByteBuffer, now: UInt64
    ) throws(HTTP2Violation) -> HTTP2HeaderBlock? {
        let block = try HTTP2HeaderBlock(header, payload, now: now)
        guard !header.flags.contains(.endHeaders) else { return block }
        openBlock = block
        return nil
    }

    /// A CONTINUATION frame goes on with the block that is open.
    ///
    /// - Returns: the block, where it is whole.
    /// - Throws: An error of the connection: PROTOCOL_ERROR where no block is open, ENHANCE_YOUR_CALM where it has too
    ///   many frames or bytes.
    public mutating func receivedContinuation(
        _ header: HTTP2FrameHeader, _ payload: ByteBuffer
    ) throws(HTTP2Violation) -> HTTP2HeaderBlock? {
        guard var block = openBlock.take() else { throw .connection(.protocolError) }
        block.append(payload)
        guard block.continuations <= maxContinuations,
            block.bytes.readableBytes <= maxBlockBytes
        else { throw .connection(.enhanceYourCalm) }
        guard !header.flags.contains(.endHeaders) else { return block }
        openBlock = block
        return nil
    }

    /// A whole header block is for a stream that is not open.
    ///
    /// - Parameter openStreams: how many are open.
    /// - Returns: whether it opens the stream; else it is thrown away.
    /// - Throws: Of the connection: STREAM_CLOSED where the client has ended the stream, PROTOCOL_ERROR where it has
    ///   passed it over, ENHANCE_YOUR_CALM where there are too many blocks for streams that this side has reset. Of the
    ///   stream: REFUSED_STREAM where too many are open, PROTOCOL_ERROR where it depends on itself.
    public mutating func receivedRequest(
        _ block: HTTP2HeaderBlock, openStreams: Int, now: UInt64
    ) throws(HTTP2Violation) -> Bool {
        let id = block.stream
        switch absence(of: id) {
        case .idle: break
        case .closedByProxy:
            try floods.idleFrames.count(at: now)
            return false
        case .closedByClient: throw .connection(.streamClosed)
        case .forgotten: throw .connection(.protocolError)
        }
        highestStream = id
        // RFC 9113 §6.8: the client has been told which streams are served, and asks again elsewhere.
        guard !isStopping else {
            closedStreams.insert(id, byProxy: true)
            return false
        }
        guard openStreams < HTTP2ConnectionState.maxStreams else { throw .stream(id, .refusedStream) }
        guard !block.dependsOnItself else { throw .stream(id, .protocolError) }
        lastStream = id
        return true
    }

    /// A PRIORITY frame, which changes nothing (RFC 9113 §6.3).
    ///
    /// - Parameter isOpen: whether the frame's stream is open, here and below.
    /// - Throws: An error of the stream where it is open, else of the connection: FRAME_SIZE_ERROR at another length
    ///   than 5, PROTOCOL_ERROR where the stream depends on itself. Of the connection: PROTOCOL_ERROR on stream 0,
    ///   ENHANCE_YOUR_CALM where there are too many such frames.
    public mutating func receivedPriority(
        _ header: HTTP2FrameHeader, _ payload: ByteBuffer, isOpen: Bool, now: UInt64
    ) throws(HTTP2Violation) {
        try floods.idleFrames.count(at: now)
        guard header.stream != 0 else { throw .connection(.protocolError) }
        guard header.length == 5, let dependency = payload.getInteger(at: payload.readerIndex, as: UInt32.self) else {
            throw isOpen ? .stream(header.stream, .frameSizeError) : .connection(.frameSizeError)
        }
        guard dependency & 0x7fff_ffff != header.stream else {
            throw isOpen ? .stream(header.stream, .protocolError) : .connection(.protocolError)
        }
    }

    /// An RST_STREAM frame; where nothing is thrown, a stream that is open is closed by it.
    ///
    /// - Throws: An error of the connection: FRAME_SIZE_ERROR at another length than 4, PROTOCOL_ERROR on a stream that
    ///   was never open, ENHANCE_YOUR_CALM where there are too many on streams that are not open.
    public mutating func receivedReset(_ header: HTTP2FrameHeader, isOpen: Bool, now: UInt64) throws(HTTP2Violation) {
        guard header.length == 4 else { throw .connection(.frameSizeError) }
        guard !isOpen else { return }
        guard absence(of: header.stream) != .idle else { throw .connection(.protocolError) }
        try floods.quietFrames.count(at: now)
    }

    /// A stream that was open has been closed by RST_STREAM.
    ///
    /// - Throws: ENHANCE_YOUR_CALM of the connection where the client resets too many.
    public mutating func closedByReset(now: UInt64) throws(HTTP2Violation) { try floods.resets.count(at: now) }

    /// A SETTINGS frame, which is acknowledged unless it is an acknowledgement itself.
    ///
    /// - Returns: by how much the windows of all open streams change; nil for an acknowledgement.
    /// - Throws: An error of the connection: PROTOCOL_ERROR on another stream than 0 or for a value that none can have,
    ///   FRAME_SIZE_ERROR for a length that is none of SETTINGS, FLOW_CONTROL_ERROR for too large a window,
    ///   ENHANCE_YOUR_CALM where there are too many such frames.
    public mutating func receivedSettings(
        _ header: HTTP2FrameHeader, _ payload: ByteBuffer, now: UInt64
    ) throws(HTTP2Violation) -> Int? {
        guard header.stream == 0 else { throw .connection(.protocolError) }
        guard !header.flags.contains(.acknowledgement) else {
            guard header.length == 0 else { throw .connection(.frameSizeError) }
            clientKnowsLimits = true
            return nil
        }
        try floods.controls.count(at: now)
        let before = settings.initialWindowSize
        try settings.apply(payload)
        return settings.initialWindowSize &- before
    }

    /// Whether the header block that is sent now has to begin with ``HPACKWriter/noTable``: the client's dynamic table
    /// has become smaller since the last one (RFC 9113 §4.3.1).
    public mutating func mustTellTable() -> Bool {
        guard settings.hasSmallerTable else { return false }
        settings.tellsTable()
        return true
    }

    /// A PING frame.
    ///
    /// - Returns: whether the frame is to be sent back.
    /// - Throws: An error of the connection: PROTOCOL_ERROR on another stream than 0, FRAME_SIZE_ERROR at another
    ///   length than 8, ENHANCE_YOUR_CALM where there are too many such frames.
    public mutating func receivedPing(_ header: HTTP2FrameHeader, now: UInt64) throws(HTTP2Violation) -> Bool {
        guard header.stream == 0 else { throw .connection(.protocolError) }
        guard header.length == 8 else { throw .connection(.frameSizeError) }
        try floods.controls.count(at: now)
        return !header.flags.contains(.acknowledgement)
    }

    /// A GOAWAY frame: the client opens no more streams.
    ///
    /// - Throws: An error of the connection: PROTOCOL_ERROR on another stream than 0, FRAME_SIZE_ERROR where it is
    ///   shorter than 8 bytes.
    public mutating func receivedGoAway(_ header: HTTP2FrameHeader) throws(HTTP2Violation) {
        guard header.stream == 0 else { throw .connection(.protocolError) }
        guard header.length >= 8 else { throw .connection(.frameSizeError) }
        clientIsLeaving = true
    }

    /// A WINDOW_UPDATE frame (RFC 9113 §6.9).
    ///
    /// - Returns: the increment for the frame's stream, where that is open.
    /// - Throws: An error of the connection: FRAME_SIZE_ERROR at another length than 4, PROTOCOL_ERROR on a stream that
    ///   was never open or for an increment of 0, FLOW_CONTROL_ERROR where the connection's window grows beyond 2^31-1,
    ///   ENHANCE_YOUR_CALM where there are too many such frames.
    public mutating func receivedWindowUpdate(
        _ header: HTTP2FrameHeader, _ payload: ByteBuffer, isOpen: Bool, now: UInt64
    ) throws(HTTP2Violation) -> Int? {
        guard header.length == 4, let word = payload.getInteger(at: payload.readerIndex, as: UInt32.self) else {
            throw .connection(.frameSizeError)
        }
        try floods.quietFrames.count(at: now)
        let increment = Int(word & 0x7fff_ffff)
        guard header.stream != 0 else {
            guard increment > 0 else { throw .connection(.protocolError) }
            guard sendWindow.grow(by: increment) else { throw .connection(.flowControlError) }
            return nil
        }
        if isOpen { return increment }
        guard absence(of: header.stream) != .idle else { throw .connection(.protocolError) }
        return nil
    }

    /// A frame of a type that means nothing here (RFC 9113 §5.5).
    ///
    /// - Throws: ENHANCE_YOUR_CALM of the connection where there are too many such frames.
    public mutating func receivedUnknown(now: UInt64) throws(HTTP2Violation) { try floods.idleFrames.count(at: now) }

    // MARK: What is sent, and ends

    /// A part of a response is written: a client that is sent one has reason to measure the way and to open its
    /// windows.
    ///
    /// - Parameter count: bytes that take room in the window.
    public mutating func sentResponse(_ count: Int) {
        sendWindow.take(count)
        floods.forgive()
    }

    /// The client has made an error on one stream; too many of them are one of the connection.
    ///
    /// - Throws: ENHANCE_YOUR_CALM of the connection where there are too many errors.
    public mutating func failedStream(
        _ id: UInt32, _ code: HTTP2ErrorCode, isOpen: Bool, now: UInt64
    ) throws(HTTP2Violation) {
        if code == .refusedStream, !clientKnowsLimits, earlyStreams < HTTP2ConnectionState.maxEarlyStreams {
            earlyStreams &+= 1
        } else {
            try floods.errors.count(at: now)
        }
        if !isOpen { closedStreams.insert(id, byProxy: true) }
    }

    /// A stream that was open is no longer.
    ///
    /// - Parameter byProxy: whether this side has reset it.
    public mutating func closedStream(_ id: UInt32, byProxy: Bool) { closedStreams.insert(id, byProxy: byProxy) }

    /// Streams that are open may finish, and no more are taken (RFC 9113 §6.8).
    ///
    /// - Returns: whether GOAWAY is to be sent.
    public mutating func stop() -> Bool {
        guard !isStopping, phase != .failed else { return false }
        isStopping = true
        return true
    }

    /// Whether the connection is to be closed when no stream is open.
    public var isLeaving: Bool { (isStopping || clientIsLeaving) && phase != .failed }

    /// The connection can't go on, or is gone.
    public mutating func fail() { phase = .failed }
}

/// A header block, in as many frames as it comes in (RFC 9113 §4.3).
public struct HTTP2HeaderBlock: Equatable, Sendable {
    public let stream: UInt32
    /// Whether the request ends with it.
    public let isLast: Bool
    let dependsOnItself: Bool
    public private(set) var bytes: ByteBuffer
    private(set) var continuations = 0
    /// When its first frame came.
    let startedAt: UInt64

    /// The block that a HEADERS frame begins.
    init(_ header: HTTP2FrameHeader, _ payload: ByteBuffer, now: UInt64) throws(HTTP2Violation) {
        guard header.stream & 1 == 1 else { throw .connection(.protocolError) }
        var content = try header.content(of: payload)
        if header.flags.contains(.priority) {
            guard let (dependency, _) = content.readMultipleIntegers(as: (UInt32, UInt8).self) else {
                throw .connection(.frameSizeError)
            }
            dependsOnItself = dependency & 0x7fff_ffff == header.stream
        } else {
            dependsOnItself = false
        }
        stream = header.stream
        isLast = header.flags.contains(.endStream)
        bytes = content
        startedAt = now
    }

    mutating func append(_ payload: ByteBuffer) {
        continuations &+= 1
        bytes.writeImmutableBuffer(payload)
    }
}

/// What one connection may do in 30 s; beyond it gets GOAWAY with ENHANCE_YOUR_CALM.
struct HTTP2Floods {
    /// Resets of requests under way.
    var resets = HTTP2RateLimit(200)
    /// Errors of streams.
    var errors = HTTP2RateLimit(200)
    var emptyFrames = HTTP2RateLimit(200)
    /// Frames that mean nothing here.
    var idleFrames = HTTP2RateLimit(5000)
    /// PING and SETTINGS, while nothing of a response is sent.
    var controls = HTTP2RateLimit(200)
    /// WINDOW_UPDATE and resets of streams that are over, while nothing of a response is sent.
    var quietFrames = HTTP2RateLimit(5000)

    /// A part of a response is sent, which explains what is counted until then.
    mutating func forgive() {
        controls.forgive()
        quietFrames.forgive()
    }
}

/// The streams that were closed last, so that what was on its way to them can be told from what must not come.
struct ClosedStreams {
    private var ring: [(stream: UInt32, byProxy: Bool)] = []
    private var next = 0

    private static let capacity = 512

    mutating func insert(_ stream: UInt32, byProxy: Bool) {
        if ring.count < ClosedStreams.capacity {
            ring.append((stream, byProxy))
        } else {
            ring[next] = (stream, byProxy)
            next = (next &+ 1) % ClosedStreams.capacity
        }
    }

    /// Whether this side has closed the stream before the client had ended it; nil where it is not among the last.
    func isClosedByProxy(_ stream: UInt32) -> Bool? { ring.last { $0.stream == stream }?.byProxy }
}
