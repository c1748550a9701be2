import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Section G, the origin's side: what an origin shows is verified, and what is wrong with it is told.
    @Suite("Origins' certificates")
    struct OriginVerification {
        @Test(
            "An origin with a bad certificate is 502 with the reason, and nothing of it is passed on",
            arguments: CertificateWorkshop.Fault.allCases)
        func refused(_ fault: CertificateWorkshop.Fault) throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(try workshop.make("bad.test", fault))
            let port = origin.port
            let proxy = try DecryptingProxy(
                "https://bad.test:\(port)/mapped: { text: mapped }",
                resolving: [("bad.test", port), ("blind.test", port)],
                workshop: workshop, options: ["--connect-ports", "\(port)"])
            let url = "https://bad.test:\(port)/x"
            for protocolOption in ["--http1.1", "--http2"] {
                let response = try proxy.fetch(url, [protocolOption, "--include"])
                #expect(response.output.contains(" 502 "), "\(response.output) \(response.error)")
                #expect(response.output.contains("tls_certificate_error"))
                #expect(response.output.components(of: fault.reason) == 2, "\(response.output)")
                #expect(!response.output.contains("from the origin"))
            }
            // Also where the request is an upgrade, whose connection is not libcurl's, and in absolute-form.
            let handshake = [
                "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            ]
            let upgrade = try proxy.fetch(url, ["--http1.1", "--include"] + handshake.flatMap { ["-H", $0] })
            #expect(upgrade.output.contains("HTTP/1.1 502 "))
            #expect(upgrade.output.components(of: fault.reason) == 2, "\(upgrade.output)")
            let absolute = try proxy.binary.get(url)
            #expect(absolute.status == 502)
            #expect(absolute.text.contains(fault.reason))
            #expect(
                Wait.holds {
                    proxy.binary.log.components(of: "(No trusted TLS connection to bad.test: ") == 4
                })
            #expect(proxy.binary.log.components(of: fault.reason) == 4)
            #expect(origin.requests.isEmpty)
            // What the map answers does not need the origin.
            #expect(try proxy.fetch("https://bad.test:\(port)/mapped").output == "mapped")
        }

        @Test("A certificate that has become a bad one is 502 with the reason, whatever is stored")
        func becomesBad() throws {
            let (origin, proxy) = try proxyWithStored("/next", isBad: true)
            for directives in Self.stored {
                let response = try proxy.binary.get("https://site.test:\(origin.port)/kept?\(directives)")
                #expect(response.status == 502, "\(directives)")
                #expect(response.text.contains(CertificateWorkshop.Fault.wrongHost.reason), "\(response.text)")
            }
        }

        @Test("What is stored stands in for an origin that ends the connection in the middle of the handshake")
        func endedHandshake() throws {
            let (origin, proxy) = try proxyWithStored("/gone")
            for directives in Self.stored {
                let response = try proxy.binary.get("https://site.test:\(origin.port)/kept?\(directives)")
                let mayStandIn = directives.hasPrefix("max-age=0") && !directives.contains("must")
                #expect(response.status == (mayStandIn ? 200 : 504), "\(directives)")
            }
            let other = try proxy.binary.get("https://site.test:\(origin.port)/other")
            #expect(other.status == 502)
            #expect(other.text.contains("the connection ended during the TLS handshake"), "\(other.text)")
        }

        /// What is stored and stale at once: two that may stand in for an origin that fails, and three that may not.
        static let stored = [
            "max-age=0", "max-age=0,stale-if-error=600", "max-age=0,must-revalidate", "s-maxage=0", "no-cache",
        ]

        /// An origin of whose responses those are stored, and that has changed with a request for `path`.
        private func proxyWithStored(_ path: String, isBad: Bool = false) throws -> (TLSOrigin, DecryptingProxy) {
            let workshop = try CertificateWorkshop()
            let kept = try workshop.keep(workshop.make("site.test"))
            let next = try workshop.make("site.test", .wrongHost)
            let origin = try TLSOrigin(kept, isBad ? ["--next", next.chain, "--next-key", next.key] : [])
            let proxy = try DecryptingProxy(
                "https://site.test:\(origin.port)/mapped: { text: mapped }", resolving: [("site.test", origin.port)],
                workshop: workshop)
            for target in Self.stored.map({ "/kept?\($0)" }) + [path] {
                let response = try proxy.binary.get("https://site.test:\(origin.port)\(target)")
                #expect(response.text == "from the origin")
            }
            return (origin, proxy)
        }

        @Test("A file of certificates to trust that has lost them is told as what it is")
        func noTrustAnchors() throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(try workshop.make("good.test"))
            let proxy = try DecryptingProxy(
                "https://other.test/: { text: mapped }", resolving: [("good.test", origin.port)], workshop: workshop,
                options: ["--connect-ports", "\(origin.port)"])
            #expect(truncate(workshop.authority, 0) == 0)
            let response = try proxy.binary.get("https://good.test:\(origin.port)/x")
            #expect(response.status == 502)
            #expect(response.text.contains("the certificates to trust can't be used"), "\(response.text)")
            #expect(response.text.contains("Mend the file of --origin-ca"))
        }

        @Test(
            "A host that is not decrypted shows its own certificate, also a bad one",
            arguments: CertificateWorkshop.Fault.allCases)
        func blind(_ fault: CertificateWorkshop.Fault) throws {
            let workshop = try CertificateWorkshop()
            let files = try workshop.make("bad.test", fault)
            let origin = try TLSOrigin(files)
            let proxy = try DecryptingProxy(
                "https://other.test:\(origin.port)/: { text: mapped }", resolving: [("bad.test", origin.port)],
                workshop: workshop)
            let shown = try ChildProcess.run([
                "sh", "-c",
                """
                openssl s_client -proxy 127.0.0.1:\(proxy.port) -connect bad.test:\(origin.port) -servername bad.test \
                -cipher DEFAULT@SECLEVEL=0 </dev/null 2>/dev/null | openssl x509 -noout -fingerprint -sha256
                """,
            ])
            let own = try ChildProcess.run(["openssl", "x509", "-in", files.chain, "-noout", "-fingerprint", "-sha256"])
            #expect(own.output.hasPrefix("sha256 Fingerprint="))
            #expect(shown.output == own.output)
            #expect(origin.events.contains("name bad.test"))
        }

        @Test("A good certificate is accepted, for a name and for an address, with the name sent in the handshake")
        func accepted() throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(try workshop.make("good.test"))
            let proxy = try DecryptingProxy(
                "https://good.test:\(origin.port)/mapped: { text: mapped }\nhttps://127.0.0.1:\(origin.port)/mapped: { text: mapped }",
                resolving: [("good.test", origin.port)], workshop: workshop)
            #expect(try proxy.fetch("https://good.test:\(origin.port)/x").output == "from the origin")
            #expect(try proxy.fetch("https://127.0.0.1:\(origin.port)/x").output == "from the origin")
            #expect(origin.events.filter { $0.hasPrefix("name ") } == ["name good.test", "name none"])
        }

        @Test("An origin that speaks TLS 1.0 only is 502 with the reason")
        func oldVersion() throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(try workshop.make("old.test"), ["--tls1"])
            let proxy = try DecryptingProxy(
                "https://old.test:\(origin.port)/mapped: { text: mapped }", resolving: [("old.test", origin.port)],
                workshop: workshop)
            let url = "https://old.test:\(origin.port)/x"
            for fields in [[], ["-H", "Connection: Upgrade", "-H", "Upgrade: other"]] {
                let response = try proxy.fetch(url, ["--http1.1", "--include"] + fields)
                #expect(response.output.contains("HTTP/1.1 502 "))
                #expect(response.output.contains("tls_protocol_error"))
                #expect(response.output.contains("TLS 1.2 or later"))
            }
            #expect(origin.requests.isEmpty)
        }

        @Test("A body that ends with the connection is not stored where TLS does not say that it was not cut short")
        func truncation() throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(try workshop.make("cut.test"))
            let proxy = try DecryptingProxy(
                "https://cut.test:\(origin.port)/mapped: { text: mapped }", resolving: [("cut.test", origin.port)],
                workshop: workshop)
            for path in ["/cut", "/ended", "/short"] {
                for protocolOption in ["--http1.1", "--http2"] {
                    let response = try proxy.fetch("https://cut.test:\(origin.port)\(path)", [protocolOption])
                    #expect(path == "/short" ? response.status != 0 : response.output == "first part")
                }
                // It was asked for each time.
                #expect(origin.requests.filter { $0 == path }.count == 2)
            }
            // Where the connection is not libcurl's, it is an error.
            let declined = try proxy.fetch(
                "https://cut.test:\(origin.port)/cut", ["--http1.1", "-H", "Connection: Upgrade", "-H", "Upgrade: x"])
            #expect(declined.status != 0)
        }

        @Test("http is never made https, nor https http")
        func schemes() throws {
            let workshop = try CertificateWorkshop()
            let clear = try TLSOrigin(nil, ["--greeting", "in the clear"])
            let secure = try TLSOrigin(try workshop.make("site.test"))
            let options = [
                "--resolve", "site.test:80:127.0.0.1", "--resolve", "site.test:443:127.0.0.1",
                "--resolve", "site.test:\(clear.port):127.0.0.1", "--resolve", "site.test:\(secure.port):127.0.0.1",
                "--connect-ports", "443,\(clear.port),\(secure.port)",
            ]
            let proxy = try DecryptingProxy(
                "https://site.test/mapped: { text: mapped }", workshop: workshop, options: options)
            let impatient = try DecryptingProxy(
                "https://site.test/mapped: { text: mapped }", workshop: workshop,
                options: options + ["--connect-timeout", "1s"])
            #expect(try proxy.binary.get("http://site.test:\(clear.port)/x").text == "in the clear")
            #expect(try proxy.binary.get("https://site.test:\(secure.port)/x").text == "from the origin")
            // The wrong one of the two is an error, and the other port is not tried.
            #expect(try impatient.binary.get("https://site.test:\(clear.port)/x").status == 504)
            #expect(try proxy.binary.get("http://site.test:\(secure.port)/x").status == 502)
            #expect(clear.requests == ["/x"])
            #expect(secure.requests == ["/x"])
        }
    }
}

extension String {
    /// How often a text occurs.
    func components(of text: String) -> Int {
        var count = 0
        var rest = self[...]
        while let found = rest.firstRange(of: text) {
            count += 1
            rest = rest[found.upperBound...]
        }
        return count
    }
}
