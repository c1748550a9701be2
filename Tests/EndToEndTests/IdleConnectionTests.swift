import ProxyTestKit
import Testing

extension EndToEnd {
    /// As many connections as the limit on them, or on this process's descriptors, allows, and all of them idle.
    @Suite("Idle connections")
    struct IdleConnections {
        private static let url = "http://mapped.test/x"
        /// A little less than the default limit on connections.
        private static let most = 9_990

        @Test(
            """
            10,000 idle connections take less than 20 KiB each and no processor time, before a request and after one; \
            others are served meanwhile
            """)
        func idle() throws {
            let count = min(IdleConnections.most, DescriptorLimit.raise() - 200)
            let served = try ServedMap(options: ["--idle-timeout", "1h"])
            let binary = served.binary
            for _ in 0..<50 { #expect(try binary.get(IdleConnections.url).text == "x") }
            let nothing = Footprint(residentBytes: 0, openDescriptors: [])
            let before = try binary.settle(to: nothing, memory: 0, seconds: 0.3)
            let clients = try IdleConnections.connect(binary, count)
            for isUsed in [false, true] {
                if isUsed { try askOnce(clients) }
                #expect((binary.residentBytes - before.residentBytes) / count < 20 << 10)
                #expect(binary.processorShare(for: 1) < 0.25)
                for _ in 0..<20 { #expect(try binary.get(IdleConnections.url).text == "x") }
            }
            for client in [clients[0], clients[count / 2], clients[count - 1]] {
                try client.sendRequest("GET", IdleConnections.url)
                #expect(try client.receiveResponse().text == "x")
            }
            for client in clients { client.close() }
            #expect(Wait.holds { binary.descriptorCount <= before.descriptors })
        }

        /// Opens so many connections, and waits until the proxy has accepted all of them.
        static func connect(_ binary: RunningBinary, _ count: Int) throws -> [Socket] {
            // Counted by the proxy: of its descriptors one may be that of an earlier client, and be closed meanwhile.
            let asking = try binary.connect()
            func accepted() throws -> Int {
                Int(try Metrics.value("subproxy_connections_accepted_total", binary, on: asking) ?? 0)
            }
            let before = try accepted()
            var clients: [Socket] = []
            while clients.count < count {
                // No more at a time than the listener's queue holds, so that no attempt has to be repeated.
                for _ in 0..<min(500, count - clients.count) { clients.append(try binary.connect()) }
                try Wait.until { try accepted() >= before + clients.count }
            }
            return clients
        }

        /// Has one exchange on each connection.
        private func askOnce(_ clients: [Socket]) throws {
            let request = Array("GET \(IdleConnections.url) HTTP/1.1\r\nHost: mapped.test\r\n\r\n".utf8)
            for client in clients { try client.send(request) }
            var length = 0
            for client in clients {
                if length == 0 {
                    let response = try client.receiveResponse()
                    length = response.head.utf8.count + 4 + response.body.count
                    try #require(response.text == "x")
                } else {
                    let bytes = try client.receive(exactly: length)
                    try #require(bytes.starts(with: Array("HTTP/1.1 200 OK\r\n".utf8)) && bytes.last == 0x78)
                }
            }
        }
    }
}
