import HTTPSemantics
import Testing

@Suite("CORS")
struct CORSTests {
    @Test("A preflight is OPTIONS with Origin and the method asked for")
    func preflight() {
        let full = fields("Origin: https://a.example", "Access-Control-Request-Method: PUT")
        #expect(CORS.isPreflight(.options, full))
        #expect(!CORS.isPreflight(.get, full))
        #expect(!CORS.isPreflight(.options, fields("Origin: https://a.example")))
        #expect(!CORS.isPreflight(.options, fields("Access-Control-Request-Method: PUT")))
    }

    @Test(
        "The safelisted names and Set-Cookie need no exposing",
        arguments: [
            "Cache-Control", "Content-Language", "CONTENT-LENGTH", "content-type", "Expires", "Last-Modified", "Pragma",
            "Set-Cookie", "set-cookie2",
        ])
    func safelisted(name: String) {
        #expect(withBytes(name) { CORS.needsNoExposing($0) })
    }

    @Test("All others do", arguments: ["ETag", "X-Mock", "Date", "", "Content-Types", "Cache-Contro1", "Set-Cookie3"])
    func others(name: String) {
        #expect(!withBytes(name) { CORS.needsNoExposing($0) })
    }

    @Test(
        "Requested field names are tokens, or the request is refused",
        arguments: [
            ([], ""), (["x-a"], "x-a"), (["X-A,x-b ,, content-type"], "X-A, x-b, content-type"), (["a", "b"], "a, b"),
            ([""], ""), (["a b"], nil), (["a, b:c"], nil), (["\"a\""], nil), (["a\u{e9}"], nil), (["a, (b)"], nil),
        ] as [([String], String?)])
    func names(values: [String], expected: String?) {
        let section = fields(values.map { "Access-Control-Request-Headers: \($0)" })
        #expect(CORS.requestedFieldNames(section).map { text($0) } == expected)
    }

    @Test(
        "The requested method is one token",
        arguments: [
            (["PUT"], "PUT"), (["x-y"], "x-y"), ([], nil), (["PUT", "PUT"], nil), (["PUT, GET"], nil), ([""], nil),
            (["P T"], nil),
        ] as [([String], String?)])
    func method(values: [String], expected: String?) {
        let section = fields(values.map { "Access-Control-Request-Method: \($0)" })
        #expect(CORS.requestedMethod(section).map { text($0) } == expected)
    }
}
