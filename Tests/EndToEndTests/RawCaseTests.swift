import Foundation
import ProxyTestKit
import Testing

@Suite("Raw bytes from clients and origins", .onThreads)
struct RawCaseTests {
    private let served: ServedMap
    private var binary: RunningBinary { served.binary }

    init() throws { served = try ServedMap() }

    private func drive(_ what: String, _ options: [String] = []) throws -> ChildProcess {
        try ChildProcess.run(
            [
                "python3", "-B", "\(EndToEnd.cases)/rawdriver.py", what, "--proxy", "127.0.0.1:\(binary.port)",
                "--origin-port", "0",
            ] + options, seconds: 2 * Wait.limit)
    }

    /// How many cases a file has, one a line.
    private func count(_ file: String) throws -> Int {
        try String(contentsOfFile: "\(EndToEnd.cases)/\(file)", encoding: .utf8).split(separator: "\n").count
    }

    @Test(
        "Each raw request is answered or forwarded as it may be, however it is cut into segments",
        arguments: ["whole", "bytes", "split"])
    func requests(mode: String) throws {
        let driver = try drive("requests", ["--mode", mode, "--control", "127.0.0.1:\(binary.port)"])
        let expected = "\(try count("rawcases.jsonl")) passed, 0 failed, 0 skipped\n"
        #expect(driver.output == expected, "\(driver.error)")
        #expect(binary.process.status == nil)
    }

    @Test("Each raw response is passed on, refused or cut off as it may be")
    func responses() throws {
        let driver = try drive("responses")
        let expected = "\(try count("rawresponses.jsonl")) passed, 0 failed, 0 skipped\n"
        #expect(driver.output == expected, "\(driver.error)")
        #expect(binary.process.status == nil)
    }
}
