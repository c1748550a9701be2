import Foundation
import ProxyTestKit
import Testing

extension EndToEnd {
    /// What arrives on a kept connection while no request is under way (RFC 9112 §9.2).
    @Suite("Bytes that come late from an origin")
    struct LateBytes {
        @Test(
            "are no response, and are stored nowhere, over http, over https, and through a parent proxy",
            arguments: ["http", "https", "parent"])
        func nobodysResponse(_ way: String) throws {
            let workshop = way == "https" ? try CertificateWorkshop() : nil
            let files = try workshop?.make("site.test")
            let folder = TemporaryFolder()
            let portFile = "\(folder.path)/proxy"
            let rounds = isHeavy ? way == "parent" ? 100 : 1000 : 5
            // A parent proxy is one for all clients.
            let clients = way == "parent" ? 1 : isHeavy ? 16 : 4
            let script = try ChildProcess(
                [
                    "python3", "-B", "\(EndToEnd.scripts)/latebytes.py", "--proxy", portFile, "--rounds", "\(rounds)",
                    "--clients", "\(clients)",
                ] + (files.map { ["--cert", $0.chain, "--key", $0.key] } ?? [])
                    + (way == "http" ? [] : ["--host", "site.test"]))
            var ports: [Substring] = []
            try Wait.until {
                if script.status != nil { throw ToolFailure(text: script.error) }
                ports = script.output.split(separator: "\n").first?.split(separator: " ") ?? []
                return ports.count == clients
            }
            var options: [String] = []
            if let workshop {
                options = ["--origin-ca", workshop.authority, "--connect-ports", ports.joined(separator: ",")]
                for port in ports { options += ["--resolve", "site.test:\(port):127.0.0.1"] }
            }
            if way == "parent" { options = ["--upstream-proxy", "http://127.0.0.1:\(ports[0])"] }
            let proxy = try ServedMap("http://unused.test/: { text: unused }", options: options)
            try "\(proxy.binary.port)".write(toFile: portFile, atomically: true, encoding: .utf8)
            try script.finish(seconds: isHeavy ? 900 : 2 * Wait.limit)
            // Of ten paths one is asked for with HEAD.
            let stored = (0..<rounds).filter { $0 % 10 != 0 }.count * 5
            let last = script.output.split(separator: "\n").last.map(String.init)
            #expect(last == "0 wrong of \(rounds * 5), \(stored) stored", "\(script.output) \(script.error)")
        }
    }
}
