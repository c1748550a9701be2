import JSON
import Testing

@testable import Browser

extension BrowserTests.Freezing {
    /// What the page was refused, the frozen one, whose policies are gone, shows no more than it.
    @Suite("what was refused")
    struct Refused {
        private static let other = "localhost"

        @Test("by the page's policy: pictures, sheets, styles of elements, objects, and what styles name")
        func policy() throws {
            let site = try Site([
                "/red.css": .init("#sheet { color: red }", "text/css"), "/own.svg": Site.picture(),
                "/other.svg": Site.picture(),
            ])
            func other(_ path: String) -> String { site.url(path, host: Refused.other) }
            site.set(
                "/to", .init("", status: "302 Found", fields: "Location: \(other("/other.svg"))\r\n"))
            site.set(
                "/",
                .init(
                    """
                    <!doctype html><title>Refused</title><style nonce=n>#kept { color: rgb(0, 128, 0) }</style>
                    <style>p { color: red }</style><link rel=stylesheet href="\(other("/red.css"))">
                    <p id=kept>a</p><p id=sheet>b</p><p id=attribute style="color: red">c</p><p id=script>d</p>
                    <img id=image src="\(other("/other.svg"))"><img id=own src=own.svg><img id=led src=to>
                    <a id=link href="\(other("/other.svg"))">link</a><svg><image id=drawn href="\(other("/other.svg"))"/></svg>
                    <object id=object data="\(other("/other.svg"))" type="image/svg+xml"><b id=instead>instead</b></object>
                    <video id=video poster="\(other("/other.svg"))"></video>
                    <script nonce=n>
                    script.style.background = "url('\(other("/other.svg"))')"; script.style.color = 'rgb(0, 0, 255)';
                    </script>
                    """,
                    fields: "Content-Security-Policy: default-src 'self'; style-src 'nonce-n'; script-src 'nonce-n'; "
                        + "object-src 'none'\r\n"))
            let frozen = try Frozen(site)
            func color(_ element: String) throws -> String {
                try frozen.text("getComputedStyle(document.getElementById('\(element)')).color")
            }
            #expect(try color("kept") == "rgb(0, 128, 0)")
            #expect(try color("sheet") == "rgb(0, 0, 0)")
            #expect(try color("attribute") == "rgb(0, 0, 0)")
            #expect(try color("script") == "rgb(0, 0, 255)")
            #expect(try frozen.text("[image, own, led].map(e => e.naturalWidth).join()") == "0,8,0")
            #expect(try frozen.text("document.getElementById('link').href") == other("/other.svg"))
            #expect(try frozen.value("instead.getClientRects().length").integerValue == 1)
            #expect(site.targets == ["/", "/own.svg"])
        }

        @Test("by other origins, for want of leave; but not what came another way")
        func otherOrigins() throws {
            let site = try Site([
                "/red.css": .init("#sheet { color: red }", "text/css"), "/a.svg": Site.picture(),
                "/b.svg": Site.picture(),
            ])
            func other(_ path: String) -> String { site.url(path, host: Refused.other) }
            site.set(
                "/",
                .init(
                    """
                    <!doctype html><title>Refused</title><link rel=stylesheet href="\(other("/red.css"))">
                    <p id=sheet>b</p><img id=a src="\(other("/a.svg"))"><img id=b src="\(other("/b.svg"))" crossorigin>
                    <script src="\(other("/b.svg"))"></script>
                    """, fields: "Cross-Origin-Embedder-Policy: require-corp\r\n"))
            let frozen = try Frozen(site)
            #expect(try frozen.text("getComputedStyle(sheet).color") == "rgb(0, 0, 0)")
            #expect(try frozen.text("[a, b].map(e => e.naturalWidth).join()") == "0,8")
            #expect(site.targets == ["/", "/b.svg"])
        }
    }
}
