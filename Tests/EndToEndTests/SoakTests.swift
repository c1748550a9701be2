import Foundation
import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// All kinds of work at once for a while: 10 seconds, or as many as SUBPROXY_SOAK_SECONDS says (`make soak`).
    @Suite("Soak")
    struct Soak {
        private static let seconds =
            ProcessInfo.processInfo.environment["SUBPROXY_SOAK_SECONDS"].flatMap { Double($0) } ?? 10
        /// So many steps in any case, on a machine that needs longer for them.
        private static let leastSteps = 400
        private static let workers = 4
        private static let file = String(repeating: "0123456789abcdef", count: 1 << 10)

        /// What one client does, again and again: kept connections, new ones, tunnels, and a tenth of all broken off.
        private struct Worker {
            let binary: RunningBinary
            let origin: UInt16
            let echo: UInt16
            var random: SeededGenerator
            var kept: Socket?

            mutating func step() throws {
                let kind = Int.random(in: 0..<24, using: &random)
                switch kind {
                case 0, 1: try breakOff(tunnel: kind == 0)
                case 2: try tunnel()
                case 3: try upload()
                case 20...23:
                    let size = Int.random(in: 0..<200, using: &random) * 100
                    try fetch("http://127.0.0.1:\(origin)/stored/\(size)", Soak.page(size), isKept: kind > 21)
                case 4...8: try fetch("http://mapped.test/x", "x", isKept: kind > 5)
                case 9...13: try fetch("http://mapped.test/file", Soak.file, isKept: kind > 10)
                default:
                    let size = Int.random(in: 0..<40_000, using: &random)
                    try fetch("http://127.0.0.1:\(origin)/\(size)", Soak.page(size), isKept: kind > 15)
                }
            }

            private mutating func fetch(_ url: String, _ text: String, isKept: Bool) throws {
                guard isKept else {
                    let response = try binary.get(url)
                    #expect(response.status == 200 && response.isComplete && response.text == text, "\(url)")
                    return
                }
                let client = try kept ?? binary.connect()
                kept = client
                try client.sendRequest("GET", url)
                let response = try client.receiveResponse()
                #expect(response.status == 200 && response.isComplete && response.text == text, "\(url)")
            }

            private mutating func upload() throws {
                let body = Soak.page(Int.random(in: 1..<100_000, using: &random))
                let response = try binary.exchange("POST", "http://127.0.0.1:\(origin)/echo", body: body)
                #expect(response.status == 200 && response.text == body)
            }

            private mutating func tunnel() throws {
                let client = try binary.tunnel(to: echo)
                let bytes = Array(Soak.page(Int.random(in: 1..<20_000, using: &random)).utf8)
                try client.send(bytes)
                #expect(try client.receive(exactly: bytes.count) == bytes)
            }

            /// Goes away in the middle: with a reset or an orderly end, at some point of an exchange or a tunnel.
            private mutating func breakOff(tunnel: Bool) throws {
                let client = tunnel ? try binary.tunnel(to: echo) : try binary.connect()
                if tunnel {
                    try client.send(Soak.page(5000))
                } else {
                    try client.sendRequest("GET", "http://127.0.0.1:\(origin)/39999")
                }
                if Bool.random(using: &random) { _ = try client.receive(1000) }
                if Bool.random(using: &random) { client.reset() } else { client.close() }
            }
        }

        /// What clients do in decrypted tunnels, of HTTP/2 and HTTP/1.1 in turn: 30 requests each, mapped and
        /// forwarded, over one connection; every fifth is broken off.
        private static func visitDecrypted(_ arguments: [String], _ origin: UInt16, round: Int) throws {
            let version = round % 2 == 0 ? "--http2" : "--http1.1"
            let isBrokenOff = round % 5 == 4
            let urls = ["mapped.test/x?[1-15]", "mapped.test/file?[1-5]", "mapped.test:\(origin)/page?[1-10]"]
            let client = try ChildProcess.run(
                arguments + [version, "--parallel", "--write-out", "%{http_code} "]
                    + (isBrokenOff ? ["--max-time", "0.0\(round % 7 + 1)"] : [])
                    + urls.flatMap { ["--output", "/dev/null", "https://\($0)"] })
            guard !isBrokenOff else { return }
            #expect(client.output == String(repeating: "200 ", count: 30), "\(client.output) \(client.error)")
        }

        /// A text of so many bytes that can be told from others.
        fileprivate static func page(_ size: Int) -> String {
            String(repeating: "\(size).", count: size / 2 + 1).prefix(size).description
        }

        @Test("A mix of everything leaves no wrong answer, no descriptor, and no memory that grows")
        func mix() async throws {
            let origin = try ScriptedOrigin { request, connection in
                let request = try connection.readBody(of: request, isKept: false)
                let size = Int(request.target.split(separator: "/").last ?? "")
                let fields = request.target.hasPrefix("/stored/") ? "Cache-Control: max-age=60\r\n" : ""
                try connection.respond(
                    fields: fields, body: size.map { Soak.page($0) } ?? String(decoding: request.body, as: UTF8.self))
                return true
            }
            let echo = try RawOrigin.echo()
            let workshop = try CertificateWorkshop()
            let secure = try TLSOrigin(
                try workshop.make("mapped.test"), ["--life", "\(Int(Soak.seconds) + 3600)"])
            let rules = ["http://mapped.test/x: { text: x }", "http://mapped.test/file: file.txt"]
            let secureRules =
                [
                    "https://mapped.test/x: { text: x, query: ignore }",
                    "https://mapped.test:\(secure.port)/x: { text: x }",
                ]
                + ["https://mapped.test/file: { file: file.txt, query: ignore }"]
            let proxy = try DecryptingProxy(
                (rules + secureRules).joined(separator: "\n"), files: ["file.txt": Soak.file],
                resolving: [("mapped.test", secure.port)], workshop: workshop,
                options: ["--connect-ports", "\(echo.port)"])
            let binary = proxy.binary
            let curl = proxy.curl([])
            let securePort = secure.port
            for round in 0..<2 { try Soak.visitDecrypted(curl, securePort, round: round) }
            let (originPort, echoPort) = (origin.port, echo.port)
            _ = try binary.get("http://mapped.test/file")
            let before = binary.footprint
            let start = Clock.seconds
            let steps = Counter()
            let residents = try await atOnce(Soak.workers + 2) { index -> [Int] in
                var samples: [Int] = []
                var worker = Worker(
                    binary: binary, origin: originPort, echo: echoPort, random: SeededGenerator(seed: UInt64(index)))
                while Clock.seconds - start < Soak.seconds || steps.value < Soak.leastSteps {
                    if index == 0 {
                        samples.append(binary.residentBytes)
                        usleep(100_000)
                    } else if index == 1 {
                        try Soak.visitDecrypted(curl, securePort, round: steps.next())
                    } else {
                        try worker.step()
                        steps.add()
                    }
                }
                return samples
            }
            let samples = residents[0]
            let quarter = samples.count / 4
            func mean(_ part: ArraySlice<Int>) -> Int { part.reduce(0, +) / max(1, part.count) }
            let growth = mean(samples.suffix(quarter)) - mean(samples[quarter..<2 * quarter])
            print(
                "soak: \(steps.value) steps in \(Int(Soak.seconds)) s, \(growth) bytes more in the last quarter than in the",
                "second, of \(mean(samples.suffix(quarter))); at most \(samples.max() ?? 0)")
            #expect(growth < 4 * mebibyte)
            // libcurl notices that origins have closed kept connections when it looks for one. How many were kept
            // depends on how many requests were under way at a time.
            origin.stop()
            secure.stop()
            let other = try ScriptedOrigin(fields: "Connection: close\r\n", body: "forwarded")
            // A client that was gone before its address was asked for counts as one of another machine, and the
            // transfers of those have a thread of their own, with four descriptors.
            let bound = Footprint(
                residentBytes: before.residentBytes,
                openDescriptors: before.openDescriptors + [String](repeating: "of the second thread", count: 4))
            let after = try binary.settle(to: bound, memory: 32 * mebibyte) {
                let response = try binary.get("http://127.0.0.1:\(other.port)/")
                #expect(response.text == "forwarded")
            }
            #expect(after.descriptors <= bound.descriptors, "\(before), \(after)")
            #expect(after.residentBytes - before.residentBytes < 32 * mebibyte)
        }
    }
}
