import ForwardProxy
import ProxyTestKit
import Testing

@Suite("The certificate and the key of https listeners")
struct ListenerIdentityTests {
    @Test("are refused, and not cut, where a file has more than 1 MiB", arguments: [true, false])
    func tooLarge(isKey: Bool) throws {
        let folder = TemporaryFolder()
        let large = try folder.write("large.pem", String(repeating: "x", count: (1 << 20) + 1))
        let small = try folder.write("small.pem", "x")
        let error = #expect(throws: ListenerIdentityError.self) {
            try ListenerIdentity(certificateFile: isKey ? small : large, keyFile: large)
        }
        #expect(error.map { "\($0)" } == "the file '\(large)' has more than 1MiB")
    }

    @Test("are read where they have 1 MiB")
    func largest() throws {
        let folder = TemporaryFolder()
        let path = try folder.write("largest.pem", String(repeating: "x", count: 1 << 20))
        let error = #expect(throws: ListenerIdentityError.self) {
            try ListenerIdentity(certificateFile: path, keyFile: path)
        }
        #expect(error.map { "\($0)" } == "the file '\(path)' has no certificate in PEM")
    }
}
