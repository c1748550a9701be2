import ForwardProxy
import Glibc
import HTTPSemantics
import ProxyTestKit
import Synchronization

/// An origin that answers by a script, a proxy before it that stores, and a clock for ages.
struct CacheStage {
    let origin: ScriptedOrigin
    let proxy: TestProxy
    let clock = TestClock()

    /// - Parameter script: the bytes of the response to a request, given which one of all requests it is, from 1; a
    ///   HEAD gets the head of them. Nil closes the connection.
    init(
        configure: (inout ProxyConfiguration) -> Void = { _ in },
        _ script: @escaping @Sendable (ScriptedOrigin.Request, Int) throws -> String?
    ) throws {
        let counter = Mutex(0)
        origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            let number = counter.withLock { count -> Int in
                count += 1
                return count
            }
            guard let response = try script(request, number) else { return false }
            let bytes = Array(response.utf8)
            let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? bytes.count
            try connection.socket.send(request.isHead ? Array(bytes[..<end]) : bytes)
            return true
        }
        let clock = clock
        proxy = try TestProxy { configuration in
            configuration.cache.clock = clock.read
            configure(&configuration)
        }
    }

    /// How many requests the origin got.
    var count: Int { origin.requests.count }

    func url(_ path: String = "/") -> String { "http://127.0.0.1:\(origin.port)\(path)" }

    /// Asks for a path of the origin through the proxy.
    func get(
        _ path: String = "/", _ fields: String..., method: String = "GET", body: String? = nil
    ) throws -> TestResponse {
        try proxy.exchange(method, url(path), fields: fields, body: body)
    }

    /// Sends a request on a connection of its own, and does not wait for the response.
    func begin(_ path: String = "/", _ fields: String...) throws -> Socket {
        let socket = try proxy.connect()
        let lines = ["GET \(url(path)) HTTP/1.1", "Host: x", "Connection: close"] + fields
        try socket.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
        return socket
    }

    /// A request whose response waits at a gate of the origin's, and others that the proxy has read by then.
    func begin(followers: Int, at gate: Gate) throws -> (leader: Socket, followers: [Socket]) {
        let leader = try begin()
        try gate.awaitArrivals()
        let followers = try (0..<followers).map { _ in try begin() }
        try settle()
        return (leader, followers)
    }

    /// Returns when the proxy has read what was sent to it before.
    ///
    /// Its one event loop reads connections in the order in which they became readable.
    func settle() throws {
        for _ in 0..<3 { _ = try proxy.exchange("GET", "http://unused.test/") }
    }
}

/// Something that a script waits for.
final class Gate: Sendable {
    private let isOpen = Mutex(false)
    private let waiting = Mutex(0)

    var hasOpened: Bool { isOpen.withLock { $0 } }

    /// Waits until it is opened; after a minute the test has failed and goes on.
    func pass() {
        waiting.withLock { $0 += 1 }
        _ = Wait.holds { isOpen.withLock { $0 } }
    }

    func open() { isOpen.withLock { $0 = true } }

    /// Waits until so many scripts are here.
    func awaitArrivals(_ count: Int = 1) throws { try Wait.until { waiting.withLock { $0 } >= count } }
}

extension ScriptedOrigin.Request {
    var isHead: Bool { text.hasPrefix("HEAD ") }
    var method: String { String(text.prefix { $0 != " " }) }
}

extension TestResponse {
    /// The value of Cache-Status.
    var cacheStatus: String? { field("Cache-Status") }

    /// The body with its chunked coding removed, as text; nil where it is incomplete.
    var dechunked: String? {
        var out: [UInt8] = []
        var rest = Array(body.utf8)[...]
        while let end = rest.firstRange(of: Array("\r\n".utf8)) {
            guard let size = Int(String(decoding: rest[..<end.lowerBound], as: UTF8.self), radix: 16) else {
                return nil
            }
            rest = rest[end.upperBound...]
            if size == 0 { return String(decoding: out, as: UTF8.self) }
            guard rest.count >= size + 2 else { return nil }
            out += rest.prefix(size)
            rest = rest.dropFirst(size + 2)
        }
        return nil
    }
}

/// A response with a Content-Length.
///
/// - Parameter fields: field lines, without their CRLF.
func response(_ status: String = "200 OK", _ fields: String..., body: String = "") -> String {
    response(status, fields, body: body)
}

func response(_ status: String = "200 OK", _ fields: [String], body: String = "") -> String {
    let length = status.hasPrefix("304") || status.hasPrefix("204") ? [] : ["Content-Length: \(body.utf8.count)"]
    return (["HTTP/1.1 \(status)"] + length + fields).joined(separator: "\r\n") + "\r\n\r\n" + body
}

/// A date so many seconds from now, as HTTP writes it.
func httpDate(_ seconds: Int64) -> String {
    String(decoding: HTTPDate.bytes(Int64(time(nil)) + seconds), as: UTF8.self)
}
