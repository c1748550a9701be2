import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Sockets that the program is given instead of opening them. (sd_listen_fds(3))
    @Suite("Passed sockets")
    struct SocketActivation {
        private func ask(_ socket: Socket) throws -> ProxyResponse {
            try socket.sendRequest("GET", "http://mapped.test/x", fields: ["Connection: close"])
            return try socket.receiveResponse()
        }

        @Test(
            "A passed socket is served in the place of the default address, whatever its name",
            arguments: ["http", "subproxy.socket", "", "a:b:c"])
        func names(names: String) throws {
            let manager = try ServiceManager()
            let process = try manager.start(names: names)
            #expect(try manager.readyStatus() == "listening on http://127.0.0.1:\(manager.port) (1 map, 1 rule)")
            #expect(try ask(try Socket.connect(port: manager.port)).text == "x")
            // Closed by exec: the first octal digit of O_CLOEXEC. (proc(5), fdinfo)
            let information = try ChildProcess.run(["cat", "/proc/\(process.identifier)/fdinfo/3"]).output
            #expect(information.contains(#/flags:\s+02[0-7]{6}\n/#))
        }

        @Test("Addresses that are given are listened on besides, and one that was passed is not bound again")
        func besides() throws {
            let manager = try ServiceManager()
            let own = "127.0.0.1:\(manager.port)"
            let process = try manager.start(["--listen", own, "--listen", "127.0.0.2:0"])
            let status = try manager.readyStatus()
            #expect(
                status.wholeMatch(of: #/listening on http://127\.0\.0\.2:[0-9]+, http://(.+) \(1 map, 1 rule\)/#)?.1
                    == own[...])
            #expect(process.status == nil)
        }

        @Test("A socket of IPv6 and one with a path are served as well; who comes by the path is of this machine")
        func families() throws {
            let folder = TemporaryFolder()
            let path = "\(folder.path)/proxy"
            let manager = try ServiceManager(sockets: [try .listen(family: AF_INET6), try .listen(path: path)])
            let process = try manager.start(names: "http:http", environment: ["no_proxy": ""])
            let status = try manager.readyStatus()
            let port = try #require(
                status.firstMatch(of: #/http://\[::1\]:([0-9]+), http\+unix:(.+) \(1 map/#).flatMap { match in
                    match.2 == path ? String(match.1) : nil
                })
            for proxy in [["-x", "http://[::1]:\(port)"], ["--unix-socket", path, "--request-target", Self.url]] {
                let fetched = try ChildProcess.run(["curl", "-sS", "--max-time", "300"] + proxy + [Self.url])
                #expect(fetched.output == "x", "\(fetched.error)")
            }
            // Loopback addresses are for clients of this machine.
            let origin = try ScriptedOrigin(body: "local")
            let client = try Socket.connect(path: path)
            try client.sendRequest("GET", "http://127.0.0.1:\(origin.port)/", fields: ["Connection: close"])
            #expect(try client.receiveResponse().text == "local")
            #expect(Wait.holds { process.output.contains("GET http://mapped.test/x 200") })
        }

        private static let url = "http://mapped.test/x"

        @Test("A socket whose name is https is for clients that speak TLS with their proxy")
        func secure() throws {
            let workshop = try CertificateWorkshop()
            let files = try workshop.make("proxy.test")
            let manager = try ServiceManager()
            let process = try manager.start(["--tls-cert", files.chain, "--tls-key", files.key], names: "https")
            #expect(try manager.readyStatus().hasPrefix("listening on https://127.0.0.1:\(manager.port) "))
            let fetched = try ChildProcess.run([
                "curl", "-sS", "-x", "https://proxy.test:\(manager.port)", "--resolve",
                "proxy.test:\(manager.port):127.0.0.1", "--proxy-cacert", workshop.authority, Self.url,
            ])
            #expect(fetched.output == "x", "\(fetched.error)")
            #expect(process.status == nil)
        }

        enum Fault: CaseIterable {
            case datagram, notListening, notOpen, tooMany, tlsWithoutCertificate, remote
        }

        @Test("A socket that can't be listened on ends the start with one line", arguments: Fault.allCases)
        func faults(fault: Fault) throws {
            var sockets: [Socket]?
            var environment: [String: String] = [:]
            var (names, status, text): (String, Int32, String) = ("http", 69, "")
            switch fault {
            case .datagram:
                sockets = [Socket(taking: socket(AF_INET, CInt(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0))]
                text = "the passed descriptor 3 'http' is no stream socket; use ListenStream="
            case .notListening:
                sockets = [Socket(taking: socket(AF_INET, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC, 0))]
                text = "the passed descriptor 3 'http' does not listen; use Accept=no"
            case .notOpen:
                environment["LISTEN_FDS"] = "9"
                text = "is passed, but it is not open"
            case .tooMany:
                environment["LISTEN_FDS"] = "1025"
                text = "LISTEN_FDS says 1025 descriptors"
            case .tlsWithoutCertificate: (names, status, text) = ("https", 64, "an https listener needs --tls-cert")
            case .remote:
                sockets = [try Socket.listen(isOnAllAddresses: true).socket]
                (status, text) = (64, "0.0.0.0 can be reached from other machines, which needs --allow-remote")
            }
            let manager = try ServiceManager(sockets: sockets)
            let process = try manager.start(names: names, environment: environment)
            #expect(try process.finish() == status)
            #expect(process.error.contains(text), "\(process.error)")
            #expect(process.error.split(separator: "\n").count == 1)
            #expect(manager.notifications.waiting().isEmpty)
        }

        @Test("Sockets that are for another process are left alone")
        func otherProcess() throws {
            let manager = try ServiceManager()
            let process = try manager.start(["--listen", "127.0.0.1:0"], owner: "1")
            let status = try manager.readyStatus()
            #expect(!status.contains(":\(manager.port) "))
            #expect(process.status == nil)
        }

        @Test("Connections that come while no process is there are answered by the next one")
        func waitingConnections() throws {
            let manager = try ServiceManager()
            let first = try manager.start()
            _ = try manager.readyStatus()
            #expect(try ask(try Socket.connect(port: manager.port)).text == "x")
            first.send(SIGTERM)
            #expect(try first.finish() == 0)
            // More than NIO's own queue would hold.
            let clients = try (0..<300).map { _ in
                let client = try Socket.connect(port: manager.port)
                try client.sendRequest("GET", "http://mapped.test/x", fields: ["Connection: close"])
                return client
            }
            let second = try manager.start()
            for client in clients { #expect(try client.receiveResponse().text == "x") }
            #expect(second.status == nil)
        }

        @Test("Restarts under load fail no request and refuse no connection")
        func restartsUnderLoad() async throws {
            let origin = try ScriptedOrigin(body: "forwarded")
            let manager = try ServiceManager("http://mapped.test/file: file.txt", files: ["file.txt": "mapped"])
            let port = manager.port
            let urls = [("http://mapped.test/file", "mapped"), ("http://127.0.0.1:\(origin.port)/", "forwarded")]
            let isOver = Counter()
            var process = try manager.start(["--threads", "2"])
            _ = try manager.readyStatus()
            async let counts = atOnce(4) { worker in
                var count = 0
                var client: Socket?
                while isOver.value == 0 {
                    let (url, text) = urls[count % 2]
                    let connection = try client ?? Socket.connect(port: port)
                    // Half of them use a connection for as long as the proxy lets them.
                    let isLast = worker % 2 == 0
                    try connection.sendRequest("GET", url, fields: isLast ? ["Connection: close"] : [])
                    let response = try connection.receiveResponse()
                    #expect(response.status == 200)
                    #expect(response.text == text)
                    client = isLast || response.field("Connection") == "close" ? nil : connection
                    count += 1
                }
                return count
            }
            for _ in 0..<6 {
                #expect(Wait.keeps(for: 0.3) { process.status == nil })
                process.send(SIGTERM)
                #expect(try process.finish() == 0)
                _ = manager.notifications.waiting()
                process = try manager.start(["--threads", "2"])
                _ = try manager.readyStatus()
            }
            #expect(Wait.keeps(for: 0.5) { process.status == nil })
            isOver.add()
            #expect(try await counts.reduce(0, +) > 4)
        }
    }
}

extension Socket {
    /// Listens on ::1.
    fileprivate static func listen(family: CInt) throws -> Socket {
        let listener = Socket(taking: socket(family, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC, 0))
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        try listener.listen(on: &address)
        return listener
    }

    /// Listens on a path.
    fileprivate static func listen(path: String) throws -> Socket {
        let listener = Socket(taking: socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC, 0))
        var address = unixAddress(path)
        try listener.listen(on: &address)
        return listener
    }

    /// Connects to a path.
    fileprivate static func connect(path: String) throws -> Socket {
        let client = Socket(taking: socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC, 0))
        client.setTimeout(Int(Wait.limit))
        var address = unixAddress(path)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(client.descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw Failure.failed("connect", code: errno) }
        return client
    }

    private func listen<Address>(on address: inout Address) throws {
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
        guard result == 0, Glibc.listen(descriptor, 64) == 0 else { throw Failure.failed("listen", code: errno) }
    }

    private static func unixAddress(_ path: String) -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return address
    }
}
