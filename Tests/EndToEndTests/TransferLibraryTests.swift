import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// libcurl, which is opened at the first transfer.
    @Suite("The transfer library")
    struct TransferLibrary {
        private func holdsLibrary(_ binary: RunningBinary) throws -> Bool {
            try ChildProcess.run(["cat", "/proc/\(binary.process.identifier)/maps"]).output.contains("/libcurl.so")
        }

        @Test("It is not opened for mapped URLs and the proxy's own pages, and is for the first URL that is forwarded")
        func firstTransfer() throws {
            let origin = try ScriptedOrigin(body: "from the origin")
            let served = try ServedMap()
            #expect(try served.binary.get("http://mapped.test/x").text == "x")
            #expect(try !holdsLibrary(served.binary))
            #expect(try served.binary.get("http://127.0.0.1:\(origin.port)/y").text == "from the origin")
            #expect(try holdsLibrary(served.binary))
        }

        @Test("Without it mapped URLs are answered, and what would be forwarded is refused with the reason")
        func missing() throws {
            let folder = TemporaryFolder()
            try folder.write("libcurl.so.4", "no library")
            let origin = try ScriptedOrigin(body: "from the origin")
            let served = try ServedMap(wrapper: ["env", "LD_LIBRARY_PATH=\(folder.path)"])
            for _ in 1...2 {
                let refused = try served.binary.get("http://127.0.0.1:\(origin.port)/y")
                #expect(refused.status == 500)
                #expect(refused.text.contains("libcurl can't be used"), "\(refused.text)")
                #expect(try served.binary.get("http://mapped.test/x").text == "x")
            }
            served.binary.process.send(SIGTERM)
            #expect(try served.binary.process.finish() == 0)
        }
    }
}
