import HTTPSemantics
import NIOCore
import Testing

@Suite("Request targets")
struct RequestTargetTests {
    @Test(
        "The four forms of RFC 9112 §3.2 are told apart",
        arguments: [
            ("GET", "http://a/b?c", "absolute http://a/b?c"), ("OPTIONS", "http://a", "absolute http://a/"),
            ("get", "http://a/", "absolute http://a/"), ("POST", "assets://x", "absolute assets://x/"),
            ("GET", "/b?c", "origin /b?c"), ("OPTIONS", "/", "origin /"), ("GET", "//evil/x", "origin //evil/x"),
            ("CONNECT", "Example.com:443", "authority example.com:443"),
            ("CONNECT", "[::1]:8443", "authority [::1]:8443"),
            ("CONNECT", "Example.com.:443", "authority example.com:443"),
            ("OPTIONS", "*", "asterisk"),
        ])
    func forms(method: String, target: String, expected: String) throws {
        let head = HTTPSemanticsTests.head(method, target, fields("Host: other"))
        let description: String
        switch try RequestTarget(head) {
        case .absolute(let uri): description = "absolute \(uri.description)"
        case .origin(let range): description = "origin " + head.bytes.withUnsafeReadableBytes { text($0[range]) }
        case .authority(let authority): description = "authority \(authority.description)"
        case .asterisk: description = "asterisk"
        }
        #expect(description == expected)
    }

    @Test(
        "Targets of no form are refused",
        arguments: [
            ("GET", "", .empty), ("CONNECT", "", .empty), ("GET", "*", .notAbsolute), ("OPTIONS", "**", .notAbsolute),
            ("GET", "?q", .notAbsolute), ("GET", "#", .notAbsolute), ("GET", "a:443", .notAbsolute),
            ("CONNECT", "a", .invalidPort), ("CONNECT", "a:", .invalidPort), ("CONNECT", "a:0", .invalidPort),
            ("CONNECT", "a:65536", .invalidPort), ("CONNECT", "a:0443", .invalidPort),
            ("CONNECT", ":443", .invalidHost), ("CONNECT", ".:443", .invalidHost), ("CONNECT", "a..:443", .invalidHost),
            ("CONNECT", "a.:0443", .invalidPort),
            ("CONNECT", "u@a:443", .invalidHost), ("CONNECT", "a:443/", .invalidPort), ("CONNECT", "/", .invalidHost),
            ("CONNECT", "http://a:443", .invalidPort), ("CONNECT", "*:443", .invalidHost),
            ("CONNECT", "[::1]", .invalidPort), ("CONNECT", "::1:443", .invalidHost),
            ("CONNECT", "a%00:443", .invalidHost),
            ("CONNECT", "a b:443", .invalidHost), ("CONNECT", "a:443:443", .invalidPort),
            ("CONNECT", "a.test,DNS:b.test", .invalidHost), ("CONNECT", "\u{FF41}:443", .invalidHost),
            ("CONNECT", String(repeating: "a", count: 600) + ":443", .tooLong),
        ] as [(String, String, TargetError)])
    func refused(method: String, target: String, expected: TargetError) {
        #expect(throws: expected) { try RequestTarget(HTTPSemanticsTests.head(method, target)) }
    }

    @Test("A head gives its method and target as received")
    func head() {
        let request = HTTPSemanticsTests.head("get", "http://A/%7e", fields("Host: a"))
        #expect(request.method == .other)
        #expect(text(request.methodBytes) == "get")
        #expect(text(request.targetBytes) == "http://A/%7e")
        #expect(request.fields.firstText(.host) == "a")
    }
}
