import JSON
import ProxyTestKit
import Testing

@testable import Browser

extension BrowserTests {
    /// What scripts make that no markup says, and frames that the static copy would load anew.
    @Suite("leaves nothing active in frozen pages:")
    struct FreezingActive {
        /// The targets of a page that is shown with scripts.
        private func targets(of frozen: Frozen) throws -> Set<String> {
            let page = try BrowserTests.shared().openPage(PageOptions(host: frozen.site.url("/")))
            defer { page.close() }
            _ = try page.load(frozen.site.url("/"), until: Deadline(milliseconds: 600_000))
            return Set(frozen.site.targets.filter { $0.hasPrefix("/pwn") })
        }

        @Test("elements, attributes and texts that become others in markup")
        func names() throws {
            let script = #"""
                const d = document.body, html = 'http://www.w3.org/1999/xhtml';
                for (const n of ['xmp', 'noembed', 'noframes', 'iframe', 'style', 'title', 'textarea', 'plaintext']) {
                  const e = document.createElement(n);
                  e.append(document.createTextNode('</' + n + '><script>new Image().src="/pwn-' + n + '"<\/script>'));
                  d.append(e);
                }
                const deep = document.createElement('xmp');
                deep.append('</xmp><xmp>&lt;/xmp></xmp><svg><style><img title="</style><img src=x onerror=a()>">');
                d.append(deep);
                for (const [ns, n] of [['urn:x', 'script'], ['http://www.w3.org/1998/Math/MathML', 'script'], [html, 'SCRIPT']]) {
                  const e = document.createElementNS(ns, n); e.append('new Image().src="/pwn-ns"'); d.append(e);
                }
                const i = new Image(); i.src = '/missing.png';
                i.setAttributeNS('urn:x', 'onerror', 'new Image().src="/pwn-attr"'); d.append(i);
                const make = (n, attributes) => {
                  const e = document.createElementNS('urn:x', n);
                  for (const name in attributes) e.setAttribute(name, attributes[name]);
                  d.append(e);
                };
                make('iframe', { src: 'javascript:parent.document.body.append(new Image().src="/pwn-url")' });
                make('iframe', { srcdoc: '<script>new Image().src="/pwn-srcdoc"<\/script>' });
                make('iframe', { src: 'data:text/html,<script>fetch("http://127.0.0.1/pwn")<\/script>' });
                make('base', { href: 'http://127.0.0.1:1/' });
                make('meta', { 'http-equiv': 'refresh', content: '0;url=/pwn-refresh' });
                make('form', { id: 'made', onsubmit: 'x()' });
                const host = document.createElement('div'); d.append(host);
                host.attachShadow({ mode: 'open' }).append(document.createElementNS('urn:x', 'script'), 'shadow');
                const pre = document.createElement('pre'); pre.id = 'pre'; pre.textContent = '\n\nlines'; d.append(pre);
                """#
            let page = "<!doctype html><title>Names</title><body><p id=p>text</p><script>\(script)</script>"
            let site = try Site(["/": Site.Answer(page)])
            let frozen = try Frozen(site)
            #expect(try targets(of: frozen) == [])
            #expect(
                try frozen.value(
                    "document.querySelectorAll('script, base, noscript, meta[http-equiv], [onerror], [onsubmit], iframe[src]').length"
                ).integerValue == 0)
            // That without a source shows an empty document still.
            #expect(try frozen.text("document.querySelector('iframe[srcdoc]').contentDocument.body.innerHTML") == "")
            #expect(try frozen.text("p.textContent + pre.textContent") == "text\n\nlines")
            #expect(try frozen.text("document.querySelector('div').shadowRoot.textContent") == "shadow")
        }

        @Test(
            "documents that ask for trusted types, whose own policies are not asked",
            arguments: ["", "; trusted-types page default", "; trusted-types 'none'"])
        func trustedTypes(allowed: String) throws {
            let page = """
                <!doctype html><title>Trusted</title><p id=text>text</p><canvas id=canvas onclick="1" width=3 height=3></canvas>
                <iframe id=frame srcdoc="<!doctype html><p>inner"></iframe><object id=object data=page.html></object>
                <embed id=embed src=page.html><script>
                try {
                  window.trustedTypes.createPolicy('default', { createHTML: text => '<p>by the page', createScriptURL: text => text });
                } catch {}
                const made = document.createElementNS('http://www.w3.org/1999/xhtml', 'xmp');
                made.textContent = '</xmp><img src=x onerror="1">';
                document.body.append(made);
                </script>
                """
            let site = try Site(["/page.html": .init("<!doctype html><p>page")])
            let policy = "require-trusted-types-for 'script'" + allowed
            site.set("/", .init(page, fields: "Content-Security-Policy: \(policy)\r\n"))
            let frozen = try Frozen(site)
            #expect(try frozen.text("text.textContent") == "text")
            #expect(!frozen.markup.contains("onerror") && !frozen.markup.contains("onclick"))
            #expect(!frozen.markup.contains("by the page"))
            #expect(try frozen.text("document.getElementById('frame').contentDocument.body.textContent") == "inner")
            let named = [site.url("/page.html"), site.url("/page.html")].joined(separator: ",")
            #expect(try frozen.text("[object.data, embed.src].join()") == named)
        }

        @Test("plain text is kept to its end")
        func plain() throws {
            let site = try Site(["/": Site.Answer("<!doctype html><p>a<plaintext id=plain>\n<b>x</b></body>")])
            let frozen = try Frozen(site)
            #expect(try frozen.text("plain.localName + plain.textContent") == "pre\n<b>x</b></body>")
        }

        @Test("frames that the page did not allow, and documents in URLs")
        func blocked() throws {
            let site = try Site([
                "/": Site.Answer(
                    """
                    <!doctype html><meta http-equiv=content-security-policy content="frame-src 'self'">
                    <iframe id=data src="data:text/html,<script>parent.x=1</script>"></iframe>
                    <iframe id=framed src="/denied"></iframe>
                    <object id=svg data="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>"></object>
                    """),
                "/denied": Site.Answer("<script>1</script>", fields: "X-Frame-Options: DENY\r\n"),
            ])
            let frozen = try Frozen(site)
            #expect(try frozen.value("data.hasAttribute('src') || framed.hasAttribute('src')").boolValue == false)
            #expect(frozen.result.page.droppedScripts == 0)
            #expect(frozen.site.targets == ["/"])
        }

        @Test("frames that were never seen are loaded, and frozen as others")
        func late() throws {
            let site = try Site([
                "/": Site.Answer(
                    """
                    <!doctype html><details><iframe id=a src="/a" loading=lazy></iframe></details>
                    <iframe id=b src="/b" loading=lazy style="display: none"></iframe>
                    """),
                "/a": Site.Answer("<p id=p>old</p><script>p.textContent = 'new'</script>"),
                "/b": Site.Answer("<p>b<iframe src=/c loading=lazy style='position:absolute;left:-99999px'></iframe>"),
                "/c": Site.Answer("<p>c<script>1</script>"),
            ])
            let frozen = try Frozen(site)
            #expect(Set(frozen.result.page.documents.map(\.url)) == Set(["/", "/a", "/b", "/c"].map { site.url($0) }))
            #expect(try frozen.text("a.contentDocument.body.textContent").contains("new"))
            #expect(frozen.result.page.droppedScripts == 2)
        }

        @Test("frames that the static copy alone loads are frozen too, or empty")
        func unloaded() throws {
            // The frame's content shows without scripts alone.
            let site = try Site([
                "/": Site.Answer(
                    """
                    <!doctype html><div id=host></div><script>
                    const frame = document.createElementNS('urn:x', 'iframe');
                    frame.setAttribute('src', '\\u002Ff'); host.append(frame)</script>
                    """),
                "/f": Site.Answer("<p>frame<script>1</script><img src=x onerror=y()>"),
            ])
            let session = try BrowserTests.shared()
            let capture = PageCapture(url: site.url("/"))
            var result = try capture.capture(in: session)
            site.replace(by: result.page)
            let page = try capture.reload(result, in: session)
            defer { page.close() }
            #expect(try capture.addLateFrames(of: page, to: &result))
            #expect(result.page.late == [site.url("/f")])
            let document = try #require(result.page.documents.last)
            let markup = String(decoding: document.markup, as: UTF8.self)
            #expect(document.url == site.url("/f"))
            #expect(markup.contains("frame") && !markup.contains("<script") && !markup.contains("onerror"))
            site.replace(by: result.page)
            let second = try capture.reload(result, in: session)
            defer { second.close() }
            #expect(try !capture.addLateFrames(of: second, to: &result))
        }
    }
}
