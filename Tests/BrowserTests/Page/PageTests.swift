import Basics
import Glibc
import JSON
import ProxyTestKit
import Testing

@testable import Browser

extension BrowserTests {
    @Suite("has pages that")
    struct Pages {
        @Test("scroll as long as they grow, and are quick where they don't")
        func endless() throws {
            let page = """
                <!doctype html><title>Endless</title><body><script>
                let count = 0;
                const more = async () => {
                  if (count >= 5) return;
                  const text = await (await fetch('more?' + count++)).text();
                  for (let i = 0; i < 10; i++) document.body.append(Object.assign(document.createElement('p'),
                    {textContent: text + count, style: 'height:200px'}));
                };
                more(); let waits = false;
                onscroll = async () => {
                  if (waits || scrollY + innerHeight < document.documentElement.scrollHeight - 300) return;
                  waits = true; await more(); waits = false;
                };
                </script>
                """
            let site = try Site(["/": Site.Answer(page), "/more": Site.Answer("item ", "text/plain")])
            let frozen = try Frozen(site)
            #expect(try frozen.value("document.querySelectorAll('p').length").integerValue == 50)
            #expect(frozen.result.requests.map(\.kind).filter { $0 == "Fetch" }.count == 5)
            #expect(site.targets == ["/"])
            let picture = try frozen.picture(isFull: true)
            #expect(Array(picture.prefix(4)) == Array("\u{89}PNG".unicodeScalars.map { UInt8($0.value) }))
            // Width and height of the header (PNG, 11.2.2).
            #expect(picture[16..<24].reduce(0) { $0 << 8 | Int($1) } >> 32 == 1280)
            #expect(picture[20..<24].reduce(0) { $0 << 8 | Int($1) } > 10_000)
            let viewport = try frozen.picture(isFull: false)
            #expect(viewport[20..<24].reduce(0) { $0 << 8 | Int($1) } == 800)
        }

        @Test("scroll their largest element where the document does not")
        func inner() throws {
            let page = """
                <!doctype html><style>html, body { height: 100%; margin: 0; overflow: hidden }
                #main { height: 100%; overflow: auto; scroll-behavior: smooth }</style>
                <div id=main><div style="height:5000px"></div><img id=image loading=lazy src=end.svg></div>
                """
            let site = try Site(["/": Site.Answer(page), "/end.svg": Site.picture()])
            let frozen = try Frozen(site)
            #expect(frozen.result.requests.map(\.url).contains(site.url("/end.svg")))
        }

        @Test("scroll no oftener than they may, and wait for what they should")
        func bounds() throws {
            let page = """
                <!doctype html><title>0</title><body style="height:99999px"><script>
                let farthest = 0;
                onscroll = () => {
                  farthest = Math.max(farthest, scrollY / innerHeight);
                  document.title = Math.ceil(farthest - 0.1);
                };
                setTimeout(() => { document.body.append(Object.assign(document.createElement('p'), {id: 'late'})) }, 1500);
                </script>
                """
            let site = try Site(["/": Site.Answer(page)])
            let frozen = try Frozen(site) {
                $0.mostScrolls = 3
                $0.selector = "#late"
                $0.waitTime = 100
            }
            // How often a browser tells of a step is up to it; how far the page came isn't.
            let viewports = try #require(Int(frozen.result.page.title))
            #expect((0...3).contains(viewports))
            #expect(frozen.markup.contains("id=\"late\""))
        }

        @Test("ask for what style sheets name before they count as quiet, however late they come to lay it out")
        func lateLayout() throws {
            // When the load event has come, nothing was asked for in more than 500 ms, nor is for some time.
            let page = """
                <!doctype html><title>Late</title><iframe src=frame></iframe><form name=documentElement></form><script>
                const keepBusy = time => { const end = performance.now() + time; while (performance.now() < end); };
                addEventListener('load', () => {
                  keepBusy(700);
                  document.body.style.background = 'url(own.svg)';
                  frames[0].document.body.style.background = 'url(inner.svg)';
                  setTimeout(() => keepBusy(700));
                });
                </script>
                """
            let pictures = ["/own.svg", "/inner.svg"]
            let site = try Site([
                "/": Site.Answer(page), "/frame": Site.Answer("<p>frame"), "/own.svg": Site.picture(),
                "/inner.svg": Site.picture(),
            ])
            let tab = try BrowserTests.shared().openPage(PageOptions(host: "http://127.0.0.1/"))
            defer { tab.close() }
            _ = try tab.load(site.url("/"), until: Deadline(milliseconds: 600_000))
            #expect(Set(tab.requests.map(\.url)).isSuperset(of: pictures.map { site.url($0) }))
        }

        @Test("are quiet though a frame of another process gives no answer, which is asked once")
        func busyFrame() throws {
            let frame = "<p>frame<script>onload = () => setTimeout(() => { while (true); })</script>"
            let site = try Site([
                "/": Site.Answer("<!doctype html><title>Busy frame</title><iframe id=frame></iframe>"),
                "/frame": Site.Answer(frame),
            ])
            // A browser of its own: a frame that is busy holds up others of its host.
            let session = try BrowserSession(BrowserTests.options, interruption: BrowserInterruption())
            defer { session.close() }
            let tab = try session.openPage(PageOptions(host: site.url("/")))
            let deadline = Deadline(milliseconds: 600_000)
            _ = try tab.load(site.url("/"), until: deadline)
            let other = site.url("/frame").replacing("127.0.0.1", with: "localhost")
            let script = "document.getElementById('frame').src = '\(other)'"
            _ = try tab.connection.call(
                "Runtime.evaluate", ["expression": JSONValue(script)], session: tab.session, until: deadline)
            func commands() throws -> Int {
                let before = tab.connection.lastID
                #expect(try tab.waitUntilQuiet(until: deadline))
                return tab.connection.lastID - before
            }
            while tab.busySessions.isEmpty, !deadline.isOver {
                _ = try commands()
                try tab.wait(milliseconds: 20, until: deadline)
            }
            #expect(tab.busySessions.count == 1 && !tab.busySessions.contains(tab.session))
            let withoutFrame = try commands()
            tab.busySessions = []
            #expect(try commands() > withoutFrame)
        }

        @Test("wait for what they should, whatever names their elements have")
        func names() throws {
            let page = "<!doctype html><title>Names</title><img name=querySelector><p id=text>here</p>"
            let frozen = try Frozen(Site(["/": Site.Answer(page)])) { $0.selector = "#text" }
            #expect(frozen.markup.contains("id=\"text\""))
        }

        @Test("are at the end of redirects, those of scripts too, with the status that they have")
        func redirects() throws {
            let site = try Site([
                "/locked": Site.Answer(
                    "<p>locked", status: "401 Unauthorized", fields: "WWW-Authenticate: Basic realm=x\r\n"),
                "/": Site.Answer("", status: "302 Found", fields: "Location: /second\r\n"),
                "/second": Site.Answer("<script>location = '/third#part'</script>"),
                "/third": Site.Answer("<p>here", status: "201 Created"),
                "/missing": Site.Answer("<p>gone", status: "404 Not Found"),
                "/empty": Site.Answer("", status: "500 Broken"),
                "/text": Site.Answer("just text", "text/plain"),
                "/download": Site.Answer(
                    "bytes", "application/zip", fields: "Content-Disposition: attachment\r\n"),
            ])
            let session = try BrowserTests.shared()
            let third = try PageCapture(url: site.url("/")).capture(in: session)
            #expect(third.load.url == site.url("/third"))
            #expect(third.load.status == 201)
            #expect(third.requests.filter { !$0.url.hasSuffix(".ico") }.map(\.status) == [302, 200, 201])
            for (path, status) in [("/missing", 404), ("/empty", 500), ("/locked", 401)] {
                let failure = #expect(throws: BrowserFailure.self) {
                    try PageCapture(url: site.url(path)).capture(in: session)
                }
                #expect(failure?.kind == .notLoaded)
                #expect(failure?.message == "\(site.url(path)): status \(status)")
            }
            var any = PageCapture(url: site.url("/missing"))
            any.allowsAnyStatus = true
            #expect(try any.capture(in: session).page.documents.count == 1)
            let text = try PageCapture(url: site.url("/text")).capture(in: session)
            #expect(text.page.mediaType == "text/plain")
            #expect(text.page.documents.isEmpty)
            let download = try PageCapture(url: site.url("/download")).capture(in: session)
            #expect(download.load.isDownload)
            #expect(download.load.status == 200)
            let dead = #expect(throws: BrowserFailure.self) {
                try PageCapture(url: "http://127.0.0.1:1/").capture(in: session)
            }
            #expect(dead?.kind == .notLoaded)
        }

        @Test("have the URL that they were frozen at, though their scripts go on to give them others")
        func history() throws {
            let frames = (0..<10).map { "<iframe srcdoc='<p>frame \($0)'></iframe>" }.joined()
            let page = """
                <!doctype html><title>History</title><p id=text>here</p>\(frames)<script>
                let number = 0;
                setInterval(() => history.replaceState(null, '', '/at/' + number++), 60);
                </script>
                """
            let frozen = try Frozen(Site(["/": Site.Answer(page)]))
            #expect(frozen.result.load.url == frozen.result.page.documents.first?.url)
            #expect(try frozen.text("document.getElementById('text').textContent") == "here")
        }

        @Test("are where they were asked for if they are not frozen, whatever URL their scripts give them")
        func askedURL() throws {
            let site = try Site([
                "/": Site.Answer("", status: "302 Found", fields: "Location: /app\r\n"),
                "/app": Site.Answer("<title>App</title><script>history.replaceState(null, '', '/home')</script>"),
            ])
            let frozen = try Frozen(site).result
            #expect(frozen.load.url == site.url("/home"))
            #expect(frozen.load.askedURL == site.url("/app"))
            let kept = try Frozen(site) { $0.isFrozen = false }.result
            #expect(kept.load.url == site.url("/app"))
            #expect(kept.page.title == "App" && kept.page.mediaType == "text/html" && kept.page.documents.isEmpty)
        }

        @Test("get cookies and fields for their URL's host alone")
        func fields() throws {
            let site = try Site([:])
            site.set("/", Site.Answer("<img src=own.svg><img src=\"\(site.url("/other.svg", host: "localhost"))\">"))
            for name in ["own", "other"] { site.set("/\(name).svg", Site.picture()) }
            var capture = PageCapture(url: site.url("/"))
            capture.cookies = [PageOptions.Pair(name: "c", value: "1")]
            capture.fields = [
                PageOptions.Pair(name: "X-Own", value: "yes"), PageOptions.Pair(name: "accept", value: "a/b"),
                PageOptions.Pair(name: "x-own", value: "twice"),
            ]
            let session = try BrowserTests.shared()
            let result = try capture.capture(in: session)
            func check() throws {
                #expect(site.requests.count == 3)
                for request in site.requests {
                    let isOwn = request.field("Host")?.hasPrefix("127") == true
                    #expect(request.field("Cookie") == (isOwn ? "c=1" : nil))
                    #expect(request.field("X-Own") == (isOwn ? "yes, twice" : nil))
                    #expect((request.field("Accept") == "a/b") == isOwn)
                }
            }
            try check()
            site.replace(by: result.page)
            try capture.reload(result, in: session).close()
            try check()
        }

        @Test("are kept waiting by nobody: dialogs, windows, permissions, workers, news that never comes")
        func interruptions() throws {
            let page = """
                <!doctype html><title>x</title><script>
                alert('a'); const answer = [confirm('b'), prompt('c')];
                window.open('/popup'); onbeforeunload = event => { event.preventDefault(); return 'stay' };
                new EventSource('/news');
                new Worker('/worker.js').onmessage = () => {
                  document.body.append(Object.assign(document.createElement('p'), { id: 'told' }));
                };
                navigator.serviceWorker.register('/service.js').catch(() => {});
                Notification.requestPermission().then(state => { document.title = answer + ' ' + state });
                navigator.geolocation.getCurrentPosition(() => {}, () => {});
                </script>
                """
            let site = try Site([
                "/": Site.Answer(page), "/popup": Site.Answer("<p>"),
                "/news": Site.Answer("", "text/event-stream", status: "hang"),
                "/worker.js": Site.Answer("fetch('/from-worker').then(() => postMessage(1))", "text/javascript"),
                "/service.js": Site.Answer("", "text/javascript"), "/from-worker": Site.Answer("x", "text/plain"),
            ])
            let session = try BrowserTests.shared()
            var capture = PageCapture(url: site.url("/"))
            // The worker may begin later than the page is quiet.
            capture.selector = "#told"
            capture.time = 600_000
            let result = try capture.capture(in: session)
            #expect(result.page.title == "false, denied")
            #expect(result.requests.contains { $0.url == site.url("/from-worker") })
        }

        @Test("are waited for no longer than they load where they begin a download meanwhile")
        func stopped() throws {
            let site = try Site([
                "/": Site.Answer("<!doctype html><title>here</title><p>here<script>location = '/download'</script>"),
                "/download": Site.Answer("bytes", "application/zip", fields: "Content-Disposition: attachment\r\n"),
            ])
            let session = try BrowserTests.shared()
            let result = try PageCapture(url: site.url("/")).capture(in: session)
            #expect(result.load.url == site.url("/"))
            #expect(result.page.title == "here")
        }

        @Test(
            "are not loaded where the connection ends within them, whatever their status",
            arguments: [("200 OK", false), ("404 Not Found", true)])
        func cutOff(status: String, allowsAnyStatus: Bool) throws {
            var answer = Site.Answer("<p>half", status: status)
            answer.missing = 100
            let site = try Site(["/": answer])
            var capture = PageCapture(url: site.url("/"))
            capture.allowsAnyStatus = allowsAnyStatus
            let failure = #expect(throws: BrowserFailure.self) { try capture.capture(in: BrowserTests.shared()) }
            #expect(failure?.kind == .notLoaded)
            #expect(failure?.message == "\(site.url("/")): net::ERR_CONTENT_LENGTH_MISMATCH")
        }

        @Test("that say there is no page are told so")
        func noContent() throws {
            let site = try Site(["/": Site.Answer("", status: "204 No Content")])
            let failure = #expect(throws: BrowserFailure.self) {
                try PageCapture(url: site.url("/")).capture(in: BrowserTests.shared())
            }
            #expect(failure?.message == "\(site.url("/")): there is no page, as status 204 says")
        }

        @Test("have no more time than all of it where a script lets nobody else have its turn")
        func busy() throws {
            let site = try Site([
                "/": Site.Answer(
                    "<p style='height: 9000px'>x</p><script>onscroll = () => { while (true); }</script>")
            ])
            var capture = PageCapture(url: site.url("/"))
            capture.time = 3000
            // A browser of its own: a page that is busy holds up others of its host. Each answer may take an hour, so
            // nothing but the capture's time can end it while the test runs.
            var options = BrowserTests.options
            options.commandTime = 3_600_000
            let session = try BrowserSession(options, interruption: BrowserInterruption())
            defer { session.close() }
            let failure = #expect(throws: BrowserFailure.self) { try capture.capture(in: session) }
            #expect(failure?.kind == .timedOut)
        }

        @Test("without a document element are told so")
        func rootless() throws {
            let page = "<p>x<script>onload = () => document.documentElement.remove()</script>"
            let site = try Site(["/": Site.Answer(page)])
            let failure = #expect(throws: BrowserFailure.self) {
                try PageCapture(url: site.url("/")).capture(in: BrowserTests.shared())
            }
            #expect(failure?.message == "\(site.url("/")): a script has removed the page's document element")
        }

        @Test("are not frozen, nor fail as that would, where their scripts are kept")
        func keptScripts() throws {
            let page = "<title>x</title><p>x<script>onload = () => document.documentElement.remove()</script>"
            let site = try Site(["/": Site.Answer(page)])
            var capture = PageCapture(url: site.url("/"))
            capture.time = 600_000
            capture.isFrozen = false
            let kept = try capture.capture(in: BrowserTests.shared())
            #expect(kept.load.status == 200 && kept.page.title == "" && kept.page.documents.isEmpty)
        }

        @Test("have their time")
        func time() throws {
            let site = try Site([
                "/": Site.Answer("<img src=never.svg>"), "/never.svg": Site.Answer("", "image/svg+xml", status: "hang"),
            ])
            var capture = PageCapture(url: site.url("/"))
            capture.time = 1500
            // Without a limit the page would be there when its picture is given up.
            let failure = #expect(throws: BrowserFailure.self) { try capture.capture(in: BrowserTests.shared()) }
            #expect(failure?.kind == .timedOut)
        }
    }

    /// The built program decrypts what the browser asks for.
    @Suite("goes through a proxy that")
    struct Proxied {
        private let folder = TemporaryFolder()

        @Test("it trusts by its key, for loopback too, and through no other")
        func proxy() throws {
            let site = try Site(["/direct.svg": Site.picture()])
            try folder.write("page.html", "<title>From the map</title><img id=image src='\(site.url("/direct.svg"))'>")
            try folder.write("image.svg", "<svg xmlns='http://www.w3.org/2000/svg' width='3' height='3'/>")
            let map = try folder.write(
                "m.yaml",
                """
                substitutions:
                  https://mapped.test/page.html: page.html
                  \(site.url("/direct.svg")): image.svg

                """)
            let binary = try RunningBinary(map: map, ["--ca-dir", folder.at("authority"), "--offline"])
            // The authority is made when it is first needed.
            _ = try ChildProcess.run([
                "curl", "--disable", "-ks", "-x", "http://127.0.0.1:\(binary.port)", "https://mapped.test/page.html",
            ])
            let key = try ChildProcess.run([
                "sh", "-c",
                "openssl x509 -in '\(folder.at("authority"))/ca.pem' -noout -pubkey | "
                    + "openssl pkey -pubin -outform der | sha256sum",
            ]).output.prefix(64)
            let bytes = stride(from: 0, to: 64, by: 2).compactMap { at in
                UInt8(String(key.dropFirst(at).prefix(2)), radix: 16)
            }
            for keys in [[bytes], []] {
                var options = BrowserTests.options
                options.temporaryFolder = folder.path
                options.proxy = BrowserOptions.Proxy(address: "127.0.0.1:\(binary.port)", trustedKeys: keys)
                let session = try BrowserSession(options, interruption: BrowserInterruption())
                defer { session.close() }
                let page = try session.openPage(PageOptions(host: "https://mapped.test/page.html"))
                let load = try page.load("https://mapped.test/page.html", until: Deadline(milliseconds: 600_000))
                if keys.isEmpty {
                    #expect(load.failure?.hasPrefix("net::ERR_CERT") == true)
                    #expect(load.refusal(allowsAnyStatus: true)?.kind == .notLoaded)
                } else {
                    #expect(load.status == 200, "\(load.failure ?? "")")
                    #expect(page.requests.map(\.status).prefix(2) == [200, 200])
                    let frozen = try page.freeze(until: Deadline(milliseconds: 600_000))
                    #expect(frozen.title == "From the map")
                }
            }
            #expect(site.requests.isEmpty)
            // Nothing is asked for that no page asks for.
            let asked = binary.log.split(separator: "\n").filter {
                !$0.contains("mapped.test") && !$0.contains("127.0.0.1:\(site.port)")
            }
            #expect(asked.isEmpty)
        }
    }

    @Suite("shows a window that")
    struct Windows {
        private let folder = TemporaryFolder()

        /// A program that does what a test says in place of a browser.
        private func options(_ script: String) throws -> BrowserOptions {
            var options = BrowserTests.options
            options.executable = try folder.write("browser", "#!/bin/sh\n\(script)\n")
            chmod(options.executable, 0o755)
            options.temporaryFolder = folder.path
            options.hasNoSandbox = true
            options.startPage = "https://a.test/"
            return options
        }

        private func open(_ script: String, _ interruption: BrowserInterruption = BrowserInterruption()) throws
            -> BrowserWindow
        {
            try BrowserWindow(try options(script), interruption: interruption, hasDisplay: true)
        }

        @Test("is waited for until it is closed, or the wait is interrupted")
        func waiting() throws {
            let closed = try open("echo \"$*\" > \(folder.at("arguments"))")
            try closed.wait()
            closed.close()
            #expect(try folder.text(of: "arguments").hasSuffix(" https://a.test/\n"))

            let failed = try open("echo '[1:1:ERROR:x.cc(1)] no display' >&2; exit 1")
            let failure = #expect(throws: BrowserFailure.self) { try failed.wait() }
            #expect(failure == BrowserFailure(.ended, "the browser has failed: no display"))
            failed.close()

            let interruption = BrowserInterruption()
            let open = try open("exec sleep 600", interruption)
            interruption.interrupt()
            let interrupted = #expect(throws: BrowserFailure.self) { try open.wait() }
            #expect(interrupted?.kind == .interrupted)
            open.close()
            #expect(!FolderRemoval.names(in: folder.path).contains { $0.hasPrefix(BrowserFolder.prefix) })
        }

        @Test("needs a display")
        func display() throws {
            let options = try options("exit")
            let failure = #expect(throws: BrowserFailure.self) {
                try BrowserWindow(options, interruption: BrowserInterruption(), hasDisplay: false)
            }
            #expect(failure?.kind == .unavailable)
        }
    }

    @Suite("ends")
    struct Ends {
        private let folder = TemporaryFolder()

        private func start(_ interruption: BrowserInterruption = BrowserInterruption()) throws -> BrowserSession {
            var options = BrowserTests.options
            options.temporaryFolder = folder.path
            return try BrowserSession(options, interruption: interruption)
        }

        @Test("with nothing left behind: when it is closed, when it is killed, when a wait is interrupted")
        func end() throws {
            let closed = try start()
            #expect(FolderRemoval.names(in: folder.path).count == 1)
            closed.close()
            #expect(!closed.isRunning)
            #expect(FolderRemoval.names(in: folder.path).isEmpty)

            let interruption = BrowserInterruption()
            let session = try start(interruption)
            let page = try session.openPage(PageOptions(host: "http://127.0.0.1/"))
            Threads.start {
                usleep(200_000)
                interruption.interrupt()
            }
            let interrupted = #expect(throws: BrowserFailure.self) {
                try page.wait(milliseconds: 60_000, until: Deadline(milliseconds: 60_000))
            }
            #expect(interrupted?.kind == .interrupted)
            session.close()
            #expect(FolderRemoval.names(in: folder.path).isEmpty)

            let killed = try start()
            let other = try killed.openPage(PageOptions(host: "http://127.0.0.1/"))
            kill(killed.processNumber, SIGKILL)
            let failure = #expect(throws: BrowserFailure.self) {
                try other.wait(milliseconds: 60_000, until: Deadline(milliseconds: 60_000))
            }
            #expect(failure?.kind == .ended)
            killed.close()
            #expect(FolderRemoval.names(in: folder.path).isEmpty)
        }

        @Test("at once with a reason where it can't start")
        func failedStart() throws {
            var options = BrowserTests.options
            options.temporaryFolder = folder.path
            options.executable = "/bin/false"
            let ended = #expect(throws: BrowserFailure.self) {
                try BrowserSession(options, interruption: BrowserInterruption())
            }
            #expect(ended?.kind == .ended)
            options.executable = "/nonexistent"
            let missing = #expect(throws: BrowserFailure.self) {
                try BrowserSession(options, interruption: BrowserInterruption())
            }
            #expect(missing?.kind == .unavailable)
            #expect(FolderRemoval.names(in: folder.path).isEmpty)
        }
    }
}
