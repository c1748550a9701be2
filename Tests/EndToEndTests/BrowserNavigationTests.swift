import Foundation
import ProxyTestKit
import Testing

extension InBrowsers {
    /// Loads that are vetoed or sent elsewhere, in a browser: the recipes of docs/map.md.
    @Suite("Navigations", .program(InstalledProgram.chromium, of: "chromium"))
    struct BrowserNavigations {
        private struct Kinds: Decodable, Equatable {
            var frame: String
            var fetch: String
            var image: String
            var version: String
            var top: String
        }

        private struct Leaving: Decodable {
            var fetched: String
            var asked: String
            var outside: String
            var inside: String
            var vetoed: String
            var reloaded: String
        }

        private struct Result: Decodable {
            var kinds: [Kinds]
            var leaving: Leaving?
        }

        /// What each kind of request gets; frames come late, as theirs is another process.
        private static let page = """
            <!doctype html><iframe id=frame src=thing></iframe>
            <script>
            const outcome = window.outcome = {};
            const tell = () => outcome.isWhole = outcome.frame && outcome.fetch && outcome.image ? true : false;
            const frame = document.getElementById('frame');
            frame.onload = () => { outcome.frame = frame.contentDocument.body.innerText; tell() };
            if (frame.contentDocument?.body?.innerText) frame.onload();
            fetch('thing').then((answer) => answer.text()).then((text) => { outcome.fetch = text.trim(); tell() });
            const image = new Image();
            image.onload = () => { outcome.image = 'image'; tell() };
            image.onerror = () => { outcome.image = 'none'; tell() };
            image.src = 'picture';
            </script>
            """

        private func run(_ served: ServedMap, _ options: [String]) throws -> Result {
            let folder = served.folder.path
            let screenshots = ProcessInfo.processInfo.environment["SUBPROXY_SCREENSHOTS"] ?? folder
            let process = try ChildProcess.run(
                [
                    "python3", "-B", "\(scripts)/navigations.py", "--chromium", InstalledProgram.chromium, "--proxy",
                    "127.0.0.1:\(served.binary.port)", "--profile", "\(folder)/profile", "--screenshots", screenshots,
                ] + options, environment: ["http_proxy": "", "https_proxy": "", "no_proxy": ""], seconds: 2 * Wait.limit
            )
            try #require(process.status == 0, "\(process.error)\(served.binary.log)")
            return try JSONDecoder().decode(Result.self, from: Data(process.outputBytes))
        }

        @Test(
            "Documents of the top frame and of frames are told from fetches and images, with and without Sec-Fetch fields"
        )
        func kinds() throws {
            let thing = "[{ text: document, navigation: true }, { text: part, navigation: false }]"
            let picture =
                "[{ text: none, navigation: true }, { text: \"<svg xmlns='http://www.w3.org/2000/svg'/>\", "
                + "type: image/svg+xml, request-headers: { Accept: \"image/*\" } }]"
            let authority = TemporaryFolder()
            let served = try ServedMap(
                """
                //site.test/page: { file: page.html }
                //site.test/thing: \(thing)
                //site.test/picture: \(picture.replacing("image/*", with: "*image/*"))
                http://127.0.0.1:18080/page: { file: page.html }
                http://127.0.0.1:18080/thing: \(thing)
                http://127.0.0.1:18080/picture: \(picture.replacing("image/*", with: "*image/*"))
                """, files: ["page.html": Self.page], options: ["--ca-dir", authority.path])
            // http beyond loopback has no field of Fetch Metadata; loopback and https have.
            let urls = ["http://site.test/page", "http://127.0.0.1:18080/page", "https://site.test/page"]
            let result = try run(served, urls.flatMap { ["--kinds", $0] })
            let expected = ["http/1.1", "http/1.1", "h2"].map {
                Kinds(frame: "document", fetch: "part", image: "image", version: $0, top: "document")
            }
            #expect(result.kinds == expected)
        }

        @Test("A link out of a site leads to a page that asks, and back in again by its link; a vetoed load shows why")
        func leaving() throws {
            let origin = try ScriptedOrigin { request, connection in
                let body = "<!doctype html><a id=inside href=/inside>inside</a><p>\(request.target)"
                try connection.respond(fields: "Content-Type: text/html\r\n", body: body)
                return true
            }
            let base = "http://127.0.0.1:\(origin.port)"
            // The recipe of docs/map.md, with http for https.
            let served = try ServedMap(
                """
                http://app.test/start: { file: app.html }
                http://app.test/vetoed: { file: veto.html, status: 403, navigation: true, bypass: never }
                "http://leaving.test/**": { file: leaving.html }
                \(base)/:
                  - { forward: true, request-headers: { Sec-Fetch-Site: same-origin } }
                  - { forward: true, request-headers: { Referer: "http://leaving.test/*" } }
                  - { redirect: "http://leaving.test/http/127.0.0.1:\(origin.port)/", navigation: true, bypass: never }
                """,
                files: [
                    "app.html": "<!doctype html><a id=out href='\(base)/page?x=1'>out</a>",
                    "veto.html": "<!doctype html><title>Vetoed</title><p>vetoed",
                    "leaving.html": """
                    <!doctype html><title>You are leaving</title><p>You are leaving for <a id=on></a>.
                    <script>
                    const [, scheme, host, ...path] = location.pathname.split('/');
                    const link = document.getElementById('on');
                    link.href = `${scheme}://${host}/${path.join('/')}${location.search}`;
                    link.textContent = link.href;
                    </script>
                    """,
                ])
            let result = try run(
                served, ["--leaving", "http://app.test/start", "--outside", "\(base)/page?x=1"])
            let leaving = try #require(result.leaving)
            #expect(leaving.fetched == "opaque")
            #expect(leaving.asked == "http://leaving.test/http/127.0.0.1:\(origin.port)/page?x=1")
            #expect(leaving.outside == "\(base)/page?x=1")
            #expect(leaving.inside == "\(base)/inside")
            #expect(leaving.vetoed == "vetoed" && leaving.reloaded == "vetoed")
            #expect(served.binary.log.contains("http://app.test/vetoed 403"))
        }
    }
}
