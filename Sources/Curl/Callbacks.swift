import CCurl
import Glibc

// libcurl's callbacks: each recovers the transfer that its handle carries, asks the delegate, and says it in C.

private func transfer(_ context: UnsafeMutableRawPointer) -> Transfer {
    Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
}

/// CURLOPT_HEADERFUNCTION.
func headerCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context, let bytes else { return 0 }
    let transfer = transfer(context)
    transfer.touch()
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer.delegate.transfer(transfer, didReceiveHeaderLine: line) == .proceed ? line.count : -1
}

/// CURLOPT_WRITEFUNCTION.
func writeCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context, let bytes else { return 0 }
    let transfer = transfer(context)
    transfer.touch()
    let body = UnsafeRawBufferPointer(start: bytes, count: size * count)
    switch transfer.delegate.transfer(transfer, didReceiveBody: body) {
    case .consumed: return body.count
    case .pause:
        transfer.receivingIsPaused = true
        return subproxy_write_pause
    case .abort: return -1
    }
}

/// CURLOPT_READFUNCTION.
func readCallback(
    _ space: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context, let space else { return subproxy_read_abort }
    let transfer = transfer(context)
    transfer.touch()
    let target = UnsafeMutableRawBufferPointer(start: space, count: size * count)
    switch transfer.delegate.transfer(transfer, readBodyInto: target) {
    case .bytes(let count): return min(count, target.count)
    case .pause:
        transfer.sendingIsPaused = true
        return subproxy_read_pause
    case .end: return 0
    case .abort: return subproxy_read_abort
    }
}

/// CURLOPT_TRAILERFUNCTION.
func trailerCallback(
    _ list: UnsafeMutablePointer<UnsafeMutablePointer<curl_slist>?>?, _ context: UnsafeMutableRawPointer?
) -> CInt {
    guard let context, let list else { return CInt(CURL_TRAILERFUNC_OK) }
    let transfer = transfer(context)
    for line in transfer.delegate.trailers(of: transfer)
    where !line.contains(where: { $0 == 0 || $0 == 0x0d || $0 == 0x0a }) {
        let text = line.map { CChar(bitPattern: $0) } + [0]
        if let longer = curl_slist_append(list.pointee, text) { list.pointee = longer }
    }
    return CInt(CURL_TRAILERFUNC_OK)
}

/// CURLOPT_OPENSOCKETFUNCTION.
func openSocketCallback(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let context, let address else { return subproxy_bad_socket }
    let transfer = transfer(context)
    if !transfer.usesProxy {
        let isAllowed = withUnsafePointer(to: &address.pointee.addr) {
            transfer.delegate.transfer(transfer, mayConnectTo: UnsafeRawPointer($0))
        }
        guard isAllowed else { return subproxy_bad_socket }
    }
    let type = address.pointee.socktype | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    return socket(address.pointee.family, type, address.pointee.protocol)
}

/// CURLMOPT_SOCKETFUNCTION.
func socketCallback(
    _ handle: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: CInt, _ context: UnsafeMutableRawPointer?,
    _ socketContext: UnsafeMutableRawPointer?
) -> CInt {
    guard let context else { return -1 }
    Unmanaged<TransferEngine>.fromOpaque(context).takeUnretainedValue().watch(socket, what)
    return 0
}

/// CURLMOPT_TIMERFUNCTION.
func timerCallback(
    _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> CInt {
    guard let context else { return -1 }
    Unmanaged<TransferEngine>.fromOpaque(context).takeUnretainedValue().setTimer(milliseconds)
    return 0
}
