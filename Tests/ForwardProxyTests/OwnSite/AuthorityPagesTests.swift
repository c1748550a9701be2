import ForwardProxy
import Foundation
import ProxyTestKit
import Testing

@Suite("The pages with the certificate authority")
struct AuthorityPagesTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "subproxy-\(UUID().uuidString)").path

    private func proxy(_ rules: String, folder: String? = nil) throws -> TestProxy {
        let folder = folder ?? "\(self.folder)/ca"
        return try TestProxy("substitutions:\n  \(rules)\n") { $0.authorityFolder = folder }
    }

    private func get(_ proxy: TestProxy, _ target: String, method: String = "GET") throws -> TestResponse {
        let socket = try proxy.connect()
        try socket.send(
            "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(proxy.port)\r\nConnection: close\r\n\r\n")
        return TestResponse(try socket.receiveAll())
    }

    private func remove() { try? FileManager.default.removeItem(atPath: folder) }

    @Test("the certificate and the profile come with the types that devices install, and the page has the fingerprint")
    func files() throws {
        defer { remove() }
        let proxy = try proxy("https://a.test/x: { text: x }")
        let certificate = try get(proxy, "/ca.pem")
        #expect(certificate.status == 200)
        #expect(certificate.field("Content-Type") == "application/x-x509-ca-cert")
        #expect(certificate.body == (try String(contentsOfFile: "\(folder)/ca/ca.pem", encoding: .utf8)))
        let profile = try get(proxy, "/ca.mobileconfig")
        #expect(profile.field("Content-Type") == "application/x-apple-aspen-config")
        #expect(profile.body.contains("com.apple.security.root"))
        let page = try get(proxy, "/")
        #expect(page.body.contains("href=\"/ca.pem\"") && page.body.contains("href=\"/ca.mobileconfig\""))
        #expect(page.body.contains("<code>subproxy ca install</code> makes programs of the user who runs this proxy"))
        let openssl = try ChildProcess.run(
            ["openssl", "x509", "-in", "\(folder)/ca/ca.pem", "-noout", "-fingerprint", "-sha256"])
        let fingerprint = try #require(openssl.output.split(separator: "=").last).trimmingCharacters(in: .newlines)
        #expect(page.body.contains("SHA-256 <code>\(fingerprint)</code>"))
        let absolute = try get(proxy, "http://127.0.0.1:\(proxy.port)/ca.pem")
        #expect(absolute.body == certificate.body)
        let head = try get(proxy, "/ca.pem", method: "HEAD")
        #expect(head.status == 200 && head.body.isEmpty)
        #expect(head.field("Content-Length") == "\(certificate.body.utf8.count)")
        #expect(try get(proxy, "/ca.pem", method: "POST").status == 405)
    }

    @Test("the next request on the connection is answered too, also one that came with the first")
    func pipelined() throws {
        defer { remove() }
        let proxy = try proxy("https://a.test/x: { text: x }")
        let socket = try proxy.connect()
        let host = "Host: 127.0.0.1:\(proxy.port)\r\n"
        try socket.send(
            "GET /ca.pem HTTP/1.1\r\n\(host)\r\nGET /proxy.pac HTTP/1.1\r\n\(host)Connection: close\r\n\r\n")
        let all = String(decoding: try socket.receiveAll(), as: UTF8.self)
        #expect(all.contains("-----END CERTIFICATE-----\nHTTP/1.1 200 OK\r\n"))
        #expect(all.contains("FindProxyForURL"))
    }

    @Test(
        "a map without https hosts has none, says so, and no authority is made",
        arguments: ["/ca.pem", "/ca.mobileconfig"])
    func nothingDecrypted(path: String) throws {
        defer { remove() }
        let proxy = try proxy("http://a.test/x: { text: x }")
        let answer = try get(proxy, path)
        #expect(answer.status == 404)
        #expect(answer.body.contains("names no https host"))
        #expect(!(try get(proxy, "/").body.contains("ca.pem")))
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test("an authority that can't be used is an error that says why; the status page says it too")
    func unusable() throws {
        let proxy = try proxy("https://a.test/x: { text: x }", folder: "/proc/none")
        let answer = try get(proxy, "/ca.pem")
        #expect(answer.status == 500)
        #expect(answer.body.contains("/proc/none"))
        let page = try get(proxy, "/")
        #expect(page.status == 200)
        #expect(page.body.contains("can&#39;t be used") && page.body.contains("/proc/none"))
    }
}
