import Foundation
import Glibc
import ProxyTestKit
import Testing

/// The built program with Chromium, and other programs that read what it saves.
extension InBrowsers {
    @Suite("Saving", .program(InstalledProgram.chromium, of: "chromium"))
    struct Saving {
        /// The report of `--json`.
        struct Report: Decodable {
            struct Miss: Decodable {
                var method: String
                var url: String
                var count: Int
                var reason: String
            }

            var url: String
            var final_url: String
            var title: String
            var saved_at: String
            var file: String
            var format: String
            var documents: Int
            var resources: Int
            var bytes: Int
            var file_bytes: Int
            var scripts_dropped: Int
            var misses: [Miss]
        }

        /// What a person sees of a page, as `Scripts/savedpages.py` tells it.
        struct View: Decodable {
            var text: [String]
            var picture: String
            var images: [Int]
            var failed: [String]
        }

        private let site: SavedSite
        private let folder = TemporaryFolder()

        init() throws { site = try SavedSite() }

        private func save(
            _ url: String, _ name: String, _ options: [String] = [], environment: [String: String] = [:]
        ) throws -> SubproxyProcess.Finished {
            try SubproxyProcess.run(arguments(url, name, options), environment: surroundings(environment))
        }

        private func arguments(_ url: String, _ name: String, _ options: [String]) -> [String] {
            ["save", url, "-o", name.hasPrefix("/") ? name : folder.at(name), "--browser", InstalledProgram.chromium]
                + ["--resolve", "other.test:\(site.port):127.0.0.1"] + (geteuid() == 0 ? ["--no-sandbox"] : [])
                // However busy the machine is.
                + (options.contains("--timeout") ? [] : ["--timeout", "900s"]) + options
        }

        private func surroundings(_ environment: [String: String] = [:]) -> [String: String] {
            for name in ["tmp", "home"] { mkdir(folder.at(name), 0o700) }
            var own = ["TMPDIR": folder.at("tmp"), "HOME": folder.at("home")]
            for name in ["RUNTIME_DIR", "CACHE_HOME", "CONFIG_HOME", "DATA_HOME"] { own["XDG_\(name)"] = "" }
            return own.merging(environment) { $1 }
        }

        private func report(_ url: String, _ name: String, _ options: [String] = []) throws -> Report {
            let finished = try save(url, name, options + ["--json"])
            try #require(finished.status == 0, "\(finished.output)\(finished.error)")
            return try JSONDecoder().decode(Report.self, from: Data(finished.output.utf8))
        }

        private func cat(_ name: String, _ entry: String, _ options: [String] = []) throws -> String {
            try SubproxyProcess.run(["archive", "cat", folder.at(name), entry] + options).output
        }

        /// The URLs of an archive's entries.
        private func urls(_ name: String) throws -> [String] {
            try SubproxyProcess.run(["archive", "list", folder.at(name)]).output.split(separator: "\n").map {
                String($0.split(separator: " ")[5])
            }
        }

        // MARK: A page in all formats

        @Test(
            "A page is saved as a person sees it, in each format, and shows the same offline, here and in other programs",
            .program(InstalledProgram.toolsPython, of: "make setup-test"), .program("plistutil", of: "libplist-utils"))
        func formats() throws {
            let names = ["p.mhtml", "p.webarchive", "p.har", "p.warc", "p.warc.gz", "p"]
            for name in names {
                let report = try report(site.url("/start"), name, ["--screenshot", folder.at("picture.png")])
                #expect(report.url == site.url("/start"))
                #expect(report.final_url == site.url("/"))
                #expect(report.title == "Säved “page”!")
                #expect(report.documents == 3)
                #expect(report.misses.isEmpty)
                #expect(report.scripts_dropped == 3)
                #expect(report.bytes > 3000 && report.file_bytes > report.bytes)
                #expect(
                    try ChildProcess.run(["head", "-c4", folder.at("picture.png")]).outputBytes.suffix(3)
                        == Array("PNG".utf8))
            }
            try markup()
            try others()
            try views(names)
            // What was made meanwhile is gone.
            for name in ["tmp", "home"] {
                #expect(try ChildProcess.run(["find", folder.at(name), "-mindepth", "1"]).output == "")
            }
        }

        /// What the frozen documents are.
        private func markup() throws {
            let page = try cat("p.har", site.url("/"))
            let kept = [
                "<!DOCTYPE html>", "<meta charset=\"utf-8\">", "Made by script", "value=\"typed\"",
                ">written</textarea>",
                "checked=\"\"", "shadowrootmode=\"open\"", "src=\"data:image/png;base64,",
                "src=\"data:image/svg+xml;base64,",
                "src=\"\(site.url("/img/one.svg"))\"", "src=\"\(site.url("/img/source.svg"))\"",
                "src=\"\(site.url("/img/data.svg"))\"",
                "src=\"\(site.url("/deep/relative.svg"))\"", "href=\"\(site.url("/css/style.css"))\"",
                "url(\"\(site.url("/img/rule.svg"))\")",
                "src=\"\(site.url("/other.html", host: "other.test"))\"", "more 3", ">posted</p>",
            ]
            for text in kept { #expect(page.contains(text), "\(text)") }
            let gone = [
                "<script", "<noscript", "<base", "Content-Security-Policy", "onload", "preload", "srcset", "<source",
                "loading=", "s3cret", "blob:",
            ]
            for text in gone { #expect(!page.contains(text), "\(text)") }
            #expect(try cat("p.har", site.url("/frame.html")).contains("made"))
            let head = try cat("p.har", site.url("/"), ["-i"])
            #expect(!head.lowercased().contains("content-security-policy"))
            let urls = try urls("p.har")
            #expect(urls.contains(site.url("/css/own.woff2")))
            for unused in ["/app.js", "/items", "/worker.js", "/img/plain.svg", "/img/two.svg", "/img/fallback.svg"] {
                #expect(!urls.contains(site.url(unused)), "\(unused)")
            }
        }

        /// Other programs find the same bodies.
        private func others() throws {
            func read(_ kind: String, _ name: String) throws -> [String: String] {
                let process = try ChildProcess.run(
                    [InstalledProgram.toolsPython, "-B", "\(scripts)/otherreaders.py", kind, folder.at(name)])
                try #require(process.status == 0, "\(kind): \(process.error)")
                return try JSONDecoder().decode([String: String].self, from: Data(process.outputBytes))
            }
            for (kind, name) in [
                ("har", "p.har"), ("warc", "p.warc"), ("warc", "p.warc.gz"), ("webarchive", "p.webarchive"),
                ("pywb", "p.warc"),
            ] {
                let found = try read(kind, name)
                #expect(found.count >= 20, "\(kind)")
                for (url, digest) in found {
                    let body = try ChildProcess.run([
                        "sh", "-c", "\"$0\" archive cat \"$1\" \"$2\" | sha256sum", SubproxyProcess.path,
                        folder.at(name), url,
                    ])
                    #expect(body.output.hasPrefix(digest), "\(kind) \(url)")
                }
            }
        }

        /// Text and picture are the live page's.
        private func views(_ names: [String]) throws {
            var views: [[String: Any]] = [
                ["name": "live", "url": site.url("/"), "hosts": ["other.test"], "scroll": "more 3"],
                ["name": "file", "url": "file://\(folder.at("p.mhtml"))"],
                ["name": "playwright", "url": site.url("/"), "har": folder.at("p.har")],
            ]
            var proxies: [RunningBinary] = []
            for name in names {
                let proxy = try RunningBinary(map: folder.at(name), ["--offline", "--ca-dir", folder.at("ca")])
                proxies.append(proxy)
                views.append(["name": name, "url": site.url("/"), "proxy": "127.0.0.1:\(proxy.port)"])
            }
            let seen = try look(views)
            let live = try #require(seen["live"])
            #expect(live.text.contains { $0.contains("Made by script") && $0.contains("more 3") })
            for (name, view) in seen where name != "live" {
                #expect(view.text == live.text, "\(name)")
                #expect(view.picture == live.picture, "\(name)")
                #expect(view.images[0] == view.images[1], "\(name)")
                #expect(view.failed.isEmpty, "\(name)")
            }
        }

        /// What a person sees of pages, by their names.
        private func look(_ views: [[String: Any]]) throws -> [String: View] {
            let pictures = ProcessInfo.processInfo.environment["SUBPROXY_SCREENSHOTS"] ?? folder.path
            let task: [String: Any] = ["chromium": InstalledProgram.chromium, "pictures": pictures, "views": views]
            let file = folder.at("task.json")
            try JSONSerialization.data(withJSONObject: task).write(to: URL(filePath: file))
            let process = try ChildProcess.run(
                [
                    "sh", "-c", "exec \"$0\" -B \"$1\" < \"$2\"", InstalledProgram.toolsPython,
                    "\(scripts)/savedpages.py", file,
                ])
            try #require(process.status == 0, "\(process.error)")
            return try JSONDecoder().decode([String: View].self, from: Data(process.outputBytes))
        }

        // MARK: Options

        @Test("The report is three lines, and what the page lacks is told with its reason, by exit status 1")
        func lines() throws {
            let whole = try save(site.url("/quirks"), "q.mhtml")
            #expect(whole.status == 0)
            let lines = whole.output.split(separator: "\n").map(String.init)
            try #require(lines.count == 3)
            #expect(lines[0] == "\(folder.at("q.mhtml")): \(site.url("/quirks")) “Quirks”")
            #expect(lines[1].hasPrefix("1 document, 0 resources, 99 bytes ("))
            #expect(lines[1].hasSuffix(" in the file); 0 scripts dropped"))
            #expect(lines[2] == "verified: 1 of 1 request answered offline")
            let markup = try cat("q.mhtml", "1")
            #expect(markup.hasPrefix("<html>"))

            let lacks = try save(site.url("/lacks"), "l.mhtml")
            #expect(lacks.status == 1)
            #expect(lacks.output.contains("verified: 2 of 3 requests answered offline\n"))
            #expect(
                lacks.output.contains(
                    "missed: GET http://unknown.invalid/x.svg (host): The host name unknown.invalid was not found."))
        }

        @Test("A page that loads itself again has the status and the fields that it has in the end")
        func gated() throws {
            for name in ["g.har", "g.mhtml"] {
                let saved = try save(site.url("/gate"), name)
                #expect(saved.status == 0 && saved.error == "", "\(saved.error)")
            }
            let head = try cat("g.har", site.url("/gate"), ["-i"])
            #expect(head.hasPrefix("HTTP/1.1 200") && head.contains("X-In: 1") && head.contains("<p>in"), "\(head)")
        }

        @Test("What the page itself lacks of a host that Chromium asks too is told")
        func ofChromium() throws {
            let host = "lh3.googleusercontent.com"
            let saved = try save(site.url("/fonts"), "f.mhtml", ["--resolve", "\(host):\(site.port):127.0.0.1"])
            #expect(saved.status == 1, "\(saved.error)")
            #expect(saved.output.contains("verified: 1 of 2 requests answered offline\nmissed: "), "\(saved.output)")
            #expect(saved.output.contains(host), "\(saved.output)")
        }

        @Test("Cookies and fields are for the page's host alone, and are not in what is written")
        func credentials() throws {
            #expect(try save(site.url("/login"), "l.har").status == 76)
            for (number, options) in [["--cookie", "sid=s3cret"], ["-H", "X-Key: s3cret"]].enumerated() {
                let report = try report(site.url("/login"), "l\(number).warc", options)
                #expect(report.title == "In")
                let bytes = try String(contentsOfFile: folder.at("l\(number).warc"), encoding: .utf8)
                #expect(!bytes.contains("s3cret") || number == 1)
                #expect(bytes.contains("seen=REDACTED; Path=/"))
            }
            _ = try report(site.url("/"), "p.har", ["-H", "X-Key: s3cret"])
            let others = site.requests.filter { $0.field("Host")?.hasPrefix("other.test") == true }
            #expect(!others.isEmpty)
            for request in others { #expect(request.field("X-Key") == nil) }
        }

        @Test(
            "What is not HTML is saved as it came, --any-status saves errors, and --keep-scripts and --all keep the rest"
        )
        func rest() throws {
            #expect(try report(site.url("/text"), "t.mhtml").documents == 1)
            #expect(try cat("t.mhtml", "1") == "just text")
            #expect(try report(site.url("/img/x.svg"), "x.har").misses.isEmpty)
            #expect(try report(site.url("/none"), "n.har", ["--any-status"]).misses.isEmpty)
            #expect(try cat("n.har", site.url("/none"), ["-i"]).hasPrefix("HTTP/1.1 404"))
            let kept = try report(site.url("/"), "k.har", ["--keep-scripts"])
            #expect(kept.misses.isEmpty)
            #expect(try cat("k.har", site.url("/")).contains("<script src=/app.js>"))
            #expect(try urls("k.har").contains(site.url("/items")))
            _ = try report(site.url("/"), "a.har", ["--all"])
            #expect(!(try cat("a.har", site.url("/"))).contains("<script"))
            #expect(try urls("a.har").filter { $0 == site.url("/") }.count == 1)
            #expect(try urls("a.har").contains(site.url("/app.js")))
        }

        @Test(
            "Frames that can't be loaded are misses, and what a redirected style sheet names is found, in each format")
        func parts() throws {
            for name in ["f.mhtml", "f.har"] {
                let framed = try save(site.url("/frames"), name)
                #expect(framed.status == 1)
                #expect(framed.output.contains("missed: GET http://unknown.invalid/"), "\(framed.output)")
                #expect(!(try urls(name)).contains("http://unknown.invalid/"))
                #expect(try report(site.url("/styled"), name).misses.isEmpty)
                #expect(try urls(name).contains(site.url("/deep/down/ground.svg")))
            }
        }

        @Test("A redirected style sheet holds for which a digest is given, where the redirect is written as a sheet")
        func digested() throws {
            let saved = try save(site.url("/digested"), "d.mhtml")
            #expect(saved.status == 0, "\(saved.error)")
            // The page, the redirect, the sheet, and the picture that it names.
            #expect(saved.output.contains("verified: 4 of 4 requests answered offline\n"), "\(saved.output)")
        }

        @Test("A page that a script gives another URL has its fields there, and is where it was with --keep-scripts")
        func renamed() throws {
            let frozen = try report(site.url("/app"), "a.har")
            #expect(frozen.final_url == site.url("/home") && frozen.misses.isEmpty)
            #expect(try cat("a.har", site.url("/home"), ["-i"]).lowercased().contains("x-app: 1"))
            let kept = try report(site.url("/app"), "k.har", ["--keep-scripts"])
            #expect(kept.final_url == site.url("/app") && kept.title == "App" && kept.misses.isEmpty)
        }

        @Test("A URL that led to the page leads to it offline too, where the format has redirects")
        func leading() throws {
            for name in ["l.har", "l.warc", "l/"] {
                #expect(try report(site.url("/start"), name).misses.isEmpty)
                #expect(try cat(name, site.url("/start"), ["-i"]).hasPrefix("HTTP/1.1 302"))
                #expect(!(try cat(name, site.url("/"))).contains("<script"))
            }
            #expect(try report(site.url("/start"), "l.mhtml").misses.isEmpty)
            #expect(!(try urls("l.mhtml")).contains(site.url("/start")))
        }

        @Test("No frame comes back with scripts: what the page did not allow is empty, what it never showed is frozen")
        func frames() throws {
            for name in ["m.mhtml", "m.har"] {
                let made = try save(site.url("/made-frame"), name)
                #expect(made.status == 0, "\(made.output)\(made.error)")
                #expect(
                    made.error.contains(
                        "a frame had not loaded or did not answer, and is saved without what scripts make of it; "
                            + "--wait 5s gives more time: "
                            + site.url("/frame.html") + "\n"))
                let frame = try cat(name, site.url("/frame.html"))
                #expect(frame.contains("a frame") && !frame.contains("<script"))
                #expect(try urls(name).contains(site.url("/img/framed.svg")))
                let denied = try report(site.url("/denied"), name)
                #expect(denied.documents == 2 && denied.scripts_dropped == 1 && denied.misses.isEmpty)
                #expect(try cat(name, site.url("/frame.html")).contains("made"))
                #expect(!(try urls(name)).contains(site.url("/denying")))
            }
        }

        @Test("A page in SVG is saved with the pictures that it shows")
        func drawing() throws {
            for name in ["d.mhtml", "d.har"] {
                #expect(try report(site.url("/drawn"), name).misses.isEmpty)
                let found = try urls(name)
                #expect(Set(found) == Set(["/drawn", "/img/in.svg"].map { site.url($0) }), "\(found)")
            }
        }

        @Test("A drawing is saved as it came only where no response at its URL could do something")
        func quietOnce() throws {
            for name in ["q.mhtml", "q.har"] {
                #expect(try report(site.url("/twice.svg"), name).scripts_dropped == 1)
                #expect(try urls(name) == [site.url("/twice.svg")])
                let drawing = try cat(name, site.url("/twice.svg"))
                #expect(drawing.contains(">new</text>") && !drawing.contains("/ran"), "\(drawing)")
                #expect(try report(site.url("/refreshed.svg"), "r-" + name).misses.isEmpty)
                let written = try String(contentsOfFile: folder.at("r-" + name), encoding: .utf8)
                #expect(!written.contains("Refresh") && written.contains("refreshed.svg"))
            }
        }

        @Test(
            "A drawing in a frame, or one that is the page, has nothing that runs, in a file and when it is replayed",
            .program(InstalledProgram.toolsPython, of: "make setup-test"))
        func activeDrawing() throws {
            let names = ["s.mhtml", "s.har"]
            for name in names {
                let report = try report(site.url("/drawings"), name)
                #expect(report.scripts_dropped == 2 && report.documents == 3 && report.misses.isEmpty)
                #expect(try urls(name).sorted() == ["/active.svg", "/active.svg?o", "/drawings"].map { site.url($0) })
                #expect(try self.report(site.url("/active.svg"), "page-" + name).scripts_dropped == 1)
                for (archive, query) in [(name, ""), (name, "?o"), ("page-" + name, "")] {
                    let drawing = try cat(archive, site.url("/active.svg" + query))
                    #expect(drawing.contains(">new</text>") && !drawing.contains("/ran"), "\(archive): \(drawing)")
                }
            }
            #expect(site.requests.contains { $0.target == "/ran" })
            let count = site.requests.count
            var views: [[String: Any]] = ["s.mhtml", "page-s.mhtml"].map {
                ["name": $0, "url": "file://\(folder.at($0))"]
            }
            var proxies: [RunningBinary] = []
            for name in names.flatMap({ [$0, "page-" + $0] }) {
                let proxy = try RunningBinary(map: folder.at(name), ["--offline", "--ca-dir", folder.at("ca")])
                proxies.append(proxy)
                let url = site.url(name.hasPrefix("page-") ? "/active.svg" : "/drawings")
                views.append(["name": "replayed " + name, "url": url, "proxy": "127.0.0.1:\(proxy.port)"])
            }
            for (name, view) in try look(views) { #expect(view.failed.isEmpty, "\(name)") }
            #expect(site.requests.count == count)
            for proxy in proxies {
                proxy.process.send(SIGTERM)
                _ = try proxy.process.finish()
                #expect(proxy.process.output.contains("/active.svg") && !proxy.process.output.contains("/ran"))
            }
        }

        @Test("A map's rules answer while the page is loaded, and what they answered is saved")
        func mapped() throws {
            try folder.write("local.svg", "<svg xmlns='http://www.w3.org/2000/svg' width='5' height='5'/>")
            let map = try folder.write(
                "m.yaml",
                """
                substitutions:
                  https://mapped.test/page: { text: "<title>Mapped</title><img src=https://mapped.test/a.svg><img src=\(site.url("/img/b.svg"))>", type: text/html }
                  https://mapped.test/a.svg: local.svg
                """)
            let saved = try save("https://mapped.test/page", "m.har", ["--map", map])
            // Another host's page reaches nothing on this machine.
            #expect(saved.status == 1)
            #expect(
                saved.output.contains(
                    "missed: GET \(site.url("/img/b.svg")) (host): The address of the host is a loopback address"))
            #expect(site.requests.isEmpty)
            #expect(
                try cat("m.har", "https://mapped.test/a.svg")
                    == "<svg xmlns='http://www.w3.org/2000/svg' width='5' height='5'/>")
            let near = try save(
                "https://mapped.test/page", "m.har", ["--map", map, "--resolve", "mapped.test:443:127.0.0.1"])
            #expect(near.status == 0, "\(near.output)")
        }

        @Test("What a page of https names by http, and the browser asked for by https, is saved and found")
        func upgraded() throws {
            let picture = "<svg xmlns='http://www.w3.org/2000/svg' width='5' height='5'/>"
            let policy = "img-src *; upgrade-insecure-requests"
            let meta = "<meta http-equiv=Content-Security-Policy content='\(policy)'>"
            let content = "<title>Up</title><link rel=stylesheet href=http://up.test/s.css><p>x</p>"
            try folder.write("field.html", content)
            try folder.write("meta.html", meta + content)
            try folder.write(
                "none.html", "<title>Up</title><p style='background: url(http://up.test/own.svg)'>x</p>")
            try folder.write("s.css", "p { background: url(http://up.test/in.svg) }")
            for name in ["own.svg", "in.svg"] { try folder.write(name, picture) }
            let map = try folder.write(
                "m.yaml",
                """
                substitutions:
                  https://up.test/field: { file: field.html, headers: { Content-Security-Policy: "\(policy)" } }
                  https://up.test/meta: meta.html
                  https://up.test/none: none.html
                  https://up.test/s.css: s.css
                  https://up.test/own.svg: own.svg
                  https://up.test/in.svg: in.svg
                """)
            let parts = ["field": ["s.css", "in.svg"], "meta": ["s.css", "in.svg"], "none": ["own.svg"]]
            for (page, parts) in parts {
                let saved = try report("https://up.test/\(page)", "u.mhtml", ["--map", map])
                #expect(saved.misses.isEmpty)
                #expect(try Set(urls("u.mhtml")) == Set(([page] + parts).map { "https://up.test/\($0)" }), "\(page)")
                // Where it is opened as a file, parts are found by the URLs that the browser asks for.
                let markup = try cat("u.mhtml", "1")
                #expect(!markup.contains("http://up.test/") && !markup.contains("img-src"), "\(markup)")
                #expect(markup.contains("upgrade-insecure-requests") == (page != "none"), "\(markup)")
            }
        }

        @Test("Error pages that come back with 200, for want of statuses in the format, are named on standard error")
        func statuses() throws {
            let line = "subproxy: warning: this format has no statuses, and an error page comes back with 200: "
            let page = try save(site.url("/none"), "n.mhtml", ["--any-status"])
            #expect(page.status == 0 && page.error == line + site.url("/none") + " (404)\n", "\(page.error)")
            #expect(try save(site.url("/none"), "n.har", ["--any-status"]).error == "")
            let picture = try save(site.url("/lacks"), "l.webarchive")
            #expect(picture.error == line + site.url("/none.svg") + " (404)\n", "\(picture.error)")
            #expect(try save(site.url("/quirks"), "q.mhtml").error == "")
        }

        @Test("A report that can't be written is an error, though the page is saved")
        func lostReport() throws {
            let words = [SubproxyProcess.path] + arguments(site.url("/quirks"), "q.mhtml", ["--json"])
            let saved = try ChildProcess.run(
                ["sh", "-c", "exec \"$@\" > /dev/full", "sh"] + words, environment: surroundings())
            #expect(saved.status == 74)
            #expect(saved.error == "subproxy: error: standard output can't be written: No space left on device\n")
            #expect(try cat("q.mhtml", "1").hasPrefix("<html>"))
        }

        @Test("The icon that the browser asks for by itself is no part of the page; one that is shown, or named, is")
        func icons() throws {
            // Only the static copy lets the browser ask for it.
            #expect(try report(site.url("/iconless"), "n.har").resources == 0)
            #expect(try urls("n.har") == [site.url("/iconless")])
            let icon = site.url("/favicon.ico")
            let shown = try report(site.url("/icon-shown"), "s.har")
            #expect(shown.misses.isEmpty)
            #expect(try Set(urls("s.har")) == [site.url("/icon-shown"), site.url("/icon.css"), icon])
        }

        @Test("The report names the format as --format does")
        func formatNames() throws {
            #expect(try report(site.url("/quirks"), "w.warc.gz").format == "warc.gz")
            let list = try folder.write("one.txt", site.url("/quirks"))
            let options =
                ["--browser", InstalledProgram.chromium, "--json", "--timeout", "900s"]
                + (geteuid() == 0 ? ["--no-sandbox"] : [])
            for format in ["folder", "warc.gz", "mhtml"] {
                let saved = try SubproxyProcess.run(
                    ["save", "-i", list, "-o", folder.at("f"), "--format", format] + options,
                    environment: surroundings())
                #expect(saved.status == 0, "\(saved.error)")
                #expect(saved.output.contains("\"format\":\"\(format)\""), "\(saved.output)")
            }
        }

        // MARK: Failures

        @Test("A page that can't be saved is told with its exit status, and a file that was there stays as it is")
        func failures() throws {
            try folder.write("old.mhtml", "old")
            func fails(_ status: Int32, _ text: String, _ finished: SubproxyProcess.Finished) throws {
                #expect(finished.status == status, "\(finished.error)")
                #expect(finished.error.hasPrefix("subproxy: error: "), "\(finished.error)")
                #expect(finished.error.contains(text), "\(finished.error)")
                #expect(finished.output == "")
                #expect(try folder.text(of: "old.mhtml") == "old")
            }
            try fails(76, "\(site.url("/none")): status 404; --any-status", save(site.url("/none"), "old.mhtml"))
            try fails(76, "The host name unknown.invalid was not found.", save("https://unknown.invalid/", "old.mhtml"))
            try fails(
                75, "was not loaded in time; --timeout", save(site.url("/slow"), "old.mhtml", ["--timeout", "2s"]))
            // On a slow machine the page itself may take longer than the shorter times.
            for time in ["3s", "30s", "300s"] {
                let finished = try save(
                    site.url("/quirks"), "old.mhtml", ["--wait-for", "#never", "--timeout", time])
                if time != "300s", finished.status == 75, !finished.error.contains("no element") { continue }
                try fails(75, "no element came that is '#never'", finished)
                break
            }
            try fails(73, "No such file or directory", save(site.url("/quirks"), "none/old.mhtml"))
            try fails(64, "a page in a single .html file is not written", save(site.url("/quirks"), "old.html"))
            try fails(
                64, "the picture is written as PNG", save(site.url("/quirks"), "old.mhtml", ["--screenshot", "x.jpg"]))
            try fails(64, "--keep-scripts is for", save(site.url("/quirks"), "old.mhtml", ["--keep-scripts"]))
            try fails(64, "must be a URL of http or https", save("ftp://x/", "old.mhtml"))
            try fails(
                69, "no Chromium or Chrome was found: sudo apt install chromium",
                SubproxyProcess.run(
                    ["save", site.url("/"), "-o", folder.at("old.mhtml")], environment: ["PATH": "/nonexistent"]))
            try fails(
                69, "the browser ended while it started", save(site.url("/"), "old.mhtml", ["--browser", "/bin/true"]))
            try fails(64, "'<<' is no selector of CSS", save(site.url("/quirks"), "old.mhtml", ["--wait-for", "<<"]))
            try fails(64, "refuses the cookie", save(site.url("/quirks"), "old.mhtml", ["--cookie", "a b=;c"]))
            for agent in ["A\r\nX-Injected: 1", "\u{DC}/1", "a\u{1B}b", ""] {
                try fails(
                    64, "must be of visible ASCII characters",
                    save(site.url("/quirks"), "old.mhtml", ["--user-agent", agent]))
            }
            try fails(
                64, "can't be used together",
                save(site.url("/quirks"), "old.mhtml", ["--cookie", "a=b", "-H", "cookie: c=d"]))
            try fails(64, "is the browser's own field", save(site.url("/quirks"), "old.mhtml", ["-H", "Host: x"]))
            try fails(64, "has a name or a password in it", save("http://u:p@a.test/", "old.mhtml"))
            try fails(
                73, "the picture", save(site.url("/quirks"), "old.mhtml", ["--screenshot", folder.at("none/x.png")]))
            try fails(
                73, "is no regular file", save(site.url("/quirks"), "old.mhtml", ["--screenshot", "/dev/null"]))
            try fails(76, "status 404", save(site.url("/elsewhere"), "old.mhtml", ["--wait", "2s"]))
            if geteuid() == 0 {
                try fails(
                    69, "--no-sandbox",
                    SubproxyProcess.run(
                        ["save", site.url("/"), "-o", folder.at("old.mhtml"), "--browser", InstalledProgram.chromium]))
            }
        }

        @Test("A signal ends the browser and leaves nothing behind", arguments: [SIGINT, SIGTERM, SIGHUP])
        func interrupted(signal: Int32) throws {
            let process = try SubproxyProcess(
                ["--default-signal=HUP", SubproxyProcess.path] + arguments(site.url("/slow"), "s.mhtml", []),
                program: "env", environment: surroundings())
            try Wait.until { site.requests.contains { $0.target == "/slow" } }
            process.send(signal)
            #expect(try process.finish().status == 128 + signal)
            #expect(try ChildProcess.run(["ls", folder.at("tmp")]).output == "")
            #expect(access(folder.at("s.mhtml"), F_OK) != 0)
        }

        @Test("Started as by nohup, a save goes on when its terminal goes away")
        func withoutTerminal() throws {
            let process = try SubproxyProcess(
                ["--ignore-signal=HUP", SubproxyProcess.path] + arguments(site.url("/quirks"), "s.mhtml", []),
                program: "env", environment: surroundings())
            try Wait.until { site.requests.contains { $0.target == "/quirks" } }
            process.send(SIGHUP)
            let finished = try process.finish()
            #expect(finished.status == 0, "\(finished.error)")
        }

        @Test("A list of pages is saved into a folder, going on where one fails, with a summary")
        func list() throws {
            try folder.write(
                "urls.txt",
                "\u{FEFF}# pages\n\(site.url("/quirks"))\n\n\(site.url("/none/deep/page"))\n\(site.url("/text"))\n\(site.url("/quirks"))\n"
            )
            let options =
                ["--browser", InstalledProgram.chromium, "--timeout", "900s"]
                + (geteuid() == 0 ? ["--no-sandbox"] : [])
            let finished = try SubproxyProcess.run(
                ["save", "-i", folder.at("urls.txt"), "-o", folder.at("pages"), "--jobs", "2"] + options,
                environment: surroundings())
            #expect(finished.status == 76)
            #expect(finished.error.contains("subproxy: error: \(site.url("/none/deep/page")): status 404"))
            #expect(finished.error.hasSuffix("subproxy: saved 2 of 3 pages to \(folder.at("pages"))/; 1 failed\n"))
            let host = "pages/127.0.0.1_\(site.port)"
            #expect(access(folder.at("\(host)/quirks.mhtml"), F_OK) == 0)
            #expect(access(folder.at("\(host)/text.mhtml"), F_OK) == 0)
            // Of the page that failed no empty folder is left.
            #expect(access(folder.at("\(host)/none"), F_OK) != 0)
            // Names that would be one, or a folder of another's file, are told apart.
            try folder.write(
                "more.txt",
                ["/a", "/a.html", "/A.htm", "/a.mhtml/b"].map { site.url("/page\($0)") }.joined(separator: "\n"))
            let more = try SubproxyProcess.run(
                ["save", "-i", folder.at("more.txt"), "-o", folder.at("more"), "--any-status", "--jobs", "2"] + options,
                environment: surroundings())
            #expect(more.status == 0, "\(more.error)")
            let files = try ChildProcess.run(["find", folder.at("more"), "-type", "f"]).output
            #expect(files.split(separator: "\n").count == 4, "\(files)")
            let bad = try folder.write("bad.txt", "nothing\n")
            let refused = try SubproxyProcess.run(["save", "-i", bad, "-o", folder.at("pages")] + options)
            #expect(refused.status == 65)
            #expect(refused.error.contains("bad.txt:1: 'nothing' must be a URL of http or https"))
        }
    }
}
