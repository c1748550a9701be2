import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Names whose resolution fails, hangs, takes long or gives odd addresses, in a network of the test's own.
    @Suite(
        "Name resolution",
        .kernel(NetworkNamespace.isAvailableWithMounts, "namespaces of networks and mounts"))
    struct NameResolution {
        /// A network whose only name server is `Scripts/nameserver.py`.
        final class Network {
            let server: ChildProcess
            private let folder: TemporaryFolder

            init() throws {
                folder = TemporaryFolder()
                let names = try folder.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:30 attempts:5\n")
                let order = try folder.write("nsswitch.conf", "hosts: files dns\n")
                server = try ChildProcess(
                    NetworkNamespace.wrapper(
                        setUp: """
                            ip address add 10.77.0.1 dev lo && ip address add 10.77.0.2 dev lo && \
                            mount --bind \(names) /etc/resolv.conf && \
                            { ! [ -e /etc/nsswitch.conf ] || mount --bind \(order) /etc/nsswitch.conf; }
                            """)
                        + ["python3", "-B", "\(scripts)/nameserver.py", "127.0.0.1"])
                let server = server
                try Wait.until {
                    try #require(server.status == nil, "\(server.error)")
                    return server.output.contains("ready")
                }
            }

            /// Has the names answered that got no answer so far: there are none such.
            func answerSilentNames() { server.send(SIGUSR1) }

            /// The program, with the network's name server.
            func serve(_ options: [String], tunnelsTo port: UInt16? = nil) throws -> ServedMap {
                try ServedMap(options: options, tunnelsTo: port, wrapper: NetworkNamespace.entering(server))
            }
        }

        /// Begins a GET of a name's page, or a tunnel to it.
        private func begin(_ binary: RunningBinary, _ host: String, _ port: UInt16, tunnel: Bool = false) throws
            -> Socket
        {
            let client = try binary.connect()
            if tunnel {
                try client.send("CONNECT \(host):\(port) HTTP/1.1\r\nHost: \(host):\(port)\r\n\r\n")
            } else {
                try client.sendRequest("GET", "http://\(host):\(port)/", fields: ["Connection: close"])
            }
            return client
        }

        @Test("A name that does not resolve is 502, one that hangs 504, and odd answers are made the best of")
        func oddAnswers() throws {
            let network = try Network()
            try NetworkNamespace.inside(network.server) { try askOddNames(network) }
        }

        private func askOddNames(_ network: Network) throws {
            let origin = try ScriptedOrigin(fields: "Connection: close\r\n", body: "found")
            let (closed, closedPort) = try Socket.reserve()
            defer { closed.close() }
            let served = try network.serve([], tunnelsTo: origin.port)
            let impatient = try network.serve(["--connect-timeout", "1s"], tunnelsTo: origin.port)
            let cases: [(host: String, port: UInt16, status: Int, error: String)] = [
                ("nxdomain.test", origin.port, 502, "dns_error"), ("servfail.test", origin.port, 502, "dns_error"),
                ("loop.test", origin.port, 502, "dns_error"), ("silent.test", origin.port, 504, "connection_timeout"),
                ("late.test", origin.port, 200, ""), ("many.test", origin.port, 200, ""),
                ("many.test", closedPort, 502, "connection_refused"), ("brief.test", origin.port, 200, ""),
            ]
            func start(_ test: (host: String, port: UInt16, status: Int, error: String), tunnel: Bool) throws -> Socket
            {
                let server = test.status == 504 ? impatient : served
                return try begin(server.binary, test.host, test.port, tunnel: tunnel)
            }
            let clients = try cases.map { try start($0, tunnel: false) }
            let tunnels = try cases.map { try start($0, tunnel: true) }
            for (index, expected) in cases.enumerated() {
                let response = try clients[index].receiveResponse()
                #expect(response.status == expected.status, "\(expected.host)")
                if expected.status == 200 {
                    #expect(response.text == "found")
                } else {
                    #expect(response.field("Proxy-Status")?.hasPrefix("subproxy; error=\(expected.error)") == true)
                }
                guard expected.port == origin.port else { continue }
                let head = String(decoding: try tunnels[index].receive(until: "\r\n\r\n"), as: UTF8.self)
                #expect(head.hasPrefix("HTTP/1.1 \(expected.status) "), "\(expected.host)")
            }
            #expect(try begin(served.binary, "brief.test", origin.port).receiveResponse().text == "found")
        }

        @Test("While 200 names hang, other hosts are answered, and after it everything is as before")
        func hangingNames() throws {
            let network = try Network()
            try NetworkNamespace.inside(network.server) { try askBesideHangingNames(network) }
        }

        private func askBesideHangingNames(_ network: Network) throws {
            let origin = try ScriptedOrigin(fields: "Connection: close\r\n", body: "found")
            let served = try network.serve([
                "--connect-timeout", "5m", "--resolve", "given.test:\(origin.port):127.0.0.1",
            ])
            let binary = served.binary
            let urls = [
                "http://mapped.test/x": "x", "http://127.0.0.1:\(origin.port)/": "found",
                "http://given.test:\(origin.port)/": "found",
            ]
            for (url, text) in urls { #expect(try binary.get(url).text == text) }
            // The thread that watches the map may begin later than the first request.
            try Wait.until { binary.openDescriptors.contains { $0.contains("inotify") } }
            let before = binary.footprint
            let clients = try (0..<200).map { try begin(binary, "silent.\($0).test", origin.port) }
            for round in 0..<10 {
                let fresh = "http://brief.\(round).test:\(origin.port)/"
                for (url, text) in urls.merging([fresh: "found"], uniquingKeysWith: { $1 }) {
                    #expect(try binary.get(url).text == text, "\(url)")
                }
            }
            #expect(!clients.contains { $0.hasInput })
            network.answerSilentNames()
            for client in clients { #expect(try client.receiveResponse().status == 502) }
            for client in clients { client.close() }
            let after = try binary.settle(to: before, memory: 16 * mebibyte)
            #expect(after.descriptors <= before.descriptors)
            #expect(after.residentBytes - before.residentBytes < 16 * mebibyte)
            binary.process.send(SIGTERM)
            #expect(try binary.process.finish() == 0)
        }

        @Test("What counts is the address that is connected to: a name that turns to another gets nobody anywhere")
        func rebinding() throws {
            let network = try Network()
            try NetworkNamespace.inside(network.server) { try askTurningNames(network) }
        }

        private func askTurningNames(_ network: Network) throws {
            let origins = try (0..<2).map { _ in
                try ScriptedOrigin(isOnAllAddresses: true, fields: "Connection: close\r\n", body: "found")
            }
            let (first, second) = (origins[0], origins[1])
            let neighbour = try NetworkNamespace.neighbour(at: "198.51.100.1")
            let afar = try NetworkNamespace.inside(neighbour) {
                try ScriptedOrigin(isOnAllAddresses: true, fields: "Connection: close\r\n", body: "found")
            }
            let served = try network.serve(["--listen", "10.77.0.1:3128", "--allow-remote"])
            let binary = served.binary
            // From this machine.
            for (host, port, status) in [
                ("at-127-0-0-1.test", first.port, 200), ("at-169-254-169-254.test", first.port, 403),
                ("at-127-0-0-1.test", binary.port, 508), ("at-10-77-0-1.test", 3128, 508),
            ] {
                let response = try begin(binary, host, port).receiveResponse()
                #expect(response.status == status, "\(host)")
            }
            // From another address, which counts as another machine.
            func ask(_ host: String, _ port: UInt16) throws -> ChildProcess {
                try ChildProcess.run([
                    "curl", "--disable", "--silent", "--max-time", "300", "--noproxy", "", "--interface", "10.77.0.2",
                    "-x", "http://10.77.0.1:3128", "--write-out", " %{http_code}", "http://\(host):\(port)/",
                ])
            }
            let counts = origins.map(\.connectionCount)
            #expect(try ask("at-127-0-0-1.test", first.port).output.hasSuffix(" 403"))
            #expect(try ask("at-10-77-0-1.test", first.port).output.hasSuffix(" 403"))
            #expect(try ask("at-10-77-0-1.test", 3128).output.hasSuffix(" 508"))
            #expect(origins.map(\.connectionCount) == counts)
            #expect(try ask("turning.test", afar.port).output == "found 200")
            let turned = try ask("turning.test", second.port)
            #expect(turned.output.hasSuffix(" 403"))
            #expect(turned.output.contains("loopback"))
            #expect(second.connectionCount == counts[1])
            // One of the addresses has nobody, the other is not for this client.
            let inner = try ScriptedOrigin(body: "never")
            #expect(try ask("at-198-51-100-1-or-127-0-0-1.test", inner.port).output.hasSuffix(" 403"))
            #expect(inner.connectionCount == 0)
        }
    }
}
