import Foundation
import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Section G, the client's side of a decrypted tunnel: handshakes of all kinds, names, protocols, and trust.
    @Suite("Decrypted tunnels")
    struct DecryptedTunnels {
        private static let rules = "https://mapped.test/x: { text: mapped }\nhttps://listed.test/x: { text: listed }"

        private func hello(_ proxy: DecryptingProxy, _ kind: String) throws -> String {
            let process = try ChildProcess.run([
                "python3", "-B", "\(scripts)/clienthello.py", "\(proxy.port)", "mapped.test:443", kind,
            ])
            try #require(process.status == 0, "\(process.error)")
            return String(process.output.dropLast())
        }

        @Test("HTTP without TLS in a decrypted tunnel is served as http, however it comes")
        func inTheClear() throws {
            let proxy = try DecryptingProxy(
                "https://plain.test:8443/x: { text: secure }\nhttp://plain.test:8443/x: { text: plain }",
                workshop: try CertificateWorkshop())
            func ask(_ url: String) throws -> String {
                try ChildProcess.run(proxy.curl(["--proxytunnel", url])).output
            }
            #expect(try ask("http://plain.test:8443/x") == "plain")
            #expect(try ask("https://plain.test:8443/x") == "secure")
            // Before the answer to CONNECT, byte by byte, one request behind the other, and for another host.
            let request = "GET /x HTTP/1.1\r\nHost: plain.test:8443\r\n\r\n"
            let other = "GET /x HTTP/1.1\r\nHost: other.test:8443\r\nConnection: close\r\n\r\n"
            let early = try Socket.connect(port: proxy.port)
            try early.send(
                "CONNECT plain.test:8443 HTTP/1.1\r\nHost: plain.test:8443\r\n\r\n" + request + request + other)
            let answer = try early.receiveAll()
            let text = String(decoding: answer, as: UTF8.self)
            #expect(text.components(separatedBy: "\r\n\r\nplain").count == 3, "\(text)")
            #expect(text.contains("HTTP/1.1 421 "), "\(text)")
            let slow = try Socket.connect(port: proxy.port)
            try slow.send("CONNECT plain.test:8443 HTTP/1.1\r\nHost: plain.test:8443\r\n\r\n")
            _ = try slow.receive(until: "\r\n\r\n")
            for byte in request.utf8 { try slow.send([byte]) }
            #expect(String(decoding: try slow.receive(until: "plain"), as: UTF8.self).hasPrefix("HTTP/1.1 200 OK\r\n"))
        }

        @Test(
            "Whatever a client begins with, it gets the certificate of the tunnel's host, an alert or an end, in time")
        func hellos() throws {
            let workshop = try CertificateWorkshop()
            let proxy = try DecryptingProxy(Self.rules, workshop: workshop, options: ["--header-timeout", "5m"])
            // The end of the silent ones is waited for.
            let hasty = try DecryptingProxy(Self.rules, workshop: workshop, options: ["--header-timeout", "3s"])
            let certificate = ["certificate mapped.test"]
            let refused = ["closed", "alert"]
            let kinds: [(kind: String, outcomes: [String])] = [
                // Names in the handshake.
                ("plain", certificate), ("no-name", certificate), ("other-name", refused), ("listed-name", certificate),
                ("address", refused), ("upper-case", certificate), ("root-dot", certificate + refused),
                ("underscore", refused), ("nul", refused), ("long-name", refused), ("two-names", refused),
                ("empty-name", refused),
                // However it is cut.
                ("other-name-split", refused), ("other-name-halves", refused), ("other-name-type", refused),
                ("other-name-empty", refused), ("other-name-warning", refused), ("other-name-bytes", refused),
                // Forms of the handshake.
                ("early", certificate), ("records", certificate), ("bytes", certificate), ("padding", certificate),
                ("grease", certificate), ("few-empty-records", certificate), ("warning", certificate),
                ("large", refused), ("tls10", refused), ("tls11", refused), ("weak", refused),
                ("weak-ephemeral", refused), ("sslv2", refused),
                ("empty-records", refused), ("early-data", refused),
                // What is no TLS.
                ("ssh", refused), ("silence", refused), ("slow", refused), ("ended", refused),
            ]
            for (kind, outcomes) in kinds {
                let outcome = try hello(outcomes == refused ? hasty : proxy, kind)
                #expect(outcomes.contains { outcome.hasPrefix($0) }, "\(kind): \(outcome)")
                #expect(!outcome.hasSuffix("late"), "\(kind)")
                // Never one for another host.
                #expect(!outcome.contains("other.test") && !outcome.contains("listed.test"), "\(kind)")
            }
            for proxy in [proxy, hasty] {
                #expect(try Wait.holds { try proxy.fetch("https://mapped.test/x").output == "mapped" })
                #expect(proxy.binary.process.status == nil)
            }
        }

        @Test("A ClientHello that is malformed is refused, wherever that is", arguments: Self.malformedHellos)
        func malformedHello(_ kind: String) throws {
            let proxy = try DecryptingProxy(
                Self.rules, workshop: try CertificateWorkshop(), options: ["--header-timeout", "2s"])
            let outcome = try hello(proxy, kind)
            #expect(outcome.hasPrefix("alert") || outcome == "closed", "\(outcome)")
            #expect(try proxy.fetch("https://mapped.test/x").output == "mapped")
        }

        @Test(
            "OPTIONS * inside is for the tunnel's origin, whose name may have the root's dot", arguments: ["1.1", "2"])
        func serverOptions(version: String) throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(try workshop.make("origin.test"))
            let proxy = try DecryptingProxy(
                "https://origin.test:\(origin.port)/x: { text: mapped }", resolving: [("origin.test.", origin.port)],
                workshop: workshop)
            let options = ["--http\(version)", "-X", "OPTIONS", "--request-target", "*"]
            let asked = try proxy.fetch("https://origin.test:\(origin.port)/", options)
            #expect(asked.output == "from the origin", "\(asked.error)")
            #expect(origin.requests == ["*"])
            let dotted = try proxy.fetch("https://origin.test.:\(origin.port)/x", ["--http\(version)"])
            #expect(dotted.output == "mapped", "\(dotted.error)")
        }

        private static let malformedHellos = [
            "version-0300", "version-0200", "session-id-long", "session-id-beyond", "ciphers-none", "ciphers-odd",
            "ciphers-beyond", "compression-none", "compression-deflate", "extensions-short", "extensions-beyond",
            "truncated", "trailing", "length-beyond", "server-hello", "finished-first", "empty-message",
            "name-list-short", "name-type", "name-length-beyond",
        ]

        @Test(
            "What can be served is agreed on",
            arguments: [
                ("h2", "h2"), ("http/1.1", "http/1.1"), ("h2,http/1.1", "h2"), ("http/1.1,h2", ""),
                ("acme-tls/1", "none"),
                ("unknown", "none"), ("", "none"),
            ])
        func protocols(offered: String, agreed: String) throws {
            let proxy = try DecryptingProxy(Self.rules, workshop: try CertificateWorkshop())
            _ = try proxy.fetch("https://mapped.test/x")
            let client = try ChildProcess.run([
                "sh", "-c",
                """
                printf 'GET /x HTTP/1.1\\r\\nHost: mapped.test\\r\\nConnection: close\\r\\n\\r\\n' | \
                timeout 300 openssl s_client -proxy 127.0.0.1:\(proxy.port) -connect mapped.test:443 \
                -CAfile \(proxy.authority) -verify_return_error -verify_hostname mapped.test -ign_eof \
                \(offered.isEmpty ? "" : "-alpn " + offered)
                """,
            ])
            #expect(client.output.contains("Verify return code: 0 (ok)"), "\(client.output) \(client.error)")
            switch agreed {
            case "none": #expect(client.output.contains("No ALPN negotiated"))
            case "": #expect(client.output.contains("ALPN protocol: "))
            default: #expect(client.output.contains("ALPN protocol: \(agreed)\n"))
            }
            if agreed == "none" || agreed == "http/1.1" {
                #expect(client.output.contains("HTTP/1.1 200 OK"))
                #expect(client.output.contains("mapped"))
            }
        }

        private struct ManyHosts: Decodable {
            var hosts: Int
            var keys: Int
            var certificates: Int
            var lastIsKept: Bool
            var firstIsKept: Bool
        }

        @Test("More hosts than are kept each get their certificate, all for one key, and memory stays in bounds")
        func manyHosts() throws {
            let proxy = try DecryptingProxy(
                "https://*.many.test/x: { text: x }\nhttp://canary.test/x: { text: x }",
                workshop: try CertificateWorkshop())
            _ = try proxy.fetch("https://host-0.many.test/x")
            func visit(_ count: Int) throws -> ManyHosts {
                let client = try ChildProcess.run(
                    ["python3", "-B", "\(scripts)/manyhosts.py", "\(proxy.port)", proxy.authority, "\(count)"],
                    seconds: 2 * Wait.limit)
                try #require(client.status == 0, "\(client.error)")
                return try JSONDecoder().decode(ManyHosts.self, from: Data(client.outputBytes))
            }
            // A thousand are kept.
            let some = try visit(200)
            #expect(some.hosts == 200 && some.keys == 1 && some.certificates == 200)
            #expect(some.firstIsKept && some.lastIsKept)
            let before = proxy.binary.footprint
            let many = try visit(1200)
            #expect(many.hosts == 1200 && many.keys == 1 && many.certificates == 1200)
            #expect(!many.firstIsKept && many.lastIsKept)
            let after = try proxy.binary.settle(to: before, memory: 32 << 20)
            #expect(after.descriptors <= before.descriptors)
            #expect(after.residentBytes <= before.residentBytes + 32 << 20)
        }

        @Test("openssl verifies the chain that a client gets, for a name and for an address")
        func chain() throws {
            let proxy = try DecryptingProxy(
                "https://mapped.test/x: { text: x }\nhttps://192.0.2.7/x: { text: x }\nhttps://[2001:db8::7]/x: { text: x }",
                workshop: try CertificateWorkshop())
            #expect(try proxy.fetch("https://192.0.2.7/x").output == "x")
            #expect(try proxy.fetch("https://[2001:db8::7]/x").output == "x")
            for (host, check) in [
                ("mapped.test", "-verify_hostname mapped.test"), ("192.0.2.7", "-verify_ip 192.0.2.7"),
            ] {
                let name = host == "mapped.test" ? "-servername \(host)" : "-noservername"
                let leaf = "\(proxy.workshop.folder.path)/shown.pem"
                let verified = try ChildProcess.run([
                    "sh", "-c",
                    """
                    openssl s_client -proxy 127.0.0.1:\(proxy.port) -connect '\(host):443' \(name) </dev/null 2>/dev/null \
                    | openssl x509 > \(leaf) && openssl verify -x509_strict -purpose sslserver \(check) \
                    -CAfile \(proxy.authority) \(leaf)
                    """,
                ])
                #expect(verified.output == "\(leaf): OK\n", "\(host): \(verified.output) \(verified.error)")
            }
        }

        @Test("A request for another host than the tunnel's is 421, and nobody is asked")
        func otherAuthority() throws {
            let origin = try TLSOrigin(nil)
            let proxy = try DecryptingProxy(
                Self.rules, resolving: [("other.test", origin.port)], workshop: try CertificateWorkshop())
            for option in ["--http1.1", "--http2"] {
                for host in ["other.test", "listed.test", "mapped.test:8443", "mapped.test..", "x@mapped.test"] {
                    let response = try proxy.fetch(
                        "https://mapped.test/x",
                        [option, "-H", "Host: \(host)", "--output", "/dev/null", "--write-out", "%{http_code}"])
                    #expect(["421", "400"].contains(response.output), "\(option) \(host): \(response.output)")
                }
                for host in ["MAPPED.test:443", "mapped.test."] {
                    let named = try proxy.fetch("https://mapped.test/x", [option, "-H", "Host: \(host)"])
                    #expect(named.output == "mapped")
                }
            }
            let absolute = try proxy.fetch(
                "https://mapped.test/x",
                ["--http1.1", "--request-target", "http://other.test:\(origin.port)/x", "--write-out", "%{http_code}"])
            #expect(absolute.output.hasSuffix("421"))
            #expect(origin.events.isEmpty)
        }

        @Test("A client that does not trust the authority is told of once for its host")
        func distrust() throws {
            let proxy = try DecryptingProxy(Self.rules, workshop: try CertificateWorkshop())
            for host in ["mapped.test", "listed.test", "mapped.test", "mapped.test", "listed.test"] {
                let refused = try ChildProcess.run([
                    "curl", "--disable", "--silent", "--max-time", "300", "--noproxy", "", "-x",
                    "http://127.0.0.1:\(proxy.port)", "https://\(host)/x",
                ])
                #expect(refused.status == 60)
            }
            #expect(Wait.holds { proxy.binary.log.components(of: "CONNECT ") == 5 })
            func lines() -> [Substring] {
                proxy.binary.process.error.split(separator: "\n").filter { $0.contains("broken off TLS") }
            }
            #expect(Wait.holds { lines().count == 2 })
            let warnings = lines()
            // In any order: they are of two event loops.
            for host in ["mapped.test", "listed.test"] { #expect(warnings.contains { $0.contains(host) }) }
            #expect(try proxy.fetch("https://mapped.test/x").output == "mapped")
        }

        @Test(
            "An authority that can't be used is told of, and everything else goes on",
            arguments: ["open key", "no key", "other key"])
        func unusableAuthority(_ fault: String) throws {
            let workshop = try CertificateWorkshop()
            let first = try DecryptingProxy(Self.rules, workshop: workshop)
            #expect(try first.fetch("https://mapped.test/x").output == "mapped")
            let key = "\(workshop.folder.path)/authority/ca-key.pem"
            switch fault {
            case "open key": chmod(key, 0o644)
            case "no key": unlink(key)
            default:
                let made = try ChildProcess.run([
                    "openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key,
                ])
                #expect(made.status == 0)
            }
            let origin = try TLSOrigin(try workshop.make("free.test"))
            let proxy = try DecryptingProxy(
                Self.rules + "\nhttp://mapped.test/y: { text: clear }", resolving: [("free.test", origin.port)],
                workshop: workshop, options: ["--connect-ports", "443,\(origin.port)"])
            for _ in 0..<2 {
                let client = try proxy.binary.connect()
                try client.send(
                    "CONNECT mapped.test:443 HTTP/1.1\r\nHost: mapped.test:443\r\nConnection: close\r\n\r\n")
                let response = try client.receiveResponse()
                #expect(response.status == 500)
                #expect(response.text.contains("ca-key.pem") || response.text.contains("key"), "\(response.text)")
            }
            // Messages are written by a thread of their own.
            #expect(Wait.holds { proxy.binary.process.error.contains("can't be decrypted") })
            #expect(proxy.binary.process.error.components(of: "can't be decrypted") == 1)
            let free = try ChildProcess.run([
                "curl", "--disable", "--silent", "--max-time", "300", "--noproxy", "", "-x",
                "http://127.0.0.1:\(proxy.port)", "--cacert", workshop.authority, "https://free.test:\(origin.port)/",
            ])
            #expect(free.output == "from the origin")
            #expect(try proxy.binary.get("http://mapped.test/y").text == "clear")
        }
    }
}
