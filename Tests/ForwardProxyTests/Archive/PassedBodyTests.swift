import Files
import ProxyTestKit
import Testing

@testable import ForwardProxy

@Suite("Parts of a large recorded body")
struct PassedBodyTests {
    private static let size = 3 << 20

    /// A proxy whose archive has a body of 3 MiB that is not in memory.
    private func proxy() throws -> TestProxy {
        let chunk = String(repeating: "0123456789abcdef", count: 4096)
        let chunks = String(repeating: "10000\r\n\(chunk)\r\n", count: Self.size / 65_536)
        let fields = "Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
        let message = "HTTP/1.1 200 OK\r\n\(fields)\(chunks)0\r\n\r\n"
        let head = [
            "WARC/1.1", "WARC-Type: response", "WARC-Target-URI: http://a.test/", "Content-Type: application/http",
            "Content-Length: \(message.utf8.count)", "", "",
        ]
        let map = "archives: [a.warc]\nsubstitutions:\n  http://f.test/f: { file: f.txt, retain: false }\n"
        let warc = head.joined(separator: "\r\n") + message + "\r\n\r\n"
        return try TestProxy(map, files: ["a.warc": warc, "f.txt": "small"]) { $0.retention.file = 65_536 }
    }

    private func ask(_ range: String, of proxy: TestProxy) throws -> Socket {
        let socket = try proxy.connect()
        let lines = [
            "GET http://a.test/ HTTP/1.1", "Host: a.test", "Connection: close", "Range: bytes=\(range)", "", "",
        ]
        try socket.send(lines.joined(separator: "\r\n"))
        return socket
    }

    @Test("wait for their turns outside the pool, which answers others meanwhile, and not for clients that have left")
    func turns() throws {
        let proxy = try proxy()
        let (passing, counting) = (proxy.server.core.passing, proxy.server.core.counting)
        func takeAll() -> [Int] {
            var taken: [Int] = []
            while true {
                let turn = passing.take { _ in }
                guard turn.isNow else {
                    passing.end(turn.number)
                    return taken
                }
                taken.append(turn.number)
            }
        }
        // The length.
        var held = takeAll()
        #expect(held.count == ProxyCore.fileThreads / 2)
        var clients = try (0..<3).map { _ in try ask("-1", of: proxy) }
        try Wait.until { counting.waitingCount == 3 }
        #expect(passing.waitingCount == 1)
        #expect(try proxy.exchange("GET", "http://f.test/f").body == "small")
        clients.removeFirst(2)
        try Wait.until { counting.waitingCount == 1 }
        #expect(passing.waitingCount == 1)
        clients = []
        try Wait.until { counting.waitingCount == 0 && passing.waitingCount == 0 }
        for turn in held { passing.end(turn) }
        #expect(try proxy.exchange("GET", "http://a.test/", fields: ["Range: bytes=-1"]).body == "f")
        #expect(passing.underWayCount == 0)
        // The way to a part.
        held = takeAll()
        clients = try (0..<3).map { _ in try ask("-2", of: proxy) }
        try Wait.until { passing.waitingCount == 3 }
        #expect(try proxy.exchange("GET", "http://f.test/f").body == "small")
        #expect(try proxy.exchange("GET", "http://a.test/", fields: ["Range: bytes=0-2"]).body == "012")
        clients.removeFirst(2)
        try Wait.until { passing.waitingCount == 1 }
        for turn in held { passing.end(turn) }
        let part = TestResponse(try clients[0].receiveAll())
        #expect(part.status == 206 && part.body == "ef")
        #expect(passing.underWayCount == 0 && passing.waitingCount == 0)
    }
}
