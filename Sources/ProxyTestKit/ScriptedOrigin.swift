import Glibc
import Synchronization

/// An origin on loopback that does what a test says: one thread a connection, every byte it got kept.
public final class ScriptedOrigin: Sendable {
    /// A request as it arrived.
    public struct Request: Sendable {
        /// The head, bytes as received, up to and with the empty line.
        public var head: [UInt8]
        /// The body, transfer coding removed.
        public var body: [UInt8]

        public var text: String { String(decoding: head, as: UTF8.self) }
        public var target: String { text.split(separator: " ").dropFirst().first.map(String.init) ?? "" }

        /// The first value of a field; names are compared without case.
        public func field(_ name: String) -> String? {
            for line in text.split(separator: "\r\n").dropFirst() {
                guard let colon = line.firstIndex(of: ":") else { continue }
                if line[..<colon].lowercased() == name.lowercased() {
                    return line[line.index(after: colon)...].drop { $0 == " " }.description
                }
            }
            return nil
        }
    }

    /// What a handler may do with a connection after a request's head has come.
    public struct Connection: Sendable {
        public let socket: Socket
        fileprivate let origin: ScriptedOrigin

        /// Reads the body of `request`, and records the request.
        ///
        /// - Parameter isKept: whether it is recorded; not where requests come by the million.
        /// - Throws: ``Socket/Failure`` where the connection fails or nothing comes in time.
        public func readBody(of request: Request, isKept: Bool = true) throws -> Request {
            var request = request
            if let length = request.field("Content-Length").flatMap({ Int($0) }) {
                request.body = try socket.receive(exactly: length)
            } else if request.field("Transfer-Encoding") != nil {
                while true {
                    let line = try socket.receive(until: "\r\n")
                    let digits = String(decoding: line.prefix { $0 != 0x0d && $0 != 0x3b }, as: UTF8.self)
                    guard let size = Int(digits, radix: 16) else { break }
                    if size == 0 {
                        while try socket.receive(until: "\r\n").count > 2 {}
                        break
                    }
                    request.body += try socket.receive(exactly: size)
                    _ = try socket.receive(exactly: 2)
                }
            }
            if isKept { origin.state.withLock { $0.requests.append(request) } }
            return request
        }

        /// Sends a response with a Content-Length.
        ///
        /// - Throws: ``Socket/Failure`` where it can't be sent, or not in time.
        public func respond(_ status: String = "200 OK", fields: String = "", body: String = "ok") throws {
            try socket.send("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)")
        }
    }

    private struct State {
        var requests: [Request] = []
        var connections: [Socket] = []
        var connectionCount = 0
    }

    public let port: UInt16
    private let listener: Socket
    private let state = Mutex(State())
    private let handler: @Sendable (Request, Connection) throws -> Bool

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - isOnAllAddresses: whether it listens on all addresses of this machine; for namespaces only.
    ///   - receiveBuffer: how much the kernel takes in of a connection that the handler does not read from.
    ///   - handler: called for each request when its head has come; it reads the body and responds. It returns whether
    ///     the connection goes on.
    /// - Throws: ``Socket/Failure/failed(_:code:)`` where no port can be listened on.
    public init(
        isOnAllAddresses: Bool = false, receiveBuffer: CInt? = nil,
        _ handler: @escaping @Sendable (Request, Connection) throws -> Bool
    ) throws {
        (listener, port) = try Socket.listen(isOnAllAddresses: isOnAllAddresses, receiveBuffer: receiveBuffer)
        self.handler = handler
        let listener = listener
        Threads.start { [weak self] in
            while let socket = listener.accept() {
                guard let self else { return }
                state.withLock {
                    $0.connections.append(socket)
                    $0.connectionCount += 1
                }
                Threads.start { [weak self] in self?.serve(socket) }
            }
        }
    }

    /// An origin that answers every request with the same response.
    ///
    /// - Throws: ``Socket/Failure/failed(_:code:)`` where no port can be listened on.
    public convenience init(
        isOnAllAddresses: Bool = false, status: String = "200 OK", fields: String = "", body: String
    ) throws {
        try self.init(isOnAllAddresses: isOnAllAddresses) { request, connection in
            _ = try connection.readBody(of: request)
            let isHead = request.text.hasPrefix("HEAD ")
            try connection.socket.send(
                "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(isHead ? "" : body)")
            return true
        }
    }

    /// An origin that answers every request with the request's body, which it asks for where the client waits for that.
    ///
    /// - Throws: ``Socket/Failure/failed(_:code:)`` where no port can be listened on.
    public static func echoing(status: String = "200 OK") throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            if request.field("Expect") != nil { try connection.socket.send("HTTP/1.1 100 Continue\r\n\r\n") }
            let request = try connection.readBody(of: request)
            try connection.socket.send(
                "HTTP/1.1 \(status)\r\nContent-Length: \(request.body.count)\r\n\r\n"
                    + String(decoding: request.body, as: UTF8.self))
            return true
        }
    }

    deinit { stop() }

    /// The requests whose bodies were read, in order.
    public var requests: [Request] { state.withLock(\.requests) }

    /// How many connections were made to this origin.
    public var connectionCount: Int { state.withLock(\.connectionCount) }

    /// How many of them are open.
    public var openConnectionCount: Int { state.withLock(\.connections.count) }

    public func stop() {
        listener.interrupt()
        closeConnections()
    }

    /// Closes the connections that are open now, and goes on listening.
    public func closeConnections() {
        for socket in state.withLock({ $0.connections }) { socket.interrupt() }
    }

    private func serve(_ socket: Socket) {
        while let head = try? socket.receive(until: "\r\n\r\n"), !head.isEmpty {
            let request = Request(head: head, body: [])
            guard (try? handler(request, Connection(socket: socket, origin: self))) == true else { break }
        }
        socket.interrupt()
        // A test of a thousand connections has no thousand descriptors.
        state.withLock { state in state.connections.removeAll { $0 === socket } }
    }
}

/// Threads for tests.
public enum Threads {
    /// Runs `body` on a detached thread.
    public static func start(_ body: @escaping @Sendable () -> Void) {
        final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        let argument = Unmanaged.passRetained(Box(body)).toOpaque()
        let result = pthread_create(
            &thread, &attributes,
            { argument in
                if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            }, argument)
        if result != 0 { Unmanaged<Box>.fromOpaque(argument).release() }
        pthread_attr_destroy(&attributes)
    }
}
