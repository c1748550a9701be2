import ProxyTestKit
import TLSTermination
import Testing

@testable import TrustStores

@Suite("What clients trust")
struct ClientExaminationTests {
    private let machine = FakeMachine()

    private func verdicts(_ variables: [String: String] = [:], certutil: Bool = false) throws -> [String: ClientTrust] {
        let clients = ClientExamination(
            try machine.certificate(), in: machine.surroundings(certutil: certutil, variables: variables)
        ).clients()
        return Dictionary(clients.map { ($0.client, $0) }) { first, _ in first }
    }

    @Test("What is not installed is missing, and needs no advice")
    func missing() throws {
        let found = try verdicts()
        #expect(Set(found.keys) == ["curl", "Chromium", "Firefox", "Python", "Node", "Java", "Go"])
        for client in ["curl", "Chromium", "Firefox", "Python", "Node", "Java"] {
            #expect(found[client]?.verdict == .missing)
            #expect(found[client]?.advice == "")
        }
        #expect(found["Go"]?.verdict == .unknown)
    }

    @Test("curl and Go take the system's store, or the file of a variable")
    func files() throws {
        machine.tool("curl", "")
        let bundle = "\(machine.root)/etc/ssl/certs/ca-certificates.crt"
        machine.write(try machine.otherCertificate().pem, to: bundle)
        #expect(try verdicts()["curl"]?.verdict == .distrusted)
        #expect(
            try verdicts()["curl"]?.advice.contains("`subproxy ca install --ca-dir \(machine.sandbox.at("authority"))`")
                == true)
        let own = machine.sandbox.at("own.pem")
        machine.write(try machine.certificate().pem, to: own)
        #expect(try verdicts(["CURL_CA_BUNDLE": own])["curl"]?.verdict == .trusted)
        #expect(try verdicts(["CURL_CA_BUNDLE": own])["Go"]?.verdict == .distrusted)
        #expect(try verdicts(["SSL_CERT_FILE": own])["Go"]?.verdict == .trusted)
        #expect(try verdicts(["SSL_CERT_FILE": own, "CURL_CA_BUNDLE": bundle])["curl"]?.verdict == .distrusted)
        machine.write(try machine.certificate().pem, to: bundle)
        for client in ["curl", "Go"] { #expect(try verdicts()[client]?.verdict == .trusted) }
    }

    @Test("Python is asked where it looks, and so is requests")
    func python() throws {
        let own = machine.sandbox.at("own.pem")
        machine.write(try machine.certificate().pem, to: own)
        machine.tool("python3", "printf '%s\\n' '\(own)' '' ''")
        var found = try verdicts()
        #expect(found["Python"]?.verdict == .trusted)
        #expect(found["Python requests"] == nil)
        machine.tool("python3", "printf '%s\\n' '\(own)' '' /nonexistent/cacert.pem")
        found = try verdicts()
        #expect(found["Python requests"]?.verdict == .distrusted)
        #expect(try verdicts(["REQUESTS_CA_BUNDLE": own])["Python requests"]?.verdict == .trusted)
        machine.tool("python3", "echo no ssl; exit 1")
        #expect(try verdicts()["Python"]?.verdict == .unknown)
    }

    @Test("Node trusts what a variable adds, or the system's store where it is told to")
    func node() throws {
        machine.tool("node", "")
        let own = machine.sandbox.at("own.pem")
        machine.write(try machine.certificate().pem, to: own)
        #expect(try verdicts()["Node"]?.verdict == .distrusted)
        #expect(try verdicts()["Node"]?.advice.contains("NODE_EXTRA_CA_CERTS=") == true)
        #expect(try verdicts(["NODE_EXTRA_CA_CERTS": own])["Node"]?.verdict == .trusted)
        machine.write(try machine.certificate().pem, to: "\(machine.root)/etc/ssl/certs/ca-certificates.crt")
        #expect(try verdicts(["NODE_OPTIONS": "--use-system-ca"])["Node"]?.verdict == .trusted)
    }

    @Test("Java's store is searched for the fingerprint")
    func java() throws {
        let fingerprint = try machine.certificate().fingerprintText
        machine.tool("java", "")
        #expect(try verdicts()["Java"]?.verdict == .unknown)
        machine.tool("keytool", "echo 'Certificate fingerprint (SHA-256): \(fingerprint)'")
        #expect(try verdicts()["Java"]?.verdict == .trusted)
        machine.tool("keytool", "echo none")
        #expect(try verdicts()["Java"]?.advice.contains("-importcert") == true)
    }

    @Test("A browser is asked through its databases", .program("certutil", of: "libnss3-tools"))
    func browsers() throws {
        let path = try machine.addDatabase("\(machine.home)/.mozilla/firefox/a.default")
        #expect(try verdicts()["Firefox"]?.verdict == .unknown)
        #expect(try verdicts(certutil: true)["Firefox"]?.verdict == .distrusted)
        let database = try #require(SecurityDatabase.find(in: machine.surroundings(certutil: true)).first)
        #expect(database.install(try machine.certificate()) == .done)
        #expect(try verdicts(certutil: true)["Firefox"]?.verdict == .trusted)
        #expect(try verdicts(certutil: true)["Firefox"]?.detail == path)
        machine.tool("chromium", "")
        #expect(try verdicts(certutil: true)["Chromium"]?.verdict == .distrusted)
    }
}
