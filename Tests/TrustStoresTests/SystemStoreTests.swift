import Basics
import Glibc
import ProxyTestKit
import TLSTermination
import Testing

@testable import TrustStores

@Suite("The system's trust store")
struct SystemStoreTests {
    private let machine = FakeMachine()

    @Test("Debian's: a file of the machine's own, gathered with the others, and taken away again; twice is once")
    func debian() throws {
        let local = machine.addDebianStore()
        let other = try machine.otherCertificate()
        machine.write(other.pem, to: "\(local)/other.crt")
        let certificate = try machine.certificate()
        let store = try #require(machine.surroundings().systemStore)
        #expect(store.state(of: certificate) == .absent)
        #expect(store.install(certificate) == .done)
        #expect(store.state(of: certificate) == .trusted)
        #expect(store.install(certificate) == .unchanged)
        let name = "subproxy-\(Hexadecimal.text(certificate.fingerprint.prefix(8))).crt"
        #expect(LocalFiles.names(in: local) == ["other.crt", name])
        #expect(LocalFiles.contents("\(local)/\(name)") == Array(certificate.pem.utf8))

        #expect(store.uninstall(certificate) == .done)
        #expect(store.state(of: certificate) == .absent)
        #expect(store.state(of: other) == .trusted)
        #expect(LocalFiles.names(in: local) == ["other.crt"])
        #expect(store.uninstall(certificate) == .unchanged)
        #expect(try machine.sandbox.text(of: "calls") == "\n--fresh\n")
    }

    @Test("Another authority's certificate stays, also under a name like ours")
    func others() throws {
        let local = machine.addDebianStore()
        let other = try machine.otherCertificate()
        let certificate = try machine.certificate()
        let store = try #require(machine.surroundings().systemStore)
        #expect(store.install(other) == .done)
        #expect(store.install(certificate) == .done)
        #expect(store.uninstall(certificate) == .done)
        #expect(store.state(of: other) == .trusted)
        #expect(LocalFiles.names(in: local).count == 1)
    }

    @Test("Without root nothing is done, and the command that does it is said")
    func noRoot() throws {
        let local = machine.addDebianStore()
        let certificate = try machine.certificate()
        let store = try #require(machine.surroundings(isAdministrator: false).systemStore)
        guard case .failed(let problem) = store.install(certificate) else {
            Issue.record("it was installed")
            return
        }
        #expect(problem.advice.hasPrefix("sudo sh -c 'install -m 644 \(certificate.path) \(local)/subproxy-"))
        #expect(problem.advice.hasSuffix(" && \(machine.tools)/update-ca-certificates'"))
        #expect(LocalFiles.names(in: local).isEmpty)
        #expect(store.uninstall(certificate) == .unchanged)
    }

    @Test("A program that fails, or does nothing, is a failure with its words")
    func failingTool() throws {
        _ = machine.addDebianStore()
        let certificate = try machine.certificate()
        let store = try #require(machine.surroundings().systemStore)
        machine.tool("update-ca-certificates", "echo no room left; exit 3")
        guard case .failed(let problem) = store.install(certificate) else {
            Issue.record("it was installed")
            return
        }
        #expect(problem.reason.contains("no room left"))
        machine.tool("update-ca-certificates", "exit 0")
        guard case .failed(let other) = store.install(certificate) else {
            Issue.record("it was installed")
            return
        }
        #expect(other.reason.contains("has not taken"))
    }

    @Test("Fedora's and Arch's: an anchor is stored and removed")
    func anchors() throws {
        let bundle = machine.folder("\(machine.root)/etc/pki/tls/certs") + "/ca-bundle.crt"
        machine.write("", to: bundle)
        machine.tool(
            "trust",
            """
            case "$1 $2" in
              "anchor --store") cat "$3" >> '\(bundle)';;
              "anchor --remove") : > '\(bundle)';;
              *) exit 2;;
            esac
            """)
        let certificate = try machine.certificate()
        let store = try #require(machine.surroundings().systemStore)
        #expect(store.install(certificate) == .done)
        #expect(store.install(certificate) == .unchanged)
        #expect(store.state(of: certificate) == .trusted)
        #expect(store.uninstall(certificate) == .done)
        #expect(store.uninstall(certificate) == .unchanged)

        let powerless = try #require(machine.surroundings(isAdministrator: false).systemStore)
        #expect(
            powerless.install(certificate)
                == .failed(
                    TrustProblem(
                        "only root may change it",
                        advice: "sudo \(machine.tools)/trust anchor --store \(certificate.path)")))
    }

    @Test("On another system there is none")
    func unknown() { #expect(machine.surroundings().systemStore == nil) }
}
