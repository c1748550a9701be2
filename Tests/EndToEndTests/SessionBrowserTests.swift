import Foundation
import ProxyTestKit
import Testing

extension InBrowsers {
    /// Sessions that browsers restore, as their users do: by the button, and by the address.
    @Suite("Sessions in browsers")
    struct SessionBrowsers {
        enum Browser: String, CaseIterable, CustomStringConvertible {
            case chromium, firefox

            var program: String {
                switch self {
                case .chromium: InstalledProgram.chromium
                case .firefox: InstalledProgram.firefox
                }
            }

            var description: String { rawValue }
        }

        private struct Restored: Decodable {
            var shown: String
            var count: Int
            var back: [String]
            var forward: [String]
            var reloaded: String
            var entries: [String]
        }

        private struct Fifty: Decodable {
            var seconds: Double
            var index: Int
            var count: Int
            var shown: String
            var back: [String]
        }

        private struct Pressed: Decodable {
            var pressed: [String]
            var isStrict: Bool
        }

        private struct Unclicked: Decodable {
            var shown: String
            var script: String
            var button: String
        }

        private struct Pages: Decodable {
            var widths: [[Int]]
            var backgrounds: [String]
            var focus: String
            var shown: String
            var complaints: [String]
        }

        private struct Hostile: Decodable {
            struct Offer: Decodable, Equatable {
                var host: String
                var isDisabled: Bool?
                var links: Int?

                init(_ host: String, _ isDisabled: Bool, _ links: Int) {
                    self.host = host
                    self.isDisabled = isDisabled
                    self.links = links
                }

                init(from decoder: any Decoder) throws {
                    var list = try decoder.unkeyedContainer()
                    host = try list.decode(String.self)
                    isDisabled = try list.decodeIfPresent(Bool.self)
                    links = try list.decodeIfPresent(Int.self)
                }
            }

            var offers: [Offer]
            /// JSON of an ``Outcome``.
            var other: String
            var led: String
        }

        /// What a page of another site has got.
        private struct Outcome: Decodable, Equatable {
            var fetch: String
            var opaque: String
            var entry: String
            var script: String
            var image: String
            /// Frames of which it can see where they are.
            var seen: Int
        }

        /// Three origins, of http and https; the fourth page is behind the one that is shown.
        private static let urls = [
            "http://a.test/one?x=1#top", "http://b.test/two", "https://c.test/three?id=7#mid",
            "http://b.test/four?q=%20a", "http://a.test/five",
        ]

        private static var session: String {
            "{\"urls\": [\(urls.map { "\"\($0)\"" }.joined(separator: ", "))], \"titles\": [\"One\"], \"offset\": -2}"
        }

        private let folder = TemporaryFolder()
        private let served: ServedMap

        init() throws {
            let page = "{ text: \"<!doctype html><title>Page</title><p>page\", type: text/html, query: ignore }"
            let sessions = folder.at("sessions")
            served = try ServedMap(
                """
                http://a.test/: \(page)
                http://b.test/: \(page)
                https://c.test/: \(page)
                http://d.test/: \(page)
                http://before.test/: \(page)
                http://evil.test/page: { file: evil.html, type: text/html }
                """, files: ["evil.html": "to be written"],
                options: ["--sessions", sessions, "--ca-dir", folder.at("ca")])
            try save("shop", Self.session)
            let fifty = (0..<50).map { "\"http://\(["a", "b", "d"][$0 % 3]).test/page\($0)?n=\($0)#f\($0)\"" }
            try save("fifty", "{\"history\": [\(fifty.joined(separator: ", "))], \"currentPage\": -24}")
        }

        private func save(_ name: String, _ text: String) throws {
            try folder.write("session.json", text)
            let saved = try SubproxyProcess.run(
                ["session", "save", name, folder.at("session.json"), "--sessions", folder.at("sessions")])
            try #require(saved.status == 0, "\(saved.error)")
        }

        private func run<Result: Decodable>(
            _ browser: Browser, _ scenario: String, session: String = SessionBrowsers.session, other: String = ""
        ) throws -> Result {
            let screenshots = ProcessInfo.processInfo.environment["SUBPROXY_SCREENSHOTS"] ?? folder.path
            let process = try ChildProcess.run(
                [
                    "python3", "-B", "\(scripts)/sessions.py", "--browser", browser.rawValue, "--program",
                    browser.program, "--proxy", "127.0.0.1:\(served.binary.port)", "--profile",
                    folder.at("profile-\(scenario)"), "--screenshots", screenshots, "--scenario", scenario,
                    "--session", session, "--other", other,
                ], environment: ["http_proxy": "", "https_proxy": "", "no_proxy": ""], seconds: 2 * Wait.limit)
            try #require(process.status == 0, "\(process.error)\(served.binary.log)")
            return try JSONDecoder().decode(Result.self, from: Data(process.outputBytes))
        }

        private func check(_ restored: Restored) {
            let urls = Self.urls
            #expect(restored.shown == urls[2])
            #expect(restored.back == [urls[1], urls[0], "http://before.test/"])
            #expect(restored.forward == [urls[0], urls[1], urls[2], urls[3], urls[4]])
            #expect(restored.reloaded == urls[4])
            #expect(restored.entries == urls)
        }

        @Test(
            "Chromium goes back and forward through five pages of three origins, and a reload stays",
            .program(InstalledProgram.chromium, of: "chromium"), arguments: ["restore", "fragment"])
        func chromium(_ scenario: String) throws { check(try run(.chromium, scenario)) }

        @Test(
            "Firefox goes back and forward through five pages of three origins, and a reload stays",
            .program(InstalledProgram.firefox, of: "firefox-esr"), arguments: ["restore", "fragment"])
        func firefox(_ scenario: String) throws { check(try run(.firefox, scenario)) }

        @Test(
            "Firefox's Back button goes by the pages that were not clicked, where its settings say so",
            .program(InstalledProgram.firefox, of: "firefox-esr"))
        func firefoxButton() throws {
            let result: Pressed = try run(.firefox, "button")
            let strict = [Self.urls[0], "http://before.test/"]
            #expect(result.pressed == (result.isStrict ? strict : [Self.urls[1], Self.urls[0]]))
        }

        private func checkFifty(_ fifty: Fifty) {
            #expect(fifty.count == 50 && fifty.index == 25)
            #expect(fifty.shown == "http://b.test/page25?n=25#f25")
            #expect(fifty.back == ["http://a.test/page24?n=24#f24", "http://d.test/page23?n=23#f23"])
            // Of one load, whatever the number of entries.
            #expect(
                Wait.holds { served.binary.log.split(separator: "\n").count { $0.contains("/sessions/fifty/") } == 3 })
        }

        @Test("Chromium restores fifty pages by one load", .program(InstalledProgram.chromium, of: "chromium"))
        func chromiumFifty() throws { checkFifty(try run(.chromium, "fifty")) }

        @Test("Firefox restores fifty pages by one load", .program(InstalledProgram.firefox, of: "firefox-esr"))
        func firefoxFifty() throws { checkFifty(try run(.firefox, "fifty")) }

        @Test(
            "Without a click Chromium's Back passes the pages by, and history.back() goes to each",
            .program(InstalledProgram.chromium, of: "chromium"))
        func unclicked() throws {
            let result: Unclicked = try run(.chromium, "unclicked")
            #expect(result.shown == Self.urls[2])
            #expect(result.script == Self.urls[1])
            #expect(result.button == "http://before.test/")
        }

        @Test(
            "The pages fit 360 pixels, are light and dark, and work by keyboard, without a word in the console",
            .program(InstalledProgram.chromium, of: "chromium"))
        func pages() throws {
            let pages: Pages = try run(.chromium, "pages")
            #expect(pages.widths.allSatisfy { $0[0] == $0[1] }, "\(pages.widths)")
            #expect(pages.backgrounds == ["rgb(255, 255, 255)", "rgb(27, 27, 31)", "rgb(255, 255, 255)"])
            #expect(pages.focus == "restore")
            #expect(pages.shown == Self.urls[2])
            #expect(pages.complaints.isEmpty, "\(pages.complaints)")
        }

        /// A page that tries all that a page of another site can, and tells what came of it.
        private func evilPage(_ base: String) -> String {
            """
            <!doctype html><title>begun</title>
            <a id=link href="\(base)/sessions/shop?restore=now">link</a>
            <iframe id=page src="\(base)/sessions/shop?restore=now"></iframe>
            <iframe id=entry src="\(base)/sessions/shop/0"></iframe>
            <iframe id=offer src='\(base)/session/restore#session={"urls":["http://a.test/"]}'></iframe>
            <iframe name=posted></iframe>
            <form id=form method=post target=posted action="\(base)/sessions/shop"><input name=x></form>
            <script>
            const outcome = window.outcome = {};
            const attempt = (name, promise) =>
              promise.then(() => outcome[name] = 'done', () => outcome[name] = 'refused');
            const image = new Promise((resolve, reject) => {
              const image = new Image();
              image.onload = resolve;
              image.onerror = reject;
              image.src = '\(base)/sessions/shop/0';
            });
            form.submit();
            Promise.all([
              attempt('fetch', fetch('\(base)/sessions/shop')),
              attempt('opaque', fetch('\(base)/sessions/shop', {mode: 'no-cors', credentials: 'include'})),
              attempt('entry', fetch('\(base)/sessions/shop/0', {mode: 'no-cors'})),
              attempt('script', import('\(base)/console/session.js')),
              attempt('image', image),
            ]).then(() => {
              outcome.seen = Array.from({length: frames.length}, (_, index) => frames[index]).filter((frame) => {
                try { return frame.location.href !== 'about:blank' } catch { return false }
              }).length;
              document.title = 'done';
            });
            </script>
            """
        }

        @Test(
            "No address leads anywhere without a click, and no page of another site reads or uses a session",
            .program(InstalledProgram.chromium, of: "chromium"))
        func hostile() throws {
            let own = "127.0.0.1:\(served.binary.port)"
            try served.folder.write("evil.html", evilPage("http://\(own)"))
            func offered(_ json: String) -> String {
                json.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            }
            let good = offered("{\"urls\": [\"http://a.test/\"]}")
            let refused = [
                #"{"urls": ["javascript:alert(1)"]}"#, #"{"urls": ["http://a.test/", "data:text/html,x"]}"#,
                #"{"history": ["file:///etc/passwd"]}"#, #"{"urls": ["java\nscript:alert(1)"]}"#,
                #"{"urls": ["//a.test/"]}"#,
                #"{"urls": ["http://a.test/"], "offset": 1}"#, #"{"history": ["http://a.test/"], "currentPage": -1}"#,
                #"{"urls": []}"#, #"{"urls": "http://a.test/"}"#, "[]", "null", "1", "{", #"{"entries": [null]}"#,
                #"{"entries": [{"url": "http://a.test/"}], "current": 7}"#,
                "{\"urls\": [\((0..<51).map { "\"http://a.test/\($0)\"" }.joined(separator: ","))]}",
            ].map { "/session/restore#session=" + offered($0) }
            let asking = [
                "/session/restore#session=\(good)", "/session/restore#history=\(good)",
                "/session/restore?history=\(good)", "/session/restore?x=1&session=\(good)",
            ]
            let nothing = [
                "/session/restore", "/session/restore#0", "/session/restore?url=http://a.test/",
                "/session/restore#http://a.test/", "/session/restore#target=http://a.test/",
            ]
            let offers = asking + refused + nothing
            let text = String(decoding: try JSONEncoder().encode(offers), as: UTF8.self)
            let hostile: Hostile = try run(.chromium, "hostile", session: text, other: "http://evil.test/page")
            #expect(
                hostile.offers == asking.map { _ in Hostile.Offer(own, false, 1) }
                    + (refused + nothing).map { _ in Hostile.Offer(own, true, 0) })
            let outcome = try JSONDecoder().decode(Outcome.self, from: Data(hostile.other.utf8))
            #expect(
                outcome
                    == Outcome(
                        fetch: "refused", opaque: "refused", entry: "refused", script: "refused", image: "refused",
                        seen: 0))
            // A link leads to the page, which asks; the browser has said from where.
            #expect(hostile.led == "sessions/shop?restore=now")
            let log = served.binary.log
            #expect(!log.contains("a.test") && !log.contains("/sessions/shop/0 302"), "\(log)")
            #expect(!log.contains("history") && !log.contains("restore=now"))
        }
    }
}
