import CCurl

/// One of libcurl's multi handles, which is a set of connections that its transfers share.
///
/// Belongs to the transfer thread, which lives longer.
final class MultiHandle {
    let pointer: UnsafeMutableRawPointer
    // Unsafe: it is asked while the thread's object goes, too.
    private unowned(unsafe) let thread: TransferThread
    /// The pool whose connections these are; nil where all transfers without one share them.
    let pool: ObjectIdentifier?
    /// Which one of the thread's it is.
    let number: UInt64
    /// When libcurl wants to be called (CURLMOPT_TIMERFUNCTION), in monotonic milliseconds.
    var timer: Int64?

    /// - Parameter keptConnections: how many idle connections stay open (CURLMOPT_MAXCONNECTS).
    init?(_ thread: TransferThread, keptConnections: Int, pool: ObjectIdentifier? = nil) {
        guard let pointer = curl_multi_init() else { return nil }
        self.pointer = pointer
        self.thread = thread
        self.pool = pool
        number = thread.nextMultiNumber()
        let context = Unmanaged.passUnretained(self).toOpaque()
        subproxy_multi_setopt_socket_callback(pointer, socketCallback)
        subproxy_multi_setopt_pointer(pointer, CURLMOPT_SOCKETDATA, context)
        subproxy_multi_setopt_timer_callback(pointer, timerCallback)
        subproxy_multi_setopt_pointer(pointer, CURLMOPT_TIMERDATA, context)
        subproxy_multi_setopt_long(pointer, CURLMOPT_MAXCONNECTS, max(1, keptConnections))
    }

    // Closes the kept connections, whose sockets are closed through the thread.
    deinit { curl_multi_cleanup(pointer) }

    fileprivate func watch(_ socket: CInt, _ what: CInt) { thread.watch(socket, what, in: pool) }

    fileprivate func setTimer(_ milliseconds: Int) {
        timer = milliseconds < 0 ? nil : thread.now + Int64(milliseconds)
        if let timer, pool != nil { thread.callPools(at: timer) }
    }
}

private func socketCallback(
    _ handle: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: CInt, _ context: UnsafeMutableRawPointer?,
    _ socketContext: UnsafeMutableRawPointer?
) -> CInt {
    guard let context else { return -1 }
    Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue().watch(socket, what)
    return 0
}

private func timerCallback(
    _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> CInt {
    guard let context else { return -1 }
    Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue().setTimer(milliseconds)
    return 0
}

/// Connections to origins that only transfers with this pool use.
///
/// For connections that the origin has authenticated for a user (RFC 4559 §6): no client may use those of another one.
/// They are closed when the last reference to the pool goes.
public final class ConnectionPool: Sendable {
    private let commands: CommandQueue

    init(_ commands: CommandQueue) { self.commands = commands }

    deinit { commands.add(.close(ObjectIdentifier(self))) }
}
