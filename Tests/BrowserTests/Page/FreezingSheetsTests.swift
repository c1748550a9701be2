import JSON
import Testing

@testable import Browser

extension BrowserTests.Freezing {
    @Suite("style sheets")
    struct Sheets {
        /// The letter that is one byte in windows-1251.
        private static func encoded(_ text: String) -> [UInt8] {
            text.unicodeScalars.map { $0 == "\u{436}" ? 0xE6 : UInt8(truncatingIfNeeded: $0.value) }
        }

        @Test("that styles import, in the document's encoding, which becomes another one")
        func imports() throws {
            let page = """
                <!doctype html><meta charset=windows-1251><title>Encoded</title>
                <style>@import "sub/one.css" screen; @import url(sub/three.css); #own::before { content: "\u{436}" }</style>
                <p id=own>o</p><p id=one>1</p><p id=two>2</p><p id=three>3</p>
                """
            let site = try Site([
                "/": .init(Sheets.encoded(page), "text/html"),
                "/sub/one.css": .init(
                    Sheets.encoded(
                        #"@import "two.css"; #one { background: url(one.svg) } #one::before { content: "\u{436}" }"#
                            .replacing(#"\u{436}"#, with: "\u{436}")), "text/css"),
                "/sub/two.css": .init(Sheets.encoded("#two::before { content: '\u{436}' }"), "text/css"),
                "/sub/three.css": .init("#three { color: rgb(0, 128, 0) }", "text/css"), "/sub/one.svg": Site.picture(),
            ])
            let frozen = try Frozen(site)
            let shown = "getComputedStyle(document.getElementById(id), '::before').content"
            #expect(
                try frozen.text("['own', 'one', 'two'].map(id => \(shown)).join()")
                    == "\"\u{436}\",\"\u{436}\",\"\u{436}\"")
            #expect(try frozen.text("getComputedStyle(three).color") == "rgb(0, 128, 0)")
            #expect(
                try frozen.text("getComputedStyle(one).backgroundImage") == "url(\"\(site.url("/sub/one.svg"))\")")
            #expect(site.targets == ["/", "/sub/one.svg", "/sub/three.css"])
        }

        @Test("of blobs that are gone")
        func blobs() throws {
            let page = """
                <!doctype html><title>Gone</title><p id=text>text</p><script>
                const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', media: 'screen' });
                link.href = URL.createObjectURL(new Blob(['#text { color: rgb(0, 128, 0) }'], { type: 'text/css' }));
                link.onload = () => URL.revokeObjectURL(link.href);
                document.head.append(link);
                </script>
                """
            let frozen = try Frozen(Site(["/": .init(page)]))
            #expect(try frozen.text("getComputedStyle(document.getElementById('text')).color") == "rgb(0, 128, 0)")
            #expect(try frozen.text("document.styleSheets[0].media.mediaText") == "screen")
        }

        @Test("in the marks of a comment, which CSS passes over")
        func commentMarks() throws {
            let page = """
                <!doctype html><title>Marks</title>
                <style type=text/css><!--
                #one { color: rgb(0, 128, 0) }
                #two { color: rgb(0, 0, 255) }
                --></style><style><!-- @import "three.css"; --></style>
                <p id=one>1</p><p id=two>2</p><p id=three>3</p>
                """
            let site = try Site([
                "/": .init(page), "/three.css": .init("#three { color: rgb(255, 0, 0) }", "text/css"),
            ])
            let frozen = try Frozen(site)
            #expect(
                try frozen.text(
                    "['one', 'two', 'three'].map(id => getComputedStyle(document.getElementById(id)).color).join(';')")
                    == "rgb(0, 128, 0);rgb(0, 0, 255);rgb(255, 0, 0)")
            #expect(site.targets.contains("/three.css"))
        }

        @Test("that digests are given for: those that held without them, the others as refused as they were")
        func digests() throws {
            let digest = "sha256-/jSLVaOgU3aC3tNxTKIfJEMQ1uvqsamSx2kDH3Wk0o0="
            let page = """
                <!doctype html><title>Digests</title><link rel=stylesheet href=a.css integrity="\(digest)">
                <link rel=stylesheet href=b.css integrity="\(digest)"><p id=a>a</p><p id=b>b</p>
                """
            let frozen = try Frozen(
                Site([
                    "/": .init(page), "/a.css": .init("#a { color: rgb(0, 128, 0) }", "text/css"),
                    "/b.css": .init("#b { color: rgb(255, 0, 0) }", "text/css"),
                ]))
            #expect(
                try frozen.text("[a, b].map(element => getComputedStyle(element).color).join(';')")
                    == "rgb(0, 128, 0);rgb(0, 0, 0)")
            let hasDigest = "Array.from(document.querySelectorAll('link'), link => link.integrity !== '').join()"
            #expect(try frozen.text(hasDigest) == "false,true")
        }

        @Test("whose media a script has changed in the sheet alone")
        func media() throws {
            let page = """
                <!doctype html><title>Media</title>
                <style id=shown media=print>#one { color: rgb(0, 128, 0) }</style>
                <style id=hidden>#two { color: rgb(255, 0, 0) }</style><style id=same media="SCREEN, print">p { margin: 0 }</style>
                <link id=linked rel=stylesheet media=print href=three.css>
                <p id=one>1</p><p id=two>2</p><p id=three>3</p>
                <script>addEventListener('load', () => {
                  for (const element of [shown, linked]) element.sheet.media.mediaText = 'all';
                  document.getElementById('hidden').sheet.media.appendMedium('print');
                })</script>
                """
            let site = try Site([
                "/": .init(page), "/three.css": .init("#three { color: rgb(0, 0, 255) }", "text/css"),
            ])
            let frozen = try Frozen(site)
            #expect(
                try frozen.text(
                    "['one', 'two', 'three'].map(id => getComputedStyle(document.getElementById(id)).color).join(';')")
                    == "rgb(0, 128, 0);rgb(0, 0, 0);rgb(0, 0, 255)")
            // What says the same is left as it is.
            #expect(try frozen.text("same.getAttribute('media')") == "SCREEN, print")
        }
    }
}
