/// What a connection has written and not handed on, as a value: which way bytes may go, and whether a flush is due.
///
/// Bytes go past the channel's queue as long as that is empty, and nothing overtakes anything. ``ClientConnection``
/// performs it.
struct ClientOutput: Equatable {
    private(set) var needsFlush = false
    /// Whether the channel may still have bytes to send, which nothing may overtake.
    private(set) var channelMayHavePending = false
    /// Whether the output, or the connection, is being closed behind all that was written.
    private(set) var isFinished = false

    /// Whether a response that is in memory may go past the channel.
    ///
    /// - Parameters:
    ///   - isInRead: whether a flush follows, when all that was read is dealt with.
    ///   - isDirect: whether there is a straight way to the socket.
    ///   - pending: bytes that the channel has, where it may have some.
    mutating func mayPass(isInRead: Bool, isDirect: Bool, pending: @autoclosure () -> Int) -> Bool {
        if channelMayHavePending, isDirect, pending() == 0 { channelMayHavePending = false }
        return mayPass(isInRead: isInRead, isDirect: isDirect)
    }

    /// The same, without asking the channel.
    func mayPass(isInRead: Bool, isDirect: Bool) -> Bool { isInRead && isDirect && !channelMayHavePending }

    /// Bytes wait for the straight way.
    mutating func gaveDirectly() { needsFlush = true }

    /// The channel has bytes: they were sent at once, or are what was left of others.
    mutating func gaveToChannel() { channelMayHavePending = true }

    /// The channel has bytes that it is yet to be told to send.
    mutating func wroteToChannel() {
        channelMayHavePending = true
        needsFlush = true
    }

    /// All that was written has gone past the channel, unless that has the rest of it.
    mutating func passed() { needsFlush = channelMayHavePending }

    /// - Returns: whether a flush was due, which the caller performs.
    mutating func flushes() -> Bool {
        guard needsFlush else { return false }
        needsFlush = false
        return true
    }

    mutating func finish() { isFinished = true }
}
