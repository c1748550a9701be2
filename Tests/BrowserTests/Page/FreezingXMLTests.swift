import JSON
import ProxyTestKit
import Testing

@testable import Browser

extension BrowserTests {
    /// Documents that are XML: SVG, XHTML and others, as pages and in frames.
    @Suite("freezes XML:")
    struct FreezingXML {
        private static let namespaces =
            "xmlns='http://www.w3.org/2000/svg' xmlns:x='http://www.w3.org/1999/xlink' xmlns:h='http://www.w3.org/1999/xhtml'"

        /// A drawing with all that may run; each of it would ask for `/pwn…`.
        private static let drawing = """
            <?xml version="1.0"?><?xml-stylesheet type="text/css" href="sheet.css"?>
            <!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
            <svg \(namespaces) width="90" height="90" onload="new Image().src='/pwn-load'">
            <title>Drawing</title><style>#s { fill: rgb(1, 2, 3) }</style>
            <h:script>new Image().src = '/pwn-html'</h:script><script x:href="/pwn.js"/>
            <text id="t" y="20">text</text><rect id="s" width="5" height="5"/><rect id="u" width="5" height="5"/>
            <a id="a" x:href="java&#115;cript:void(new Image().src='/pwn-link')"><rect width="1" height="1"/></a>
            <a id="b"><set attributeName="href" to="javascript:void(new Image().src='/pwn-link')"/><animate attributeName="x:href"
              values="#;javascript:void(new Image().src='/pwn-link')" dur="9s"/><rect width="1" height="1"/></a>
            <image id="i" width="4" height="4" href="in.svg"/>
            <foreignObject width="80" height="20"><h:div onclick="x()">
              <h:iframe id="f" src="javascript:void(new Image().src='/pwn-frame')"/><h:img src="none" onerror="new Image().src='/pwn-error'"/>
              <h:base href="/"/><h:input id="v" value="old"/></h:div></foreignObject>
            <script><![CDATA[ new Image().src = '/pwn-script'; top.document.createElement('img').src = '/pwn-top';
              document.getElementById('t').textContent = 'a < b & c'; document.getElementById('v').value = 'new';
              document.querySelector('style').sheet.insertRule('#u { fill: rgb(4, 5, 6) }'); ]]></script>
            </svg>
            """

        private static var answers: [String: Site.Answer] {
            [
                "/d.svg": Site.Answer(drawing, "image/svg+xml"),
                "/sheet.css": Site.Answer("#t { fill: red }", "text/css"),
                "/in.svg": Site.picture(), "/pwn.js": Site.Answer("new Image().src = '/pwn-js'", "text/javascript"),
            ]
        }

        /// What a page of the frozen site asks for that it is not to ask for, with scripts on.
        private func pwned(_ site: Site, _ path: String) throws -> Set<String> {
            let page = try BrowserTests.shared().openPage(PageOptions(host: site.url("/")))
            defer { page.close() }
            _ = try page.load(site.url(path), until: Deadline(milliseconds: 30_000))
            return site.targets.filter { $0.hasPrefix("/pwn") }
        }

        private func document(_ end: String, of frozen: Frozen) throws -> FrozenPage.Document {
            try #require(frozen.result.page.documents.first { $0.url.hasSuffix(end) }, "\(end)")
        }

        private func check(_ document: FrozenPage.Document) {
            let markup = String(decoding: document.markup, as: UTF8.self)
            #expect(markup.hasSuffix("</svg>"))
            #expect(document.mediaType == "image/svg+xml")
            for gone in ["script", "onload", "onclick", "onerror", "pwn", "<h:base"] {
                #expect(!markup.contains(gone), "\(gone): \(markup)")
            }
            let kept = [
                "<?xml-stylesheet type=\"text/css\" href=\"http://127.0.0.1:", "//W3C//DTD SVG 1.1//EN",
                "a &lt; b &amp; c",
                "rgb(1, 2, 3)", "rgb(4, 5, 6)", "value=\"new\"", "/in.svg\"",
            ]
            for text in kept { #expect(markup.contains(text), "\(text): \(markup)") }
        }

        @Test(
            "drawings in frames of each kind, without what would run",
            arguments: ["iframe src", "object data", "embed src"])
        func frames(element: String) throws {
            var answers = Self.answers
            answers["/"] = Site.Answer("<!doctype html><title>Page</title><\(element)='/d.svg'></iframe></object>")
            let frozen = try Frozen(Site(answers))
            check(try document("/d.svg", of: frozen))
            #expect(frozen.result.page.droppedScripts == 3)
            #expect(frozen.site.targets == ["/", "/d.svg", "/sheet.css", "/in.svg", "/none"])
            func text(_ expression: String) throws -> String { try frozen.text(expression, inFrame: "/d.svg") }
            #expect(try text("document.getElementById('t').textContent") == "a < b & c")
            #expect(try text("getComputedStyle(document.getElementById('u')).fill") == "rgb(4, 5, 6)")
            #expect(try text("getComputedStyle(document.getElementById('t')).fill") == "rgb(255, 0, 0)")
            #expect(try text("document.getElementById('v').value") == "new")
            #expect(try pwned(frozen.site, "/") == [])
        }

        @Test("a drawing that is the page")
        func page() throws {
            let frozen = try Frozen(Site(Self.answers), "/d.svg")
            #expect(frozen.result.page.title == "Drawing" && frozen.result.page.mediaType == "image/svg+xml")
            check(try document("/d.svg", of: frozen))
            #expect(try pwned(frozen.site, "/d.svg") == [])
        }

        @Test("drawings that have no URL of their own")
        func embedded() throws {
            let script = "%3Cscript%3Enew Image().src='/pwn-data'%3C/script%3E"
            var answers = Self.answers
            answers["/"] = Site.Answer(
                """
                <!doctype html><title>Page</title>
                <iframe id=a src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'><title>in data</title>\(script)</svg>"></iframe>
                <iframe id=b></iframe><script>
                const text = "<svg xmlns='http://www.w3.org/2000/svg'><title>in a blob</title><script>top.document.createElement('img').src = '/pwn-blob'<\\/script></svg>";
                b.src = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));</script>
                """)
            let frozen = try Frozen(Site(answers))
            #expect(try frozen.text("a.src").contains("in%20data") && frozen.text("b.src").contains("in%20a%20blob"))
            #expect(try frozen.text("a.src + b.src").contains("script") == false)
            #expect(try frozen.text("a.src").hasPrefix("data:image/svg+xml;charset=utf-8,"))
            #expect(try pwned(frozen.site, "/") == [])
        }

        @Test("other XML, with its own elements alone where the browser shows it as a tree")
        func others() throws {
            let feed = "<?xml version='1.0'?><list xmlns='urn:f'><title>A &amp; b</title><item/></list>"
            let active = """
                <r xmlns='urn:r'><h:script xmlns:h='http://www.w3.org/1999/xhtml'>new Image().src = '/pwn-xml';
                document.documentElement.append('made')</h:script></r>
                """
            let only = "<script xmlns='http://www.w3.org/1999/xhtml'>new Image().src = '/pwn-only'</script>"
            let page = """
                <html xmlns='http://www.w3.org/1999/xhtml'><head><title>X</title></head><body onload="new Image().src='/pwn-x'">
                <p id='p'>old</p><script><![CDATA[ document.getElementById('p').textContent = 'new' ]]></script></body></html>
                """
            let frames = ["feed", "active", "only", "page"].map { "<iframe src=/\($0)></iframe>" }.joined()
            let frozen = try Frozen(
                Site([
                    "/": Site.Answer("<!doctype html><title>Page</title>\(frames)"),
                    "/feed": Site.Answer(feed, "application/xml"), "/active": Site.Answer(active, "text/xml"),
                    "/only": Site.Answer(only, "application/xml"),
                    "/page": Site.Answer(page, "application/xhtml+xml"),
                ]))
            func markup(_ end: String) throws -> String {
                String(decoding: try document(end, of: frozen).markup, as: UTF8.self)
            }
            #expect(try markup("/feed") == "<list xmlns=\"urn:f\"><title>A &amp; b</title><item/></list>")
            let types = ["/feed", "/active", "/only", "/page"].map { end in
                frozen.result.page.documents.first { $0.url.hasSuffix(end) }?.mediaType
            }
            #expect(types == ["application/xml", "text/xml", "application/xml", "application/xhtml+xml"])
            #expect(try markup("/active").contains("made") && !markup("/active").contains("script"))
            #expect(try !markup("/only").contains("script"))
            let shown = try markup("/page")
            #expect(shown.contains(">new</p>") && !shown.contains("onload"), "\(shown)")
            #expect(try pwned(frozen.site, "/") == [])
        }
    }
}
