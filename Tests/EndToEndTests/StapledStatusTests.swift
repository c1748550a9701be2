import ProxyTestKit
import Testing

extension EndToEnd {
    /// Section G: what an origin staples to its certificate (RFC 6066 §8).
    @Suite("Stapled OCSP answers of origins")
    struct StapledStatus {
        enum Answer: CaseIterable { case none, good, revoked, revokedByAStranger }

        /// `openssl s_server`, which answers every request with a page of its own.
        private struct Origin {
            let process: ChildProcess
            let port: UInt16

            init(_ files: CertificateWorkshop.Files, _ options: [String]) throws {
                let process = try ChildProcess(
                    ["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", files.chain, "-key", files.key, "-www"]
                        + options)
                var port: UInt16?
                try Wait.until {
                    if process.status != nil { throw ToolFailure(text: process.error) }
                    let line = process.output.split(separator: "\n").first { $0.hasPrefix("ACCEPT ") }
                    port = line?.split(separator: ":").last.flatMap { UInt16($0) }
                    return port != nil
                }
                self.process = process
                self.port = port ?? 0
            }
        }

        @Test(
            "An origin that says itself that its certificate was revoked is 502, and only what its issuer says counts",
            arguments: Answer.allCases, ["-tls1_2", "-tls1_3"])
        func status(_ answer: Answer, version: String) throws {
            let workshop = try CertificateWorkshop()
            let files = try workshop.make("site.test")
            let staple: String? =
                switch answer {
                case .none: nil
                case .good: try workshop.statusAnswer(isRevoked: false)
                case .revoked: try workshop.statusAnswer(isRevoked: true)
                case .revokedByAStranger: try workshop.statusAnswer(isRevoked: true, signer: "stranger")
                }
            let origin = try Origin(files, [version] + (staple.map { ["-status_file", $0] } ?? []))
            let proxy = try DecryptingProxy(
                "https://site.test:\(origin.port)/mapped: { text: mapped }",
                resolving: [("site.test", origin.port)], workshop: workshop)
            for protocolOption in ["--http1.1", "--http2"] {
                let response = try proxy.fetch("https://site.test:\(origin.port)/x", [protocolOption, "--include"])
                if answer == .revoked {
                    #expect(response.output.contains(" 502 "), "\(response.output)")
                    #expect(response.output.contains("error=tls_certificate_error"))
                    #expect(response.output.components(of: "certificate was revoked") == 2)
                } else {
                    #expect(response.output.contains(" 200 "), "\(response.output)")
                    #expect(response.output.contains("s_server"))
                }
            }
            #expect(try proxy.fetch("https://site.test:\(origin.port)/mapped").output == "mapped")
        }
    }
}
