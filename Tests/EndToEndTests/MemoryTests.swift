import Glibc
import ProxyTestKit
import Synchronization
import Testing

extension EndToEnd {
    /// Whatever the sizes of bodies and the speed of clients and origins, memory is bounded.
    @Suite("Memory")
    struct Memory {
        private static let gibibyte = 1 << 30
        /// An origin whose every response is 1 GiB, and that counts what it could send.
        private func flood(_ sent: Counter) throws -> ScriptedOrigin {
            try ScriptedOrigin { request, connection in
                let size = request.target == "/small" ? 65536 : Memory.gibibyte
                try connection.socket.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                let block = [UInt8](repeating: 0x61, count: 65536)
                for _ in 0..<(size / block.count) {
                    try connection.socket.send(block)
                    sent.add(block.count)
                }
                return true
            }
        }

        /// Asks a few times, so that what is allocated once has been.
        private func warmUp(_ binary: RunningBinary, _ origin: ScriptedOrigin) throws {
            for _ in 0..<20 {
                let response = try binary.get("http://127.0.0.1:\(origin.port)/small")
                try #require(response.isComplete && response.body.count == 65536)
            }
        }

        @Test("A 1 GiB response to a client that reads 10 kB/s takes less than 8 MiB")
        func slowReader() throws {
            let sent = Counter()
            let origin = try flood(sent)
            let served = try ServedMap()
            let binary = served.binary
            try warmUp(binary, origin)
            let before = binary.residentBytes
            let counted = sent.value
            let client = try binary.connect(receiveBuffer: 8192)
            try client.sendRequest("GET", "http://127.0.0.1:\(origin.port)/big")
            #expect(try client.receiveResponseHead().field("Content-Length") == "\(Memory.gibibyte)")
            var steps = 0
            let peak = try binary.peakResidentBytes {
                steps += 1
                usleep(100_000)
                return try client.receive(exactly: 1000).count == 1000 && steps < 15
            }
            #expect(steps == 15)
            #expect(peak - before < 8 * mebibyte)
            // What the kernel's buffers and the proxy's hold, and no more, has left the origin.
            #expect(sent.value - counted < 16 * mebibyte)
        }

        @Test("A 1 GiB upload to an origin that does not read takes less than 8 MiB")
        func originThatDoesNotRead() throws {
            let isOver = Counter()
            defer { isOver.add() }
            let origin = try ScriptedOrigin { request, connection in
                guard request.target != "/small" else {
                    _ = try connection.readBody(of: request)
                    try connection.respond()
                    return true
                }
                _ = Wait.holds { isOver.value > 0 }
                return false
            }
            let served = try ServedMap()
            let binary = served.binary
            for _ in 0..<20 {
                let body = String(repeating: "x", count: 100_000)
                #expect(try binary.exchange("POST", "http://127.0.0.1:\(origin.port)/small", body: body).status == 200)
            }
            let before = binary.footprint
            let client = try binary.connect()
            try client.send(
                """
                PUT http://127.0.0.1:\(origin.port)/sink HTTP/1.1\r
                Host: 127.0.0.1:\(origin.port)\r
                Content-Length: \(Memory.gibibyte)\r\n\r\n
                """)
            let block = [UInt8](repeating: 0x62, count: 65536)
            var sent = 0
            // The proxy stops reading, so that the client can't write: for a second nothing goes.
            var lastProgress = Clock.seconds
            let peak = binary.peakResidentBytes {
                let count = client.sendWithoutWaiting(block)
                sent += count
                if count > 0 { lastProgress = Clock.seconds } else { usleep(20_000) }
                return Clock.seconds - lastProgress < 1 && sent < Memory.gibibyte
            }
            #expect(sent < 32 * mebibyte)
            #expect(peak - before.residentBytes < 8 * mebibyte)
            client.reset()
            #expect(Wait.holds { binary.openDescriptors.count <= before.descriptors })
        }

        @Test(
            "A hundred clients that do not read large responses take less than 1 MiB each, and another hundred no more")
        func manySlowReaders() throws {
            let sent = Counter()
            let origin = try flood(sent)
            let served = try ServedMap()
            let binary = served.binary
            try warmUp(binary, origin)
            let before = binary.footprint
            let peaks = try (0..<2).map { _ in
                let clients = try (0..<100).map { _ in
                    let client = try binary.connect(receiveBuffer: 8192)
                    try client.sendRequest("GET", "http://127.0.0.1:\(origin.port)/big")
                    return client
                }
                for client in clients { #expect(try client.receiveResponseHead().status == 200) }
                let peak = try binary.peakResidentBytes(untilStill: sent)
                for client in clients { client.close() }
                #expect(Wait.holds { origin.openConnectionCount <= 1 })
                return peak
            }
            #expect((peaks[0] - before.residentBytes) / 100 < mebibyte)
            // What the allocator keeps is used again.
            #expect(peaks[1] - peaks[0] < 8 * mebibyte)
            origin.stop()
            let after = try binary.settle(to: before, memory: .max / 2) { try ping(binary) }
            #expect(after.descriptors <= before.descriptors, "\(before), \(after)")
        }

        @Test(
            "Thirty clients that do not read a large mapped file over TLS take less than 2 MiB each, and it comes whole",
            arguments: ["file.txt", "{ file: file.txt, rate: 200MB/s }"])
        func slowReadersOverTLS(rule: String) throws {
            let file = String(repeating: "0123456789abcdef", count: mebibyte)
            let proxy = try DecryptingProxy(
                "https://mapped.test/file: \(rule)", files: ["file.txt": file], workshop: try CertificateWorkshop())
            let url = "https://mapped.test/file"
            #expect(try proxy.fetch(url, ["--http1.1"]).output == file)
            #expect(try proxy.fetch(url, ["--http1.1", "--range", "1000000-8999999"]).output.utf8.count == 8_000_000)
            let before = proxy.binary.residentBytes
            let clients = try ChildProcess([
                "python3", "-B", "\(EndToEnd.scripts)/slowtls.py", "\(proxy.port)", "30", proxy.authority,
                "mapped.test",
                "/file",
            ])
            try Wait.until { clients.output.contains("ready\n") || clients.hasEnded }
            #expect(clients.output == "ready\n", "\(clients.error)")
            // Where a rate says when more is sent, too.
            for _ in 0..<10 {
                #expect((proxy.binary.residentBytes - before) / 30 < 2 * mebibyte)
                usleep(100_000)
            }
        }

        @Test("Two hundred tunnels whose clients do not read hold at most 64 KiB each way, and their bookkeeping")
        func tunnels() throws {
            let sent = Counter()
            let origin = try RawOrigin { socket in
                let block = [UInt8](repeating: 0x63, count: 65536)
                while true {
                    try socket.send(block)
                    sent.add(block.count)
                }
            }
            let served = try ServedMap(tunnelsTo: origin.port)
            let binary = served.binary
            for _ in 0..<10 { _ = try binary.tunnel(to: origin.port).receive(exactly: 1 << 20) }
            #expect(Wait.holds { origin.closedCount == 10 })
            let before = binary.footprint
            let peaks = try (0..<2).map { round in
                let tunnels = try (0..<200).map { _ in try binary.tunnel(to: origin.port, receiveBuffer: 8192) }
                let peak = try binary.peakResidentBytes(untilStill: sent)
                for tunnel in tunnels {
                    #expect(try tunnel.receive(exactly: 1000).count == 1000)
                    tunnel.close()
                }
                #expect(Wait.holds { origin.closedCount == 10 + 200 * (round + 1) })
                return peak
            }
            #expect((peaks[0] - before.residentBytes) / 200 < 128 << 10)
            // What the allocator keeps is used again.
            #expect(peaks[1] - peaks[0] < 8 * mebibyte)
            let after = try binary.settle(to: before, memory: .max / 2)
            #expect(after.descriptors <= before.descriptors, "\(before), \(after)")
        }

        @Test("A mapped file of 5 GiB is sent from disk: its last byte by Range, and much of it, in less than 64 MiB")
        func largeFile() throws {
            let served = try ServedMap("http://mapped.test/x: { text: x }\nhttp://mapped.test/big: big.bin")
            let binary = served.binary
            let size = 5 << 30
            let file = open("\(served.folder.path)/big.bin", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            try #require(file >= 0)
            try #require(pwrite(file, "Z", 1, size - 1) == 1)
            close(file)
            _ = try binary.get("http://mapped.test/x")
            let before = binary.residentBytes
            let head = try binary.exchange("HEAD", "http://mapped.test/big")
            #expect(head.status == 200)
            #expect(head.field("Content-Length") == "5368709120")
            let last = try binary.get("http://mapped.test/big", fields: ["Range: bytes=5368709119-"])
            #expect(last.status == 206)
            #expect(last.text == "Z")
            #expect(last.field("Content-Range") == "bytes 5368709119-5368709119/5368709120")
            let client = try binary.connect()
            try client.sendRequest("GET", "http://mapped.test/big")
            #expect(try client.receiveResponseHead().status == 200)
            var received = 0
            let peak = try binary.peakResidentBytes {
                let count = try client.receive(1 << 20).count
                received += count
                return count > 0 && received < Memory.gibibyte
            }
            #expect(received >= Memory.gibibyte)
            #expect(peak - before < 64 * mebibyte)
        }

        @Test("Requests, connections and idle clients leave nothing behind, however many there are")
        func manyRequests() throws {
            let origin = try ScriptedOrigin(body: "forwarded")
            let served = try ServedMap()
            let binary = served.binary
            let mapped = "GET http://mapped.test/x HTTP/1.1\r\nHost: mapped.test\r\n\r\n"
            func pipeline(_ rounds: Int) throws {
                let client = try binary.connect()
                for _ in 0..<rounds {
                    try client.send(String(repeating: mapped, count: 100))
                    for _ in 0..<100 { try #require(try client.receiveResponse().text == "x") }
                }
            }
            func connectOnce(_ count: Int) throws {
                for _ in 0..<count {
                    try #require(try binary.get("http://127.0.0.1:\(origin.port)/").text == "forwarded")
                }
            }
            try pipeline(10)
            try connectOnce(200)
            let calm = binary.footprint
            _ = try IdleConnections.connect(binary, 300)
            let before = try binary.settle(to: calm, memory: .max / 2)
            // In its heavy form 100,000 each.
            try pipeline(isHeavy ? 1000 : 50)
            try connectOnce(isHeavy ? 100_000 : 1500)
            let clients = try IdleConnections.connect(binary, 600)
            #expect((binary.residentBytes - before.residentBytes) / 600 < 20 << 10)
            for client in clients { client.close() }
            let after = try binary.settle(to: before, memory: 4 * mebibyte)
            #expect(after.descriptors <= before.descriptors, "\(before), \(after)")
            #expect(after.residentBytes - before.residentBytes < 4 * mebibyte)
        }

        /// A request after which connections that origins have closed are not kept any longer.
        private func ping(_ binary: RunningBinary) throws { _ = try binary.get("http://mapped.test/x") }
    }
}

extension RunningBinary {
    /// The most memory in use until so many bytes that origins have sent have not changed for a second: until all that
    /// takes any is full.
    fileprivate func peakResidentBytes(untilStill sent: Counter) throws -> Int {
        var peak = 0
        try Wait.until {
            let last = sent.value
            return Wait.keeps(for: 1) {
                peak = max(peak, residentBytes)
                return sent.value == last
            }
        }
        return peak
    }
}

/// A count that several threads add to.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add(_ amount: Int = 1) { count.add(amount, ordering: .relaxed) }

    /// Adds one and returns the value that it makes.
    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}
