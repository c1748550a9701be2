import Foundation
import Glibc
import ProxyTestKit
import Testing

extension EndToEnd {
    /// Too little memory, and maps that are too large.
    @Suite("Scarcity")
    struct Scarcity {
        /// An allocation that fails ends the program by a trap of Swift's or NIO's, or by abort(3) of the C library's:
        /// never by a use of memory that is not there.
        @Test("Where memory runs out it goes on or stops dead, sends nothing wrong, and the next start is as the first")
        func memoryCap() throws {
            let body = String(repeating: "0123456789abcdef", count: 8 * mebibyte / 16)
            let bytes = Array(body.utf8)
            let origin = try ScriptedOrigin(fields: "Cache-Control: max-age=600\r\n", body: body)
            let served = try ServedMap(
                options: ["--cache-memory", "2GiB"], wrapper: ["prlimit", "--data=\(300 * mebibyte)"])
            var answered = 0
            for number in 0..<60 {
                guard let response = try? served.binary.get("http://127.0.0.1:\(origin.port)/\(number)") else { break }
                guard response.status == 200 else { continue }
                let isPart =
                    response.body.count <= bytes.count && memcmp(response.body, bytes, response.body.count) == 0
                #expect(isPart)
                if response.isComplete {
                    #expect(response.body.count == bytes.count)
                    answered += 1
                }
            }
            #expect(answered > 5)
            if let response = try? served.binary.get("http://mapped.test/x") {
                #expect(response.text == "x")
                #expect(answered == 60)
            } else {
                let traps = [SIGILL, SIGTRAP, SIGABRT].map { 128 + $0 }
                #expect(traps.contains(try served.binary.process.finish()))
            }
            let next = try RunningBinary(map: served.mapPath)
            #expect(try next.get("http://mapped.test/x").text == "x")
            #expect(try next.get("http://127.0.0.1:\(origin.port)/0").body.count == body.utf8.count)
        }

        @Test("A map of 1 GiB is refused by its size, without being read")
        func hugeMap() throws {
            let folder = TemporaryFolder()
            let path = try folder.write("m.yaml", "substitutions: {}\n")
            #expect(truncate(path, 1 << 30) == 0)
            let checked = try ChildProcess.run([
                "prlimit", "--data=\(512 * mebibyte)", RunningBinary.path, "check", path,
            ])
            #expect(checked.status == 1)
            #expect(checked.error.contains("has more than 268435456 bytes") || checked.output.contains("268435456"))
        }
    }

    /// What `make test-heavy` runs only, as it needs a release build, or bounds in time.
    @Suite("Heavy", .enabled(if: isHeavy, "heavy: make test-heavy"))
    struct Heavy {
        @Test("A million rules load within ten seconds, and each is found")
        func manyRules() throws {
            let folder = TemporaryFolder()
            var text = "substitutions:\n"
            text.reserveCapacity(60 << 20)
            for number in 0..<1_000_000 { text += "  http://h\(number % 9).test/a/\(number): { text: t\(number) }\n" }
            let path = try folder.write("m.yaml", text)
            let start = Clock.seconds
            let binary = try RunningBinary(map: path)
            #expect(Clock.seconds - start < 10)
            for number in stride(from: 0, to: 1_000_000, by: 99_991) {
                #expect(try binary.get("http://h\(number % 9).test/a/\(number)").text == "t\(number)")
            }
        }
    }

    /// Whether tests run their heavy forms: where SUBPROXY_HEAVY is set, best with a release build (SUBPROXY_BINARY).
    static let isHeavy = ProcessInfo.processInfo.environment["SUBPROXY_HEAVY"] != nil
}
