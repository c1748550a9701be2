import Foundation
import Glibc
import ProxyTestKit
import Testing

/// `save --user-data-dir`: a page behind a login, with a profile of Chromium that has logged in.
extension InBrowsers {
    @Suite("Saving with a profile", .program(InstalledProgram.chromium, of: "chromium"))
    struct SaveProfile {
        private let folder = TemporaryFolder()
        private let origin: ScriptedOrigin
        private var profile: String { folder.at("profile") }

        init() throws {
            origin = try ScriptedOrigin { request, connection in
                let request = try connection.readBody(of: request)
                let isIn = request.field("Cookie")?.contains("sid=s3cret") == true
                switch request.target {
                case "/log-in":
                    try connection.respond(
                        fields: "Content-Type: text/html\r\nSet-Cookie: sid=s3cret; Path=/; Max-Age=3600; HttpOnly\r\n",
                        body: "<title>Logged in</title>")
                case "/account" where isIn:
                    try connection.respond(
                        fields: "Content-Type: text/html\r\nCache-Control: max-age=3600\r\nX-Kind: account\r\n",
                        body: "<title>Account</title><p>Welcome back<img src=/photo.svg>")
                case "/photo.svg" where isIn:
                    try connection.respond(
                        fields: "Content-Type: image/svg+xml\r\n",
                        body: "<svg xmlns='http://www.w3.org/2000/svg' width='5' height='5'/>")
                default:
                    try connection.respond("401 Unauthorized", fields: "Content-Type: text/html\r\n", body: "Log in")
                }
                return true
            }
            mkdir(folder.at("tmp"), 0o700)
        }

        private func url(_ path: String) -> String { "http://127.0.0.1:\(origin.port)\(path)" }

        /// Chromium as a person starts it, but for the window.
        private func chromium(_ options: [String]) -> [String] {
            [InstalledProgram.chromium, "--headless=new", "--user-data-dir=\(profile)", "--no-first-run"]
                + (geteuid() == 0 ? ["--no-sandbox"] : []) + options
        }

        private func dump(_ path: String) throws -> String {
            let process = try ChildProcess.run(
                chromium(["--dump-dom", url(path)]), environment: ["TMPDIR": folder.at("tmp")],
                seconds: 3 * Wait.limit)
            try #require(process.status == 0, "\(process.error)")
            return process.output
        }

        private func save(_ options: [String] = []) throws -> SubproxyProcess.Finished {
            try SubproxyProcess.run(
                [
                    "save", url("/account"), "-o", folder.at("a.har"), "--browser", InstalledProgram.chromium,
                    "--timeout", "900s",
                ]
                    + (geteuid() == 0 ? ["--no-sandbox"] : []) + options, environment: ["TMPDIR": folder.at("tmp")])
        }

        private func isLocked() -> Bool {
            var status = stat()
            return lstat("\(profile)/SingletonLock", &status) == 0
        }

        @Test("The saved page is the one behind the login, and the profile is logged in and whole as before")
        func loggedIn() throws {
            #expect(try save().status == 76, "without the profile")
            #expect(try dump("/log-in").contains("Logged in"))
            #expect(try dump("/account").contains("Welcome back"))
            for _ in 0..<2 {
                let saved = try save(["--user-data-dir", profile])
                try #require(saved.status == 0, "\(saved.output)\(saved.error)")
                #expect(saved.output.contains("“Account”"))
                #expect(saved.output.contains("answered offline"))
                #expect(!isLocked())
                // It comes from the origin, and not from the profile's cache.
                let page = try SubproxyProcess.run(["archive", "cat", "-i", folder.at("a.har"), url("/account")]).output
                #expect(page.contains("Welcome back") && page.contains("X-Kind: account"), "\(page)")
            }
            #expect(!(try String(contentsOfFile: folder.at("a.har"), encoding: .utf8)).contains("s3cret"))
            // The browser has ended in order: it does not ask whether its pages are to be restored.
            let preferences = try #require(
                try JSONSerialization.jsonObject(
                    with: Data(contentsOf: URL(filePath: "\(profile)/Default/Preferences"))) as? [String: Any])
            #expect((preferences["profile"] as? [String: Any])?["exit_type"] as? String != "Crashed")
            #expect(try dump("/account").contains("Welcome back"))
            #expect(try ChildProcess.run(["ls", folder.at("tmp")]).output == "")
        }

        @Test("While a browser uses the profile it is left alone: exit status 69, and that browser goes on")
        func inUse() throws {
            #expect(try dump("/log-in").contains("Logged in"))
            let before = origin.requests.count
            let browser = try ChildProcess(
                chromium(["--remote-debugging-port=0", url("/log-in")]), environment: ["TMPDIR": folder.at("tmp")])
            try Wait.until(seconds: 2 * Wait.limit) {
                try #require(browser.status == nil, "\(browser.error)")
                return isLocked() && origin.requests.dropFirst(before).contains { $0.target == "/log-in" }
            }
            let mistyped = try save(["--user-data-dir", profile + "x"])
            #expect(mistyped.status == 69)
            #expect(mistyped.error == "subproxy: error: there is no profile '\(profile)x': no such folder\n")
            #expect(access(profile + "x", F_OK) != 0)
            let asked = origin.requests.count
            let refused = try save(["--user-data-dir", profile])
            #expect(refused.status == 69)
            #expect(
                refused.error == "subproxy: error: a browser (process \(browser.identifier)) uses '\(profile)'\n")
            #expect(!origin.requests.dropFirst(asked).contains { $0.target == "/account" })
            #expect(browser.status == nil && isLocked())
            // One that was killed has left its lock, which is nobody's.
            browser.send(SIGKILL)
            try browser.finish(seconds: 2 * Wait.limit)
            #expect(isLocked())
            let saved = try save(["--user-data-dir", profile])
            #expect(saved.status == 0, "\(saved.error)")
        }
    }
}
