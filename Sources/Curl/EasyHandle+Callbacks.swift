import CCurl
import Glibc

extension EasyHandle {
    /// Sets the callbacks and the object that each gets: this handle, or the thread for one that is called even after
    /// the handle's end.
    func setCallbacks() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        subproxy_setopt_data_callback(pointer, CURLOPT_HEADERFUNCTION, headerCallback)
        subproxy_setopt_data_callback(pointer, CURLOPT_WRITEFUNCTION, writeCallback)
        subproxy_setopt_data_callback(pointer, CURLOPT_READFUNCTION, readCallback)
        subproxy_setopt_request_callback(pointer, requestCallback)
        subproxy_setopt_debug_callback(pointer, debugCallback)
        subproxy_setopt_open_callback(pointer, openSocketCallback)
        for option in [
            CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_PREREQDATA, CURLOPT_OPENSOCKETDATA,
            CURLOPT_TRAILERDATA, CURLOPT_DEBUGDATA, CURLOPT_PRIVATE,
        ] {
            subproxy_setopt_pointer(pointer, option, context)
        }
        subproxy_setopt_close_callback(pointer, closeSocketCallback)
        subproxy_setopt_pointer(pointer, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(thread).toOpaque())
    }

    /// CURLOPT_HEADERFUNCTION.
    fileprivate func receive(headerLine line: UnsafeRawBufferPointer) -> Int {
        guard let transfer, let delegate, !line.isEmpty else { return 0 }
        noteReceived()
        progress.note(line)
        if progress.hasFinalHead, progress.mayHideExcess { listen(true) }
        guard delegate.transfer(transfer, didReceiveHeaderLine: line) == .proceed else { return abort() }
        if progress.isOver { thread.recheck(self) }
        return line.count
    }

    /// CURLOPT_WRITEFUNCTION.
    fileprivate func receive(body: UnsafeRawBufferPointer) -> Int {
        guard let transfer, let delegate, !body.isEmpty else { return 0 }
        guard !progress.isOver else { return body.count }
        // The delegate has asked for a pause, of which libcurl is not told while there may be something to send.
        if progress.receivingIsPaused, sendsBody { return subproxy_write_pause }
        noteReceived()
        switch delegate.transfer(transfer, didReceiveBody: body) {
        case .consumed: return body.count
        case .consumedLast:
            if !progress.receivingIsPaused { thread.pauseReceiving(self) }
            return body.count
        case .abort: return abort()
        }
    }

    private func noteReceived() {
        progress.lastActivity = thread.now
        progress.hasReceivedBytes = true
        thread.hasDelivered = true
        // What came may end the transfer, or the wait for a 100.
        if progress.sendingIsHeld { thread.recheck(self) }
    }

    /// A count other than that of the bytes given makes libcurl fail with CURLE_WRITE_ERROR.
    private func abort() -> Int {
        progress.isAborted = true
        return 0
    }

    /// How libcurl 7.88.1 begins its messages about bytes that do not belong to the response.
    private static let excess: [StaticString] = ["Excess found", "Leftovers after chunking"]

    /// CURLOPT_DEBUGFUNCTION.
    fileprivate func hear(_ text: UnsafeRawBufferPointer) {
        let isExcess = EasyHandle.excess.contains { words in
            let words = UnsafeRawBufferPointer(start: words.utf8Start, count: words.utf8CodeUnitCount)
            return text.prefix(words.count).elementsEqual(words)
        }
        if isExcess { thread.spoil(self) }
    }

    /// CURLOPT_READFUNCTION.
    fileprivate func read(into space: UnsafeMutableRawBufferPointer) -> Int {
        guard let transfer, let delegate else { return subproxy_read_abort }
        // libcurl asks again when receiving goes on, without lifting the other pause.
        if progress.sendingIsHeld { return subproxy_read_pause }
        if progress.awaitsContinue {
            if progress.continueDeadline == nil { awaitContinue() }
            return holdSending()
        }
        if progress.bodyLeft == 0 { return 0 }
        let count = min(space.count, progress.bodyLeft ?? .max)
        thread.hasDelivered = true
        progress.lastActivity = thread.now
        switch delegate.transfer(transfer, readBodyInto: UnsafeMutableRawBufferPointer(rebasing: space[..<count])) {
        case .bytes(let read) where read > 0 && read <= count:
            progress.bodyLeft? -= read
            return read
        case .bytes(0), .pause: return holdSending()
        case .end where progress.bodyLeft == nil: return 0
        case .end: progress.endedEarly = true
        case .bytes, .abort: progress.isAborted = true
        }
        return subproxy_read_abort
    }

    private func holdSending() -> Int {
        progress.sendingIsHeld = true
        return subproxy_read_pause
    }

    private func awaitContinue() {
        let deadline = thread.now + Int64(max(0, thread.configuration.continueTimeoutMilliseconds))
        progress.continueDeadline = deadline
        thread.scan(at: deadline)
    }

    /// CURLOPT_TRAILERFUNCTION: libcurl frees the list, and sends only entries of the form `Name: value`.
    fileprivate func appendTrailers(to list: inout UnsafeMutablePointer<curl_slist>?) {
        guard let transfer, let delegate else { return }
        for line in delegate.trailers(of: transfer) {
            guard let colon = line.firstIndex(of: 0x3a), colon > 0 else { continue }
            guard !line.contains(where: { $0 == 0 || $0 == 0x0d || $0 == 0x0a }) else { continue }
            var text = line[...colon].map { CChar(bitPattern: $0) }
            if line.count == colon + 1 || line[colon + 1] != 0x20 { text.append(0x20) }
            text += line[(colon + 1)...].map { CChar(bitPattern: $0) }
            text.append(0)
            list = curl_slist_append(list, text) ?? list
        }
    }

    /// CURLOPT_PREREQFUNCTION: the connection is made, or a kept one taken.
    ///
    /// - Returns: whether the request may be sent on it.
    fileprivate func mayUse(_ connection: KeptConnections.Name) -> Bool {
        guard progress.attempts == 0 || transfer?.request.mayBeRepeated != false else {
            progress.isRepeatRefused = true
            return false
        }
        guard thread.mayUse(connection, for: self) else {
            progress.mustConnectAnew = true
            return false
        }
        progress.attempts += 1
        progress.lastActivity = thread.now
        return true
    }

    /// CURLOPT_OPENSOCKETFUNCTION.
    fileprivate func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        guard let transfer, let delegate else { return subproxy_bad_socket }
        if !usesProxy, !delegate.transfer(transfer, mayConnectTo: subproxy_socket_address(address)) {
            progress.refusedAddress = true
            thread.tryNextAddress(self)
            return subproxy_bad_socket
        }
        let type = address.pointee.socktype | subproxy_socket_flags
        let descriptor = Glibc.socket(address.pointee.family, type, address.pointee.protocol)
        guard descriptor >= 0 else {
            progress.socketErrno = errno
            thread.tryNextAddress(self)
            return subproxy_bad_socket
        }
        opened(descriptor)
        thread.opened(descriptor, for: transfer, of: self)
        return descriptor
    }
}

// What libcurl calls: each recovers the object that it was given.

private func handle(_ context: UnsafeMutableRawPointer) -> EasyHandle {
    Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
}

private func headerCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context, let bytes else { return 0 }
    return handle(context).receive(headerLine: UnsafeRawBufferPointer(start: bytes, count: size &* count))
}

private func writeCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context, let bytes else { return 0 }
    return handle(context).receive(body: UnsafeRawBufferPointer(start: bytes, count: size &* count))
}

private func debugCallback(
    _ handle: UnsafeMutableRawPointer?, _ kind: curl_infotype, _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> CInt {
    guard kind == CURLINFO_TEXT, let context, let bytes else { return 0 }
    Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
        .hear(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}

private func readCallback(
    _ space: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context, let space else { return subproxy_read_abort }
    return handle(context).read(into: UnsafeMutableRawBufferPointer(start: space, count: size &* count))
}

func trailerCallback(
    _ list: UnsafeMutablePointer<UnsafeMutablePointer<curl_slist>?>?, _ context: UnsafeMutableRawPointer?
) -> CInt {
    guard let context, let list else { return CURL_TRAILERFUNC_ABORT }
    handle(context).appendTrailers(to: &list.pointee)
    return CURL_TRAILERFUNC_OK
}

private func requestCallback(
    _ context: UnsafeMutableRawPointer?, _ remote: UnsafeMutablePointer<CChar>?, _ local: UnsafeMutablePointer<CChar>?,
    _ remotePort: CInt, _ localPort: CInt
) -> CInt {
    guard let context, let remote, let local else { return CURL_PREREQFUNC_ABORT }
    let connection = KeptConnections.Name(
        local: local, localPort: localPort, remote: remote, port: remotePort)
    return handle(context).mayUse(connection) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

private func openSocketCallback(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let context, let address else { return subproxy_bad_socket }
    return handle(context).openSocket(address)
}

private func closeSocketCallback(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> CInt {
    guard let context else { return close(socket) }
    return Unmanaged<TransferThread>.fromOpaque(context).takeUnretainedValue().closeSocket(socket)
}
