import JSON
import Testing

@testable import Browser

extension BrowserTests.Freezing {
    /// What scripts have brought about, and nothing in the tree says.
    @Suite("what the tree does not say")
    struct States {
        @Test("styles of custom elements that are defined: their own, those of what they hold, and in shadow roots")
        func definedElements() throws {
            let page = """
                <!doctype html><title>Defined</title>
                <style>
                my-card:not(:defined) { visibility: hidden }
                @media screen { my-row:not(:defined) > span { display: none } }
                my-box:defined { color: rgb(0, 128, 0) }
                my-nest { &:not(:defined) { opacity: 0 } }
                my-late:not(:defined) { color: rgb(0, 0, 255) }
                [is]:not(:defined) { opacity: .5 }
                </style>
                <link rel=stylesheet href=sheet.css>
                <my-card id=card>card</my-card><my-row><span id=span>row</span></my-row><my-box id=box>box</my-box>
                <my-nest id=nest>nest</my-nest><my-late id=late>late</my-late><my-link id=link>link</my-link>
                <button is=my-button id=button>button</button><my-host id=host></my-host>
                <script>
                for (const name of ['card', 'row', 'box', 'nest', 'link'])
                  customElements.define('my-' + name, class extends HTMLElement {});
                customElements.define('my-button', class extends HTMLButtonElement {}, { extends: 'button' });
                customElements.define('my-host', class extends HTMLElement {
                  constructor() {
                    super();
                    this.attachShadow({ mode: 'open' }).innerHTML =
                      '<style>my-card:not(:defined) { display: none }</style><my-card>inside</my-card>';
                  }
                });
                </script>
                """
            let sheet = "my-link:not(:defined) { position: absolute; left: -9999px }"
            let frozen = try Frozen(Site(["/": .init(page), "/sheet.css": .init(sheet, "text/css")]))
            func style(_ element: String, _ name: String) throws -> String {
                try frozen.text("getComputedStyle(\(element)).\(name)")
            }
            #expect(try style("card", "visibility") == "visible")
            #expect(try style("span", "display") == "inline")
            #expect(try style("box", "color") == "rgb(0, 128, 0)")
            #expect(try style("nest", "opacity") == "1")
            #expect(try style("late", "color") == "rgb(0, 0, 255)")
            #expect(try style("document.getElementById('link')", "position") == "static")
            #expect(try style("button", "opacity") == "1")
            #expect(try style("host.shadowRoot.querySelector('my-card')", "display") == "inline")
            #expect(try frozen.text("late.getAttribute('style') ?? 'none'") == "none")
        }

        @Test("animations that scripts have made, where they have come to")
        func animations() throws {
            let page = """
                <!doctype html><title>Animated</title>
                <style>#faded { opacity: 0 } #sheet { animation: appear 1ms forwards; opacity: 0 }
                @keyframes appear { to { opacity: 1 } }</style>
                <p id=faded>faded in</p><p id=moved style="color: blue">moved</p><p id=gone>gone</p><p id=sheet>by a sheet</p>
                <div id=host></div><svg width=20 height=20><rect id=drawn width=20 height=20 /></svg>
                <script>
                const end = (element, ...frames) => element.animate(frames, { duration: 1, fill: 'forwards' });
                end(faded, { opacity: 0 }, { opacity: 1 });
                end(moved, { transform: 'none', '--made': '1px' }, { transform: 'translateX(100px)', backgroundColor: 'lime', '--made': '7px' });
                gone.animate([{ opacity: 0 }, { opacity: .2 }], 1);
                end(drawn, { fill: 'black' }, { fill: 'lime' });
                const root = host.attachShadow({ mode: 'open' });
                root.innerHTML = '<style>p { opacity: 0 }</style><p>inside</p>';
                end(root.querySelector('p'), { opacity: 0 }, { opacity: 1 });
                </script>
                """
            let frozen = try Frozen(Site(["/": .init(page)]))
            func style(_ element: String, _ name: String) throws -> String {
                try frozen.text("getComputedStyle(\(element)).getPropertyValue('\(name)')")
            }
            #expect(try style("faded", "opacity") == "1")
            #expect(try style("moved", "transform") == "matrix(1, 0, 0, 1, 100, 0)")
            #expect(try style("moved", "background-color") == "rgb(0, 255, 0)")
            #expect(try style("moved", "color") == "rgb(0, 0, 255)")
            #expect(try style("moved", "--made") == "7px")
            #expect(try style("gone", "opacity") == "1")
            #expect(try style("drawn", "fill") == "rgb(0, 255, 0)")
            #expect(try style("host.shadowRoot.querySelector('p')", "opacity") == "1")
            #expect(try frozen.text("sheet.getAttribute('style') ?? 'none'") == "none")
        }

        @Test("styles of what selectors name that scripts bring about: states, what is open, boxes half checked")
        func pseudoClasses() throws {
            let page = """
                <!doctype html><title>States</title>
                <style>
                my-state:state(ready) b { color: rgb(0, 128, 0) }
                input:indeterminate { margin-left: 31px } input:indeterminate + span { color: rgb(0, 128, 0) }
                [popover]:popover-open { display: flex } [popover]:not(:popover-open) b { display: none }
                [popover]:popover-open b { color: rgb(0, 128, 0) }
                dialog:modal p, dialog:not(:modal) i { color: rgb(0, 128, 0) }
                </style>
                <my-state id=state><b id=inner>b</b></my-state>
                <input type=checkbox id=box><span id=beside>x</span><input type=radio name=r id=radio>
                <div id=pop popover=manual><b id=popped>b</b></div><div popover><b id=shut>b</b></div>
                <dialog id=modal><p id=paragraph>p</p><i id=italic>i</i></dialog>
                <script>
                customElements.define('my-state', class extends HTMLElement {
                  constructor() {
                    super();
                    this.attachInternals().states.add('ready');
                    this.attachShadow({ mode: 'open' }).innerHTML = `<style>
                      :host(:state(ready)), :host(.none) { opacity: .5 } :host(:state(other)) { display: none }
                      :host(:state(ready)) p { color: rgb(0, 128, 0) }</style><p>p</p><slot></slot>`;
                  }
                });
                box.indeterminate = true; pop.showPopover(); modal.showModal();
                </script>
                """
            let frozen = try Frozen(Site(["/": .init(page)]))
            func style(_ element: String, _ name: String) throws -> String {
                try frozen.text("getComputedStyle(\(element)).\(name)")
            }
            let green = "rgb(0, 128, 0)"
            #expect(try style("inner", "color") == green)
            #expect(try style("state", "opacity") == "0.5")
            #expect(try style("state", "display") == "inline")
            #expect(try style("state.shadowRoot.querySelector('p')", "color") == green)
            #expect(try style("box", "marginLeft") == "31px")
            #expect(try style("beside", "color") == green)
            #expect(try style("radio", "marginLeft") == "31px")
            #expect(try frozen.text("radio.getAttribute('style') ?? 'none'") == "none")
            #expect(try style("document.getElementById('pop')", "display") == "flex")
            #expect(try style("popped", "color") == green)
            #expect(try style("popped", "display") == "block")
            #expect(try style("shut", "display") == "none")
            #expect(try style("paragraph", "color") == green)
            #expect(try style("italic", "color") == "rgb(0, 0, 0)")
        }

        @Test("nothing of what is shown as dots, as passwords are")
        func masked() throws {
            let page = """
                <!doctype html><title>Masked</title><style>.dots { -webkit-text-security: disc }</style>
                <input id=one class=dots value=first-secret><textarea id=two class=dots>second-secret</textarea>
                <input id=three value=shown>
                <div id=four contenteditable class=dots>fifth-secret<b>sixth-secret</b></div>
                <div id=five contenteditable>edited<i class=dots>seventh-secret</i></div><p id=six class=dots>dots</p>
                <script>one.value = 'third-secret'; two.value = 'fourth-secret'; four.append('eighth-secret')</script>
                """
            let frozen = try Frozen(Site(["/": .init(page)]))
            #expect(!frozen.markup.contains("secret"))
            #expect(try frozen.text("[one, two, three].map(e => e.value).join()") == ",,shown")
            #expect(try frozen.text("[four, five, six].map(e => e.textContent).join()") == ",edited,dots")
        }

        @Test("lists of which nothing is chosen")
        func choices() throws {
            let page = """
                <!doctype html><title>Choices</title>
                <select id=none><option>a<option>b</select><select id=one><option>a<option>b</select>
                <select id=many multiple><option>a</select><select id=long size=3><option>a</select><select id=empty></select>
                <script>none.selectedIndex = -1; one.selectedIndex = 1</script>
                """
            let frozen = try Frozen(Site(["/": .init(page)]))
            #expect(try frozen.text("none.value") == "")
            #expect(try frozen.text("one.value") == "b")
            #expect(
                try frozen.text("[none, one, many, document.getElementById('long'), empty].map(e => e.length).join()")
                    == "3,2,1,1,0")
            #expect(try frozen.text("getComputedStyle(none.options[2]).display") == "none")
        }

        @Test("blobs that style sheets and drawings in blobs name")
        func nestedBlobs() throws {
            let page = """
                <!doctype html><title>Blobs</title><p id=text>text</p><img id=image>
                <script>
                const make = (text, type) => URL.createObjectURL(new Blob([text], { type }));
                const drawing = inside =>
                  `<svg xmlns="http://www.w3.org/2000/svg" width="5" height="7">${inside}<rect width="5" height="7"/></svg>`;
                const picture = make(drawing(''), 'image/svg+xml');
                const inner = make(`#text { background-image: url(${picture}) }`, 'text/css');
                document.head.append(Object.assign(document.createElement('link'),
                  { rel: 'stylesheet', href: make(`@import "${inner}";`, 'text/css') }));
                image.src = make(drawing(`<image href="${picture}"/>`), 'image/svg+xml');
                </script>
                """
            let frozen = try Frozen(Site(["/": .init(page)]))
            let background = try frozen.text("getComputedStyle(document.getElementById('text')).backgroundImage")
            #expect(background.hasPrefix("url(\"data:image/svg+xml;base64,"))
            #expect(try frozen.value("image.naturalWidth").integerValue == 5)
            #expect(
                try frozen.text("atob(image.src.split(',')[1])").contains("<image href=\"data:image/svg+xml;base64,"))
        }
    }
}
