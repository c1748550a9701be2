import Testing

@testable import subproxy

@Suite("XML that can be saved as it came")
struct QuietMarkupTests {
    private static let drawing = "<svg xmlns='http://www.w3.org/2000/svg'>"

    @Test(
        "has nothing that could run",
        arguments: [
            "<rect/></svg>", "<title>on and on, two = three &amp; \u{FC}</title></svg>", "<a href='#on'/></svg>",
            "<description>d &lt;&gt;&quot;&apos;</description></svg>", "<g stroke-linejoin='x' icon='1'/>\r\n\t</svg>",
        ])
    func quiet(rest: String) {
        #expect(QuietMarkup.isQuiet(Array((Self.drawing + rest).utf8)))
        #expect(QuietMarkup.isQuiet(Array(("<?xml version='1.0'?><!DOCTYPE svg>" + Self.drawing + rest).utf8)))
    }

    @Test(
        "has no scripts, no handlers, no elements of HTML, nothing that makes others of texts, and no other encoding",
        arguments: [
            "<script/>", "<SCRIPT/>", "<s:script/>", "<a href='JavaScript:x()'/>", "<a href='java&#115;cript:x()'/>",
            "<g onload='x()'/>", "<g\n\tonLoad\n = 'x()'/>", "<h:iframe xmlns:h='http://www.w3.org/1999/xhtml'/>",
            "<?xml-stylesheet type='text/xsl' href='x'?>", "<!ENTITY x 'y'>", "<!ATTLIST svg onload CDATA 'x()'>",
            "<h:iframe xmlns:h='http://www.w3.org/1999&sol;xhtml' srcdoc='&lt;p>'/>",
            "<scr\u{1B}(Bipt/>", "<\u{0}s\u{0}c\u{0}r\u{0}i\u{0}p\u{0}t",
        ])
    func active(part: String) {
        #expect(!QuietMarkup.isQuiet(Array((Self.drawing + part + "</svg>").utf8)))
    }

    @Test("may be of any length, and cut anywhere", arguments: ["", "o", "on", " on", " on=", "\non ="])
    func ends(text: String) {
        #expect(QuietMarkup.isQuiet(Array(text.utf8)) == !text.contains("="))
    }
}
