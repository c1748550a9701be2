import ProxyTestKit
import Testing

extension EndToEnd {
    /// Section G: what is agreed on with an origin holds for one connection, and is agreed on anew for the next.
    @Suite("TLS sessions with origins")
    struct OriginSessions {
        private static let versions = [[], ["--tls12"]]

        /// A proxy that decrypts hosts which are all one origin.
        private func makeProxy(
            _ workshop: CertificateWorkshop, _ origin: TLSOrigin, hosts: [String] = ["site.test"]
        ) throws -> DecryptingProxy {
            try DecryptingProxy(
                hosts.map { "https://\($0):\(origin.port)/mapped: { text: mapped }" }.joined(separator: "\n"),
                resolving: hosts.map { ($0, origin.port) }, workshop: workshop)
        }

        @Test("No session is resumed, with the same host or another: each connection's certificate is verified")
        func resumption() throws {
            for version in Self.versions {
                let workshop = try CertificateWorkshop()
                let hosts = ["a.site.test", "b.site.test"]
                let origin = try TLSOrigin(try workshop.make("*.site.test"), version)
                let proxy = try makeProxy(workshop, origin, hosts: hosts)
                for host in hosts + hosts {
                    // One through libcurl, and one that could be an upgrade.
                    for fields in [[], ["-H", "Connection: Upgrade", "-H", "Upgrade: other"]] {
                        let url = "https://\(host):\(origin.port)/close"
                        #expect(try proxy.fetch(url, ["--http1.1"] + fields).output == "from the origin")
                    }
                }
                #expect(origin.events.filter { $0.hasPrefix("handshake ") }.count == 8)
                #expect(!origin.events.contains("resumed"), "\(version)")
            }
        }

        @Test(
            "A certificate that changes between two requests is verified for the second",
            arguments: [CertificateWorkshop.Fault.wrongHost, .expired, .unknownAuthority])
        func change(_ fault: CertificateWorkshop.Fault) throws {
            let workshop = try CertificateWorkshop()
            let kept = try workshop.keep(workshop.make("site.test"))
            let bad = try workshop.make("site.test", fault)
            let origin = try TLSOrigin(kept, ["--next", bad.chain, "--next-key", bad.key])
            let proxy = try makeProxy(workshop, origin)
            let site = "https://site.test:\(origin.port)"
            for path in ["/x", "/x", "/next"] { #expect(try proxy.fetch(site + path).output == "from the origin") }
            for protocolOption in ["--http1.1", "--http2"] {
                let refused = try proxy.fetch(site + "/x", [protocolOption, "--include"])
                #expect(refused.output.contains(" 502 "), "\(refused.output)")
                #expect(refused.output.contains(fault.reason))
                #expect(!refused.output.contains("from the origin"))
            }
            #expect(origin.requests == ["/x", "/x", "/next"])
        }

        @Test("An origin that may ask for a client's certificate gets none, and one that insists is 502")
        func clientCertificate() throws {
            for version in Self.versions {
                for demand in ["optional", "required"] {
                    let workshop = try CertificateWorkshop()
                    let origin = try TLSOrigin(
                        try workshop.make("site.test"),
                        version + ["--client-cert", demand, "--trust", workshop.authority])
                    let proxy = try makeProxy(workshop, origin)
                    let response = try proxy.fetch("https://site.test:\(origin.port)/x", ["--include"])
                    #expect(!origin.events.contains("certificate"))
                    if demand == "optional" {
                        #expect(response.output.hasSuffix("from the origin"))
                    } else {
                        #expect(response.output.contains(" 502 "), "\(response.output)")
                        // In TLS 1.3 the origin refuses when the handshake is over for its client.
                        let type = version.isEmpty ? "connection_terminated" : "tls_protocol_error"
                        #expect(response.output.contains("error=\(type)"), "\(response.output)")
                        #expect(origin.requests.isEmpty)
                    }
                }
            }
        }

        @Test("Strict-Transport-Security passes, and changes nothing for the proxy")
        func strictTransport() throws {
            let workshop = try CertificateWorkshop()
            let secure = try TLSOrigin(try workshop.make("site.test"))
            let clear = try TLSOrigin(nil, ["--greeting", "in the clear"])
            let proxy = try DecryptingProxy(
                "https://site.test:\(secure.port)/mapped: { text: mapped }",
                resolving: [("site.test", secure.port), ("site.test", clear.port)], workshop: workshop)
            for protocolOption in ["--http1.1", "--http2"] {
                let response = try proxy.fetch(
                    "https://site.test:\(secure.port)/secure", [protocolOption, "--include"])
                let field = "strict-transport-security: max-age=31536000; includesubdomains; preload"
                #expect(response.output.lowercased().contains(field), "\(response.output)")
                #expect(response.output.hasSuffix("from the origin"))
            }
            // The field binds browsers: what is asked for in the clear is fetched in the clear, and https never is.
            #expect(try proxy.binary.get("http://site.test:\(clear.port)/x").text == "in the clear")
            #expect(try proxy.fetch("https://site.test:\(secure.port)/mapped").output == "mapped")
            #expect(clear.requests == ["/x"])
            #expect(secure.requests == ["/secure", "/secure"])
            #expect(secure.events.filter { $0.hasPrefix("handshake ") }.count == 1)
        }
    }
}
