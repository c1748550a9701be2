import Glibc
import ProxyTestKit
import Synchronization
import Testing

extension EndToEnd {
    /// The store's budget is the bound of the process's memory, whatever passes through it.
    @Suite("Memory of stored responses")
    struct CacheMemory {
        /// How much is scanned. The full size, for a release build, is ten thousand objects with the default memory:
        /// `SUBPROXY_FULL_SCAN=1 SUBPROXY_BINARY=.build/release/subproxy swift test --filter CacheMemory`.
        private static let isFull = getenv("SUBPROXY_FULL_SCAN") != nil
        private static let budget = (isFull ? 256 : 64) * mebibyte
        private static let objects = isFull ? 10_000 : 1200
        private static let large = (isFull ? 300 : 80) * mebibyte

        /// An origin whose paths name the sizes of its responses, all sent from one buffer.
        private func origin() throws -> ScriptedOrigin {
            let block = [UInt8](repeating: 0x61, count: mebibyte)
            return try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                let words = request.target.split(separator: "/")
                let size = words.first.flatMap { Int($0) } ?? 0
                let isChunked = words.dropFirst().first == "chunked"
                try connection.socket.send(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n"
                        + (isChunked ? "Transfer-Encoding: chunked\r\n\r\n" : "Content-Length: \(size)\r\n\r\n"))
                var left = size
                while left > 0 {
                    let count = min(left, block.count)
                    if isChunked { try connection.socket.send(String(count, radix: 16) + "\r\n") }
                    try connection.socket.send(count == block.count ? block : Array(block[..<count]))
                    if isChunked { try connection.socket.send("\r\n") }
                    left -= count
                }
                if isChunked { try connection.socket.send("0\r\n\r\n") }
                return true
            }
        }

        @Test("A scan of distinct objects stays within the budget, and leaves a working set its hits")
        func scan() async throws {
            let origin = try origin()
            let served = try ServedMap(
                options: [
                    "--cache-memory", "\(CacheMemory.budget / mebibyte)MiB", "--threads", "2", "--log-level", "error",
                ])
            let binary = served.binary
            let base = "http://127.0.0.1:\(origin.port)"
            let workingSet = (0..<40).map { "\(base)/262144/hot/\($0)" }
            let hot = try binary.connect()
            for _ in 0..<3 {
                for url in workingSet { _ = try hot.discardResponse(to: url) }
            }
            let isOver = Atomic<Bool>(false)
            let peak = Atomic<Int>(0)
            let next = Atomic<Int>(0)
            let hits = Counter()
            let asked = Counter()
            let start = Clock.seconds
            // Three scan, one asks for the working set again and again, one watches.
            _ = try await atOnce(5) { worker in
                switch worker {
                case 0:
                    while !isOver.load(ordering: .relaxed) {
                        let resident = binary.residentBytes
                        peak.max(resident, ordering: .relaxed)
                        usleep(20_000)
                    }
                case 1:
                    while !isOver.load(ordering: .relaxed) {
                        for url in workingSet {
                            asked.add()
                            if try hot.discardResponse(to: url).hasPrefix("subproxy; hit") { hits.add() }
                        }
                        usleep(50_000)
                    }
                default:
                    let client = try binary.connect()
                    while case let number = next.add(1, ordering: .relaxed).oldValue, number < CacheMemory.objects {
                        let status = try client.discardResponse(to: "\(base)/\(mebibyte)/scan/\(number)")
                        guard status.hasPrefix("subproxy; fwd=uri-miss") else { throw UnexpectedResponse(text: status) }
                    }
                    // The last one to come to an end ends the others; they may be one object behind it.
                    isOver.store(true, ordering: .relaxed)
                }
            }
            let seconds = Clock.seconds - start
            let top = peak.load(ordering: .relaxed)
            let ratio = Double(hits.value) / Double(max(1, asked.value))
            print(
                "scan: \(CacheMemory.objects) objects in \(Int(seconds)) s, peak \(top >> 20) MiB of "
                    + "\(CacheMemory.budget >> 20) MiB, \(hits.value) of \(asked.value) hits")
            #expect(top < CacheMemory.budget + 64 * mebibyte)
            #expect(ratio > 0.99)
            #expect(asked.value >= 80)
            // The store is full: what came last is there.
            let last = try hot.discardResponse(to: "\(base)/\(mebibyte)/scan/\(CacheMemory.objects - 1)")
            #expect(last.hasPrefix("subproxy; hit"))
        }

        @Test("Clients that don't read what is being stored for them hold no more than the budget together")
        func slowReaders() throws {
            let origin = try origin()
            let served = try ServedMap(options: ["--cache-memory", "32MiB", "--threads", "2"])
            let binary = served.binary
            let before = binary.residentBytes
            let clients = try (0..<60).map { number in
                let client = try binary.connect(receiveBuffer: 8192)
                try client.sendRequest("GET", "http://127.0.0.1:\(origin.port)/\(4 * mebibyte)/\(number)")
                #expect(try client.receiveResponseHead().status == 200)
                return client
            }
            let peak = binary.peakResidentBytes(for: 1.5)
            #expect(peak - before < (32 + 64) * mebibyte)
            // They still get all of it, and the store is of use again when they are gone.
            #expect(try clients[0].receive(exactly: 4 * mebibyte).count == 4 * mebibyte)
            for client in clients { client.close() }
            let url = "http://127.0.0.1:\(origin.port)/\(mebibyte)/after"
            let client = try binary.connect()
            #expect(
                try Wait.holds { try client.discardResponse(to: url).hasPrefix("subproxy; hit") })
        }

        @Test("An object larger than the memory passes, is not stored, and costs what is stored no more than its share")
        func largeObject() throws {
            let origin = try origin()
            let served = try ServedMap(
                options: ["--cache-memory", "\(CacheMemory.budget / mebibyte)MiB", "--threads", "1"])
            let binary = served.binary
            let base = "http://127.0.0.1:\(origin.port)"
            let kept = (0..<24).map { "\(base)/\(mebibyte)/kept/\($0)" }
            let client = try binary.connect()
            for url in kept { _ = try client.discardResponse(to: url) }
            for (path, isTold) in [("", true), ("chunked", false)] {
                let url = "\(base)/\(CacheMemory.large)/\(path)"
                for _ in 1...2 {
                    let status = try client.discardResponse(to: url)
                    #expect(status == "subproxy; fwd=uri-miss" + (isTold ? "; detail=\"too large\"" : "; stored"))
                    #expect(binary.residentBytes < CacheMemory.budget + 64 * mebibyte)
                }
            }
            for url in kept { #expect(try client.discardResponse(to: url).hasPrefix("subproxy; hit")) }
        }

    }
}

/// A response had another Cache-Status than it should, or another framing.
private struct UnexpectedResponse: Error {
    var text: String
}

extension Socket {
    /// Asks for a URL, reads the response to its end without keeping it, and returns its Cache-Status.
    fileprivate func discardResponse(to url: String) throws -> String {
        try sendRequest("GET", url)
        let head = try receiveResponseHead()
        let status = head.field("Cache-Status") ?? ""
        guard let length = head.field("Content-Length").flatMap({ Int($0) }) else {
            while true {
                let line = try receive(until: "\r\n")
                guard let size = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16) else {
                    throw UnexpectedResponse(text: "a malformed chunk")
                }
                try discard(size + 2)
                if size == 0 { return status }
            }
        }
        try discard(length)
        return status
    }

    private func discard(_ count: Int) throws {
        try withUnsafeTemporaryAllocation(byteCount: 1 << 18, alignment: 8) { space in
            var left = count
            while left > 0 {
                let received = recv(descriptor, space.baseAddress, min(left, space.count), 0)
                guard received > 0 else {
                    throw UnexpectedResponse(text: "the end of the connection, \(left) bytes early")
                }
                left -= received
            }
        }
    }
}
