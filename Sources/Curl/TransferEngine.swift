import CCurl
import Glibc

/// The multi handle with its epoll instance: what the transfer thread turns round and round.
///
/// Belongs to that thread wholly. (curl_multi_socket_action: a turn costs by the sockets that are ready, not by those
/// that are open.)
final class TransferEngine {
    private let configuration: TransferLoopConfiguration
    private let multi: UnsafeMutableRawPointer
    private let epoll: CInt
    private let wakeup: CInt
    private var watched: [CInt: UInt32] = [:]
    private var timer: UInt64?
    private var running: [UnsafeMutableRawPointer: Transfer] = [:]
    private var spare: [EasyHandle] = []
    private var nextScan: UInt64 = 0

    /// How often transfers are looked at for silent origins, in milliseconds.
    private let scanInterval: UInt64
    private static let spareHandles = 256

    /// - Parameter wakeup: an eventfd that ends a wait.
    init?(_ configuration: TransferLoopConfiguration, wakeup: CInt) {
        guard let multi = curl_multi_init() else { return nil }
        let epoll = subproxy_epoll_create()
        guard epoll >= 0 else {
            curl_multi_cleanup(multi)
            return nil
        }
        self.configuration = configuration
        self.multi = multi
        self.epoll = epoll
        self.wakeup = wakeup
        scanInterval = UInt64(max(10, min(1000, configuration.silenceTimeoutMilliseconds / 4)))
        subproxy_epoll_watch(epoll, wakeup, 0, subproxy_epoll_in)
        let context = Unmanaged.passUnretained(self).toOpaque()
        subproxy_multi_setopt_socket(multi, socketCallback)
        subproxy_multi_setopt_pointer(multi, CURLMOPT_SOCKETDATA, context)
        subproxy_multi_setopt_timer(multi, timerCallback)
        subproxy_multi_setopt_pointer(multi, CURLMOPT_TIMERDATA, context)
        subproxy_multi_setopt_long(multi, CURLMOPT_MAXCONNECTS, configuration.keptConnections)
        subproxy_multi_setopt_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
    }

    deinit {
        spare = []
        curl_multi_cleanup(multi)
        close(epoll)
    }

    // MARK: A turn

    /// Waits until something happens, and lets libcurl act on it.
    func turn() {
        let now = monotonicMilliseconds()
        var timeout: UInt64 = running.isEmpty ? .max : max(nextScan, now) - now
        if let timer { timeout = min(timeout, timer > now ? timer - now : 0) }
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
            let wait = timeout == .max ? -1 : CInt(clamping: timeout)
            let count = epoll_wait(epoll, events.baseAddress, 64, wait)
            for index in 0..<max(0, Int(count)) {
                let event = events[index]
                if event.data.fd == wakeup {
                    var value: UInt64 = 0
                    _ = read(wakeup, &value, 8)
                } else {
                    act(event.data.fd, event.events)
                }
            }
        }
        fireTimer()
    }

    /// Lets libcurl's due timers run, also those that callbacks have just set, and ends what is complete.
    func settle() {
        fireTimer()
        reap()
        let now = monotonicMilliseconds()
        guard !running.isEmpty, now >= nextScan else { return }
        nextScan = now + scanInterval
        for transfer in running.values where isSilent(transfer, now) {
            finish(transfer, TransferResult(code: 0, message: "the origin was silent", isSilence: true))
        }
    }

    private func act(_ socket: CInt, _ events: UInt32) {
        var mask: CInt = 0
        if events & subproxy_epoll_in != 0 { mask |= CURL_CSELECT_IN }
        if events & subproxy_epoll_out != 0 { mask |= CURL_CSELECT_OUT }
        if events & subproxy_epoll_broken != 0 { mask |= CURL_CSELECT_IN | CURL_CSELECT_OUT }
        var count: CInt = 0
        curl_multi_socket_action(multi, socket, mask, &count)
    }

    private func fireTimer() {
        // Bounded, since a timer that libcurl sets again and again must not keep commands waiting.
        for _ in 0..<16 {
            guard let timer, timer <= monotonicMilliseconds() else { return }
            self.timer = nil
            var count: CInt = 0
            curl_multi_socket_action(multi, subproxy_timeout_socket, 0, &count)
        }
    }

    private func reap() {
        var left: CInt = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let pointer = message.pointee.easy_handle,
                let transfer = running[pointer], let handle = transfer.handle
            else { continue }
            let code = message.pointee.data.result
            if code == CURLE_OK, transfer.request.isConnectOnly, let socket = handle.activeSocket {
                let copy = fcntl(socket, F_DUPFD_CLOEXEC, 3)
                if copy >= 0 { transfer.delegate.transfer(transfer, didConnect: copy) }
            }
            finish(transfer, TransferResult(code: code.rawValue, message: code == CURLE_OK ? "" : handle.message(code)))
        }
    }

    private func isSilent(_ transfer: Transfer, _ now: UInt64) -> Bool {
        guard !transfer.receivingIsPaused, !transfer.sendingIsPaused, !transfer.request.isConnectOnly else {
            return false
        }
        return now > transfer.lastActivity
            && now - transfer.lastActivity >= UInt64(max(1, configuration.silenceTimeoutMilliseconds))
    }

    // MARK: Transfers

    func start(_ transfer: Transfer) {
        guard !transfer.isFinished else { return }
        transfer.usesProxy = configuration.usesProxy(for: transfer.request.host)
        guard let handle = spare.popLast() ?? EasyHandle(configuration) else {
            return finish(transfer, .failed(CURLE_OUT_OF_MEMORY))
        }
        guard handle.prepare(transfer, configuration) else { return finish(transfer, .failed(CURLE_URL_MALFORMAT)) }
        if running.isEmpty { nextScan = monotonicMilliseconds() + scanInterval }
        transfer.handle = handle
        transfer.touch()
        running[handle.pointer] = transfer
        guard curl_multi_add_handle(multi, handle.pointer) == CURLM_OK else {
            return finish(transfer, .failed(CURLE_FAILED_INIT))
        }
    }

    func cancel(_ transfer: Transfer) {
        guard !transfer.isFinished else { return }
        finish(transfer, TransferResult(code: 0, message: "cancelled", isCancelled: true))
    }

    func resumeReceiving(_ transfer: Transfer) {
        guard transfer.receivingIsPaused else { return }
        transfer.receivingIsPaused = false
        unpause(transfer)
    }

    func resumeSending(_ transfer: Transfer) {
        guard transfer.sendingIsPaused else { return }
        transfer.sendingIsPaused = false
        unpause(transfer)
    }

    func cancelAll() {
        for transfer in Array(running.values) { cancel(transfer) }
    }

    private func unpause(_ transfer: Transfer) {
        guard let handle = transfer.handle, !transfer.isFinished else { return }
        transfer.touch()
        var mask = CURLPAUSE_CONT
        if transfer.receivingIsPaused { mask |= CURLPAUSE_RECV }
        if transfer.sendingIsPaused { mask |= CURLPAUSE_SEND }
        // May call the write callback before it returns, which may pause again.
        let code = curl_easy_pause(handle.pointer, mask)
        guard code == CURLE_OK || transfer.isFinished else {
            return finish(transfer, TransferResult(code: code.rawValue, message: handle.message(code)))
        }
    }

    private func finish(_ transfer: Transfer, _ result: TransferResult) {
        guard !transfer.isFinished else { return }
        transfer.isFinished = true
        if let handle = transfer.handle {
            running[handle.pointer] = nil
            curl_multi_remove_handle(multi, handle.pointer)
            transfer.handle = nil
            if transfer.leavesHandleReusable, spare.count < TransferEngine.spareHandles { spare.append(handle) }
        }
        transfer.delegate.transferDidFinish(transfer, result)
    }

    // MARK: What libcurl asks for

    func watch(_ socket: CInt, _ what: CInt) {
        var events: UInt32 = 0
        switch what {
        case CURL_POLL_IN: events = subproxy_epoll_in
        case CURL_POLL_OUT: events = subproxy_epoll_out
        case CURL_POLL_INOUT: events = subproxy_epoll_in | subproxy_epoll_out
        case CURL_POLL_REMOVE:
            // The descriptor may be closed already, and its number another's: then there is nothing to take out.
            if watched.removeValue(forKey: socket) != nil { subproxy_epoll_forget(epoll, socket) }
            return
        default: break
        }
        guard watched[socket] != events else { return }
        subproxy_epoll_watch(epoll, socket, watched[socket] == nil ? 0 : 1, events)
        watched[socket] = events
    }

    func setTimer(_ milliseconds: Int) {
        timer = milliseconds < 0 ? nil : monotonicMilliseconds() + UInt64(milliseconds)
    }
}

extension Transfer {
    /// Whether another transfer may use the handle.
    ///
    /// libcurl 7.88.1 keeps the state of trailers in the handle: after one upload with CURLOPT_TRAILERFUNCTION the next
    /// chunked one writes in front of its buffer.
    fileprivate var leavesHandleReusable: Bool { !request.isConnectOnly && request.body != .chunked }

    /// Notes a sign of the origin.
    func touch() { lastActivity = monotonicMilliseconds() }
}

extension TransferResult {
    fileprivate static func failed(_ code: CURLcode) -> TransferResult {
        TransferResult(code: code.rawValue, message: String(cString: curl_easy_strerror(code)))
    }
}

/// The monotonic clock, coarse: what libcurl's timers need (`clock_gettime`, CLOCK_MONOTONIC).
func monotonicMilliseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000
}
