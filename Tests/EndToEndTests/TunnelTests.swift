import ProxyTestKit
import Synchronization
import Testing

extension EndToEnd {
    /// CONNECT: bytes go both ways untouched, and each side's end is the other's.
    @Suite("Tunnels")
    struct Tunnels {
        private static func randomBytes(_ count: Int, seed: UInt64) -> [UInt8] {
            var random = SeededGenerator(seed: seed)
            return (0..<count / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
        }

        @Test("curl reaches an origin through a tunnel to an allowed port, and through none to another")
        func curl() throws {
            let origin = try ScriptedOrigin(body: "through the tunnel")
            let other = try ScriptedOrigin(body: "never")
            let served = try ServedMap(tunnelsTo: origin.port)
            func fetch(_ port: UInt16) throws -> ChildProcess {
                try ChildProcess.run([
                    "curl", "--disable", "--silent", "--max-time", "300", "--noproxy", "", "--proxytunnel", "-x",
                    "http://127.0.0.1:\(served.binary.port)", "--write-out", " %{http_connect}",
                    "http://127.0.0.1:\(port)/",
                ])
            }
            #expect(try fetch(origin.port).output == "through the tunnel 200")
            #expect(try fetch(other.port).output == " 403")
            #expect(other.connectionCount == 0)
            #expect(Wait.holds { served.binary.log.contains(" tunnelled") })
        }

        @Test("10 MiB each way arrive as sent, also what follows the other side's end")
        func bothWays() async throws {
            let upload = Tunnels.randomBytes(10 * mebibyte, seed: 1)
            let download = Tunnels.randomBytes(10 * mebibyte, seed: 2)
            let uploaded = Mutex<[UInt8]>([])
            let origin = try RawOrigin { socket in
                let all = try socket.receiveAll()
                uploaded.withLock { $0 = all }
                try socket.send(download)
            }
            let served = try ServedMap(tunnelsTo: origin.port)
            let client = try served.binary.tunnel(to: origin.port)
            try client.send(upload)
            client.finish()
            let received = try client.receiveAll()
            #expect(received == download)
            #expect(uploaded.withLock { $0 == upload })
        }

        @Test("Both directions at once, with the origin's end first")
        func originEndsFirst() async throws {
            let upload = Tunnels.randomBytes(10 * mebibyte, seed: 3)
            let download = Tunnels.randomBytes(10 * mebibyte, seed: 4)
            let uploaded = Mutex<[UInt8]>([])
            let isUploaded = Counter()
            let origin = try RawOrigin { socket in
                try socket.send(download)
                socket.finish()
                let all = try socket.receiveAll()
                uploaded.withLock { $0 = all }
                isUploaded.add()
            }
            let served = try ServedMap(tunnelsTo: origin.port)
            let client = try served.binary.tunnel(to: origin.port)
            let isDownloaded = Counter()
            _ = try await atOnce(2) { side in
                if side == 0 {
                    #expect(try client.receiveAll() == download)
                    return isDownloaded.add()
                }
                try client.send(Array(upload[..<(upload.count / 2)]))
                #expect(Wait.holds { isDownloaded.value == 1 })
                // The other direction has ended.
                try client.send(Array(upload[(upload.count / 2)...]))
                client.finish()
            }
            #expect(Wait.holds { isUploaded.value == 1 })
            #expect(uploaded.withLock { $0 == upload })
        }

        @Test(
            "A reset on one side ends the other, and both descriptors are gone",
            arguments: [true, false])
        func reset(byClient: Bool) throws {
            let ended = Counter()
            let origin = try RawOrigin { socket in
                if !byClient {
                    _ = try socket.receive()
                    return socket.reset()
                }
                while case .some(let bytes) = try? socket.receive(), !bytes.isEmpty {}
                ended.add()
            }
            let served = try ServedMap(tunnelsTo: origin.port)
            // The watch of the map's folder, which is no socket, may begin only now.
            func sockets(_ binary: RunningBinary) -> Int { binary.openDescriptors.count { $0.contains("socket:") } }
            // The first transfer makes what all of a thread's transfers use.
            _ = try? served.binary.get("http://127.0.0.1:1/")
            let before = sockets(served.binary)
            let client = try served.binary.tunnel(to: origin.port)
            try client.send("x")
            if byClient {
                client.reset()
                #expect(Wait.holds { ended.value == 1 })
            } else {
                #expect(try client.receiveAll().isEmpty)
            }
            #expect(Wait.holds { sockets(served.binary) <= before })
        }

        @Test("A tunnel that carries nothing is closed in time, and one that carries something is kept")
        func idleLimit() throws {
            let origin = try RawOrigin.echo()
            let served = try ServedMap(options: ["--tunnel-idle-timeout", "6s"], tunnelsTo: origin.port)
            let start = Clock.seconds
            let busy = try served.binary.tunnel(to: origin.port)
            let idle = try served.binary.tunnel(to: origin.port)
            try Wait.until {
                try busy.send("x")
                #expect(try busy.receive() == Array("x".utf8))
                return idle.hasEnded
            }
            #expect(Clock.seconds - start > 5.9)
            try busy.send("x")
            #expect(try busy.receive() == Array("x".utf8))
        }

        @Test("What a client sends with its CONNECT reaches the origin after the tunnel is there")
        func earlyBytes() throws {
            let origin = try RawOrigin.echo()
            let served = try ServedMap(tunnelsTo: origin.port)
            let client = try served.binary.connect()
            try client.send("CONNECT 127.0.0.1:\(origin.port) HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\n\r\nearly")
            #expect(try client.receiveResponseHead().status == 200)
            #expect(try client.receive(exactly: 5) == Array("early".utf8))
        }
    }
}
