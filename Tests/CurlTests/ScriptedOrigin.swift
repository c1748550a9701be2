import Glibc
import Synchronization

/// A server on loopback that does to each connection what a test says, on a thread of its own.
final class ScriptedOrigin: Sendable {
    /// One accepted connection, with blocking calls; a call that waits for more than a minute gives up.
    final class Connection: Sendable {
        let descriptor: CInt
        /// 0 for the first connection of the origin.
        let number: Int
        private let received = Mutex<[UInt8]>([])

        init(_ descriptor: CInt, _ number: Int) {
            self.descriptor = descriptor
            self.number = number
            var limit = timeval(tv_sec: 60, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }

        /// Bytes up to and with `end`; nil where the connection ends before.
        func read(to end: String) -> String? {
            let end = Array(end.utf8)
            var searched = 0
            while true {
                let found = received.withLock { bytes -> [UInt8]? in
                    while searched + end.count <= bytes.count {
                        if bytes[searched..<searched + end.count].elementsEqual(end) {
                            defer { bytes.removeFirst(searched + end.count) }
                            return Array(bytes[..<(searched + end.count)])
                        }
                        searched += 1
                    }
                    return nil
                }
                if let found { return text(found) }
                guard fill() else { return nil }
            }
        }

        /// A request's head with its empty line.
        func readHead() -> String? { read(to: "\r\n\r\n") }

        func read(_ count: Int) -> [UInt8]? {
            while received.withLock({ $0.count }) < count {
                guard fill() else { return nil }
            }
            return received.withLock { bytes in
                defer { bytes.removeFirst(count) }
                return Array(bytes[..<count])
            }
        }

        /// Whether the peer closed the connection, after whatever it had still sent.
        func readsEnd() -> Bool {
            while fill() {}
            return errno != EAGAIN
        }

        private func fill() -> Bool {
            var buffer = [UInt8](repeating: 0, count: 65536)
            errno = 0
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return false }
            received.withLock { $0.append(contentsOf: buffer[..<count]) }
            return true
        }

        @discardableResult
        func write(_ text: String) -> Bool { write(Array(text.utf8)) }

        @discardableResult
        func write(_ bytes: [UInt8]) -> Bool {
            var done = 0
            while done < bytes.count {
                let count = bytes.withUnsafeBytes {
                    send(descriptor, $0.baseAddress.map { $0 + done }, bytes.count - done, CInt(MSG_NOSIGNAL))
                }
                guard count > 0 else { return false }
                done += count
            }
            return true
        }

        /// Answers with a body of known length.
        func respond(_ body: String = "", status: String = "200 OK", fields: String = "") {
            write("HTTP/1.1 \(status)\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }

        /// Writes while the peer takes something within the time; tells how many bytes it took.
        func writeUntilHeld(_ bytes: [UInt8], patience milliseconds: CInt = 200) -> Int {
            var done = 0
            while done < bytes.count {
                var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                guard poll(&state, 1, milliseconds) == 1 else { break }
                let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
                let count = bytes.withUnsafeBytes {
                    send(descriptor, $0.baseAddress.map { $0 + done }, min(65536, bytes.count - done), flags)
                }
                if count < 0, errno != EAGAIN { break }
                done += max(0, count)
            }
            return done
        }

        /// Closes with a reset.
        func reset() {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        }
    }

    let port: UInt16
    private let listener: CInt
    private let accepted = Atomic<Int>(0)
    private let closed = Atomic<Int>(0)
    private let script: @Sendable (Connection) -> Void

    var connections: Int { accepted.load(ordering: .sequentiallyConsistent) }

    /// Connections whose script is over.
    var ended: Int { closed.load(ordering: .sequentiallyConsistent) }

    init(_ script: @escaping @Sendable (Connection) -> Void) {
        self.script = script
        listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        port = withUnsafeMutablePointer(to: &address) { [listener] in
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(listener, $0, length)
                _ = listen(listener, 512)
                _ = getsockname(listener, $0, &length)
            }
            return UInt16(bigEndian: $0.pointee.sin_port)
        }
        let listener = listener
        onThread { [weak self] in
            // Closed here, so that accept(2) is never called for a number that is another origin's by then.
            defer { close(listener) }
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                guard let self else {
                    close(descriptor)
                    return
                }
                let number = accepted.add(1, ordering: .sequentiallyConsistent).oldValue
                let script = self.script
                onThread {
                    script(Connection(descriptor, number))
                    close(descriptor)
                    self.closed.add(1, ordering: .sequentiallyConsistent)
                }
            }
        }
    }

    deinit {
        // Ends accept(2).
        shutdown(listener, CInt(SHUT_RDWR))
    }
}

func text(_ bytes: [UInt8]) -> String {
    // As Latin-1, so that every byte shows.
    String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

func onThread(_ run: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let argument = Unmanaged.passRetained(ThreadBody(run)).toOpaque()
    pthread_create(
        &thread, nil,
        { argument in
            if let argument { Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run() }
            return nil
        }, argument)
    pthread_detach(thread)
}
