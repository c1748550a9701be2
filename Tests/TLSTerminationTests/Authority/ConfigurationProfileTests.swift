import ProxyTestKit
import Testing

@testable import TLSTermination

@Suite("The configuration profile for iOS")
struct ConfigurationProfileTests {
    private func values(of key: String, in profile: String) -> [Substring] {
        profile.split(separator: "\n").enumerated().compactMap { index, line in
            line == "<key>\(key)</key>" ? profile.split(separator: "\n")[index + 1] : nil
        }
    }

    @Test("The profile is a property list that holds the certificate as a root")
    func content() throws {
        let sandbox = AuthoritySandbox()
        let authority = try sandbox.authority()
        let bytes = ConfigurationProfile.render(certificate: authority.der, name: authority.name)
        let profile = String(decoding: bytes, as: UTF8.self)
        #expect(
            values(of: "PayloadType", in: profile) == [
                "<string>com.apple.security.root</string>", "<string>Configuration</string>",
            ])
        #expect(values(of: "PayloadVersion", in: profile) == ["<integer>1</integer>", "<integer>1</integer>"])
        #expect(
            values(of: "PayloadDisplayName", in: profile)
                == Array(repeating: "<string>\(authority.name)</string>", count: 2))
        let data = try #require(profile.split(separator: "</data>").first?.split(separator: "<data>").last)
        sandbox.write("-----BEGIN CERTIFICATE-----\(data)-----END CERTIFICATE-----\n", to: "profile.pem")
        let read = try ChildProcess.run(["openssl", "x509", "-in", sandbox.at("profile.pem")])
        #expect(read.output == authority.pem)
        #expect(profile.split(separator: "<dict>").count == profile.split(separator: "</dict>").count)
    }

    @Test("The identifiers are those of the certificate, each its own")
    func identifiers() {
        let one = String(decoding: ConfigurationProfile.render(certificate: [1, 2, 3], name: "n"), as: UTF8.self)
        let again = String(decoding: ConfigurationProfile.render(certificate: [1, 2, 3], name: "n"), as: UTF8.self)
        let other = String(decoding: ConfigurationProfile.render(certificate: [1, 2, 4], name: "n"), as: UTF8.self)
        #expect(one == again)
        let identifiers = values(of: "PayloadUUID", in: one)
        #expect(identifiers.first == "<string>CC0F78AB-CCCE-8528-BD84-A1A2011CFB81</string>")
        #expect(identifiers.last == "<string>039058C6-F2C0-8B49-AC53-3B0A4D14EF77</string>")
        #expect(Set(identifiers + values(of: "PayloadUUID", in: other)).count == 4)
    }

    @Test(
        "A name is text, whatever is in it",
        arguments: [("a & <b>", "a &amp; &lt;b&gt;"), ("x\u{0}\u{1b}y\u{fffe}", "xy"), ("ü\t", "ü\t")])
    func escaping(name: String, expected: String) {
        let profile = String(decoding: ConfigurationProfile.render(certificate: [1], name: name), as: UTF8.self)
        #expect(
            values(of: "PayloadDisplayName", in: profile) == Array(repeating: "<string>\(expected)</string>", count: 2))
    }
}
