import ProxyTestKit
import Testing

extension EndToEnd {
    /// Each limit of a message has an option, and is reached here; below it a request passes.
    @Suite("Limits")
    struct Limits {
        @Test("A header section, its fields, and a request target have limits", arguments: [true, false])
        func headLimits(areSet: Bool) throws {
            let options = ["--max-header-bytes", "4KiB", "--max-header-fields", "20", "--max-target-bytes", "1KiB"]
            let served = try ServedMap(
                "http://mapped.test/: { text: x, query: ignore }", options: areSet ? options : [])
            let (bytes, fields, target) = areSet ? (4096, 20, 1024) : (65536, 200, 32768)
            func status(_ fields: [String], query: Int = 0) throws -> Int {
                let url = "http://mapped.test/" + (query > 0 ? "?" + String(repeating: "q", count: query) : "")
                return try served.binary.get(url, fields: fields).status
            }
            #expect(try status(["X: " + String(repeating: "v", count: bytes - 200)]) == 200)
            #expect(try status(["X: " + String(repeating: "v", count: bytes)]) == 431)
            // With Host and Connection.
            #expect(try status((0..<fields - 2).map { "X-\($0): v" }) == 200)
            #expect(try status((0..<fields - 1).map { "X-\($0): v" }) == 431)
            #expect(try status([], query: target - 100) == 200)
            #expect(try status([], query: target) == 414)
        }

        @Test("A connection attempt has a limit")
        func connectTimeout() throws {
            // A listener whose queue is full answers no further attempt.
            let (listener, port) = try Socket.listen(backlog: 0)
            defer { listener.close() }
            let waiting = try (0..<4).map { _ in try Socket.begin(port: port) }
            defer { for socket in waiting { socket.close() } }
            let served = try ServedMap(options: ["--connect-timeout", "500ms"], tunnelsTo: port)
            let response = try served.binary.get("http://127.0.0.1:\(port)/")
            #expect(response.status == 504)
            #expect(response.field("Proxy-Status")?.hasPrefix("subproxy; error=connection_timeout") == true)
            let refused = #expect(throws: RunningBinary.TunnelRefused.self) { try served.binary.tunnel(to: port) }
            #expect(refused?.head.hasPrefix("HTTP/1.1 504 ") == true)
        }

        @Test("Each client of an origin that is not there, or is refused by policy, learns which")
        func unreachable() throws {
            let (reserved, port) = try Socket.reserve()
            defer { reserved.close() }
            let served = try ServedMap(tunnelsTo: port)
            let response = try served.binary.get("http://127.0.0.1:\(port)/")
            #expect(response.status == 502)
            #expect(response.field("Proxy-Status")?.hasPrefix("subproxy; error=connection_refused") == true)
            let refused = #expect(throws: RunningBinary.TunnelRefused.self) { try served.binary.tunnel(to: port) }
            #expect(refused?.head.hasPrefix("HTTP/1.1 502 ") == true)
            // Link-local addresses are nobody's origin, the proxy's own listener only its own site's.
            #expect(try served.binary.get("http://169.254.169.254/latest/meta-data").status == 403)
            #expect(try served.binary.get("http://127.0.0.2:\(served.binary.port)/").status != 200)
        }
    }
}
