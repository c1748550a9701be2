import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// The proxy behind TLS of its own, for clients that speak it to their proxy.
    @Suite("https listeners")
    struct SecureListeners {
        /// The program with an https listener beside the one in the clear.
        private struct Secure {
            let proxy: DecryptingProxy
            let origin: TLSOrigin
            let files: CertificateWorkshop.Files
            let port: UInt16

            init(_ rules: String, files mapped: [String: String] = [:], options: [String] = []) throws {
                let workshop = try CertificateWorkshop()
                origin = try TLSOrigin(try workshop.make("origin.test"))
                // A folder of its own: the workshop writes over what it made before.
                let folder = "\(workshop.folder.path)/listener"
                let own = try workshop.make("proxy.test")
                let copied = try ChildProcess.run([
                    "sh", "-c", "mkdir -p \(folder) && cp \(own.chain) \(own.key) \(folder)",
                ])
                try #require(copied.status == 0)
                files = CertificateWorkshop.Files(chain: "\(folder)/chain.pem", key: "\(folder)/leaf-key.pem")
                proxy = try DecryptingProxy(
                    rules, files: mapped, resolving: [("origin.test", origin.port)], workshop: workshop,
                    options: [
                        "--listen", "https://127.0.0.1:0", "--tls-cert", files.chain, "--tls-key", files.key,
                        "--connect-ports", "443,\(origin.port)",
                    ] + options)
                let line = proxy.binary.process.error.split(separator: "\n").first ?? ""
                port = try #require(
                    line.split(separator: "https://127.0.0.1:").last.flatMap { UInt16($0.prefix { $0.isNumber }) })
            }

            func curl(_ arguments: [String], trusting authorities: String? = nil) -> [String] {
                [
                    "curl", "--disable", "--silent", "--show-error", "--max-time", "300", "--noproxy", "", "-x",
                    "https://127.0.0.1:\(port)", "--proxy-cacert", proxy.workshop.authority, "--cacert",
                    authorities ?? proxy.authority, "--suppress-connect-headers",
                ] + arguments
            }

            func fetch(_ arguments: String..., trusting authorities: String? = nil) throws -> ChildProcess {
                try ChildProcess.run(curl(arguments, trusting: authorities))
            }
        }

        private static let rules = """
            http://mapped.test/x: { text: mapped }
            https://mapped.test/x: { text: mapped over https }
            http://mapped.test/large: large
            """

        @Test("A client that names the proxy with the wrong scheme is told of, on either listener")
        func wrongScheme() throws {
            let secure = try Secure(Self.rules)
            func fails(_ proxy: String) throws {
                let answer = try ChildProcess.run([
                    "curl", "--disable", "--silent", "--max-time", "300", "--noproxy", "", "-x", proxy,
                    "--proxy-insecure",
                    "http://mapped.test/x",
                ])
                #expect(answer.status != 0 && answer.output.isEmpty)
            }
            try fails("https://127.0.0.1:\(secure.proxy.port)")
            #expect(Wait.holds { secure.proxy.binary.log.contains("the client speaks TLS to a listener without it; ") })
            for _ in 0..<2 { try fails("http://127.0.0.1:\(secure.port)") }
            let warning =
                "a client has broken off TLS with an https listener: not TLS; the client has to write https://"
            #expect(Wait.holds { secure.proxy.binary.process.error.contains(warning) })
            try fails("http://127.0.0.1:\(secure.port)")
            #expect(secure.proxy.binary.process.error.components(of: warning) == 1)
        }

        @Test("A response that breaks off is not ended in order where only the connection's end would tell")
        func brokenForOldClient() throws {
            let origin = try ScriptedOrigin { request, connection in
                _ = try connection.readBody(of: request)
                try connection.socket.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
                return false
            }
            let secure = try Secure(Self.rules)
            let url = "http://127.0.0.1:\(origin.port)/"
            #expect(try secure.fetch("--http1.0", url).status != 0)
            #expect(try secure.fetch("--http1.0", "http://mapped.test/x").output == "mapped")
        }

        @Test("Every form of request is answered as on a listener in the clear")
        func forms() throws {
            let secure = try Secure(Self.rules)
            #expect(try secure.fetch("http://mapped.test/x").output == "mapped")
            // TLS in TLS, decrypted here and by the origin.
            for option in ["--http1.1", "--http2"] {
                #expect(try secure.fetch(option, "https://mapped.test/x").output == "mapped over https")
            }
            let url = "https://origin.test:\(secure.origin.port)/y"
            #expect(try secure.fetch(url, trusting: secure.proxy.workshop.authority).output == "from the origin")
            #expect(Wait.holds { secure.proxy.binary.log.contains(" tunnelled") })
            // The proxy itself.
            let own = try ChildProcess.run([
                "curl", "--disable", "--silent", "--noproxy", "*", "--cacert", secure.proxy.workshop.authority,
                "https://127.0.0.1:\(secure.port)/proxy.pac",
            ])
            #expect(own.output.contains("\"HTTPS 127.0.0.1:\(secure.port); DIRECT\""))
            let inClear = try secure.proxy.binary.get("http://127.0.0.1:\(secure.proxy.port)/proxy.pac")
            #expect(inClear.text.contains("\"PROXY 127.0.0.1:\(secure.proxy.port); DIRECT\""))
            // Not a second proxy of itself.
            #expect(
                try secure.fetch(
                    "--write-out", "%{http_code}", "--output", "/dev/null", "http://127.0.0.1:\(secure.port)/none"
                )
                .output == "508")
        }

        @Test("A file that is streamed from disk arrives as it is, whole and in part, and slowly too")
        func streamedFile() throws {
            let secure = try Secure(Self.rules, options: ["--retain-file", "64KiB"])
            let path = "\(secure.proxy.served.folder.path)/large"
            #expect(try ChildProcess.run(["sh", "-c", "head -c 20000000 /dev/urandom > \(path)"]).status == 0)
            let url = "http://mapped.test/large"
            for option in ["--no-limit", "--range", "--limit-rate"] {
                let arguments: [String]
                var expected = "cat \(path)"
                switch option {
                case "--range":
                    arguments = ["--range", "1000000-1999999"]
                    expected = "tail -c +1000001 \(path) | head -c 1000000"
                case "--limit-rate": arguments = ["--limit-rate", "20M"]
                default: arguments = []
                }
                let command = secure.curl(arguments + [url]).map { "'\($0)'" }.joined(separator: " ")
                let sums = try ChildProcess.run(["sh", "-c", "\(command) | sha256sum; \(expected) | sha256sum"])
                let lines = sums.output.split(separator: "\n")
                #expect(lines.count == 2 && lines.first == lines.last, "\(option): \(sums.output) \(sums.error)")
            }
        }

        @Test("A handshake inside the listener's own that comes with its CONNECT is read, and odd ones are closed")
        func handshakesInside() throws {
            let secure = try Secure(Self.rules, options: ["--header-timeout", "3s"])
            for (kind, outcomes) in [
                ("plain", ["certificate mapped.test"]), ("early", ["certificate mapped.test"]),
                ("records", ["certificate mapped.test"]), ("other-name", ["alert 112"]), ("ssh", ["closed", "alert"]),
                ("silence", ["closed"]),
            ] {
                let process = try ChildProcess.run([
                    "python3", "-B", "\(scripts)/clienthello.py", "\(secure.port)", "mapped.test:443", kind, "--tls",
                ])
                #expect(
                    outcomes.contains { process.output.hasPrefix($0) }, "\(kind): \(process.output) \(process.error)")
            }
        }

        @Test("Who speaks no TLS, or nothing, is closed, and old versions are refused")
        func oddClients() throws {
            let secure = try Secure(Self.rules, options: ["--header-timeout", "3s"])
            let texts = ["", "GET http://mapped.test/x HTTP/1.1\r\nHost: mapped.test\r\n\r\n", "\u{16}\u{3}\u{1}"]
            let sockets = try texts.map { text in
                let socket = try Socket.connect(port: secure.port)
                try socket.send(text)
                return socket
            }
            for socket in sockets {
                let received = try socket.receiveAll()
                #expect(!String(decoding: received, as: UTF8.self).contains("HTTP/1.1"))
            }
            for (version, isAccepted) in [
                ("-tls1_1", false), ("-tls1_2", true), ("-tls1_3", true), ("-tls1_2 -cipher AESGCM", true),
                ("-tls1_2 -cipher CHACHA20", true), ("-tls1_2 -cipher aRSA+AESGCM", false),
                ("-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA", false), ("-tls1_2 -cipher ECDHE-ECDSA-AES256-SHA", false),
            ] {
                let client = try ChildProcess.run([
                    "sh", "-c",
                    """
                    openssl s_client -connect 127.0.0.1:\(secure.port) -cipher ALL:@SECLEVEL=0 \(version) -alpn h2,http/1.1 \
                    -CAfile \(secure.proxy.workshop.authority) -verify_return_error </dev/null
                    """,
                ])
                #expect((client.status == 0) == isAccepted, "\(version)")
                #expect(client.output.contains("ALPN protocol: http/1.1") == isAccepted)
            }
            #expect(try secure.fetch("http://mapped.test/x").output == "mapped")
        }

        @Test("SIGHUP puts another certificate in force, and one that can't be used leaves the old one")
        func reloading() throws {
            let secure = try Secure(Self.rules)
            func shown() throws -> String {
                try ChildProcess.run([
                    "sh", "-c",
                    "openssl s_client -connect 127.0.0.1:\(secure.port) </dev/null 2>/dev/null | openssl x509 -noout -subject",
                ]).output
            }
            let binary = secure.proxy.binary
            #expect(try shown() == "subject=CN = proxy.test\n")
            let other = try secure.proxy.workshop.make("renewed.test")
            #expect(try ChildProcess.run(["cp", other.chain, secure.files.chain]).status == 0)
            binary.process.send(SIGHUP)
            #expect(Wait.holds { binary.process.error.contains("stays as it was: the key in") })
            // Signals that come before the maps are read make one reload.
            #expect(Wait.holds { binary.process.error.components(of: "maps are loaded anew") == 1 })
            #expect(try shown() == "subject=CN = proxy.test\n")
            #expect(try ChildProcess.run(["cp", other.key, secure.files.key]).status == 0)
            binary.process.send(SIGHUP)
            #expect(try Wait.holds { try shown() == "subject=CN = renewed.test\n" })
            #expect(Wait.holds { binary.process.error.components(of: "maps are loaded anew") == 2 })
            // Nothing has changed since.
            binary.process.send(SIGHUP)
            #expect(Wait.holds { binary.process.error.components(of: "maps are loaded anew") == 3 })
            #expect(binary.process.error.components(of: "certificate of the https listeners is loaded anew") == 1)
        }

        @Test("What is wrong with the options or their files is one line, and the status tells which it is")
        func options() throws {
            let workshop = try CertificateWorkshop()
            let files = try workshop.make("proxy.test")
            let map = try workshop.folder.write("m.yaml", ServedMap.text(Self.rules))
            let rootKey = "\(workshop.folder.path)/root-key.pem"
            let secure = ["--listen", "https://127.0.0.1:0"]
            let cases: [(options: [String], status: Int32, text: String)] = [
                (secure, 64, "an https listener needs --tls-cert"),
                (secure + ["--tls-cert", files.chain], 64, "an https listener needs --tls-key"),
                (["--tls-cert", files.chain], 64, "--tls-cert is for listeners with TLS"),
                (
                    ["--listen", "http://127.0.0.1:0", "--tls-key", files.key], 64,
                    "--tls-key is for listeners with TLS"
                ),
                (["--listen", "https://0.0.0.0:0"], 64, "needs --allow-remote"),
                (secure + ["--tls-cert", "/none.pem", "--tls-key", files.key], 66, "'/none.pem' can't be read"),
                (secure + ["--tls-cert", files.chain, "--tls-key", "/"], 66, "'/' can't be read"),
                (secure + ["--tls-cert", files.key, "--tls-key", files.key], 65, "no certificate in PEM"),
                (secure + ["--tls-cert", files.chain, "--tls-key", files.chain], 65, "no private key in PEM"),
                (secure + ["--tls-cert", files.chain, "--tls-key", rootKey], 65, "is not that of the certificate"),
            ]
            for (options, status, text) in cases {
                let process = try ChildProcess.run([RunningBinary.path, "--map", map] + options)
                #expect(process.status == status, "\(options): \(process.error)")
                #expect(process.error.hasPrefix("subproxy: error: "))
                #expect(process.error.contains(text), "\(process.error)")
                #expect(process.error.components(of: "\n") == 1)
            }
        }
    }
}
