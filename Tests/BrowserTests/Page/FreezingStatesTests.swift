import JSON
import Testing

@testable import Browser

extension BrowserTests.Freezing {
    /// What scripts have brought about, and nothing in the tree says.
    @Suite("what the tree does not say")
    struct States {
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
