import ProxyTestKit
import Testing

extension EndToEnd {
    /// Which addresses are the proxy's own machine's, at each moment.
    @Suite("Own addresses", .kernel(NetworkNamespace.isAvailable, "namespaces of networks"))
    struct OwnAddresses {
        /// Addresses for documentation, which are public ones to the proxy (RFC 5737, RFC 3849).
        private static let addresses = ["203.0.113.7", "2001:db8::7"]

        private static func ip(_ arguments: String) throws {
            let command = try ChildProcess.run(["ip"] + arguments.split(separator: " ").map(String.init))
            #expect(command.status == 0, "\(command.error)")
        }

        /// Gives this machine an address, and waits until it has it: of IPv6 the kernel makes the route a moment later.
        private static func add(_ address: String) throws {
            try ip("address add \(address)/\(address.contains(":") ? 128 : 32) dev lo")
            try Wait.until { try ChildProcess.run(["ip", "route", "get", address]).output.hasPrefix("local ") }
        }

        /// What a client on another machine gets, by its status.
        private static func askFromAfar(_ url: String, _ more: [String] = []) throws -> String {
            try ChildProcess.run(
                [
                    "curl", "--disable", "--silent", "--max-time", "300", "--noproxy", "", "--interface", "10.77.1.2",
                    "-x", "http://10.77.1.1:3128", "--output", "/dev/null", "--write-out",
                    "%{http_code}%{http_connect}", url,
                ] + more
            ).output
        }

        private static func host(_ address: String) -> String { address.contains(":") ? "[\(address)]" : address }

        @Test("Services on an address that came after the start are not for clients on other machines")
        func remoteClients() throws {
            let stage = try ServedMap(wrapper: NetworkNamespace.twoAddresses)
            try NetworkNamespace.inside(stage.binary.process) {
                let origin = try ScriptedOrigin(isOnAllAddresses: true, body: "found")
                let served = try ServedMap(
                    options: ["--listen", "10.77.1.1:3128", "--allow-remote"], tunnelsTo: origin.port)
                for address in Self.addresses {
                    let url = "http://\(Self.host(address)):\(origin.port)/"
                    // Somebody else's, to whom there is no way from here.
                    #expect(try Self.askFromAfar(url) == "502000")
                    try Self.add(address)
                    let answer = try Self.askFromAfar(url)
                    #expect(answer == "403000")
                    #expect(try Self.askFromAfar(url, ["--proxytunnel"]) == "000403")
                }
                #expect(origin.connectionCount == 0)
                // Clients on this machine may reach them.
                let local = try served.binary.get("http://203.0.113.7:\(origin.port)/")
                #expect(local.text == "found")
                // Nor is a route that has a whole network come here; with --allow-private-origins both are reached.
                try Self.ip("route add local 198.51.100.0/24 dev lo")
                #expect(try Self.askFromAfar("http://198.51.100.9:\(origin.port)/") == "403000")
                let open = try ServedMap(
                    options: ["--listen", "10.77.1.1:3129", "--allow-remote", "--allow-private-origins"])
                let answer = try Self.askFromAfar(
                    "http://203.0.113.7:\(origin.port)/", ["-x", "http://10.77.1.1:3129"])
                #expect(answer == "200000", "\(open.binary.process.error)")
            }
        }

        @Test("Metadata services are reached with --allow-metadata, by clients on this machine alone")
        func metadata() throws {
            let stage = try ServedMap(wrapper: NetworkNamespace.twoAddresses)
            try NetworkNamespace.inside(stage.binary.process) {
                let origin = try ScriptedOrigin(isOnAllAddresses: true, body: "found")
                let remote = ["--listen", "10.77.1.1:3128", "--allow-remote", "--allow-private-origins"]
                for address in ["168.63.129.16", "169.254.169.254"] {
                    try Self.add(address)
                    let url = "http://\(address):\(origin.port)/"
                    do {
                        let served = try ServedMap(options: remote)
                        let refusal = try served.binary.get(url)
                        #expect(refusal.status == 403)
                        #expect(refusal.text.contains("which takes --allow-metadata"), "\(refusal.text)")
                        #expect(try Self.askFromAfar(url) == "403000")
                    }
                    let served = try ServedMap(options: remote + ["--allow-metadata"])
                    #expect(try served.binary.get(url).text == "found")
                    #expect(try Self.askFromAfar(url) == "403000")
                }
            }
        }

        @Test("A listener on all addresses is not connected to under one that came after the start, and knows its name")
        func wildcardListener() throws {
            let stage = try ServedMap(wrapper: NetworkNamespace.twoAddresses)
            try NetworkNamespace.inside(stage.binary.process) {
                let served = try ServedMap(options: ["--listen", "0.0.0.0:3128", "--allow-remote"])
                try Self.add("203.0.113.7")
                let name = try ServedMap(
                    options: [
                        "--listen", "0.0.0.0:3129", "--allow-remote", "--resolve", "name.test:3129:203.0.113.7",
                    ])
                #expect(try name.binary.get("http://name.test:3129/").status == 508)
                #expect(try served.binary.get("http://203.0.113.7:3128/healthz").text == "ok\n")
                #expect(try served.binary.get("http://203.0.113.7:3128/none").status == 508)
                #expect(try served.binary.get("http://203.0.113.8:3128/").status == 502)
                let own = try served.binary.connect()
                try own.send("GET /healthz HTTP/1.1\r\nHost: 203.0.113.7:3128\r\n\r\n")
                #expect(try own.receiveResponse().status == 200)
                try own.send("GET /healthz HTTP/1.1\r\nHost: 203.0.113.8:3128\r\n\r\n")
                #expect(try own.receiveResponse().status == 421)
            }
        }
    }
}
