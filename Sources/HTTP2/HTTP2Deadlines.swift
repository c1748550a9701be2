/// How long an HTTP/2 connection may take for what: nanoseconds.
public struct HTTP2Patience: Equatable, Sendable {
    /// For its preface and SETTINGS, each frame that is no DATA, and each header block.
    public var header: UInt64
    /// For taking anything of what is written.
    public var silence: UInt64
    /// Between streams.
    public var idle: UInt64

    public init(header: UInt64, silence: UInt64, idle: UInt64) {
        self.header = header
        self.silence = silence
        self.idle = idle
    }
}

/// Since when an HTTP/2 connection owes what; times are monotonic, in nanoseconds.
public struct HTTP2Deadlines: Equatable, Sendable {
    public enum Action: Equatable, Sendable {
        /// Look at the streams.
        case none
        /// Close the connection: it never began.
        case close
        /// Close the connection, whose client takes nothing of what is written.
        case giveUp
        /// Close the connection with GOAWAY, as flooded.
        case fail
        /// Take no more streams.
        case stop
    }

    private let startedAt: UInt64
    private var idleSince: UInt64
    private var unwritableSince: UInt64?
    /// Since when the client takes what is written again, and is read from.
    private var readableSince: UInt64 = 0
    /// When the first part of the frame came that is not complete.
    private var frameSince: UInt64?

    public init(_ now: UInt64) {
        startedAt = now
        idleSince = now
    }

    /// The last stream that was open is closed.
    public mutating func becameIdle(now: UInt64) { idleSince = now }

    public mutating func becameWritable(_ isWritable: Bool, now: UInt64) {
        unwritableSince = isWritable ? nil : now
        // It isn't read from meanwhile: what is not complete may wait in the kernel, and has its time again.
        frameSince = nil
        readableSince = now
    }

    /// Frames have been read as far as they go.
    ///
    /// - Parameters:
    ///   - tookFrame: whether there was a whole one.
    ///   - isInFrame: whether a part of another is left.
    public mutating func read(tookFrame: Bool, isInFrame: Bool, now: @autoclosure () -> UInt64) {
        if !isInFrame {
            frameSince = nil
        } else if tookFrame || frameSince == nil {
            frameSince = now()
        }
    }

    /// - Parameters:
    ///   - isIdle: whether no stream is open.
    ///   - isInData: whether the frame that is not complete is a DATA frame.
    public func check(
        _ state: HTTP2ConnectionState, isIdle: Bool, isInData: Bool, patience: HTTP2Patience, now: UInt64
    ) -> Action {
        func hasPassed(_ limit: UInt64, since start: UInt64?) -> Bool {
            start.map { now > $0 && now &- $0 > limit } ?? false
        }
        if state.phase != .open, hasPassed(patience.header, since: startedAt) { return .close }
        if !isInData, hasPassed(patience.header, since: frameSince) { return .fail }
        let blockSince = state.openBlock.map { max($0.startedAt, readableSince) }
        if unwritableSince == nil, hasPassed(patience.header, since: blockSince) { return .fail }
        if hasPassed(patience.silence, since: unwritableSince) { return .giveUp }
        return isIdle && hasPassed(patience.idle, since: idleSince) ? .stop : .none
    }
}
