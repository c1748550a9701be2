import ProxyTestKit
import TLSTermination
import Testing

@testable import TrustStores

@Suite("Certificates in files")
struct CertificateBundleTests {
    private let machine = FakeMachine()

    @Test("A certificate is known by its content, whatever stands around it and wherever its lines break")
    func contents() throws {
        let certificate = try machine.certificate()
        let other = try machine.otherCertificate()
        let lines = certificate.pem.split(separator: "\n")
        let body = lines.dropFirst().dropLast().joined()
        let text = "# a comment\r\n-----BEGIN CERTIFICATE-----\r\n\(body)\r\n-----END CERTIFICATE-----\r\nrest"
        var bundle = CertificateBundle(Array(text.utf8))
        #expect(bundle.count == 1)
        #expect(bundle.contains(certificate))
        #expect(!bundle.contains(other))
        bundle.add(certificate)
        #expect(bundle.count == 1)
        bundle.add(other)
        #expect(bundle.contains(other))
        #expect(bundle.pem == Array((certificate.pem + other.pem).utf8))
    }

    @Test(
        "What is no certificate is left out",
        arguments: [
            "", "-----BEGIN CERTIFICATE-----\nAAAA", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "-----BEGIN TRUSTED CERTIFICATE-----\nAAAA\n-----END TRUSTED CERTIFICATE-----\n",
        ])
    func noCertificate(_ text: String) { #expect(CertificateBundle(Array(text.utf8)).count == 0) }

    @Test("A folder's certificates are those of its files, each once")
    func folder() throws {
        let certificate = try machine.certificate()
        let folder = machine.folder(machine.sandbox.at("certificates"))
        machine.write(certificate.pem, to: "\(folder)/a.pem")
        machine.write(certificate.pem + (try machine.otherCertificate()).pem, to: "\(folder)/b.pem")
        #expect(CertificateBundle(at: folder)?.count == 2)
        #expect(CertificateBundle(at: machine.sandbox.at("nowhere")) == nil)
    }
}
