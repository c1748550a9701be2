import JSON
import Testing

@testable import Browser

extension BrowserTests.Freezing {
    @Suite("frames")
    struct Frames {
        @Test("in quirks mode, which stay in it without a URL of their own")
        func quirks() throws {
            let page = """
                <!doctype html><title>Quirks</title>
                <iframe name=written></iframe><iframe name=strict srcdoc="<!doctype html><p>strict"></iframe>
                <iframe name=plain srcdoc="<p>plain"></iframe><iframe name=empty></iframe>
                <iframe name=named src="data:text/html,<p>named"></iframe>
                <script>
                frames[0].document.write('<div style="font-size: 30px"><table><tr><td>cell</table></div>');
                frames[0].document.close();
                </script>
                """
            let frozen = try Frozen(Site(["/": .init(page)]))
            let ways = "[...document.querySelectorAll('iframe')].map(e => e.hasAttribute('srcdoc')).join()"
            #expect(try frozen.text(ways) == "false,true,true,true,false")
            let cell =
                "document.compatMode + getComputedStyle(document.querySelector('td') ?? document.body).fontSize"
            let end = "%3E%3C%2Fbody%3E%3C%2Fhtml%3E"
            #expect(try frozen.text(cell, inFrame: "table%3E%3C%2Fdiv" + end) == "BackCompat16px")
            #expect(try frozen.text(cell, inFrame: "named%3C%2Fp" + end) == "BackCompat16px")
        }

        @Test("with the fragments of their URLs, or without", arguments: [true, false])
        func fragments(isNamed: Bool) throws {
            let page = "<!doctype html><title>Named</title><iframe id=frame src=frame.html#part></iframe>"
            let site = try Site(["/": .init(page), "/frame.html": .init("<!doctype html><p id=part>part")])
            let frozen = try Frozen(site) { $0.namesFragments = isNamed }
            #expect(try frozen.text("frame.src") == site.url(isNamed ? "/frame.html#part" : "/frame.html"))
            #expect(try frozen.text("document.body.innerText", inFrame: "/frame.html") == "part")
        }

        @Test("of objects, in whose place their content was shown")
        func objects() throws {
            let page = """
                <!doctype html><title>Objects</title>
                <object id=failed data=none.html type="text/html"><b id=instead>instead</b></object>
                <object id=drawn data=picture.svg><b>none</b></object><object id=page data=page.html><b>none</b></object>
                """
            let site = try Site([
                "/": .init(page), "/picture.svg": Site.picture(), "/page.html": .init("<!doctype html><p>page"),
            ])
            let frozen = try Frozen(site)
            // As formats without statuses give it back.
            site.set("/none.html", .init("<p>an error page"))
            let named = "[failed, drawn, page].map(e => e.hasAttribute('data')).join()"
            #expect(try frozen.text(named) == "false,true,true")
            #expect(try frozen.value("instead.getClientRects().length").integerValue == 1)
            #expect(frozen.result.page.late.isEmpty)
        }

        @Test("of objects, which show pictures of blobs; a document in a blob stays one without its scripts")
        func blobs() throws {
            let page = """
                <!doctype html><title>Blobs</title><object id=o type="image/png"></object><div id=host></div>
                <object id=drawn></object><object id=text></object>
                <script>
                const canvas = Object.assign(document.createElement('canvas'), { width: 40, height: 30 });
                canvas.getContext('2d').fillRect(0, 0, 40, 30);
                const made = (text, type) => URL.createObjectURL(new Blob([text], { type }));
                canvas.toBlob(blob => {
                  const shadow = host.attachShadow({ mode: 'open' });
                  shadow.innerHTML = '<object id=inner></object>';
                  shadow.firstChild.data = URL.createObjectURL(blob);
                  o.data = URL.createObjectURL(blob);
                });
                drawn.data = made('<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><script>top.x = 1<\\/script></svg>',
                  'image/svg+xml');
                text.data = made('<p>inside<script>top.y = 1<\\/script>', 'text/html');
                </script>
                """
            let frozen = try Frozen(Site(["/": .init(page)]))
            let size =
                "[o, host.shadowRoot.firstChild].map(e => e.data.split(',')[0] + e.offsetWidth + 'x' + e.offsetHeight).join()"
            #expect(try frozen.text(size) == "data:image/png;base6440x30,data:image/png;base6440x30")
            #expect(!frozen.markup.contains("blob:"))
            #expect(!frozen.markup.contains("top.x") && !frozen.markup.contains("top.y"))
        }

        @Test("have a time of their own, but the page's own frame has all that there is")
        func ownTime() throws {
            let site = try Site(["/": .init("<!doctype html><title>Busy</title><p>text")])
            var options = PageOptions(host: site.url("/"))
            options.frameTime = 100
            // A browser of its own: a page that is busy holds up others of its host.
            let session = try BrowserSession(BrowserTests.options, interruption: BrowserInterruption())
            defer { session.close() }
            let page = try session.openPage(options)
            let deadline = Deadline(milliseconds: 600_000)
            _ = try page.load(site.url("/"), until: deadline)
            page.connection.send(
                "Runtime.evaluate",
                ["expression": "for (const end = Date.now() + 2000; Date.now() < end;);"], session: page.session)
            #expect(try page.freeze(until: deadline).title == "Busy")
        }
    }
}
