import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Many clients of one file that is too large to be retained.
    @Suite("Many downloads")
    struct ManyDownloads {
        private static let size = 10 * mebibyte

        @Test("1,000 downloads of a 10 MiB file at a time are whole, and take two descriptors and little memory each")
        func manyDownloads() throws {
            let count = min(1000, (DescriptorLimit.raise() - 100) / 2)
            let served = try ServedMap(
                "http://mapped.test/x: { text: x }\nhttp://mapped.test/large: large", files: ["large": ""],
                options: ["--retain-file", "1MiB"])
            let binary = served.binary
            try #require(truncate("\(served.folder.path)/large", ManyDownloads.size) == 0)
            #expect(try binary.get("http://mapped.test/large").body.count == ManyDownloads.size)
            let before = binary.footprint
            let clients = try (0..<count).map { _ in
                let client = try binary.connect()
                try client.sendRequest("GET", "http://mapped.test/large")
                return client
            }
            for client in clients {
                let response = try client.receiveResponseHead()
                #expect(response.status == 200)
                #expect(response.field("Content-Length") == "\(ManyDownloads.size)")
            }
            var mostDescriptors = binary.openDescriptors.count
            #expect(mostDescriptors >= 2 * count)
            var left = [Int](repeating: ManyDownloads.size, count: count)
            var unfinished = Array(clients.indices)
            var rounds = 0
            var lastProgress = Clock.seconds
            let peak = try binary.peakResidentBytes {
                var hasProgress = false
                for index in unfinished {
                    guard let taken = try clients[index].discardWithoutWaiting() else { continue }
                    left[index] -= taken == 0 ? .max : taken
                    hasProgress = true
                }
                unfinished.removeAll { left[$0] <= 0 }
                if hasProgress { lastProgress = Clock.seconds } else { usleep(1000) }
                rounds += 1
                if rounds % 20 == 1 {
                    mostDescriptors = max(mostDescriptors, binary.openDescriptors.count)
                    #expect(try binary.get("http://mapped.test/x").text == "x")
                }
                return !unfinished.isEmpty && Clock.seconds < lastProgress + Wait.limit
            }
            #expect(left.allSatisfy { $0 == 0 })
            // One more for the client that asks meanwhile.
            #expect(mostDescriptors <= before.descriptors + 2 * count + 1)
            #expect((peak - before.residentBytes) / count < 64 << 10)
            for client in clients { client.close() }
            let after = try binary.settle(to: before, memory: .max / 2)
            #expect(after.descriptors <= before.descriptors)
        }
    }
}
