/// How `{{x}}` writes a text, by the media type that it is written into.
public enum MustacheEscaping: Sendable, Hashable {
    /// HTML and XML: `&`, `<`, `>`, `"` and `'` become references.
    case html
    /// JSON and JavaScript: as inside of a string. `{{{x}}}` is the value as JSON, quotes included.
    case json
    /// As it is.
    case none

    /// The escaping for a media type, such as `text/html; charset=utf-8`; parameters and case count for nothing.
    ///
    /// HTML, XML, SVG and `…+xml` are ``html``; JSON, `…+json` and JavaScript's types (RFC 9239 §6) ``json``; all
    /// others ``none``.
    public init(mediaType: String) {
        let essence = mediaType.utf8.prefix { $0 != UInt8(ascii: ";") }
            .filter { $0 != 0x20 && $0 != 0x09 }
            .map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
        let type = String(decoding: essence, as: UTF8.self)
        if Self.markup.contains(type) || type.hasSuffix("+xml") {
            self = .html
        } else if Self.scripts.contains(type) || type.hasSuffix("+json") {
            self = .json
        } else {
            self = .none
        }
    }

    private static let markup: Set = ["text/html", "text/xml", "application/xml"]
    private static let scripts: Set = [
        "application/json", "text/json", "application/ecmascript", "application/javascript",
        "application/x-ecmascript", "application/x-javascript", "text/ecmascript", "text/javascript",
        "text/javascript1.0", "text/javascript1.1", "text/javascript1.2", "text/javascript1.3",
        "text/javascript1.4", "text/javascript1.5", "text/jscript", "text/livescript", "text/x-ecmascript",
        "text/x-javascript",
    ]
}
