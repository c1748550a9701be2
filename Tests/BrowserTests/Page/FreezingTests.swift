import JSON
import ProxyTestKit
import Testing

@testable import Browser

extension BrowserTests {
    /// What is frozen is looked at in the browser, its scripts off.
    @Suite("freezes")
    struct Freezing {
        @Test("images as they were loaded: lazy, by data-src, by an observer, of a srcset, of a picture, of a blob")
        func images() throws {
            let page = """
                <!doctype html><title>Images</title><body>
                <script>document.title = 'Images by script'</script>
                <img id=lazy loading=lazy src=lazy.svg style="margin-top:6000px">
                <img id=later data-src=later.svg>
                <img id=seen data-late=seen.svg>
                <img id=set src=small.svg srcset="small.svg 1x, exact.svg 1x, big.svg 2x">
                <picture><source srcset=picture.svg media="(min-width: 100px)"><img id=picture src=small.svg></picture>
                <img id=blob><img id=gone>
                <video id=video poster=poster.svg></video>
                <script>
                new IntersectionObserver((entries, observer) => entries.filter(e => e.isIntersecting).forEach(e => {
                  e.target.src = e.target.dataset.late; observer.unobserve(e.target) })).observe(seen);
                const make = keep => { const url = URL.createObjectURL(new Blob(
                  ['<svg xmlns="http://www.w3.org/2000/svg" width="5" height="7"/>'], {type: 'image/svg+xml'})); return url };
                blob.src = make();
                gone.onload = () => URL.revokeObjectURL(gone.src);
                gone.src = make();
                </script>
                """
            var answers = ["/": Site.Answer(page)]
            for (index, name) in ["lazy", "later", "seen", "small", "exact", "big", "picture", "poster"].enumerated() {
                answers["/\(name).svg"] = Site.picture(10 + index, 10)
            }
            let site = try Site(answers)
            let frozen = try Frozen(site)
            #expect(frozen.result.load.status == 200)
            #expect(frozen.result.page.title == "Images by script")
            #expect(frozen.result.page.droppedScripts == 2)
            for (id, file) in [
                ("lazy", "lazy"), ("later", "later"), ("seen", "seen"), ("set", "small"), ("picture", "picture"),
            ] {
                #expect(
                    try frozen.text("document.getElementById('\(id)').getAttribute('src')") == site.url("/\(file).svg"))
                #expect(try frozen.value("document.getElementById('\(id)').naturalWidth > 0").boolValue == true)
            }
            #expect(try frozen.text("document.getElementById('blob').src").hasPrefix("data:image/svg+xml;base64,"))
            #expect(try frozen.value("document.getElementById('blob').naturalWidth").integerValue == 5)
            #expect(try frozen.text("document.getElementById('gone').src").hasPrefix("data:image/png;base64,"))
            #expect(try frozen.value("document.getElementById('gone').naturalHeight").integerValue == 7)
            #expect(try frozen.text("document.getElementById('video').poster") == site.url("/poster.svg"))
            for gone in ["srcset", "loading", "<source", "<script"] { #expect(!frozen.markup.contains(gone)) }
            #expect(
                site.targets == [
                    "/", "/lazy.svg", "/later.svg", "/seen.svg", "/small.svg", "/picture.svg", "/poster.svg",
                ]
            )
        }

        /// A black picture (BMP, one bit a pixel): that of a vector has no pixels that a density counts.
        private static func bitmap(_ width: Int, _ height: Int) -> Site.Answer {
            func number(_ value: Int, _ count: Int) -> [UInt8] {
                (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            }
            let pixels = (width + 31) / 32 * 4 * height
            var bytes = Array("BM".utf8)
            for value in [62 + pixels, 0, 62, 40, width, height] { bytes += number(value, 4) }
            for value in [1, 1] { bytes += number(value, 2) }
            // No compression, two colours of no other use.
            bytes += [UInt8](repeating: 0, count: 24 + 8 + pixels)
            return Site.Answer(bytes, "image/bmp")
        }

        @Test("images of several at the size that their density gave them, unless styles say another one")
        func densities() throws {
            let page = """
                <!doctype html><title>Densities</title><body>
                <img id=wide srcset="small.bmp 100w, large.bmp 400w" sizes=200px>
                <img id=dense srcset="large.bmp 2x">
                <picture><source srcset="large.bmp 4x"><img id=picture src=small.bmp></picture>
                <div style="width: 120px"><img id=bound srcset="large.bmp 2x" style="max-width: 100%"></div>
                <img id=styled srcset="large.bmp 2x" style="width: 90px">
                <img id=sized srcset="large.bmp 2x" width=50><img id=one src=small.bmp>
                """
            let site = try Site([
                "/": Site.Answer(page), "/small.bmp": Freezing.bitmap(100, 10), "/large.bmp": Freezing.bitmap(400, 40),
            ])
            let frozen = try Frozen(site)
            let sizes = "[wide, dense, picture, bound, styled, sized, one].map(e => e.width + 'x' + e.height).join()"
            #expect(try frozen.text(sizes) == "200x20,200x20,100x10,120x12,90x9,50x5,100x10")
            #expect(!frozen.markup.contains("srcset"))
            let widths = "['bound', 'styled', 'one'].some(id => document.getElementById(id).hasAttribute('width'))"
            #expect(try frozen.value(widths).boolValue == false)
        }

        @Test("what blobs show that a policy of the page's lets nobody fetch")
        func unfetchedBlobs() throws {
            let page = """
                <!doctype html><title>Blobs</title><p id=styled>a</p>
                <svg width=9 height=9><image id=drawn width=5 height=7 /></svg>
                <script>
                const url = URL.createObjectURL(new Blob(
                  ['<svg xmlns="http://www.w3.org/2000/svg" width="5" height="7"/>'], { type: 'image/svg+xml' }));
                styled.style.backgroundImage = `url(${url})`;
                drawn.setAttribute('href', url);
                </script>
                """
            let policy = "default-src 'self' 'unsafe-inline'; img-src 'self' blob:"
            let frozen = try Frozen(
                Site(["/": Site.Answer(page, fields: "Content-Security-Policy: \(policy)\r\n")]))
            #expect(try frozen.text("getComputedStyle(styled).backgroundImage").hasPrefix("url(\"data:image/"))
            #expect(try frozen.text("drawn.getAttribute('href')").hasPrefix("data:image/"))
            #expect(!frozen.markup.contains("blob:"))
        }

        @Test("what forms, shadow roots, canvases and style sheets of the CSSOM show")
        func state() throws {
            let page = """
                <!doctype html><html onclick="x()"><head>
                <meta charset=iso-8859-1><meta http-equiv=Content-Security-Policy content="img-src 'self' data:">
                <meta http-equiv=refresh content="900;url=/other">
                <meta name=kept content=yes>
                <link rel=preload as=image href=unused.svg><link rel="dns-prefetch stylesheet" href=sheet.css>
                <style id=written>#c { background: url(img/written.svg) } @import "never.css";</style>
                <style id=inserted></style>
                <noscript><style>body { display: none }</style></noscript>
                </head><body>
                <noscript><img src=tracker.svg></noscript>
                <div id=a style="background-image: url('img/inline.svg')" onmouseover="y()">a</div><div id=b>b</div>
                <div id=c>c</div><div id=d>d</div>
                <form id=form action=send><input name=attributes><input name=id><input name=action>
                <input id=text value=old><input id=secret type=password value=p><input id=check type=checkbox>
                <input id=radio type=radio checked>
                <select id=select><option>1<option>2<option selected>3</select><textarea id=area>old</textarea></form>
                <a id=link href="javascript:alert(1)">x</a><a id=anchor href="#part">y</a><a id=relative href="x y?ü">z</a>
                <div id=host></div><div id=nested></div>
                <canvas id=canvas width=20 height=10 class=c>fallback</canvas>
                <pre id=pre>\n\nline</pre>
                <template id=template><script>1</script><p>inert</p></template>
                <svg><use href="#part"></use><image href="img/svg.svg" width=4 height=4 /></svg>
                <script>
                document.getElementById('text').value = 'new "ü"'; secret.value = 'typed'; check.checked = true;
                radio.checked = false; select.selectedIndex = 1; area.value = '\\nnew';
                inserted.sheet.insertRule('#b { color: rgb(1, 2, 3); background: url(img/inserted.svg) }');
                const sheet = new CSSStyleSheet(); sheet.replaceSync('#c { color: rgb(4, 5, 6) }');
                document.adoptedStyleSheets = [sheet];
                const root = host.attachShadow({mode: 'open', delegatesFocus: true});
                root.innerHTML = '<style>p { color: rgb(7, 8, 9) }</style><p id=p>shadow <slot></slot></p><div id=inner></div>';
                const own = new CSSStyleSheet(); own.replaceSync('#inner { color: rgb(10, 11, 12) }');
                root.adoptedStyleSheets = [own];
                root.getElementById('inner').attachShadow({mode: 'open'}).innerHTML = '<b id=deep>deep</b>';
                const context = canvas.getContext('2d'); context.fillStyle = 'red'; context.fillRect(0, 0, 20, 10);
                const late = document.createElement('link'); late.rel = 'stylesheet';
                late.href = URL.createObjectURL(new Blob(['#d { color: rgb(13, 14, 15) }'], {type: 'text/css'}));
                document.head.append(late);
                </script>
                """
            let names = ["written", "inline", "inserted", "svg", "sheet"]
            var answers = [
                "/dir/": Site.Answer(
                    page.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }, "text/html",
                    fields: "Content-Security-Policy: object-src 'none'\r\n"),
                "/dir/sheet.css": Site.Answer("#d { background: url(img/sheet.svg) }", "text/css"),
            ]
            for name in names { answers["/dir/img/\(name).svg"] = Site.picture() }
            let site = try Site(answers)
            let frozen = try Frozen(site, "/dir/")
            func text(_ expression: String) throws -> String { try frozen.text(expression) }
            func color(_ element: String) throws -> String { try text("getComputedStyle(\(element)).color") }

            #expect(try text("document.getElementById('text').value") == "new \"ü\"")
            #expect(try text("secret.value") == "")
            #expect(try frozen.value("[check.checked, radio.checked]").elements.map(\.boolValue) == [true, false])
            #expect(try text("select.value") == "2")
            #expect(try text("area.value") == "\nnew")
            #expect(try text("form.getAttribute('action')") == site.url("/dir/send"))

            #expect(try color("b") == "rgb(1, 2, 3)")
            #expect(try color("c") == "rgb(4, 5, 6)")
            #expect(try color("d") == "rgb(13, 14, 15)")
            #expect(try color("host.shadowRoot.getElementById('p')") == "rgb(7, 8, 9)")
            #expect(try color("host.shadowRoot.getElementById('inner')") == "rgb(10, 11, 12)")
            #expect(try text("host.shadowRoot.getElementById('inner').shadowRoot.textContent") == "deep")
            #expect(try frozen.value("host.shadowRoot.delegatesFocus").boolValue == true)

            #expect(try text("canvas.localName + canvas.className + canvas.width + 'x' + canvas.height") == "imgc20x10")
            #expect(try text("canvas.src").hasPrefix("data:image/png;base64,"))
            #expect(try text("pre.textContent") == "\nline")
            #expect(try text("template.innerHTML") == "<p>inert</p>")
            #expect(try text("document.querySelector('use').getAttribute('href')") == "#part")
            #expect(try frozen.value("link.hasAttribute('href')").boolValue == false)
            #expect(try text("anchor.getAttribute('href')") == "#part")
            #expect(try text("relative.getAttribute('href')") == site.url("/dir/x%20y?%FC"))
            #expect(try text("getComputedStyle(document.body).display") == "block")
            #expect(try text("document.characterSet + document.querySelectorAll('meta[charset]').length") == "UTF-81")
            #expect(try text("document.compatMode") == "CSS1Compat")
            #expect(try text("document.querySelector('meta[name=kept]').content") == "yes")
            for gone in [
                "<script", "<noscript", "refresh", "Security-Policy", "onclick", "onmouseover", "preload",
                "javascript:",
            ] {
                #expect(!frozen.markup.contains(gone), "\(gone)")
            }
            #expect(frozen.result.page.droppedScripts == 2)
            let pictures = Set(names.map { "/dir/img/\($0).svg" })
            #expect(site.targets == pictures.union(["/dir/", "/dir/sheet.css"]))
        }

        @Test("documents with a base, without a doctype, in another encoding")
        func base() throws {
            let page =
                Array("<html><head><title>".utf8) + [0xE9]
                + Array(
                    """
                    </title><base href="/deep/er/" target=_top><link rel=stylesheet href=s.css></head><body>
                    <img id=image src=i.svg><a id=fragment href="#x">x</a><a id=empty href="">y</a>
                    <p id=p style="background:url( i.svg )">p</p><table><td id=td>z</table>
                    <style>/* url(no.svg) */ p::after { content: "url(no.svg)"; background: url('i\\2e svg') }</style>
                    """.utf8)
            let site = try Site([
                "/": Site.Answer(page, "text/html; charset=iso-8859-1"), "/deep/er/i.svg": Site.picture(),
                "/deep/er/s.css": Site.Answer("@import 'more.css'; #p { color: red }", "text/css"),
                "/deep/er/more.css": Site.Answer("#td { color: rgb(1, 1, 1) }", "text/css"),
            ])
            let frozen = try Frozen(site)
            #expect(try frozen.text("document.title") == "é")
            #expect(try frozen.text("document.compatMode") == "BackCompat")
            #expect(try frozen.value("document.querySelector('base') === null").boolValue == true)
            #expect(try frozen.text("image.getAttribute('src')") == site.url("/deep/er/i.svg"))
            #expect(try frozen.text("fragment.getAttribute('href')") == site.url("/deep/er/#x"))
            #expect(try frozen.text("empty.getAttribute('href')") == site.url("/deep/er/"))
            #expect(try frozen.text("getComputedStyle(td).color") == "rgb(1, 1, 1)")
            #expect(site.targets == ["/", "/deep/er/i.svg", "/deep/er/s.css", "/deep/er/more.css"])
            #expect(frozen.markup.contains("/* url(no.svg) */"))
            #expect(frozen.markup.contains("content: \"url(no.svg)\""))
        }

        @Test("frames: of the same and of other origins, written by scripts, twice at one URL")
        func frames() throws {
            let other = "localhost"
            let site = try Site([:])
            site.set(
                "/",
                Site.Answer(
                    """
                    <!doctype html><title>Frames</title>
                    <iframe id=same src=same.html#f loading=lazy></iframe>
                    <iframe id=cross src="\(site.url("/cross.html", host: other))"></iframe>
                    <iframe id=srcdoc srcdoc="<p id=p>old</p><script>p.textContent = 'new &amp; &quot;q&quot;'</script>"></iframe>
                    <iframe id=written></iframe><iframe id=script src="javascript:'<p>by script</p>'"></iframe>
                    <iframe id=one src=twice.html></iframe><iframe id=two src=twice.html></iframe>
                    <iframe id=text src=plain.txt></iframe><iframe id=dead src="http://127.0.0.1:1/"></iframe>
                    <script>
                    written.contentDocument.write('<img src=w.svg><p>written</p>'); written.contentDocument.close();
                    onload = () => { two.contentDocument.body.textContent = 'second' }
                    </script>
                    """))
            site.set("/same.html", Site.Answer("<!doctype html><p id=p>x<script>p.textContent = 'same'</script>"))
            site.set(
                "/cross.html",
                Site.Answer(
                    """
                    <!doctype html><p id=p>x<img src=c.svg><script>p.firstChild.data = 'cross'</script>
                    <iframe src="\(site.url("/inner.html"))"></iframe>
                    """))
            site.set("/inner.html", Site.Answer("<p id=p>x<script>p.textContent = 'inner'</script>"))
            site.set("/twice.html", Site.Answer("<!doctype html><body>first"))
            site.set("/plain.txt", Site.Answer("plain", "text/plain"))
            for name in ["w", "c"] { site.set("/\(name).svg", Site.picture()) }
            let frozen = try Frozen(site)
            #expect(
                Set(frozen.result.page.documents.map(\.url)) == [
                    site.url("/"), site.url("/same.html"), site.url("/cross.html", host: other),
                    site.url("/inner.html"),
                    site.url("/twice.html"),
                ])
            #expect(frozen.result.page.documents.first?.url == site.url("/"))
            #expect(try frozen.text("same.getAttribute('src')") == site.url("/same.html#f"))
            #expect(try frozen.text("document.body.textContent", inFrame: "/same.html").contains("same"))
            #expect(try frozen.text("document.body.textContent", inFrame: "/cross.html").contains("cross"))
            #expect(try frozen.text("document.body.textContent", inFrame: "/inner.html").contains("inner"))
            #expect(try frozen.text("srcdoc.contentDocument.body.textContent") == "new & \"q\"")
            let end = "%3C%2Fp%3E%3C%2Fbody%3E%3C%2Fhtml%3E"
            #expect(try frozen.text("document.body.textContent", inFrame: "written" + end) == "written")
            #expect(try frozen.text("document.body.textContent", inFrame: "by%20script" + end) == "by script")
            #expect(try frozen.text("one.contentDocument.body.textContent").contains("first"))
            #expect(try frozen.text("two.contentDocument.body.textContent") == "second")
            #expect(try frozen.value("dead.hasAttribute('src')").boolValue == false)
            #expect(
                site.targets == [
                    "/", "/same.html", "/cross.html", "/inner.html", "/twice.html", "/plain.txt", "/w.svg", "/c.svg",
                ])
            // Two were replaced by what they wrote; the error page of the dead frame has some that are not the page's.
            #expect(frozen.result.page.droppedScripts == 3)
        }

        @Test("what is empty as it stands where a base goes, but for anchors, which the base is meant by")
        func emptyURLs() throws {
            let page = """
                <!doctype html><base href="/s/"><img id=none><img id=image src=""><video id=video poster=""></video>
                <iframe id=frame src=""></iframe><form id=form action=""><button id=button formaction=""></button>
                <input id=input type=image src=" "></form><link id=icon rel=icon href=""><a id=anchor href="">x</a>
                <img id=later src="" data-src=later.svg><svg><image id=drawn href="" width=4 height=4 /></svg>
                """
            let site = try Site(["/dir/page": Site.Answer(page), "/s/later.svg": Site.picture()])
            let frozen = try Frozen(site, "/dir/page")
            func text(_ id: String, _ name: String) throws -> String {
                try frozen.text("document.getElementById('\(id)').getAttribute('\(name)') ?? 'none'")
            }
            #expect(try text("none", "src") == "none")
            for (id, name) in [
                ("image", "src"), ("video", "poster"), ("form", "action"), ("button", "formaction"), ("icon", "href"),
                ("drawn", "href"),
            ] {
                #expect(try text(id, name) == "", "\(id)")
            }
            #expect(try text("input", "src") == " ")
            #expect(!(try text("frame", "src").contains("/s/")))
            #expect(try text("later", "src") == site.url("/s/later.svg"))
            #expect(try text("anchor", "href") == site.url("/s/"))
            #expect(site.targets == ["/dir/page", "/s/later.svg"])
        }

        @Test("pictures whose URLs in styles have escapes that end in a blank")
        func escapedURLs() throws {
            let page = #"""
                <!doctype html><base href="/s/"><style>b { background: url(\61 b.svg) } i { background: url( c.sv\67 ) }</style>
                <p style="background: url(\00006eb.svg)">p</p><q style="background: url(q\29\20\64 .svg)">q</q><b>b</b><i>i</i>
                """#
            let names = ["ab", "nb", "c", "q)%20d"]
            var answers = ["/dir/page": Site.Answer(page)]
            for name in names { answers["/s/\(name).svg"] = Site.picture() }
            let site = try Site(answers)
            let frozen = try Frozen(site, "/dir/page")
            #expect(site.targets == Set(names.map { "/s/\($0).svg" } + ["/dir/page"]), "\(frozen.markup)")
        }

        @Test("the URLs that anchors ping, each made absolute")
        func pings() throws {
            let page = """
                <!doctype html><base href="/s/"><a id=a ping="pg  ../up javascript:1 " href=x>x</a>
                <map><area id=area ping=pg href=x></map>
                """
            let site = try Site(["/dir/page": Site.Answer(page)])
            let frozen = try Frozen(site, "/dir/page")
            #expect(try frozen.text("a.getAttribute('ping')") == "\(site.url("/s/pg")) \(site.url("/up"))")
            #expect(try frozen.text("area.getAttribute('ping')") == site.url("/s/pg"))
        }

        @Test("URLs of image sets and of SVG's style sheets, sheets without a charset, and alternate ones that are off")
        func sheets() throws {
            let page = """
                <!doctype html><meta charset=windows-1251><base href=/deep/>
                <style>p { background: image-set("set.svg" type("image/svg+xml") 1x, url(set2.svg) 2x) }</style>
                <link rel=stylesheet href=/plain.css><link rel="alternate stylesheet" title=other href=/other.css>
                <svg width=9 height=9><style>rect { fill: url(paint.svg#a) }</style>
                <a><animate attributeName=href to="javascript:alert(1)"/></a></svg><p id=text>text
                """
            let site = try Site([
                "/": Site.Answer(Array(page.utf8), "text/html; charset=windows-1251"),
                "/plain.css": Site.Answer(
                    [0x70, 0x3A, 0x3A, 0x61, 0x66, 0x74, 0x65, 0x72] + Array("{content:'".utf8) + [0xC4]
                        + Array("'}".utf8), "text/css"),
                "/other.css": Site.Answer("p { color: rgb(1, 2, 3) }", "text/css"),
                "/deep/set.svg": Site.picture(),
            ])
            let frozen = try Frozen(site)
            #expect(frozen.markup.contains("image-set(\"\(site.url("/deep/set.svg"))\""))
            #expect(frozen.markup.contains("type(\"image/svg+xml\")"))
            #expect(frozen.markup.contains("\(site.url("/deep/paint.svg#a"))"))
            #expect(!frozen.markup.contains("javascript:"))
            let content = "getComputedStyle(document.getElementById('text'), '::after').content"
            #expect(try frozen.text(content) == "\"Д\"")
            #expect(try frozen.text("getComputedStyle(document.getElementById('text')).color") == "rgb(0, 0, 0)")
        }

        @Test("XHTML as XML")
        func xhtml() throws {
            let page = """
                <?xml version="1.0"?><!DOCTYPE html>
                <html xmlns="http://www.w3.org/1999/xhtml"><head><title>X &amp; Y</title><base href="/deep/"/>
                <style><![CDATA[p > b { color: rgb(1, 2, 3) }]]></style></head><body>
                <p id="p"><b id="b">x</b><br/></p><img src="i.svg" onload="x()"/>
                <script><![CDATA[document.getElementById('b').textContent = 'a < b']]></script></body></html>
                """
            let site = try Site([
                "/": Site.Answer(page, "application/xhtml+xml"), "/deep/i.svg": Site.picture(),
            ])
            let frozen = try Frozen(site)
            #expect(frozen.result.page.mediaType == "application/xhtml+xml")
            #expect(try frozen.text("document.contentType") == "application/xhtml+xml")
            #expect(try frozen.text("document.title + document.getElementById('b').textContent") == "X & Ya < b")
            #expect(try frozen.text("getComputedStyle(document.getElementById('b')).color") == "rgb(1, 2, 3)")
            #expect(site.targets == ["/", "/deep/i.svg"])
        }

        @Test("what styles give to canvases by their name, in the pictures in their place")
        func canvasStyles() throws {
            let page = """
                <!doctype html><title>Canvas</title><style>canvas { outline: 5px solid rgb(6, 6, 6); border-radius: 9px;
                filter: blur(1px); box-shadow: rgb(255, 0, 0) 0px 0px 3px 0px; border: 1px solid rgb(1, 2, 3); border-left-width: 4px;
                translate: 3px; mix-blend-mode: multiply; order: 2 }</style>
                <div style="display: flex"><canvas id=k width=9 height=9></canvas><i>after</i></div>
                """
            let frozen = try Frozen(Site(["/": .init(page)]))
            let names =
                "['outline', 'borderTopLeftRadius', 'filter', 'boxShadow', 'borderLeftWidth', 'borderTopColor', 'translate', 'mixBlendMode', 'order']"
            #expect(
                try frozen.text("\(names).map(name => getComputedStyle(k)[name]).join('; ')")
                    == "rgb(6, 6, 6) solid 5px; 9px; blur(1px); rgb(255, 0, 0) 0px 0px 3px 0px; 4px; rgb(1, 2, 3); 3px; multiply; 2"
            )
            #expect(try frozen.text("k.localName") == "img")
        }

        @Test("what hostile markup would break: names of forms, comments, ends of style sheets, types of blobs")
        func hostile() throws {
            let page = """
                <!doctype html><title>Hostile</title>
                <form name=documentElement></form><form name=doctype></form><img name=title><form name=baseURI></form>
                <form id=form><input name=attributes><input name=shadowRoot><input name=firstChild><input name=nodeType>
                </form><p id=p>text</p><img id=blob>
                <script>
                Element.prototype.getAttribute = Array.from = Map.prototype.get = () => 'changed';
                document.body.append(document.createComment('x'));
                const sheet = new CSSStyleSheet();
                sheet.replaceSync('p { --x: "</style><img src=x.svg>"; color: rgb(1, 2, 3) }');
                document.adoptedStyleSheets = [sheet];
                blob.src = URL.createObjectURL(new Blob(['x'], {type: 'image/png"><img src="y.svg'}));
                document.body.append('\\ud800 lone');
                </script>
                """
            let site = try Site(["/": Site.Answer(page)])
            let frozen = try Frozen(site)
            #expect(try frozen.text("getComputedStyle(p).color") == "rgb(1, 2, 3)")
            #expect(try frozen.value("form.children.length").integerValue == 4)
            #expect(frozen.markup.contains("\u{FFFD} lone"))
            #expect(site.targets == ["/"])
        }
    }
}
