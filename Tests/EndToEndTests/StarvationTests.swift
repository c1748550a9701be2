import ProxyTestKit
import Testing

extension EndToEnd {
    /// RE-21: all that event loops must not wait for, slow at the same time.
    @Suite(
        "Starvation of threads",
        .enabled(
            if: FaultInjection.isAvailable && NetworkNamespace.isAvailableWithMounts,
            "needs root, for namespaces of networks and mounts, and strace"))
    struct Starvation {
        private static let files = 6
        private static let names = 60
        private static let certificates = 20

        @Test("RE-21: while disk, names and new certificates are slow, nothing else waits, and no event loop is late")
        func slowEverything() throws {
            let network = try NameResolution.Network()
            try NetworkNamespace.inside(network.server) { try askBesideSlowness(network) }
        }

        private func askBesideSlowness(_ network: NameResolution.Network) throws {
            let origin = try ScriptedOrigin(fields: "Connection: close\r\n", body: "found")
            let authority = try TemporaryFolder()
            let served = try ServedMap(
                """
                http://mapped.test/x: { text: x }
                http://mapped.test/retained: retained.txt
                http://mapped.test/slow/: ./
                https://*.decrypted.test/x: { text: x }
                """,
                files: Dictionary(
                    uniqueKeysWithValues: (0..<Starvation.files).map { ("\($0).txt", "slow \($0)") }
                        + [("retained.txt", "retained")]),
                options: ["--threads", "1", "--connect-timeout", "4s", "--ca-dir", "\(authority.path)/ca"],
                wrapper: NetworkNamespace.entering(network.server))
            let binary = served.binary
            let urls = [
                "http://mapped.test/x": "x", "http://mapped.test/retained": "retained",
                "http://127.0.0.1:\(origin.port)/": "found",
            ]
            for (url, text) in urls { #expect(try binary.get(url).text == text) }
            // The first certificate takes an authority, which is synced to the disk.
            let injection = try FaultInjection(
                into: binary.process, ["pread64:delay_enter=2000000", "fsync:delay_enter=2000000"])
            let readers = try (0..<Starvation.files).map { try begin(binary, "http://mapped.test/slow/\($0).txt") }
            let askers = try (0..<Starvation.names).map { try begin(binary, "http://silent.\($0).test/") }
            let hosts = "https://host[1-\(Starvation.certificates)].decrypted.test/x"
            let decrypted = try ChildProcess([
                "curl", "--disable", "--silent", "--insecure", "--max-time", "60", "--noproxy", "", "-x",
                "http://127.0.0.1:\(binary.port)", "--parallel", "--parallel-immediate", "--parallel-max",
                "\(Starvation.certificates)", "--output", "/dev/null", "--write-out", "%{http_code} ", hosts,
            ])
            var rounds = 0
            var roundsBeforeAll = 0
            while !(readers + askers).allSatisfy(\.hasInput) || decrypted.status == nil {
                let fresh = "http://brief.\(rounds).test:\(origin.port)/"
                for (url, text) in urls.merging([fresh: "found"], uniquingKeysWith: { $1 }) {
                    #expect(try binary.get(url).text == text, "\(url)")
                }
                rounds += 1
                let isWaiting = decrypted.status == nil && !(readers + askers).contains(where: \.hasInput)
                if isWaiting { roundsBeforeAll = rounds }
            }
            let lag = try Metrics.value(#"subproxy_event_loop_lag_seconds{loop="0"}"#, binary)
            // They all hung for two seconds at least, in which the others were answered again and again.
            #expect(roundsBeforeAll > 3)
            #expect(injection.count >= Starvation.files + 4)
            // A loop that had waited for one of them would have been late by all of it.
            #expect(try #require(lag) < 1)
            for (index, reader) in readers.enumerated() {
                #expect(try reader.receiveResponse().text == "slow \(index)")
            }
            for asker in askers { #expect(try asker.receiveResponse().status == 504) }
            #expect(decrypted.output == String(repeating: "200 ", count: Starvation.certificates))
            try injection.end()
        }

        private func begin(_ binary: RunningBinary, _ url: String) throws -> Socket {
            let client = try binary.connect(seconds: 15)
            try client.sendRequest("GET", url, fields: ["Connection: close"])
            return client
        }
    }
}
