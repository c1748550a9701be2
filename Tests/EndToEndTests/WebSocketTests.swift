import Glibc
import ProxyTestKit
import Synchronization
import Testing

extension EndToEnd {
    /// Section H: WebSocket through the proxy, in the clear and inside decrypted tunnels.
    @Suite("WebSocket")
    struct WebSocket {
        /// Where the echo is, and how it is reached.
        enum Way: CaseIterable {
            case clear, tunnel, absolute, parentProxy
        }

        private static let handshake =
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

        @Test(
            "Messages of all kinds come back byte for byte, and 64 MiB pass without being gathered",
            arguments: Way.allCases)
        func echo(_ way: Way) throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(way == .clear ? nil : try workshop.make("ws.test"))
            let parent = try RunningBinary(
                map: try workshop.folder.write("parent.yaml", ServedMap.text("http://unused.test/: { text: x }")),
                ["--resolve", "ws.test:\(origin.port):127.0.0.1", "--connect-ports", "\(origin.port)"])
            let proxy = try DecryptingProxy(
                "https://ws.test:\(origin.port)/mapped: { text: mapped }",
                resolving: way == .parentProxy ? [] : [("ws.test", origin.port)], workshop: workshop,
                options: way == .parentProxy ? ["--upstream-proxy", "http://127.0.0.1:\(parent.port)"] : [])
            // The authority's certificate is made with the first of these.
            if way != .clear { #expect(try proxy.fetch("https://ws.test:\(origin.port)/mapped").output == "mapped") }
            let scheme = way == .clear ? "http" : "https"
            let before = proxy.binary.residentBytes
            let client = try ChildProcess(
                [
                    "python3", "-B", "\(scripts)/websocket.py", "--proxy", "\(proxy.port)", "--url",
                    "\(scheme)://ws.test:\(origin.port)/ws", "--ca", proxy.authority, "--large", "\(64 * mebibyte)",
                    "--small", way == .clear ? "100000" : "5000",
                ] + (way == .absolute ? ["--absolute"] : []))
            let peak = proxy.binary.peakResidentBytes {
                usleep(10_000)
                return client.status == nil
            }
            #expect(try client.finish() == 0, "\(client.error)")
            #expect(client.output.hasPrefix("equal "))
            #expect(peak - before < 24 * mebibyte)
            // What the client sent with its request came after the 101.
            #expect(origin.events.contains("early 0"))
            #expect(
                Wait.holds {
                    proxy.binary.log.contains("/ws 101 ") && proxy.binary.log.contains(" tunnelled")
                })
            // The parent's line comes when its tunnel has ended.
            #expect(
                Wait.holds {
                    parent.log.contains("CONNECT ws.test:\(origin.port)") == (way == .parentProxy)
                })
        }

        @Test(
            "Frames of all kinds, broken ones too, are answered as they are without the proxy",
            arguments: [Way.clear, .tunnel, .absolute])
        func comparison(_ way: Way) throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(way == .clear ? nil : try workshop.make("ws.test"))
            let proxy = try DecryptingProxy(
                "https://ws.test:\(origin.port)/mapped: { text: mapped }", resolving: [("ws.test", origin.port)],
                workshop: workshop)
            if way != .clear { #expect(try proxy.fetch("https://ws.test:\(origin.port)/mapped").output == "mapped") }
            let client = try ChildProcess.run(
                [
                    "python3", "-B", "\(scripts)/websocketcompare.py", "--proxy", "\(proxy.port)", "--url",
                    "\(way == .clear ? "http" : "https")://ws.test:\(origin.port)/ws", "--ca", proxy.authority,
                ] + (way == .absolute ? ["--absolute"] : []))
            #expect(client.status == 0, "\(client.error)")
            #expect(client.output.hasPrefix("equal "))
        }

        @Test(
            "A client that reads nothing holds its origin up, also through the TLS of both sides",
            arguments: [false, true])
        func backPressure(isHTTPS: Bool) throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(isHTTPS ? try workshop.make("ws.test") : nil)
            let proxy = try DecryptingProxy(
                "http://unused.test/: { text: x }", resolving: [("ws.test", origin.port)], workshop: workshop,
                options: ["--connect-ports", "\(origin.port)"])
            // The first transfer opens libcurl, whose libraries take some memory for good.
            _ = try? proxy.binary.get("http://127.0.0.1:1/")
            let before = proxy.binary.residentBytes
            let client = try proxy.binary.connect(receiveBuffer: 4096)
            let url = "\(isHTTPS ? "https" : "http")://ws.test:\(origin.port)/flood"
            try client.send("GET \(url) HTTP/1.1\r\nHost: ws.test:\(origin.port)\r\n" + Self.handshake)
            #expect(try client.receiveResponseHead().status == 101)
            // The origin sends 256 MiB to whoever takes them.
            #expect(proxy.binary.peakResidentBytes(for: 1.5) - before < 12 * mebibyte)
            #expect(!origin.events.contains("flooded"))
            client.close()
            #expect(Wait.holds { origin.events.contains("broken") })
        }

        @Test("With TLS on both sides too a client's end is passed on, and one that reads nothing holds its origin up")
        func bothSides() throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(try workshop.make("ws.test"))
            let authority = "ws.test:\(origin.port)"
            let proxy = try DecryptingProxy(
                "https://\(authority)/mapped: { text: mapped }", resolving: [("ws.test", origin.port)],
                workshop: workshop)
            #expect(try proxy.fetch("https://\(authority)/mapped").output == "mapped")
            let client = [
                "python3", "-B", "\(scripts)/websockethalf.py", "--proxy", "\(proxy.port)", "--authority", authority,
                "--ca", proxy.authority,
            ]
            let counting = try ChildProcess.run(client + ["count"])
            #expect(counting.output == "counted \(3 * mebibyte)\n", "\(counting.error)")
            let before = proxy.binary.residentBytes
            let flooded = try ChildProcess(client + ["flood"])
            #expect(Wait.holds { flooded.output == "open\n" })
            #expect(proxy.binary.peakResidentBytes(for: 1.5) - before < 12 * mebibyte)
            #expect(!origin.events.contains("flooded"))
            flooded.send(SIGKILL)
            #expect(Wait.holds { origin.events.contains("broken") })
        }

        @Test("Each side's end is the other's, and what comes after it arrives", arguments: [false, true])
        func halfClose(isHTTPS: Bool) throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(isHTTPS ? try workshop.make("ws.test") : nil)
            let proxy = try DecryptingProxy(
                "http://unused.test/: { text: x }", resolving: [("ws.test", origin.port)], workshop: workshop,
                options: ["--connect-ports", "\(origin.port)"])
            let client = try proxy.binary.connect()
            let url = "\(isHTTPS ? "https" : "http")://ws.test:\(origin.port)/count"
            try client.send("GET \(url) HTTP/1.1\r\nHost: ws.test:\(origin.port)\r\n" + Self.handshake)
            #expect(try client.receiveResponseHead().status == 101)
            try client.send([UInt8](repeating: 7, count: 3 * mebibyte))
            client.finish()
            // The origin counts to the end, and tells then.
            #expect(try client.receiveAll() == Array("counted \(3 * mebibyte)".utf8))
        }

        @Test("An origin that takes the connection and begins no TLS is 504")
        func silentHandshake() throws {
            let workshop = try CertificateWorkshop()
            let origin = try RawOrigin { socket in while try !socket.receive().isEmpty {} }
            let proxy = try DecryptingProxy(
                "http://unused.test/: { text: x }", resolving: [("ws.test", origin.port)], workshop: workshop,
                options: ["--connect-ports", "\(origin.port)", "--connect-timeout", "500ms"])
            let client = try proxy.binary.connect()
            try client.send("GET https://ws.test:\(origin.port)/ HTTP/1.1\r\nHost: ws.test\r\n" + Self.handshake)
            let response = try client.receiveResponse()
            #expect(response.status == 504)
            #expect(response.field("Proxy-Status")?.hasPrefix("subproxy; error=connection_timeout") == true)
            #expect(Wait.holds { origin.closedCount == 1 })
        }

        @Test("An origin that declines answers as usual over TLS, and the client's connection goes on")
        func declined() throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(try workshop.make("ws.test"))
            let proxy = try DecryptingProxy(
                "http://unused.test/: { text: x }", resolving: [("ws.test", origin.port)], workshop: workshop,
                options: ["--connect-ports", "\(origin.port)"])
            let client = try proxy.binary.connect()
            for path in ["first", "second"] {
                let url = "https://ws.test:\(origin.port)/\(path)"
                try client.send("GET \(url) HTTP/1.1\r\nHost: ws.test:\(origin.port)\r\n" + Self.handshake)
                let response = try client.receiveResponse()
                #expect(response.status == 200)
                #expect(response.text == "from the origin")
            }
            #expect(origin.requests == ["/first", "/second"])
        }

        @Test(
            "A 101 that is not valid opens nothing, over TLS too",
            arguments: ["/bad-accept", "/no-upgrade", "/no-accept"])
        func invalidHandshake(_ path: String) throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(try workshop.make("ws.test"))
            let proxy = try DecryptingProxy(
                "http://unused.test/: { text: x }", resolving: [("ws.test", origin.port)], workshop: workshop,
                options: ["--connect-ports", "\(origin.port)"])
            let client = try proxy.binary.connect()
            try client.send(
                "GET https://ws.test:\(origin.port)\(path) HTTP/1.1\r\nHost: ws.test:\(origin.port)\r\n"
                    + Self.handshake
                    + "held back")
            let response = try client.receiveResponse()
            #expect(response.status == 502)
            #expect(!response.text.contains("secret"))
            #expect(Wait.holds { origin.events.contains { $0.hasPrefix("after ") } })
            #expect(origin.events.contains("after 0"))
        }
    }
}
