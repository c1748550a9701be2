import ProxyTestKit
import Testing

extension EndToEnd {
    /// Origins whose chunked bodies never end.
    @Suite("Endless chunked responses")
    struct EndlessChunkedResponses {
        enum Part: String, CaseIterable { case extensionBytes, slowExtension, trailers, trailerLine }

        private static func send(_ part: Part, _ socket: Socket) throws {
            let many = [UInt8](repeating: 0x61, count: 65536)
            switch part {
            case .extensionBytes:
                try socket.send("5;")
                while true { try socket.send(many) }
            case .slowExtension:
                try socket.send("5;")
                while !socket.hasEnded { try socket.send("a") }
            case .trailers:
                try socket.send("5\r\nhello\r\n0\r\n")
                while true { try socket.send("X-T: \(String(repeating: "a", count: 1000))\r\n") }
            case .trailerLine:
                try socket.send("5\r\nhello\r\n0\r\nX-T: ")
                while true { try socket.send(many) }
            }
        }

        @Test("are cut off, in bounded memory, and not stored", arguments: Part.allCases)
        func endless(part: Part) throws {
            let asked = Counter()
            let origin = try ScriptedOrigin { _, connection in
                asked.add()
                try connection.socket.send(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n")
                try EndlessChunkedResponses.send(part, connection.socket)
                return false
            }
            let served = try ServedMap(options: ["--origin-timeout", "500ms"])
            let binary = served.binary
            _ = try binary.get("http://mapped.test/x")
            let before = binary.residentBytes
            for round in 1...2 {
                let response = try binary.get("http://127.0.0.1:\(origin.port)/")
                #expect(!response.isComplete || response.status == 502)
                #expect(asked.value == round)
            }
            #expect(binary.residentBytes - before < 16 * mebibyte)
            #expect(try binary.get("http://mapped.test/x").text == "x")
        }
    }
}
