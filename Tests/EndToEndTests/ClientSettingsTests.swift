import Foundation
import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// What the machine of a developer is set up with for its clients.
    @Suite("Settings for clients")
    struct ClientSettings {
        @Test(
            "Variables and files that are meant for clients do not reach the way to origins",
            .program("strace", of: "strace"), .kernel(FaultInjection.isAllowed, "leave to trace a process"))
        func areNotForTheProxy() throws {
            let origin = try ScriptedOrigin(body: "forwarded")
            let home = TemporaryFolder()
            // Each of these would send requests elsewhere, change them, or break TLS.
            try home.write(".curlrc", "proxy = http://127.0.0.1:1\nuser-agent = curlrc\n")
            try home.write(".netrc", "machine 127.0.0.1 login l password p\n")
            let trap = "http://127.0.0.1:1"
            let variables = [
                "http_proxy": trap, "HTTP_PROXY": trap, "https_proxy": trap, "HTTPS_PROXY": trap, "all_proxy": trap,
                "ALL_PROXY": trap, "no_proxy": "", "CURL_CA_BUNDLE": "/nonexistent", "SSL_CERT_FILE": "/nonexistent",
                "SSLKEYLOGFILE": "\(home.path)/keys", "HOME": home.path, "CURL_HOME": home.path,
                "NETRC": "\(home.path)/.netrc",
            ]
            let trace = "\(home.path)/trace"
            let served = try ServedMap(
                wrapper: ["env"] + variables.map { "\($0.key)=\($0.value)" } + [
                    "strace", "-D", "-f", "-qq", "-e", "trace=openat,openat2,connect", "-o", trace,
                ])
            let response = try served.binary.get("http://127.0.0.1:\(origin.port)/")
            #expect(response.text == "forwarded")
            let request = try #require(origin.requests.first)
            #expect(request.field("Authorization") == nil && request.field("User-Agent") == nil)
            let calls = try String(contentsOfFile: trace, encoding: .utf8)
            #expect(calls.contains("htons(\(origin.port))") && !calls.contains("htons(1)"))
            for name in [".netrc", ".curlrc", "/keys"] { #expect(!calls.contains(name), "\(name)") }
        }

        @Test("An authority that only variables for clients name is none that origins are verified with")
        func authorities() throws {
            let workshop = try CertificateWorkshop()
            let origin = try TLSOrigin(try workshop.make("site.test"))
            let options = [
                "--resolve", "site.test:\(origin.port):127.0.0.1", "--connect-ports", "\(origin.port)",
            ]
            let variables = ["CURL_CA_BUNDLE", "SSL_CERT_FILE", "CURL_SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"]
                .map { "\($0)=\(workshop.authority)" }
            func answer(_ more: [String]) throws -> ProxyResponse {
                let served = try ServedMap(options: options + more, wrapper: ["env"] + variables)
                return try served.binary.get("https://site.test:\(origin.port)/x")
            }
            let refused = try answer([])
            #expect(refused.status == 502)
            #expect(refused.text.contains("unable to get local issuer certificate"), "\(refused.text)")
            #expect(refused.field("Proxy-Status")?.hasPrefix("subproxy; error=tls_certificate_error") == true)
            #expect(origin.requests.isEmpty)
            // It is the authority that was missing, and nothing else.
            #expect(try answer(["--origin-ca", workshop.authority]).text == "from the origin")
        }
    }
}
