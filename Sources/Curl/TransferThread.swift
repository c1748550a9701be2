import Basics
import CCurl
import Glibc

/// What runs on a loop's thread: the multi handles, all easy handles, and the descriptors they wait for.
///
/// Made and touched by the thread only.
final class TransferThread {
    /// Connections that a pool keeps for reuse: a browser has six to a host.
    private static let keptInPool = 6
    /// Handles kept for the next transfers.
    private static let spareHandles = 512

    let configuration: TransferLoopConfiguration
    let poll: SocketPoll
    private let commands: CommandQueue
    /// The connections that all transfers without a pool share; nil only while this object is made and unmade.
    private var shared: MultiHandle?
    private var pools: [ObjectIdentifier: MultiHandle] = [:]
    /// The time at which the first pool wants to be called, or one before it.
    private var poolTimer = Int64.max
    private var multiCount: UInt64 = 0
    /// The pools that sockets belong to.
    private var poolSockets: [CInt: ObjectIdentifier] = [:]
    private let turnEnded: @Sendable () -> Void

    private var running: [EasyHandle] = []
    private var spare: [EasyHandle] = []
    private var rechecks: [EasyHandle] = []
    /// The transfer that each socket was opened for, until a request is sent on it.
    private var openedFor: [curl_socket_t: Transfer] = [:]
    private var connections = KeptConnections()
    /// Monotonic milliseconds, read once a turn.
    private(set) var now = monotonicMilliseconds()
    private var nextScan = Int64.max
    private let silenceLimit: Int64
    private let scanInterval: Int64
    /// Whether a delegate was called in this turn.
    var hasDelivered = false

    init?(
        _ configuration: TransferLoopConfiguration, _ commands: CommandQueue, _ poll: SocketPoll,
        turnEnded: @escaping @Sendable () -> Void
    ) {
        self.configuration = configuration
        self.commands = commands
        self.poll = poll
        self.turnEnded = turnEnded
        silenceLimit = Int64(max(1, configuration.silenceTimeoutMilliseconds))
        scanInterval = min(1000, max(5, silenceLimit / 4))
        shared = MultiHandle(self, keptConnections: configuration.keptConnections)
        guard shared != nil else { return nil }
    }

    deinit {
        // Their connections' sockets are closed through this object.
        pools = [:]
        shared = nil
    }

    // MARK: Turns

    /// Carries the first commands out and runs until the stop command; then all transfers are cancelled, and nothing is
    /// taken any more.
    func run(_ first: inout [Command]) {
        var batch: [Command] = []
        swap(&batch, &first)
        turns: while true {
            for command in batch {
                guard perform(command) else { break turns }
            }
            batch.removeAll(keepingCapacity: true)
            runTimers()
            if now >= nextScan { scan() }
            recheckAll()
            endTurn()
            poll.wait(commands.mayWait() ? waitMilliseconds : 0) {
                now = monotonicMilliseconds()
            } idle: { socket in
                cutOff(socket)
            } _: { socket, bits in
                act(socket, bits)
            }
            commands.take(&batch)
        }
        // What stood behind the stop command, and what was added since.
        for command in batch + commands.close() {
            if case .start(let transfer) = command { transfer.finish(.cancelled) }
        }
        while let handle = running.last { finish(handle, .cancelled) }
        spare = []
        hasDelivered = true
        endTurn()
    }

    private func endTurn() {
        guard hasDelivered else { return }
        hasDelivered = false
        turnEnded()
    }

    private var waitMilliseconds: CInt {
        let next = min(shared?.timer ?? .max, poolTimer, nextScan)
        guard next != .max else { return -1 }
        return CInt(truncatingIfNeeded: min(max(0, next - monotonicMilliseconds()), 3_600_000))
    }

    private func perform(_ command: Command) -> Bool {
        switch command {
        case .start(let transfer): start(transfer)
        case .resumeReceiving(let transfer): resumeReceiving(transfer)
        case .resumeSending(let transfer): resumeSending(transfer)
        case .cancel(let transfer): if let handle = transfer.handle { finish(handle, .cancelled) }
        case .close(let pool): pools[pool] = nil
        case .call(let body): body()
        case .stop: return false
        }
        return true
    }

    private func act(_ socket: CInt, _ bits: CInt) {
        guard let multi = poolSockets[socket].map({ pools[$0] }) ?? shared else { return poll.forget(socket) }
        act(multi, socket, bits)
    }

    private func act(_ multi: MultiHandle, _ socket: CInt, _ bits: CInt) {
        var count: CInt = 0
        curl_multi_socket_action(multi.pointer, socket, bits, &count)
        finishDone(multi)
    }

    private func runTimers() {
        if let shared { runTimer(shared) }
        guard poolTimer <= now else { return }
        for pool in pools.values { runTimer(pool) }
        poolTimer = pools.values.reduce(.max) { min($0, $1.timer ?? .max) }
    }

    private func runTimer(_ multi: MultiHandle) {
        // A timer of 0 may follow a timer of 0; a bound, so that commands and sockets get their turn.
        for _ in 0..<4 {
            guard let due = multi.timer, due <= now else { return }
            multi.timer = nil
            act(multi, subproxy_timeout_socket, 0)
        }
    }

    private func finishDone(_ multi: MultiHandle) {
        var left: CInt = 0
        while let message = curl_multi_info_read(multi.pointer, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let pointer = message.pointee.easy_handle,
                let context = subproxy_getinfo_private(pointer)
            else { continue }
            let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            if handle.progress.mustConnectAnew {
                restart(handle)
                continue
            }
            // If a transfer is over and libcurl doesn't know, it reports a failure when the connection ends.
            let code =
                handle.progress.isOver
                ? CURLE_OK : handle.progress.isRepeatRefused ? CURLE_GOT_NOTHING : subproxy_message_result(message)
            // Copied before the handle leaves the multi handle, which closes the socket of a connect-only transfer.
            let socket = code == CURLE_OK && handle.transfer?.request.isConnectOnly == true ? handle.activeSocket : nil
            finish(handle, handle.result(code), connected: socket.map { subproxy_duplicate($0) })
        }
    }

    // MARK: Transfers

    private func start(_ transfer: Transfer) {
        guard let delegate = transfer.delegate else { return }
        hasDelivered = true
        guard let multi = multi(for: transfer), let handle = spare.popLast() ?? EasyHandle(self) else {
            return transfer.finish(.failure(CURLE_OUT_OF_MEMORY))
        }
        let code = handle.prepare(transfer, delegate, in: multi)
        guard code == CURLE_OK else {
            _ = handle.release()
            return transfer.finish(.failure(code))
        }
        if running.isEmpty { scan(at: now + scanInterval) }
        handle.index = running.count
        running.append(handle)
        guard curl_multi_add_handle(multi.pointer, handle.pointer) == CURLM_OK else {
            return finish(handle, .failure(CURLE_FAILED_INIT))
        }
    }

    /// The connections that a transfer may use; nil where there is no memory for them.
    private func multi(for transfer: Transfer) -> MultiHandle? {
        guard let pool = transfer.request.pool else { return shared }
        let id = ObjectIdentifier(pool)
        if let multi = pools[id] { return multi }
        let multi = MultiHandle(self, keptConnections: TransferThread.keptInPool, pool: id)
        pools[id] = multi
        return multi
    }

    /// Notes when a pool wants to be called.
    func callPools(at time: Int64) { poolTimer = min(poolTimer, time) }

    /// A number that no multi handle of this thread has had.
    func nextMultiNumber() -> UInt64 {
        multiCount &+= 1
        return multiCount
    }

    /// Begins a transfer anew on a new connection, before anything was sent.
    private func restart(_ handle: EasyHandle) {
        guard let multi = handle.multi else { return }
        curl_multi_remove_handle(multi.pointer, handle.pointer)
        handle.connectAnew()
        guard curl_multi_add_handle(multi.pointer, handle.pointer) == CURLM_OK else {
            return finish(handle, .failure(CURLE_FAILED_INIT))
        }
    }

    /// Ends a transfer; `connected` is a copy of a connect-only transfer's socket, or -1 where it could not be copied.
    private func finish(_ handle: EasyHandle, _ result: TransferResult, connected: CInt? = nil) {
        let isReusable = handle.isReusable(after: result)
        if let multi = handle.multi { curl_multi_remove_handle(multi.pointer, handle.pointer) }
        handle.multi = nil
        if let socket = handle.socket {
            poll.release(socket, by: ObjectIdentifier(handle))
            if poll.isSpoiled(socket), poll.isIdle(socket) { cutOff(socket) }
        }
        let last = running.removeLast()
        if last !== handle {
            last.index = handle.index
            running[handle.index] = last
        }
        if running.isEmpty { nextScan = .max }
        hasDelivered = true
        let delegate = handle.delegate
        let transfer = handle.release()
        if isReusable, spare.count < TransferThread.spareHandles { spare.append(handle) }
        guard let transfer else { return }
        var result = result
        if let connected {
            if connected >= 0 {
                delegate?.transfer(transfer, didConnect: connected)
            } else {
                result = .failure(CURLE_COULDNT_CONNECT)
                result.osErrno = EMFILE
            }
        }
        transfer.finish(result)
    }

    // MARK: Pauses

    private func resumeReceiving(_ transfer: Transfer) {
        guard let handle = transfer.handle, handle.progress.receivingIsPaused else { return }
        handle.progress.receivingIsPaused = false
        handle.progress.lastActivity = now
        setPauses(handle)
    }

    private func resumeSending(_ transfer: Transfer) {
        guard let handle = transfer.handle, handle.progress.sendingIsHeld, !handle.progress.awaitsContinue else {
            return
        }
        handle.progress.sendingIsHeld = false
        handle.progress.lastActivity = now
        setPauses(handle)
    }

    /// Pauses receiving while the delegate is called: libcurl hands over what it has read, and reads no more. If the
    /// callback asked for the pause by its return value, libcurl would copy what it holds.
    func pauseReceiving(_ handle: EasyHandle) {
        handle.progress.receivingIsPaused = true
        if !handle.sendsBody { curl_easy_pause(handle.pointer, subproxy_pause_receiving | subproxy_pause_sending) }
    }

    /// Tells libcurl both pauses. It may call the delegate before it returns, which may pause again.
    ///
    /// libcurl 7.88.1 reads once more, into memory of its own, when it is told to pause receiving and not sending. So
    /// if there is nothing to send, sending is paused too; otherwise the callback's return value pauses receiving.
    private func setPauses(_ handle: EasyHandle) {
        let receiving = handle.progress.receivingIsPaused ? subproxy_pause_receiving : 0
        let holdsAll = handle.progress.receivingIsPaused && !handle.sendsBody
        let sending = handle.progress.sendingIsHeld || holdsAll ? subproxy_pause_sending : 0
        let code = curl_easy_pause(handle.pointer, receiving | sending)
        // The transfer itself doesn't learn of a failure that is reported here. It is no failure that there is nothing
        // to pause because there is no connection.
        guard code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT else { return }
        finish(handle, handle.result(code))
    }

    /// Checks a transfer again at the end of the turn: one that is over though libcurl doesn't know, or one whose
    /// sending is held.
    ///
    /// libcurl doesn't end a transfer while its sending is paused, also not when the response is complete and the body
    /// is unwanted. So whenever something came, the pause is lifted once: either libcurl finds that it is done, or it
    /// asks for the body and is told to pause again.
    func recheck(_ handle: EasyHandle) {
        guard !handle.progress.isInRecheckList else { return }
        handle.progress.isInRecheckList = true
        rechecks.append(handle)
    }

    private func recheckAll() {
        guard !rechecks.isEmpty else { return }
        let handles = rechecks
        rechecks = []
        for handle in handles where handle.transfer != nil && handle.progress.isInRecheckList {
            handle.progress.isInRecheckList = false
            guard !handle.progress.isOver else {
                finish(handle, handle.result(CURLE_OK))
                continue
            }
            if handle.progress.nextAddressIsDue {
                handle.progress.nextAddressIsDue = false
                runSoon(handle)
            }
            guard handle.progress.sendingIsHeld, handle.progress.hasFinalHead || !handle.progress.awaitsContinue else {
                continue
            }
            handle.progress.sendingIsHeld = false
            setPauses(handle)
        }
    }

    // MARK: Connections

    /// Watches a socket as CURLMOPT_SOCKETFUNCTION says.
    func watch(_ socket: CInt, _ what: CInt, in pool: ObjectIdentifier?) {
        // Not all of them are closed by closeSocket(_:): libcurl owns the resolver's, and their numbers come again.
        if pool != nil || !poolSockets.isEmpty { poolSockets[socket] = what == CURL_POLL_REMOVE ? nil : pool }
        poll.watch(socket, what)
    }

    /// Notes a socket that was opened for a transfer.
    func opened(_ socket: curl_socket_t, for transfer: Transfer, of handle: EasyHandle) {
        openedFor[socket] = transfer
        if !poolSockets.isEmpty { poolSockets[socket] = nil }
        poll.opened(socket, by: ObjectIdentifier(handle))
    }

    func closeSocket(_ socket: curl_socket_t) -> CInt {
        if let handle = openedFor.removeValue(forKey: socket)?.handle {
            handle.closed(socket)
            tryNextAddress(handle)
        }
        connections.remove(socket)
        if !poolSockets.isEmpty { poolSockets[socket] = nil }
        poll.closing(socket)
        return close(socket)
    }

    /// Notes the connection that a request is about to be sent on.
    ///
    /// - Returns: false where it is a kept one that must not be used, because something has arrived on it.
    func mayUse(_ name: KeptConnections.Name, for handle: EasyHandle) -> Bool {
        let isNew = !handle.openedSockets.isEmpty
        guard let socket = connections.find(name, among: handle.openedSockets) else {
            // A new one whose socket is not found is used for this request, and can't be found for another one.
            for socket in handle.openedSockets { openedFor[socket] = nil }
            return isNew
        }
        // From here on its closing does not mean that another address of the host is to be tried.
        if isNew { openedFor[socket] = nil }
        handle.use(socket)
        poll.use(socket, by: ObjectIdentifier(handle))
        guard !isNew else { return true }
        return !poll.isSpoiled(socket) && !KeptConnections.hasInput(socket)
            && !(handle.speaksTLS && subproxy_has_unread_tls(handle.pointer))
    }

    /// Notes that bytes came behind a transfer's response: its connection is not used again.
    func spoil(_ handle: EasyHandle) {
        if let socket = handle.socket { poll.spoil(socket) }
    }

    /// Closes an idle connection.
    private func cutOff(_ socket: CInt) {
        poll.forget(socket)
        KeptConnections.cutOff(socket)
    }

    // MARK: Addresses

    /// An address could not be connected to: makes libcurl try the next one at once.
    ///
    /// libcurl 7.88.1 takes the next one when it is called for the transfer again, and sets no timer for that: if the
    /// first addresses refuse at once, it would wait until half of the connection timeout has passed.
    func tryNextAddress(_ handle: EasyHandle) {
        guard handle.transfer != nil, handle.progress.attempts == 0 else { return }
        handle.progress.nextAddressIsDue = true
        recheck(handle)
    }

    /// Makes libcurl run a transfer that waits for a connection; only lifting a pause does that.
    private func runSoon(_ handle: EasyHandle) {
        curl_easy_pause(handle.pointer, subproxy_pause_receiving)
        curl_easy_pause(handle.pointer, 0)
    }

    // MARK: Silence

    /// Checks the running transfers at that time, if not before.
    func scan(at time: Int64) { nextScan = min(nextScan, time) }

    private func scan() {
        nextScan = running.isEmpty ? .max : now + scanInterval
        var silent: [(EasyHandle, TransferResult.SilencePhase)] = []
        for handle in running {
            if let deadline = handle.progress.continueDeadline, handle.progress.awaitsContinue {
                if deadline > now {
                    scan(at: deadline)
                } else if !handle.progress.hasFinalHead {
                    handle.progress.awaitsContinue = false
                    recheck(handle)
                }
            }
            // A response may have ended with the connection, for which there is no callback.
            if handle.progress.sendingIsHeld, handle.progress.hasFinalHead { recheck(handle) }
            if let phase = handle.progress.silence(now, limit: silenceLimit) { silent.append((handle, phase)) }
        }
        for (handle, phase) in silent {
            var result = handle.result(CURLE_OPERATION_TIMEDOUT)
            result.message = phase == .beforeHead ? "the origin sent no response" : "the origin stopped sending"
            result.silence = phase
            finish(handle, result)
        }
    }
}

/// The monotonic clock in milliseconds, which is what libcurl's timers count in.
private func monotonicMilliseconds() -> Int64 { Int64(clamping: monotonicNanoseconds() / 1_000_000) }
