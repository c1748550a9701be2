import Foundation
import Glibc
import ProxyTestKit
import Testing

/// The window of `record --page` and `replay --open`, on a display of the test's own.
extension InBrowsers {
    @Suite(
        "A window", .program(InstalledProgram.chromium, of: "chromium"), .program(VirtualDisplay.program, of: "xvfb"))
    struct RecordWindow {
        private let display: VirtualDisplay
        private let folder = TemporaryFolder()
        /// Whether the page may close itself.
        private let mayClose = Counter()
        private let origin: ScriptedOrigin

        init() throws {
            display = try VirtualDisplay()
            for name in ["tmp", "home"] { mkdir(folder.at(name), 0o700) }
            let mayClose = mayClose
            origin = try ScriptedOrigin { request, connection in
                let request = try connection.readBody(of: request)
                if request.target == "/may-close" {
                    while mayClose.value == 0, !connection.socket.hasInput { usleep(5000) }
                }
                try connection.respond(
                    fields: "Content-Type: text/html\r\n", body: request.target == "/" ? RecordWindow.page : "")
                return true
            }
            try folder.write(
                "m.yaml",
                "substitutions:\n  https://mapped.test/a.svg: { text: \"\(Self.picture)\", type: image/svg+xml }\n")
        }

        private var url: String { "http://127.0.0.1:\(origin.port)/" }

        /// It tells what of it is seen, and closes itself when it may, as a person closes the last window.
        private static let page = """
            <!doctype html><title>Window</title><body style='background: palegreen'><h1>Seen</h1>
            <img id=picture src='https://mapped.test/a.svg'>
            <script>onload = async () => {
              const seen = document.visibilityState + '-' + (innerWidth > 300) + '-' + picture.naturalWidth;
              await fetch('/seen-' + seen);
              await fetch('/may-close');
              close();
            };</script>
            """
        private static let picture =
            "<svg xmlns='http://www.w3.org/2000/svg' width='60' height='60'><rect width='60' height='60'/></svg>"

        private func start(_ arguments: [String]) throws -> ChildProcess {
            try ChildProcess(
                ["env", "-C", folder.path, SubproxyProcess.path] + arguments
                    + ["--ca-dir", folder.at("ca"), "--listen", "127.0.0.1:0"]
                    + (geteuid() == 0 ? ["--no-sandbox"] : []),
                environment: [
                    "DISPLAY": display.name, "WAYLAND_DISPLAY": "", "TMPDIR": folder.at("tmp"),
                    "HOME": folder.at("home"),
                    "NOTIFY_SOCKET": "", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": "",
                    "PATH": "\(EndToEndTests.folder(of: InstalledProgram.chromium)):/usr/bin:/bin",
                ])
        }

        /// Waits until the page has told that it is seen, in the access log.
        private func waitUntilSeen(_ process: ChildProcess) throws {
            try Wait.until(seconds: 2 * Wait.limit) {
                try #require(process.status == nil, "\(process.error)")
                return process.output.contains("/seen-")
            }
            #expect(process.output.contains("/seen-visible-true-60"), "\(process.output)")
        }

        /// Nothing of the browser is there any more: no process that names the test's folder, and no file.
        private func expectNothingLeft() throws {
            #expect(try ChildProcess.run(["ls", "-A", folder.at("tmp")]).output == "")
            let files = try ChildProcess.run([
                "find", folder.at("home"), "-ipath", "*chromium*", "-o", "-ipath", "*mesa*",
            ])
            #expect(files.output == "")
            var left: [String] = []
            _ = try Wait.holds {
                left = try processes()
                return left.isEmpty
            }
            #expect(left == [])
        }

        private func processes() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { name in
                guard Int(name) != nil else { return false }
                let words = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") ?? Data()
                return String(decoding: words, as: UTF8.self).contains(folder.path)
            }
        }

        // MARK: record --page

        @Test("opens with the page through the proxy, https too, and when it is closed the recording is told")
        func recorded() throws {
            let process = try start(["record", "-o", "out/", "--page", url, "--map", "m.yaml"])
            try waitUntilSeen(process)
            #expect(process.output.contains("GET https://mapped.test/a.svg 200"), "\(process.output)")
            mayClose.add()
            #expect(try process.finish(seconds: 2 * Wait.limit) == 0, "\(process.error)")
            #expect(process.error.contains("subproxy: recorded "), "\(process.error)")
            #expect(!process.error.contains("error"), "\(process.error)")
            try expectNothingLeft()
            let listed = try SubproxyProcess.run(["archive", "list", folder.at("out")]).output
            #expect(listed.contains(" GET 200 text/html \(Self.page.utf8.count) \(url)\n"), "\(listed)")
        }

        @Test("closes by Ctrl-C with its browser, profile and proxy, and what was recorded takes the old one's place")
        func interrupted() throws {
            mkdir(folder.at("out"), 0o755)
            try folder.write("out/recording.yaml", "- url: http://old.test/\n  text: old\n")
            let process = try start(["record", "-o", "out/", "--mode", "all", "--page", url, "--map", "m.yaml"])
            try waitUntilSeen(process)
            process.send(SIGINT)
            #expect(try process.finish(seconds: 2 * Wait.limit) == 0, "\(process.error)")
            #expect(process.error.contains("subproxy: recorded "), "\(process.error)")
            try expectNothingLeft()
            #expect(access(folder.at("out.new"), F_OK) != 0)
            let listed = try SubproxyProcess.run(["archive", "list", folder.at("out")]).output
            #expect(listed.contains(url) && !listed.contains("old.test"), "\(listed)")
        }

        // MARK: replay --open

        @Test("shows an archive's first page offline, until it is closed, or by Ctrl-C", arguments: [true, false])
        func replayed(isClosed: Bool) throws {
            mkdir(folder.at("shop"), 0o755)
            let page = """
                <!doctype html><title>Replayed</title><img id=picture src=/a.svg>
                <script>onload = async () => {
                  await fetch('/seen-' + document.visibilityState + '-' + (innerWidth > 300) + '-' + picture.naturalWidth);
                  if (\(isClosed)) close();
                };</script>
                """
            func text(_ text: String) throws -> String {
                String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
            }
            try folder.write(
                "shop/recording.yaml",
                """
                - url: https://shop.test/
                  headers: [Content-Type: text/html]
                  text: \(try text(page))
                - url: https://shop.test/a.svg
                  headers: [Content-Type: image/svg+xml]
                  text: \(try text(Self.picture))

                """)
            let process = try start(["replay", "shop", "--open", "--report", "report.json"])
            try waitUntilSeen(process)
            if !isClosed { process.send(SIGINT) }
            #expect(try process.finish(seconds: 2 * Wait.limit) == 0, "\(process.error)")
            try expectNothingLeft()
            let report = try #require(
                try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: folder.at("report.json"))))
                    as? [String: Any])
            let misses = (report["misses"] as? [[String: Any]] ?? []).compactMap { $0["url"] as? String }
            #expect(misses == ["https://shop.test/seen-visible-true-60"])
            #expect(((report["archives"] as? [[String: Any]])?.first?["answered"] as? Int) == 2)
        }

        @Test("is told where there is no display to open it on: exit status 69, and nothing is left")
        func noDisplay() throws {
            for arguments in [["record", "-o", "out/", "--page", url], ["replay", "m.yaml", "--page", url]] {
                let process = try ChildProcess.run(
                    ["env", "-C", folder.path, SubproxyProcess.path] + arguments
                        + ["--ca-dir", folder.at("ca"), "--listen", "127.0.0.1:0", "--no-sandbox"],
                    environment: ["DISPLAY": "", "WAYLAND_DISPLAY": "", "TMPDIR": folder.at("tmp")])
                #expect(process.status == 69)
                #expect(process.error.contains("there is no display"), "\(process.error)")
            }
            try expectNothingLeft()
        }
    }
}
