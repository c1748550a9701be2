import ProxyTestKit
import Testing

extension EndToEnd {
    /// All that event loops must not wait for, slow at the same time.
    @Suite(
        "Starvation of threads",
        .program("strace", of: "strace"), .kernel(FaultInjection.isAllowed, "leave to trace a process"),
        .kernel(NetworkNamespace.isAvailableWithMounts, "namespaces of networks and mounts"))
    struct Starvation {
        private static let files = 6
        private static let names = 60
        private static let certificates = 20

        @Test("While disk, names and new certificates hang, nothing else waits")
        func slowEverything() throws {
            let network = try NameResolution.Network()
            try NetworkNamespace.inside(network.server) { try askBesideSlowness(network) }
        }

        private func askBesideSlowness(_ network: NameResolution.Network) throws {
            let origin = try ScriptedOrigin(fields: "Connection: close\r\n", body: "found")
            let authority = TemporaryFolder()
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
                options: [
                    "--threads", "1", "--connect-timeout", "5m", "--header-timeout", "5m", "--ca-dir",
                    "\(authority.path)/ca",
                ],
                wrapper: NetworkNamespace.entering(network.server))
            let binary = served.binary
            let urls = [
                "http://mapped.test/x": "x", "http://mapped.test/retained": "retained",
                "http://127.0.0.1:\(origin.port)/": "found",
            ]
            served.folder.age()
            for (url, text) in urls { #expect(try binary.get(url).text == text) }
            // The first certificate takes an authority, which is synced to the disk.
            let injection = try FaultInjection(
                into: binary.process, ["pread64", "fsync"].map(FaultInjection.holding))
            let readers = try (0..<Starvation.files).map { try begin(binary, "http://mapped.test/slow/\($0).txt") }
            let askers = try (0..<Starvation.names).map { try begin(binary, "http://silent.\($0).test/") }
            let hosts = "https://host[1-\(Starvation.certificates)].decrypted.test/x"
            let decrypted = try ChildProcess([
                "curl", "--disable", "--silent", "--insecure", "--max-time", "300", "--noproxy", "", "-x",
                "http://127.0.0.1:\(binary.port)", "--parallel", "--parallel-immediate", "--parallel-max",
                "\(Starvation.certificates)", "--output", "/dev/null", "--write-out", "%{http_code} ", hosts,
            ])
            try Wait.until { injection.hasBegun("pread64") && injection.hasBegun("fsync") }
            for round in 0..<10 {
                let fresh = "http://brief.\(round).test:\(origin.port)/"
                for (url, text) in urls.merging([fresh: "found"], uniquingKeysWith: { $1 }) {
                    #expect(try binary.get(url).text == text, "\(url)")
                }
            }
            // An event loop that waited for any of them would have answered nobody.
            #expect(!(readers + askers).contains { $0.hasInput })
            #expect(decrypted.status == nil && decrypted.output == "")
            try injection.end()
            network.answerSilentNames()
            for (index, reader) in readers.enumerated() {
                #expect(try reader.receiveResponse().text == "slow \(index)")
            }
            for asker in askers { #expect(try asker.receiveResponse().status == 502) }
            try decrypted.finish()
            #expect(decrypted.output == String(repeating: "200 ", count: Starvation.certificates))
        }

        private func begin(_ binary: RunningBinary, _ url: String) throws -> Socket {
            let client = try binary.connect()
            try client.sendRequest("GET", url, fields: ["Connection: close"])
            return client
        }
    }
}
