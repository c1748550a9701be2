import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Exchanges that either side breaks off leave nothing behind.
    @Suite("Aborted exchanges")
    struct AbortedExchanges {
        /// What the origin does, as its path says.
        enum Fault: String, CaseIterable {
            case none, reset, close, resetInHead, resetInBody, large, resetInLarge, truncate, cutChunk, trickle, hang
            case neverRead
        }

        /// What the client does.
        enum Departure: CaseIterable {
            case none, closeAtOnce, resetAtOnce, insideHead, resetAfterHead, insideBody, insideUpload, insideChunk
            case halfClose, tunnelClosed, tunnelReset, mapped
        }

        /// An origin with all the faults.
        private func faultyOrigin() throws -> ScriptedOrigin {
            try ScriptedOrigin { request, connection in
                let socket = connection.socket
                let fault = Fault(rawValue: String(request.target.dropFirst())) ?? .none
                if fault != .neverRead { _ = try connection.readBody(of: request) }
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
                switch fault {
                case .none:
                    try socket.send(head + String(repeating: "x", count: 100_000))
                    return true
                case .reset: socket.reset()
                case .close: break
                case .resetInHead:
                    try socket.send("HTTP/1.1 200 OK\r\nContent-Le")
                    socket.reset()
                case .resetInBody:
                    try socket.send(head + String(repeating: "x", count: 30_000))
                    socket.reset()
                case .large, .resetInLarge:
                    try socket.send("HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n")
                    try socket.send([UInt8](repeating: 0x78, count: fault == .large ? 2_000_000 : 1_200_000))
                    if fault == .large { return true }
                    socket.reset()
                case .truncate: try socket.send(head + "x")
                case .cutChunk:
                    try socket.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\nabc")
                case .trickle:
                    try socket.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n")
                    for _ in 0..<20 {
                        try socket.send("x")
                        usleep(2000)
                    }
                    return true
                case .hang, .neverRead:
                    // Until the proxy gives up because its client has.
                    while try !socket.receive().isEmpty {}
                }
                return false
            }
        }

        /// One exchange; what it throws is the peer's departure.
        private func exchange(
            _ binary: RunningBinary, _ origin: UInt16, _ tunnelled: UInt16, _ fault: Fault, _ departure: Departure
        ) throws {
            let url = "http://127.0.0.1:\(origin)/\(fault.rawValue)"
            let client = try binary.connect()
            // A client that stays would wait for as long as an origin that hangs.
            let staysTooLong = fault == .hang || fault == .neverRead
            switch departure {
            case .none, .halfClose:
                try client.sendRequest("GET", url)
                if departure == .halfClose { client.finish() }
                if !staysTooLong { _ = try client.receiveResponse() } else { usleep(3000) }
            case .closeAtOnce: try client.sendRequest("GET", url)
            case .resetAtOnce:
                try client.sendRequest("POST", url, body: "x")
                client.reset()
            case .insideHead: try client.send("GET \(url) HTTP/1.1\r\nHost: 127")
            case .resetAfterHead:
                try client.sendRequest("GET", url)
                if !staysTooLong { _ = try client.receiveResponseHead() }
                client.reset()
            case .insideBody:
                try client.sendRequest("GET", url)
                if !staysTooLong {
                    _ = try client.receiveResponseHead()
                    _ = try client.receive(10)
                }
            case .insideUpload:
                try client.send("PUT \(url) HTTP/1.1\r\nHost: 127.0.0.1:\(origin)\r\nContent-Length: 300000\r\n\r\n")
                try client.send([UInt8](repeating: 0x79, count: 100_000))
                if origin % 2 == 0 { client.reset() }
            case .insideChunk:
                try client.send(
                    "PUT \(url) HTTP/1.1\r\nHost: 127.0.0.1:\(origin)\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc")
                usleep(1000)
                client.reset()
            case .tunnelClosed, .tunnelReset:
                let tunnel = try binary.tunnel(to: tunnelled)
                try tunnel.send(String(repeating: "z", count: 50_000))
                if fault != .none { _ = try tunnel.receive(1000) }
                if departure == .tunnelReset { tunnel.reset() }
            case .mapped:
                try client.sendRequest("GET", "http://mapped.test/file")
                _ = try client.receive(100)
                client.reset()
            }
        }

        /// Tunnels' origin: an echo that resets every third connection.
        private func tunnelOrigin() throws -> RawOrigin {
            let count = Counter()
            return try RawOrigin { socket in
                count.add()
                let isReset = count.value % 3 == 0
                while case let bytes = try socket.receive(), !bytes.isEmpty {
                    try socket.send(bytes)
                    if isReset { return socket.reset() }
                }
            }
        }

        @Test("1,000 exchanges broken off at random leave memory and descriptors as they were")
        func aborts() async throws {
            let tunnels = try tunnelOrigin()
            let origin = try faultyOrigin()
            let good = try ScriptedOrigin(body: "good")
            let served = try ServedMap(
                "http://mapped.test/file: file.txt", files: ["file.txt": String(repeating: "m", count: 400_000)],
                options: ["--threads", "2"], tunnelsTo: tunnels.port)
            let binary = served.binary
            // Makes the proxy notice which origin connections are closed.
            func ping() throws { #expect(try binary.get("http://127.0.0.1:\(good.port)/").text == "good") }
            let run: @Sendable (UInt64, Int) async throws -> Void = { seed, count in
                _ = try await atOnce(8) { worker in
                    var random = SeededGenerator(seed: seed &+ UInt64(worker) &* 7919)
                    for _ in 0..<(count / 8) {
                        let fault = Fault.allCases.randomElement(using: &random) ?? .none
                        let departure = Departure.allCases.randomElement(using: &random) ?? .none
                        try? exchange(binary, origin.port, tunnels.port, fault, departure)
                    }
                }
            }
            // What is allocated once, such as the transfer threads' and the allocator's pools, is allocated here.
            try await run(1, 240)
            origin.closeConnections()
            let warm = Footprint(residentBytes: .max / 2, openDescriptors: [])
            let before = try binary.settle(to: warm, memory: 0, seconds: 1.5, meanwhile: ping)
            try await run(0x5eed, 1000)
            origin.closeConnections()
            let after = try binary.settle(to: before, memory: 6 * mebibyte, meanwhile: ping)
            #expect(after.descriptors <= before.descriptors, "\(before), \(after)")
            #expect(after.residentBytes - before.residentBytes < 6 * mebibyte)
            #expect(binary.process.status == nil)
            try ping()
            #expect(try binary.get("http://mapped.test/file").body.count == 400_000)
        }
    }
}
