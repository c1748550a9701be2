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

        @Test("by policies, none of which stays in a page of http", arguments: [true, false])
        func upgrade(isField: Bool) throws {
            let policy = "object-src 'none'; Upgrade-Insecure-Requests"
            let meta = "<meta http-equiv=content-security-policy content=\"\(policy)\">"
            let site = try Site([
                "/": .init(
                    "<!doctype html><title>Up</title><link rel=icon href=\"data:,\">\(isField ? "" : meta)<p>x</p>",
                    fields: isField ? "Content-Security-Policy: \(policy)\r\n" : "")
            ])
            let frozen = try Frozen(site)
            let policies = "Array.from(document.querySelectorAll('meta[http-equiv]'), meta => meta.content).join('|')"
            #expect(try frozen.text(policies) == "")
            #expect(try frozen.text("document.head.firstChild.getAttribute('charset')") == "utf-8")
        }

        @Test("of pictures that only objects may show, and of what objects may not", arguments: [true, false])
        func pairs(isObjectFirst: Bool) throws {
            let site = try Site(["/a.svg": Site.picture(), "/b.svg": Site.picture()])
            let object = "<object id=object data=a.svg type=image/svg+xml></object>"
            let image = "<img id=image src=a.svg><p id=styled style=\"background: url(a.svg)\">a</p>"
            let late = isObjectFirst ? image : object
            site.set(
                "/",
                .init(
                    """
                    <!doctype html><title>Pairs</title>\(isObjectFirst ? object : image)<div id=place></div>
                    <script nonce=n>
                    onload = () => setTimeout(() => { place.innerHTML = `\(late)`; }, 50);
                    </script>
                    """,
                    fields: "Content-Security-Policy: img-src 'none'; object-src 'self'; script-src 'nonce-n'\r\n"))
            let frozen = try Frozen(site)
            let sizes = try frozen.text("[image.naturalWidth, document.getElementById('object').offsetWidth].join()")
            #expect(sizes == "0,8")
            #expect(try frozen.text("getComputedStyle(styled).backgroundImage").contains("data:,"))
            #expect(site.targets.filter { $0 == "/a.svg" }.count >= 1)
        }

        @Test("of what linked and imported sheets name, though the sheets are allowed")
        func named() throws {
            let site = try Site([
                "/a.css": .init(
                    "@import url(b.css); @font-face { font-family: F; src: url(f.woff2) } #a { background: url(x.svg); "
                        + "color: rgb(0, 128, 0); font-family: F }", "text/css"),
                "/b.css": .init("#b { background: url(x.svg); color: rgb(0, 128, 0) }", "text/css"),
                "/kept.css": .init("#c { color: rgb(0, 128, 0) }", "text/css"),
                "/x.svg": Site.picture(), "/f.woff2": .init("font", "font/woff2"),
            ])
            site.set(
                "/",
                .init(
                    """
                    <!doctype html><title>Named</title><link rel=stylesheet href=a.css><link id=kept rel=stylesheet href=kept.css>
                    <p id=a>a</p><p id=b>b</p><p id=c>c</p>
                    """, fields: "Content-Security-Policy: img-src 'none'; font-src 'none'\r\n"))
            let frozen = try Frozen(site)
            for element in ["a", "b", "c"] {
                #expect(try frozen.text("getComputedStyle(\(element)).color") == "rgb(0, 128, 0)")
            }
            #expect(try frozen.text("kept.href") == site.url("/kept.css"))
            #expect(Set(site.targets).isDisjoint(with: ["/x.svg", "/f.woff2"]), "\(site.targets)")
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
