import Foundation
import NIOSSL
import ProxyTestKit
import Testing

@testable import ForwardProxy

@Suite("Handshakes that fail")
struct HandshakeFailureTests {
    @Test(
        "the library's words become a phrase; some mean that the client does not trust the certificate",
        arguments: [
            ("TLSV1_ALERT_UNKNOWN_CA", "TLS alert: unknown certificate authority", true),
            ("SSLV3_ALERT_CERTIFICATE_UNKNOWN", "TLS alert: certificate unknown", true),
            ("SSLV3_ALERT_BAD_CERTIFICATE", "TLS alert: bad certificate", true),
            ("TLSV1_ALERT_INTERNAL_ERROR", "TLS alert: internal error", false),
            ("HTTP_REQUEST", "not TLS", false), ("WRONG_VERSION_NUMBER", "not TLS", false),
            ("NO_SHARED_CIPHER", "no shared protocol version or cipher", false),
            ("UNSUPPORTED_PROTOCOL", "no shared protocol version or cipher", false),
            ("BAD_PACKET_LENGTH", "TLS error: bad packet length", false), ("", "TLS error", false),
        ] as [(String, String, Bool)])
    func phrases(code: String, phrase: String, isDistrust: Bool) {
        #expect(HandshakeFailure(code: code) == HandshakeFailure(phrase, isDistrust: isDistrust))
    }

    @Test("the word is found in the library's text")
    func code() {
        let text =
            "Error: 268435612 error:1000009c:SSL routines:OPENSSL_internal:HTTP_REQUEST at /src/tls_record.cc:209"
        #expect(HandshakeFailure.code(text) == "HTTP_REQUEST")
        #expect(HandshakeFailure.code("EOF during handshake") == nil)
    }

    @Test("an end of the connection is just that, and no text of the library's comes through")
    func others() {
        #expect(HandshakeFailure(NIOSSLError.uncleanShutdown) == .closed)
        #expect(HandshakeFailure(NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake]))) == .closed)
        #expect(HandshakeFailure(NIOSSLError.handshakeFailed(.sslError([]))).phrase == "TLS error")
        #expect(HandshakeFailure(TestFailure("/src/secret.cc")).phrase == "TLS error")
    }

    @Test(
        "an alert in the clear is noticed at the end of what came",
        arguments: [
            ([21, 3, 3, 0, 2, 2, 48], 48), ([21, 3, 1, 0, 2, 1, 0], 0), ([22, 3, 3, 0, 2, 2, 48], nil),
            ([21, 3, 3, 0, 19, 2, 48], nil), ([2, 48], nil), ([], nil),
        ] as [([UInt8], UInt8?)])
    func alert(bytes: [UInt8], alert: UInt8?) { #expect(HandshakeWatch.alert(in: bytes) == alert) }

    @Test("alerts have names")
    func names() {
        #expect(HandshakeFailure(alert: 48).phrase == "TLS alert: unknown certificate authority")
        #expect(HandshakeFailure(alert: 46).isDistrust)
        #expect(HandshakeFailure(alert: 200).phrase == "TLS alert 200")
    }

    @Test("a client that does not trust the authority is helped by commands, or by the certificate of a service")
    func hints() {
        func hint(_ folder: String?, _ variables: [String: String]) -> String {
            SecureTunnels.hint(given: folder, variable: { variables[$0] })
        }
        let user = ["HOME": "/home/u"]
        let service = ["STATE_DIRECTORY": "/var/lib/subproxy", "HOME": "/home/u"]
        #expect(hint(nil, user).contains("`subproxy ca install` makes it, and `subproxy ca doctor` says"))
        #expect(hint("/srv/ca", service).contains("`subproxy ca install --ca-dir /srv/ca` makes it"))
        #expect(hint(nil, service).hasSuffix(", give it the certificate, /ca.pem of the proxy's own pages"))
    }

    private func log(_ client: (TestProxy) throws -> Void) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "subproxy-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let proxy = try TestProxy("substitutions:\n  https://a.test/x: { text: x }\n") { $0.authorityFolder = folder }
        try client(proxy)
        return try proxy.stopAndReadLog()
    }

    @Test("what is neither TLS nor HTTP is logged as that")
    func noTLS() throws {
        let log = try log { proxy in
            let socket = try proxy.connect()
            try socket.send("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n")
            _ = try socket.receive(until: "\r\n\r\n")
            try socket.send("SSH-2.0-OpenSSH_9.9\r\n")
            _ = try socket.receiveAll()
        }
        #expect(log.contains("CONNECT a.test:443 200 0B"))
        #expect(log.hasSuffix("failed (not TLS)\n"))
    }

    @Test(
        "a client that does not trust the authority, or speaks only old TLS, is logged with the reason",
        arguments: [
            (["--tlsv1.3"], "TLS alert: unknown certificate authority"),
            (["--tls-max", "1.2"], "TLS alert: unknown certificate authority"),
            (["--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0"], "no shared protocol version or cipher"),
        ])
    func curl(options: [String], reason: String) throws {
        let log = try log { proxy in
            let curl = try ChildProcess.run(
                ["curl", "--disable", "-s", "-x", "http://127.0.0.1:\(proxy.port)"] + options + ["https://a.test/x"],
                environment: ["CURL_CA_BUNDLE": "", "SSL_CERT_FILE": "", "no_proxy": "", "NO_PROXY": ""])
            #expect(curl.status != 0)
        }
        #expect(log.hasSuffix("failed (\(reason))\n"))
    }
}
