import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// A kernel that now and then has no descriptor, memory or port to give, played by strace(1).
    @Suite(
        "System call faults", .program("strace", of: "strace"),
        .kernel(FaultInjection.isAllowed, "leave to trace a process"))
    struct SystemCallFaults {
        private static let url = "http://mapped.test/x"

        private func warnings(_ binary: RunningBinary) -> [Substring] {
            binary.process.error.split(separator: "\n").filter { $0.hasPrefix("subproxy: warning: ") }
        }

        @Test(
            "Connections that can't be accepted just now wait, and all are served; one line says why",
            arguments: ["ENFILE", "ENOMEM", "EAGAIN"])
        func accepting(error: String) throws {
            let served = try ServedMap()
            let binary = served.binary
            #expect(try binary.get(SystemCallFaults.url).text == "x")
            let before = binary.footprint
            let injection = try FaultInjection(into: binary.process, ["accept4:error=\(error):when=5+3"])
            let clients = try (0..<12).map { _ in
                let client = try binary.connect()
                try client.sendRequest("GET", SystemCallFaults.url)
                return client
            }
            for client in clients { #expect(try client.receiveResponse().text == "x") }
            #expect(injection.count > 0)
            try injection.end()
            #expect(try binary.get(SystemCallFaults.url).text == "x")
            // EAGAIN says no more than that nobody is there.
            let expected = error == "EAGAIN" ? 0 : 1
            #expect(Wait.holds { warnings(binary).count >= expected })
            #expect(warnings(binary).count == expected)
            for client in clients { client.close() }
            let after = try binary.settle(to: before, memory: .max / 2)
            #expect(after.descriptors <= before.descriptors, "\(before), \(after)")
        }

        @Test("After an error for which NIO closes a listener, clients that come again are served")
        func lostListener() throws {
            let served = try ServedMap()
            let binary = served.binary
            #expect(try binary.get(SystemCallFaults.url).text == "x")
            let kept = try binary.connect()
            try kept.sendRequest("GET", SystemCallFaults.url)
            #expect(try kept.receiveResponse().text == "x")
            let before = binary.footprint
            let injection = try FaultInjection(into: binary.process, ["accept4:error=EPERM:when=2+3"])
            for _ in 0..<3 {
                #expect(Wait.holds { (try? binary.get(SystemCallFaults.url).text) == "x" })
            }
            #expect(injection.count > 0)
            try injection.end()
            #expect(Wait.holds { !warnings(binary).isEmpty })
            #expect(warnings(binary).count == 1)
            try kept.sendRequest("GET", SystemCallFaults.url)
            #expect(try kept.receiveResponse().text == "x")
            let after = try binary.settle(to: before, memory: .max / 2)
            #expect(after.descriptors <= before.descriptors, "\(before), \(after)")
            binary.process.send(SIGTERM)
            #expect(try binary.process.finish() == 0)
        }

        @Test(
            "A connection to an origin that the system refuses is an answer that says why, and the next one is made",
            arguments: [
                ("socket:error=EMFILE:when=3+3", 503, "Too many open files"),
                ("connect:error=EADDRNOTAVAIL:when=3+3", 502, "Cannot assign requested address"),
            ])
        func connecting(fault: String, status: Int, reason: String) throws {
            let origin = try ScriptedOrigin(fields: "Connection: close\r\n", body: "forwarded")
            let echo = try RawOrigin.echo()
            let served = try ServedMap(tunnelsTo: echo.port)
            let binary = served.binary
            let url = "http://127.0.0.1:\(origin.port)/"
            #expect(try binary.get(url).text == "forwarded")
            let before = binary.footprint
            let injection = try FaultInjection(into: binary.process, [fault])
            for attempt in 1...12 {
                let isRefused = attempt % 3 == 0
                guard attempt % 2 == 0 else {
                    let response = try binary.get(url)
                    #expect(response.status == (isRefused ? status : 200))
                    #expect(response.text.contains(isRefused ? reason : "forwarded"))
                    continue
                }
                do {
                    let tunnel = try binary.tunnel(to: echo.port)
                    #expect(!isRefused)
                    try tunnel.send("through")
                    #expect(try tunnel.receive(exactly: 7) == Array("through".utf8))
                } catch let refused as RunningBinary.TunnelRefused {
                    #expect(isRefused)
                    #expect(refused.head.hasPrefix("HTTP/1.1 \(status) "))
                    #expect(refused.head.contains(reason))
                }
            }
            try injection.end()
            #expect(Wait.holds { binary.log.split(separator: "\n").count { $0.contains(reason) } == 4 })
            #expect(try binary.get(url).text == "forwarded")
            #expect(Wait.holds { binary.openDescriptors.count <= before.descriptors })
        }
    }
}
