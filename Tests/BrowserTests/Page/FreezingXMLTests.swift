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
            _ = try page.load(site.url(path), until: Deadline(milliseconds: 600_000))
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

        @Test("a style sheet for XML, which browsers show as XML")
        func xsl() throws {
            let sheet = """
                <html xmlns='http://www.w3.org/1999/xhtml'><head><title>Sheet</title></head><body><p id='p'>old</p>
                <script>document.getElementById('p').textContent = 'new'; new Image().src = '/pwn-xsl'</script></body></html>
                """
            let answers = [
                "/": Site.Answer("<!doctype html><title>Page</title><iframe src=/t.xsl></iframe>"),
                "/t.xsl": Site.Answer(sheet, "text/xsl"),
            ]
            for path in ["/", "/t.xsl"] {
                let frozen = try Frozen(Site(answers), path)
                let document = try document("/t.xsl", of: frozen)
                #expect(document.mediaType == "text/xsl" && frozen.result.page.droppedScripts == 1)
                #expect(String(decoding: document.markup, as: UTF8.self).contains(">new</p>"))
                #expect(try pwned(frozen.site, path) == [])
            }
        }

        @Test("XHTML that has no URL of its own, whose elements of other namespaces do not become HTML")
        func embeddedXHTML() throws {
            let text = """
                <html xmlns='http://www.w3.org/1999/xhtml'><head><title>x</title></head><body><p>kept</p>
                <iframe xmlns='urn:x' srcdoc="&lt;script>new Image().src='ORIGIN/pwn-srcdoc'&lt;/script>"></iframe>
                <object xmlns='urn:x' data="data:text/html,&lt;script>new Image().src='ORIGIN/pwn-object'&lt;/script>"></object>
                <meta xmlns='urn:x' http-equiv='refresh' content='0;url=ORIGIN/pwn-meta'/></body></html>
                """.replacing("</script>", with: "<\\/script>")
            let page = """
                <!doctype html><title>Page</title><iframe id=a></iframe><iframe id=b></iframe><script>
                const text = `\(text)`.replaceAll('ORIGIN', location.origin);
                a.src = URL.createObjectURL(new Blob([text], { type: 'application/xhtml+xml' }));
                b.src = 'data:application/xhtml+xml,' + encodeURIComponent(text);</script>
                """
            let frozen = try Frozen(Site(["/": Site.Answer(page)]))
            for name in ["a", "b"] {
                let source = try frozen.text("\(name).src")
                #expect(source.hasPrefix("data:application/xhtml+xml;charset=utf-8,"), "\(source)")
                #expect(source.contains("kept"))
            }
            #expect(try pwned(frozen.site, "/") == [])
        }

        @Test("the line feeds that elements begin with, which no parser of XML drops")
        func lineFeeds() throws {
            let page = """
                <html xmlns='http://www.w3.org/1999/xhtml'><head><title>Feeds</title></head><body><pre id='pre'>
                code</pre><textarea id='area'>
                text</textarea></body></html>
                """
            let frozen = try Frozen(Site(["/": Site.Answer(page, "application/xhtml+xml")]))
            #expect(try frozen.text("document.getElementById('pre').textContent") == "\ncode")
            #expect(try frozen.text("document.getElementById('area').value") == "\ntext")
        }

        private static func scripted(_ script: String) -> Site.Answer {
            Site.Answer(
                """
                <?xml-stylesheet type="text/css" href="data:text/css,rect{fill:red}/*?&gt;*/"?>
                <svg \(namespaces) width="50" height="50"><title>Made</title><rect id="r" width="50" height="50"/><text id="t" y="20">x</text>
                <script><![CDATA[ const d = document, root = d.documentElement, t = d.getElementById('t'); \(script) ]]></script></svg>
                """, "image/svg+xml")
        }

        @Test(
            "what scripts make that XML can't say is left out, and the rest is read as it was",
            arguments: [
                "root.append(d.createComment('a -- b'), d.createComment('ends in -'))",
                "t.textContent = 'a' + String.fromCharCode(12, 0xFFFF, 0xD800) + 'b'",
                "t.setAttribute('class', String.fromCharCode(1))",
                """
                root.append(...new DOMParser().parseFromString(
                  '<b @click=x v-on:a.b=y xmlns=z id=kept>bold</b><o:p>text</o:p><a"b>c</a"b>', 'text/html').body.childNodes)
                """,
                #"d.insertBefore(d.implementation.createDocumentType('svg', 'p"\'x', 's"\'>'), root)"#,
                "d.insertBefore(d.implementation.createDocumentType('svg', 'only public', ''), root)",
                "d.insertBefore(d.implementation.createDocumentType('svg', 'p{}', 's'), root)",
            ])
        func unwritable(script: String) throws {
            let site = try Site([
                "/": Site.Answer("<!doctype html><title>Page</title><iframe src=/made.svg></iframe>"),
                "/made.svg": Self.scripted(script),
            ])
            let frozen = try Frozen(site)
            let markup = String(decoding: try document("/made.svg", of: frozen).markup, as: UTF8.self)
            func text(_ expression: String) throws -> String { try frozen.text(expression, inFrame: "/made.svg") }
            #expect(try text("String(document.querySelector('parsererror'))") == "null", "\(markup)")
            #expect(try text("document.querySelector('title').textContent") == "Made")
            #expect(try text("getComputedStyle(document.getElementById('r')).fill") == "rgb(255, 0, 0)", "\(markup)")
            if script.contains("kept") {
                #expect(try text("document.getElementById('kept').textContent") == "bold")
                #expect(try text("document.documentElement.textContent").contains("textc"))
            }
        }

        @Test("what can't be written as XML at all is no page; a frame of it is frozen as it is without scripts")
        func deep() throws {
            // Deeper than what browsers read.
            let script = """
                let inner = root.appendChild(d.createElementNS('urn:x', 'defs')); root.setAttribute('display', 'none');
                for (let i = 0; i < 6000; i += 1) inner = inner.appendChild(d.createElementNS('urn:x', 'g'));
                """
            let site = try Site([
                "/": Site.Answer("<!doctype html><title>Page</title><iframe src=/made.svg></iframe>"),
                "/made.svg": Self.scripted(script),
            ])
            #expect {
                try Frozen(site, "/made.svg")
            } throws: { error in
                guard let failure = error as? BrowserFailure else { return false }
                return failure.message.contains("can't be written as XML")
            }
            let frozen = try Frozen(site)
            #expect(frozen.result.page.documents.count == 1)
        }

        @Test("a document that has an error is frozen as far as the browser shows it")
        func erroneous() throws {
            let drawing = "<svg xmlns='http://www.w3.org/2000/svg'><title>E</title><g></svg>"
            let frozen = try Frozen(Site(["/e.svg": Site.Answer(drawing, "image/svg+xml")]), "/e.svg")
            #expect(frozen.markup.contains("parsererror") && frozen.markup.contains("<title>E</title>"))
        }

        @Test(
            "what a style sheet for XML makes of it, without what the browser says of that",
            arguments: ["/", "/x.xml"])
        func transformed(path: String) throws {
            let sheet = """
                <xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'><xsl:template match='/'>
                <html><head><title>made</title></head><body><p>made of <xsl:value-of select='/r'/></p></body></html>
                </xsl:template></xsl:stylesheet>
                """
            let frozen = try Frozen(
                Site([
                    "/": Site.Answer("<!doctype html><title>Page</title><iframe src=/x.xml></iframe>"),
                    "/x.xml": Site.Answer("<?xml-stylesheet type='text/xsl' href='/x.xsl'?><r>one</r>", "text/xml"),
                    "/x.xsl": Site.Answer(sheet, "text/xsl"),
                ]), path)
            let markup = String(decoding: try document("/x.xml", of: frozen).markup, as: UTF8.self)
            #expect(markup.contains("<p>made of one</p>") && !markup.contains("banner"), "\(markup)")
        }
    }
}
