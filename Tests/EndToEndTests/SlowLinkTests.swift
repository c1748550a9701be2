import ProxyTestKit
import Testing

extension EndToEnd {
    /// Clients and origins behind a link of 1 Mbit/s whose queue is short, so that it delays and loses packets.
    @Suite(
        "Slow links", .program("tc", of: "iproute2"),
        .kernel(SlowNetwork.isAvailable, "a network of its own, with htb and tbf"))
    struct SlowLinks {
        private static let size = 120_000
        /// What shows where bytes are missing or doubled.
        private static let text = String((0..<size / 6).map { String($0 + 100_000) }.joined())

        /// One transfer over a slow link.
        private enum Way: CaseIterable {
            case mapped, forwardedToClient, uploadFromClient, tunnelToClient
            case forwardedFromOrigin, chunkedFromOrigin, uploadToOrigin
        }

        @Test("Over 1 Mbit/s everything arrives whole, no time limit is met, and nobody else waits")
        func slowLinks() async throws {
            let network = try ChildProcess(
                NetworkNamespace.wrapper(setUp: SlowNetwork.shaping) + ["sh", "-c", "echo ready; exec sleep 900"])
            try Wait.until {
                try #require(network.status == nil, "\(network.error)")
                return network.output.contains("ready")
            }
            let origin = try NetworkNamespace.inside(network) {
                try ScriptedOrigin(isOnAllAddresses: true) { request, connection in
                    let body = try connection.readBody(of: request).body
                    switch request.target {
                    case "/text": try connection.respond(body: Self.text)
                    case "/echo": try connection.respond(body: String(decoding: body, as: UTF8.self))
                    default:
                        try connection.socket.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                        for start in stride(from: 0, to: Self.size, by: 1000) {
                            try connection.socket.send("3e8\r\n\(Self.text.dropFirst(start).prefix(1000))\r\n")
                        }
                        try connection.socket.send("0\r\n\r\n")
                    }
                    return true
                }
            }
            let echo = try NetworkNamespace.inside(network) { try RawOrigin.echo() }
            let workshop = try CertificateWorkshop()
            // Each transfer takes longer than any of these, but on a busy machine a stillness may too.
            let limits =
                isHeavy ? ["header", "idle", "origin", "tunnel-idle"].flatMap { ["--\($0)-timeout", "2s"] } : []
            let proxy = try DecryptingProxy(
                "http://mapped.test/file: file.txt\nhttps://mapped.test/file: file.txt\nhttp://mapped.test/x: { text: x }",
                files: ["file.txt": Self.text], workshop: workshop,
                options: limits + ["--connect-ports", "443,\(echo.port)", "--max-body-buffer", "16KiB"],
                wrapper: NetworkNamespace.entering(network))
            let binary = proxy.binary
            let (near, far) = ("http://127.0.0.1:\(origin.port)", "http://127.0.0.3:\(origin.port)")
            let start = Clock.seconds
            let (clients, http2, other) = try NetworkNamespace.inside(network) {
                #expect(try binary.get("http://mapped.test/file").text == Self.text)
                // Those that the origin is slow for come to the proxy by a quick way.
                let clients = try Way.allCases.map { way in
                    let isSlow = [.mapped, .forwardedToClient, .uploadFromClient, .tunnelToClient].contains(way)
                    return try Socket.connect(
                        port: binary.port, from: isSlow ? "127.0.0.2" : nil, receiveBuffer: 4096)
                }
                let http2 = try ChildProcess(
                    proxy.curl(["--http2", "--interface", "127.0.0.2", "--max-time", "300", "https://mapped.test/file"])
                )
                return (clients, http2, try binary.connect())
            }
            let finished = Counter()
            let ways = Way.allCases
            let isWhole = try await atOnce(ways.count + 1) { index -> Bool in
                guard index < ways.count else {
                    var rounds = 0
                    while finished.value < ways.count || http2.status == nil {
                        for (url, text) in [("http://mapped.test/x", "x"), ("\(near)/text", Self.text)] {
                            try other.sendRequest("GET", url)
                            let response = try other.receiveResponse()
                            guard response.status == 200, response.text == text else { return false }
                        }
                        rounds += 1
                    }
                    return rounds > 0
                }
                defer { finished.add() }
                let text = try Self.transfer(ways[index], clients[index], echo.port, near, far)
                return text == (ways[index] == .tunnelToClient ? String(Self.text.prefix(60_000)) : Self.text)
            }
            #expect(isWhole == [Bool](repeating: true, count: ways.count + 1))
            #expect(try http2.finish() == 0, "\(http2.error)")
            #expect(http2.output == Self.text)
            // Four transfers share the way to the client: the link was as slow as it was meant to be.
            #expect(Clock.seconds - start > 3)
            let failures = binary.log.split(separator: "\n").filter { !$0.contains(" 200 ") }
            #expect(failures.isEmpty, "\(failures)")
        }

        /// The response's body, or what came back through the tunnel.
        private static func transfer(
            _ way: Way, _ client: Socket, _ echo: UInt16, _ near: String, _ far: String
        ) throws -> String {
            switch way {
            case .mapped: try client.sendRequest("GET", "http://mapped.test/file")
            case .forwardedToClient: try client.sendRequest("GET", "\(near)/text")
            case .forwardedFromOrigin: try client.sendRequest("GET", "\(far)/text")
            case .chunkedFromOrigin: try client.sendRequest("GET", "\(far)/chunked")
            case .uploadFromClient: try client.sendRequest("POST", "\(near)/echo", body: text)
            case .uploadToOrigin: try client.sendRequest("POST", "\(far)/echo", body: text)
            case .tunnelToClient:
                try client.send("CONNECT 127.0.0.1:\(echo) HTTP/1.1\r\nHost: 127.0.0.1:\(echo)\r\n\r\n")
                guard try client.receiveResponseHead().status == 200 else { return "" }
                // Less than the buffers of the way take, since nobody reads meanwhile.
                try client.send(String(text.prefix(60_000)))
                return try String(decoding: client.receive(exactly: 60_000), as: UTF8.self)
            }
            let response = try client.receiveResponse()
            return response.status == 200 && response.isComplete ? response.text : ""
        }
    }
}

/// A network of its own with slow addresses in it.
enum SlowNetwork {
    /// What comes from or goes to 127.0.0.2 and 127.0.0.3 has a link for each way of each; all else has none.
    static let shaping: String = {
        var commands = ["ip link set lo mtu 1500", "tc qdisc add dev lo root handle 1: htb default 1"]
        commands.append("tc class add dev lo parent 1: classid 1:1 htb rate 10gbit")
        for (way, match) in zip(2..., ["dst 127.0.0.2", "src 127.0.0.2", "dst 127.0.0.3", "src 127.0.0.3"]) {
            commands.append("tc class add dev lo parent 1: classid 1:\(way) htb rate 10gbit")
            commands.append("tc qdisc add dev lo parent 1:\(way) tbf rate 1mbit burst 8kb latency 300ms")
            commands.append("tc filter add dev lo parent 1: protocol ip u32 match ip \(match) flowid 1:\(way)")
        }
        return commands.joined(separator: " && ")
    }()

    static let isAvailable: Bool =
        (try? ChildProcess.run(NetworkNamespace.wrapper(setUp: shaping) + ["true"]))?.status == 0
}
