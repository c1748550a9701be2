import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Disks that are slow or broken, played by strace(1).
    @Suite(
        "Disk faults", .program("strace", of: "strace"), .kernel(FaultInjection.isAllowed, "leave to trace a process"))
    struct DiskFaults {
        private static let large = 20 * mebibyte

        /// A file of zeros, larger than what is retained.
        private func writeLargeFile(_ served: ServedMap, _ name: String) throws {
            let path = try served.folder.write(name, "")
            try #require(truncate(path, DiskFaults.large) == 0)
        }

        @Test("While reads from disk hang, all that needs none is answered")
        func slowDisk() throws {
            let origin = try ScriptedOrigin(body: "forwarded")
            let count = 6
            let served = try ServedMap(
                """
                http://mapped.test/x: { text: x }
                http://mapped.test/retained: retained.txt
                http://mapped.test/slow/: ./
                """,
                files: Dictionary(
                    uniqueKeysWithValues: (0..<count).map { ("\($0).txt", "slow \($0)") }
                        + [("retained.txt", "retained")]))
            let binary = served.binary
            let urls = [
                "http://mapped.test/x": "x", "http://mapped.test/retained": "retained",
                "http://127.0.0.1:\(origin.port)/": "forwarded",
            ]
            served.folder.age()
            for (url, text) in urls { #expect(try binary.get(url).text == text) }
            let injection = try FaultInjection(into: binary.process, [FaultInjection.holding("pread64")])
            let readers = try (0..<count).map { index in
                let client = try binary.connect()
                try client.sendRequest("GET", "http://mapped.test/slow/\(index).txt")
                return client
            }
            try Wait.until { injection.hasBegun("pread64") }
            for _ in 0..<10 {
                for (url, text) in urls { #expect(try binary.get(url).text == text) }
            }
            #expect(!readers.contains { $0.hasInput })
            try injection.end()
            for (index, reader) in readers.enumerated() {
                #expect(try reader.receiveResponse().text == "slow \(index)")
            }
        }

        @Test(
            "A disk that fails now and then gives 503 or a response cut off, hangs nobody, and is forgotten when mended",
            arguments: [
                ["pread64:error=EIO:when=3+4", "sendfile:error=EIO:when=3+4"], ["sendfile:error=EIO:when=5+7"],
            ])
        func brokenDisk(faults: [String]) async throws {
            let served = try ServedMap(
                "http://mapped.test/: ./",
                files: Dictionary(uniqueKeysWithValues: (0..<40).map { ("\($0).txt", "file \($0)") }))
            let binary = served.binary
            for index in 0..<4 { try writeLargeFile(served, "large-\(index)") }
            #expect(try binary.get("http://mapped.test/0.txt").text == "file 0")
            let before = binary.footprint
            let injection = try FaultInjection(into: binary.process, faults)
            let isWhole = try await atOnce(8) { worker in
                try (0..<6).map { round in
                    let index = worker * 5 + round % 5
                    let url = "http://mapped.test/" + (round < 5 ? "\(index).txt" : "large-\(worker % 4)")
                    let response = try binary.get(url)
                    guard response.status == 200 else {
                        #expect(response.status == 503)
                        #expect(
                            response.field("Proxy-Status")?.hasPrefix("subproxy; error=proxy_internal_error") == true)
                        return false
                    }
                    guard response.isComplete else { return false }
                    if round < 5 {
                        #expect(response.text == "file \(index)")
                    } else {
                        #expect(response.body.count == DiskFaults.large)
                    }
                    return true
                }
            }
            .flatMap { $0 }
            #expect(isWhole.contains(false))
            #expect(isWhole.contains(true))
            #expect(injection.count > 0)
            try injection.end()
            for index in 0..<40 { #expect(try binary.get("http://mapped.test/\(index).txt").text == "file \(index)") }
            #expect(try binary.get("http://mapped.test/large-0").body.count == DiskFaults.large)
            let after = try binary.settle(to: before, memory: .max / 2)
            #expect(after.descriptors <= before.descriptors, "\(before), \(after)")
        }
    }
}
