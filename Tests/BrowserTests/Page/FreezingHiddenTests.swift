import JSON
import ProxyTestKit
import Testing

@testable import Browser

extension BrowserTests {
    /// What stands above a page by scripts alone, and what scripts can't read.
    @Suite("freezes what is hidden from scripts")
    struct FreezingHidden {
        @Test("open popovers and modal dialogs, where they are, and not those that are closed")
        func raised() throws {
            let page = """
                <!doctype html><title>Raised</title><style>
                #open { inset: auto; left: 40px; top: 30px; width: 100px; height: 50px; margin: 0; opacity: 0 }
                #open:popover-open { opacity: 1; background: rgb(1, 2, 3) }
                dialog:modal { width: 200px; height: 100px; color: rgb(4, 5, 6) }
                dialog::backdrop { background: rgba(0, 0, 0, 0.5) }
                </style>
                <div style="height:3000px">text</div>
                <div id=open popover=manual>open</div><div id=closed popover>closed</div>
                <dialog id=modal>modal</dialog><dialog id=never>never</dialog><dialog id=plain open>plain</dialog>
                <script>modal.showModal(); document.getElementById('open').showPopover();</script>
                """
            let site = try Site(["/": Site.Answer(page)])
            let frozen = try Frozen(site)
            func box(_ id: String) throws -> [Int] {
                try frozen.value(
                    "(r => [r.left, r.top, r.right, r.bottom].map(Math.round))(document.getElementById('\(id)').getBoundingClientRect())"
                ).elements.compactMap(\.integerValue)
            }
            func style(_ id: String, _ name: String) throws -> String {
                try frozen.text("getComputedStyle(document.getElementById('\(id)')).\(name)")
            }
            let open = try box("open")
            try #require(open.count == 4)
            #expect(open[0] == 40 && open[1] == 30)
            #expect(try style("open", "opacity") == "1" && style("open", "backgroundColor") == "rgb(1, 2, 3)")
            let modal = try box("modal")
            try #require(modal.count == 4)
            // In the midst of what is seen, whatever the page's height is.
            #expect(abs(modal[0] + modal[2] - 1280) <= 20 && abs(modal[1] + modal[3] - 800) <= 2, "\(modal)")
            #expect(modal[2] - modal[0] >= 200)
            #expect(try style("modal", "color") == "rgb(4, 5, 6)" && style("modal", "position") == "fixed")
            #expect(try style("modal", "boxShadow").contains("rgba(0, 0, 0, 0.5)"))
            for id in ["closed", "never"] { #expect(try style(id, "display") == "none") }
            #expect(try style("plain", "display") == "block" && style("plain", "position") == "absolute")
        }

        @Test("open popovers and modal dialogs in what is moved or kept apart, where they are")
        func raisedWithin() throws {
            let page = """
                <!doctype html><title>Within</title><style>[popover] { width: 100px; height: 50px; margin: auto }</style>
                <div style="transform: translate(30px, 40px); border: 5px solid; width: 300px">
                <div id=one popover=manual style="inset: 0">one</div></div>
                <div style="contain: layout; padding: 20px"><dialog id=two style="transform: translateX(10px)">two</dialog></div>
                <div id=host style="will-change: transform"></div>
                <script>
                document.getElementById('one').showPopover(); two.showModal();
                host.attachShadow({ mode: 'open' }).innerHTML =
                  '<style>:popover-open { inset: auto 0 0 auto; margin: 3px }</style><p popover=manual>p</p>';
                host.shadowRoot.querySelector('p').showPopover();
                const boxes = () => JSON.stringify([one, two, host.shadowRoot.querySelector('p')].map(e =>
                  (r => [r.left, r.top, r.width, r.height].map(Math.round))(e.getBoundingClientRect())));
                document.body.dataset.boxes = boxes();
                </script>
                """
            let frozen = try Frozen(Site(["/": Site.Answer(page)]))
            let boxes = """
                JSON.stringify(['one', 'two'].map(id => document.getElementById(id))
                .concat(host.shadowRoot.querySelector('p'))
                .map(e => (r => [r.left, r.top, r.width, r.height].map(Math.round))(e.getBoundingClientRect())))
                """
            #expect(try frozen.text(boxes) == frozen.text("document.body.dataset.boxes"))
        }

        @Test("shadow roots that are closed, in others and in frames")
        func closedRoots() throws {
            func page(_ port: UInt16) -> String {
                """
                <!doctype html><title>Closed</title><div id=host>light</div><div id=outer></div><iframe src=/frame.html></iframe>
                <iframe src="http://localhost:\(port)/frame.html"></iframe>
                <script>
                host.attachShadow({mode: 'closed'}).innerHTML =
                  '<style>p { height: 77px; margin: 0 }</style><p>closed <slot></slot><img src=in.svg></p>';
                const open = outer.attachShadow({mode: 'open'});
                open.innerHTML = '<div id=inner></div>';
                open.getElementById('inner').attachShadow({mode: 'closed'}).innerHTML =
                  '<p style="height:55px;margin:0">deep <b></b></p>';
                </script>
                """
            }
            let frame = """
                <!doctype html><div id=h></div><script>
                h.attachShadow({mode: 'closed'}).innerHTML = '<p style="height:33px;margin:0">framed</p>'</script>
                """
            let site = try Site(["/frame.html": Site.Answer(frame), "/in.svg": Site.picture()])
            site.set("/", Site.Answer(page(site.port)))
            let frozen = try Frozen(site)
            #expect(try frozen.value("host.offsetHeight").integerValue == 77)
            #expect(try frozen.value("outer.offsetHeight").integerValue == 55)
            #expect(try frozen.value("host.shadowRoot === null").boolValue == true)
            #expect(frozen.markup.contains("shadowrootmode=\"closed\""))
            #expect(try frozen.text("String(h.offsetHeight)", inFrame: "/frame.html") == "33")
            #expect(frozen.result.page.documents.count == 3)
            for document in frozen.result.page.documents.dropFirst() {
                #expect(String(decoding: document.markup, as: UTF8.self).contains("framed"))
            }
            #expect(site.targets == ["/", "/frame.html", "/in.svg"])
        }

        @Test("canvases of WebGL, drawn once and drawn for every frame, and those with pictures of other origins")
        func canvases() throws {
            func page(_ port: UInt16) -> String {
                """
                <!doctype html><title>Canvases</title><style>canvas { border: 2px solid; margin-top: 5px }</style>
                <body style="background: yellow">
                <canvas id=once width=20 height=20></canvas><canvas id=moving width=20 height=20></canvas>
                <canvas id=tainted width=20 height=20></canvas><canvas id=empty width=20 height=20></canvas>
                <div style="height:2000px"></div><canvas id=below width=20 height=20></canvas>
                <script>
                const fill = (id, ...color) => { const gl = document.getElementById(id).getContext('webgl');
                  document.body.dataset.gl = !!gl; if (!gl) return;
                  gl.clearColor(...color, 1); gl.clear(gl.COLOR_BUFFER_BIT) };
                fill('once', 1, 0, 0); fill('below', 0, 1, 1);
                const move = () => { fill('moving', 0, 1, 0); requestAnimationFrame(move) }; move();
                const picture = new Image();
                picture.onload = () => tainted.getContext('2d').drawImage(picture, 0, 0, 20, 20);
                picture.src = 'http://localhost:\(port)/blue.svg';
                </script>
                """
            }
            let site = try Site([
                "/blue.svg": Site.Answer(
                    "<svg xmlns='http://www.w3.org/2000/svg' width='20' height='20'><rect width='20' height='20' fill='blue'/></svg>",
                    "image/svg+xml")
            ])
            site.set("/", Site.Answer(page(site.port)))
            let frozen = try Frozen(site)
            func color(_ id: String) throws -> [Int] {
                try frozen.value(
                    """
                    (image => { const canvas = document.createElement('canvas'); canvas.width = canvas.height = 20;
                      const context = canvas.getContext('2d'); if (image.naturalWidth) context.drawImage(image, 0, 0, 20, 20);
                      return Array.from(context.getImageData(10, 10, 1, 1).data) })(document.getElementById('\(id)'))
                    """
                ).elements.compactMap(\.integerValue)
            }
            if try frozen.text("document.body.dataset.gl") == "true" {
                #expect(try color("once") == [255, 0, 0, 255])
                #expect(try color("moving") == [0, 255, 0, 255])
                #expect(try color("below") == [0, 255, 255, 255])
            }
            #expect(try color("tainted") == [0, 0, 255, 255])
            // Not what stands behind it.
            #expect(try color("empty") == [0, 0, 0, 0])
            #expect(!frozen.markup.contains("visibility: hidden !important"))
        }
    }
}
