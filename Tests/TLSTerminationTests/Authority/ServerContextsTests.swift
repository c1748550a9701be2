import NIOCore
import NIOPosix
import NIOSSL
import ProxyTestKit
import Testing

@testable import TLSTermination

@Suite("TLS with decrypted hosts' certificates")
struct ServerContextsTests {
    /// Servers on loopback ports that only shake hands, one for each host, and the authority that their clients trust.
    private func withServers<Result>(
        _ hosts: [String], _ body: (_ ports: [Int], _ sandbox: AuthoritySandbox) throws -> Result
    ) async throws -> Result {
        let sandbox = AuthoritySandbox()
        let now = WallClock.system()
        let issuer = try LeafIssuer(certificateAuthority: try sandbox.authority(now: now))
        let contexts = try ServerContexts(issuer: issuer, protocols: ["h2", "http/1.1"])
        var channels: [any Channel] = []
        for host in hosts {
            let context = try contexts.context(for: issuer.leaf(for: CertificateHost(host), now: now))
            let server = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                }
            channels.append(try await server.bind(host: "127.0.0.1", port: 0).get())
        }
        let result = Swift.Result { try body(channels.map { $0.localAddress?.port ?? 0 }, sandbox) }
        for channel in channels { try await channel.close() }
        return try result.get()
    }

    private func withServer(
        _ host: String, _ body: (_ port: Int, _ sandbox: AuthoritySandbox) throws -> ChildProcess
    ) async throws -> ChildProcess {
        try await withServers([host]) { ports, sandbox in try body(ports[0], sandbox) }
    }

    private func shakeHands(_ port: Int, _ sandbox: AuthoritySandbox, _ options: [String]) throws -> ChildProcess {
        try ChildProcess.run(
            [
                "openssl", "s_client", "-connect", "127.0.0.1:\(port)", "-CAfile", sandbox.at("ca.pem"),
                "-verify_return_error",
            ]
                + options)
    }

    @Test(
        "openssl trusts the chain and agrees on protocol and ALPN",
        arguments: [
            (["-alpn", "h2,http/1.1"], "ALPN protocol: h2"), (["-alpn", "http/1.1"], "ALPN protocol: http/1.1"),
            (["-alpn", "acme-tls/1"], "No ALPN negotiated"), ([], "No ALPN negotiated"), (["-tls1_3"], "New, TLSv1.3"),
            (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256:RSA"], "ECDHE-ECDSA-AES128-GCM-SHA256"),
            (["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"], "ECDHE-ECDSA-CHACHA20-POLY1305"),
            (["-tls1_2", "-comp"], "Compression: NONE"),
            (["-tls1_2"], "Extended master secret: yes"), (["-curves", "P-256"], "ECDH, prime256v1, 256 bits"),
        ])
    func accepted(options: [String], expected: String) async throws {
        let process = try await withServer("a.test") { port, sandbox in
            try shakeHands(port, sandbox, ["-servername", "a.test", "-verify_hostname", "a.test"] + options)
        }
        #expect(process.output.contains("Verify return code: 0 (ok)"))
        #expect(process.output.contains(expected))
    }

    @Test(
        "Old protocols and suites without forward secrecy are refused",
        arguments: [
            ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], ["-tls1_2", "-cipher", "AES128-GCM-SHA256"],
            ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"],
        ])
    func refused(options: [String]) async throws {
        let process = try await withServer("a.test") { port, sandbox in try shakeHands(port, sandbox, options) }
        #expect(process.status != 0)
        #expect(process.error.contains("alert"))
    }

    @Test("An address has a certificate that is trusted for it")
    func address() async throws {
        let process = try await withServer("127.0.0.1") { port, sandbox in
            try shakeHands(port, sandbox, ["-noservername", "-verify_ip", "127.0.0.1"])
        }
        #expect(process.output.contains("Verify return code: 0 (ok)"))
    }

    @Test("A session is resumed with its own host and with no other")
    func resumption() async throws {
        let outputs = try await withServers(["a.test", "b.test"]) { ports, sandbox in
            let session = sandbox.at("session")
            _ = try shakeHands(ports[0], sandbox, ["-tls1_2", "-servername", "a.test", "-sess_out", session])
            return try ports.map { port in
                try shakeHands(port, sandbox, ["-tls1_2", "-servername", "a.test", "-sess_in", session]).output
            }
        }
        #expect(outputs[0].contains("Reused, TLSv1.2"))
        #expect(outputs[1].contains("New, TLSv1.2"))
    }

    @Test("Another host's certificate is not trusted")
    func otherHost() async throws {
        let process = try await withServer("b.test") { port, sandbox in
            try shakeHands(port, sandbox, ["-servername", "a.test", "-verify_hostname", "a.test"])
        }
        #expect(process.status != 0)
        #expect(process.error.contains("hostname mismatch") || process.error.contains("Hostname mismatch"))
    }
}
