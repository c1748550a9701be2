import Foundation
import Glibc
import ProxyTestKit
import Testing

/// A team's test in a browser, recorded and replayed.
extension InBrowsers {
    @Suite(
        "Recording a browser's test", .program(InstalledProgram.chromium, of: "chromium"),
        .program(InstalledProgram.toolsPython, of: "make setup-test"))
    struct RecordBrowser {
        private let folder = TemporaryFolder()

        private func record(_ url: String, seed: Int, _ options: [String]) throws -> SubproxyProcess.Finished {
            try SubproxyProcess.run(
                [
                    "record", "-o", "shop/", "--ca-dir", folder.at("ca"), "--ignore",
                    "*.google.com,*.googleapis.com,*.gvt1.com",
                ]
                    + options + ["--", InstalledProgram.toolsPython, "-B", "\(scripts)/shoptest.py", "test", url],
                environment: ["CHROMIUM": InstalledProgram.chromium, "SEED": "\(seed)"], folder: folder.path)
        }

        private func git(_ arguments: String...) throws -> String {
            let author = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
            let process = try ChildProcess.run(["git", "-C", folder.at("shop")] + author + arguments)
            try #require(process.status == 0, "\(process.error)")
            return process.output
        }

        @Test("Without a display nothing is served", arguments: [["record", "-o", "x/"], ["replay", "a.har"]])
        func withoutDisplay(command: [String]) throws {
            try folder.write("a.har", #"{"log":{"version":"1.2","entries":[]}}"#)
            let finished = try SubproxyProcess.run(
                command + ["--page", "http://127.0.0.1:9/", "--no-sandbox", "--ca-dir", folder.at("ca")],
                environment: ["DISPLAY": "", "WAYLAND_DISPLAY": ""], folder: folder.path)
            #expect(finished.status == 69 && finished.error.contains("there is no display"), "\(finished)")
            #expect(!finished.error.contains("listening"), "\(finished.error)")
            #expect(try ChildProcess.run(["ls", folder.at("x")]).status != 0)
        }

        @Test("It passes without the site, other cache busters and all, and records to the same folder again")
        func browser() throws {
            let shop = try ChildProcess(["python3", "-B", "\(scripts)/shoptest.py", "serve"])
            var port = ""
            try Wait.until {
                port = shop.output.split(separator: "\n").first.map(String.init) ?? ""
                return !port.isEmpty
            }
            let url = "http://127.0.0.1:\(port)"
            let first = try record(url, seed: 1, [])
            try #require(first.status == 0, "\(first.output)\(first.error)")
            #expect(first.output == "hello\n")
            #expect(first.error.contains("1 upgraded"), "\(first.error)")
            for secret in ["hunter2", "t0psecret"] {
                #expect(try ChildProcess.run(["grep", "-r", secret, folder.at("shop")]).output == "")
            }
            _ = try git("init", "--quiet")
            _ = try git("add", ".")
            _ = try git("commit", "--quiet", "-m", "Record")

            #expect(try ChildProcess.run(["curl", "-sS", "\(url)/reset"]).status == 0)
            let again = try record(url, seed: 1, ["--mode", "all"])
            #expect(again.status == 0, "\(again.error)")
            #expect(try git("status", "--porcelain") == "", "not equal")

            shop.send(SIGKILL)
            _ = try shop.finish()
            let replayed = try record(url, seed: 2, ["--mode", "none", "--report", "report.json"])
            #expect(replayed.status == 0, "\(replayed.output)\(replayed.error)")
            #expect(replayed.output == "no socket\n")
            let report = try #require(
                try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: folder.at("report.json"))))
                    as? [String: Any])
            let misses = (report["misses"] as? [[String: Any]] ?? []).compactMap { $0["url"] as? String }
            #expect(misses.filter { !$0.hasSuffix("/favicon.ico") && !$0.hasSuffix("/socket") } == [])
        }
    }
}
