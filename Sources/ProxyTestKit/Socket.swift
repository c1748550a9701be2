import Glibc

/// A blocking TCP socket on loopback, for tests: every wait has a bound, so that a test that fails does not hang.
public final class Socket: @unchecked Sendable {
    // Unchecked: the descriptor never changes but for `close`, and the kernel serialises its use.

    public enum Failure: Error, CustomStringConvertible {
        case failed(String, code: CInt)
        case timedOut

        public var description: String {
            switch self {
            case .failed(let call, let code): "\(call): \(String(cString: strerror(code)))"
            case .timedOut: "timed out"
            }
        }
    }

    public private(set) var descriptor: CInt

    public init(taking descriptor: CInt) { self.descriptor = descriptor }

    deinit { close() }

    /// Connects to a port of 127.0.0.1.
    ///
    /// - Parameters:
    ///   - source: the address to come from, when it is to be another one than 127.0.0.1.
    ///   - seconds: how long a read or a write may take before it fails.
    /// - Throws: ``Failure/failed(_:code:)`` where there is no socket, or the connection is refused.
    public static func connect(
        port: UInt16, from source: String? = nil, seconds: Int = Int(Wait.limit), receiveBuffer: CInt? = nil
    ) throws -> Socket {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw Failure.failed("socket", code: errno) }
        let socket = Socket(taking: descriptor)
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        socket.setTimeout(seconds)
        if let source { try socket.comeFrom(source) }
        var address = loopback(port)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure.failed("connect", code: errno) }
        socket.sendAtOnce()
        return socket
    }

    /// Begins to connect to a port of 127.0.0.1, and does not wait for the end of it.
    ///
    /// - Throws: ``Failure/failed(_:code:)`` where there is no socket.
    public static func begin(port: UInt16) throws -> Socket {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw Failure.failed("socket", code: errno) }
        var address = loopback(port)
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return Socket(taking: descriptor)
    }

    /// Listens on a free port of 127.0.0.1.
    ///
    /// - Parameters:
    ///   - isOnAllAddresses: whether it listens on the other addresses of this machine too; for namespaces only.
    ///   - backlog: how many connections wait to be accepted before further ones are left unanswered.
    ///   - receiveBuffer: how much the kernel takes in of a connection that nobody reads from; little of it makes
    ///     back-pressure come soon.
    /// - Throws: ``Failure/failed(_:code:)`` where there is no socket, or no port is free.
    public static func listen(
        isOnAllAddresses: Bool = false, backlog: CInt = 512, receiveBuffer: CInt? = nil
    ) throws -> (socket: Socket, port: UInt16) {
        let (socket, port) = try bound(isOnAllAddresses: isOnAllAddresses, receiveBuffer: receiveBuffer)
        guard Glibc.listen(socket.descriptor, backlog) == 0 else { throw Failure.failed("listen", code: errno) }
        return (socket, port)
    }

    /// Takes a free port of 127.0.0.1 at which nobody is let in: whoever connects to it is refused.
    ///
    /// - Throws: ``Failure/failed(_:code:)`` where there is no socket, or no port is free.
    public static func reserve() throws -> (socket: Socket, port: UInt16) {
        try bound(isOnAllAddresses: false, receiveBuffer: nil)
    }

    private static func bound(
        isOnAllAddresses: Bool, receiveBuffer: CInt?
    ) throws -> (socket: Socket, port: UInt16) {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw Failure.failed("socket", code: errno) }
        let socket = Socket(taking: descriptor)
        var one: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        var address = loopback(0)
        if isOnAllAddresses { address.sin_addr.s_addr = 0 }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer -> CInt in
                bind(descriptor, pointer, length) == 0 ? getsockname(descriptor, pointer, &length) : -1
            }
        }
        guard result == 0 else { throw Failure.failed("bind", code: errno) }
        return (socket, UInt16(bigEndian: address.sin_port))
    }

    /// Accepts a connection; nil when the socket was shut down.
    public func accept() -> Socket? {
        while true {
            let client = Glibc.accept(descriptor, nil, nil)
            if client >= 0 {
                _ = fcntl(client, F_SETFD, FD_CLOEXEC)
                let socket = Socket(taking: client)
                socket.setTimeout(Int(Wait.limit))
                socket.sendAtOnce()
                return socket
            }
            guard errno == EINTR || errno == ECONNABORTED else { return nil }
        }
    }

    /// Has small pieces sent at once instead of with the next ones, or when the peer's late acknowledgement has come.
    private func sendAtOnce() {
        var one: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<CInt>.size))
    }

    public func setTimeout(_ seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)
    }

    /// Sends a text in UTF-8.
    ///
    /// - Throws: ``Failure``: `timedOut` where the peer takes nothing in time, `failed` where the connection is gone.
    public func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Sends all bytes.
    ///
    /// - Throws: ``Failure``: `timedOut` where the peer takes nothing in time, `failed` where the connection is gone.
    public func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                Glibc.send(descriptor, all.baseAddress.map { $0 + sent }, all.count - sent, CInt(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                throw Failure.timedOut
            } else if errno != EINTR {
                throw Failure.failed("send", code: errno)
            }
        }
    }

    /// Reads what is there, at most `limit` bytes; empty at the end of input.
    ///
    /// - Throws: ``Failure``: `timedOut` where nothing comes in time, `failed` at a reset among others.
    public func receive(_ limit: Int = 65536) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: limit) { bytes, count in
            count = try receive(into: UnsafeMutableRawBufferPointer(bytes))
        }
    }

    private func receive(into space: UnsafeMutableRawBufferPointer, flags: CInt = 0) throws -> Int {
        while true {
            let count = recv(descriptor, space.baseAddress, space.count, flags)
            if count >= 0 { return count }
            if errno == EAGAIN { throw Failure.timedOut }
            guard errno == EINTR else { throw Failure.failed("recv", code: errno) }
        }
    }

    /// Reads until the peer closes; a reset counts as the end.
    ///
    /// - Throws: ``Failure/timedOut`` where nothing comes in time.
    public func receiveAll() throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            do {
                let bytes = try receive()
                guard !bytes.isEmpty else { return all }
                all += bytes
            } catch Failure.failed(_, code: ECONNRESET) {
                return all
            }
        }
    }

    /// Reads until `text` has come, and returns everything up to its end.
    ///
    /// - Throws: ``Failure``: `timedOut` where nothing comes in time, `failed` at a reset among others. The end of
    ///   input is none.
    public func receive(until text: String) throws -> [UInt8] {
        let wanted = Array(text.utf8)
        var all: [UInt8] = []
        while true {
            // What comes behind the text is left for the next call: so it is looked at before it is taken.
            let seen = try [UInt8](unsafeUninitializedCapacity: 4096) { bytes, count in
                count = try receive(into: UnsafeMutableRawBufferPointer(bytes), flags: CInt(MSG_PEEK))
            }
            guard !seen.isEmpty else { return all }
            let before = all.count
            all += seen
            let end = Socket.end(of: wanted, in: all, from: max(0, before - wanted.count))
            _ = try receive(exactly: (end ?? all.count) - before)
            guard let end else { continue }
            all.removeLast(all.count - end)
            return all
        }
    }

    /// Where a text ends that begins at a place or behind it; nil where there is none.
    private static func end(of wanted: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        bytes.withUnsafeBytes { all in
            guard let base = all.baseAddress, let last = wanted.last else { return nil }
            var position = start
            while let found = memchr(base + position, CInt(last), all.count - position) {
                position = UnsafeRawPointer(found) - base + 1
                guard position - start >= wanted.count else { continue }
                if memcmp(base + position - wanted.count, wanted, wanted.count) == 0 { return position }
            }
            return nil
        }
    }

    /// Reads exactly `count` bytes, fewer only at the end of input.
    ///
    /// - Throws: ``Failure``: `timedOut` where nothing comes in time, `failed` at a reset among others.
    public func receive(exactly count: Int) throws -> [UInt8] {
        var all: [UInt8] = []
        while all.count < count {
            let bytes = try receive(min(65536, count - all.count))
            guard !bytes.isEmpty else { break }
            all += bytes
        }
        return all
    }

    /// Sends what the kernel takes at once; 0 when it takes nothing just now.
    public func sendWithoutWaiting(_ bytes: [UInt8]) -> Int {
        max(0, Glibc.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT)))
    }

    /// Takes what is there of a body whose bytes do not matter, at most `limit` bytes; nil when there is nothing just
    /// now, 0 at the end of input.
    ///
    /// - Throws: ``Failure/failed(_:code:)``, at a reset among others.
    public func discardWithoutWaiting(_ limit: Int = 1 << 20) throws -> Int? {
        // The kernel drops the bytes and copies none (tcp(7)).
        let count = recv(descriptor, nil, limit, CInt(MSG_TRUNC | MSG_DONTWAIT))
        if count >= 0 { return count }
        if errno == EAGAIN || errno == EINTR { return nil }
        throw Failure.failed("recv", code: errno)
    }

    /// Whether the peer has ended or reset the connection and nothing is left to read.
    public var hasEnded: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, CInt(MSG_PEEK | MSG_DONTWAIT))
        return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
    }

    /// Whether there is something to read: bytes, or the end of input.
    public var hasInput: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, CInt(MSG_PEEK | MSG_DONTWAIT)) >= 0
    }

    /// Closes the output.
    public func finish() { shutdown(descriptor, CInt(SHUT_WR)) }

    /// Ends both directions, which wakes threads that wait on the socket.
    public func interrupt() { shutdown(descriptor, CInt(SHUT_RDWR)) }

    /// Closes with a reset instead of an orderly end.
    public func reset() {
        var option = Glibc.linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<Glibc.linger>.size))
        close()
    }

    public func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    private func comeFrom(_ source: String) throws {
        var address = Socket.loopback(0)
        address.sin_addr.s_addr = inet_addr(source)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure.failed("bind", code: errno) }
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
