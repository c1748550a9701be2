import ProxyTestKit
import Testing

extension EndToEnd {
    /// Many clients that are slow on purpose, beside one that is not.
    @Suite("Slow clients")
    struct SlowClients {
        enum Kind: String, CaseIterable, CustomTestStringConvertible {
            case heads, bodies, readers

            var count: Int {
                switch self {
                case .heads: 1000
                case .bodies: 500
                // The kernel takes some megabytes for each at once.
                case .readers: isHeavy ? 500 : 200
                }
            }

            var testDescription: String {
                switch self {
                case .heads: "\(count) that send their heads byte by byte"
                case .bodies: "\(count) that send their bodies byte by byte"
                case .readers: "\(count) that read 10 MiB byte by byte"
                }
            }
        }

        private static let file = String(repeating: "0123456789abcdef", count: 10 << 16)

        @Test("keep no good request waiting: 99 of 100 take less than 250 ms", arguments: Kind.allCases)
        func goodRequests(beside kind: Kind) throws {
            let origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                try connection.respond(body: "forwarded")
                return true
            }
            let served = try ServedMap(
                "http://mapped.test/x: { text: x }\nhttp://mapped.test/file: file.txt",
                files: ["file.txt": SlowClients.file],
                options: ["--header-timeout", "1s"])
            let binary = served.binary
            _ = try binary.get("http://mapped.test/file")
            _ = try binary.get("http://127.0.0.1:\(origin.port)/")
            let before = binary.footprint
            // Of three times the best: on a machine that is busy with other things requests wait for those.
            var outputs: [String] = []
            var isQuick = false
            while !isQuick, outputs.count < 3 {
                let clients = try ChildProcess.run([
                    "python3", "-B", "\(scripts)/slowclients.py", kind.rawValue, "\(kind.count)", "\(binary.port)",
                    "\(origin.port)",
                ])
                try #require(clients.status == 0, "\(clients.error)\(clients.output)")
                outputs.append(clients.output)
                let numbers = clients.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
                // A head has a second, limits are looked at four times a second, and each client once.
                isQuick = numbers[1] < 250 && (kind != .heads || numbers[3] < 3000)
                #expect(kind != .heads || numbers[2] == kind.count, "\(clients.output)")
            }
            #expect(isQuick, "\(outputs)")
            origin.closeConnections()
            let after = try binary.settle(to: before, memory: 48 * mebibyte) {
                _ = try binary.get("http://127.0.0.1:\(origin.port)/")
            }
            #expect(after.descriptors <= before.descriptors + 1, "\(before), \(after)")
            #expect(after.residentBytes - before.residentBytes < 48 * mebibyte)
        }

        @Test("Beside 10,000 idle ones and 1,000 with slow heads at once 99 of 100 good requests take less than 250 ms")
        func idleAndSlow() throws {
            let origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request, isKept: false)
                try connection.respond(body: "forwarded")
                return true
            }
            let slow = 1000
            // The proxy, which has the same limit, needs some for the others.
            let count = min(10_000, DescriptorLimit.raise() - slow - 500)
            let served = try ServedMap(options: [
                "--max-connections", "\(count + slow + 200)", "--header-timeout", "3s",
            ])
            let binary = served.binary
            for _ in 0..<20 { #expect(try binary.get("http://mapped.test/x").text == "x") }
            let idle = try IdleConnections.connect(binary, count, binary.footprint)
            defer { for client in idle { client.close() } }
            var outputs: [String] = []
            var isQuick = false
            while !isQuick, outputs.count < 3 {
                let clients = try ChildProcess.run([
                    "python3", "-B", "\(scripts)/slowclients.py", "heads", "\(slow)", "\(binary.port)",
                    "\(origin.port)",
                ])
                try #require(clients.status == 0, "\(clients.error)\(clients.output)")
                outputs.append(clients.output)
                let numbers = clients.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
                try #require(numbers.count == 5, "\(clients.output)")
                // All of the slow ones were there, as each of them got its 408.
                #expect(numbers[2] == slow, "\(clients.output)")
                #expect(numbers[4] >= 300)
                isQuick = numbers[1] < 250
            }
            print("\(count) idle, \(slow) slow: \(outputs.map { $0.split(separator: "\n").joined(separator: ", ") })")
            #expect(isQuick, "\(outputs)")
            #expect(!idle.contains { $0.hasEnded })
            #expect(binary.descriptorCount >= count)
        }
    }
}
