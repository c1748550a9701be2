import HTTPSemantics
import Testing

@Suite("Authorities as they are compared")
struct AuthorityTextTests {
    @Test(
        "Letters are in lower case, and the root's dot behind a name is left out",
        arguments: [
            ("", ""), ("A.Test", "a.test"), ("a.test.", "a.test"), ("a.test.:80", "a.test:80"),
            ("a.test:80", "a.test:80"),
            ("[2001:DB8::7]:443", "[2001:db8::7]:443"), ("[2001:db8::7]", "[2001:db8::7]"), (".", "."), ("..", ".."),
            ("a..", "a.."), (".:80", ".:80"), (":", ":"), ("127.0.0.1.:1", "127.0.0.1:1"),
        ])
    func comparable(value: String, expected: String) {
        #expect(String(decoding: AuthorityText.comparable(value.utf8), as: UTF8.self) == expected)
    }
}
