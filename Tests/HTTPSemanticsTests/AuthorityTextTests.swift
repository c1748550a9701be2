import HTTPSemantics
import Testing

@Suite("Authorities as they are compared")
struct AuthorityTextTests {
    @Test(
        "An address has one form",
        arguments: [
            ("127.1", "127.0.0.1"), ("127.1:80", "127.0.0.1:80"), ("2130706433:1", "127.0.0.1:1"),
            ("[0:0:0:0:0:0:0:1]:443", "[::1]:443"), ("[::0001]", "[::1]"), ("[::1", "[::1"),
            ("1a.test:80", "1a.test:80"),
            ("1:2:3", "0.0.0.1:2:3"), ("[]", "[]"), ("127.1.:8", "127.0.0.1:8"),
        ])
    func addresses(value: String, expected: String) {
        #expect(String(decoding: AuthorityText.comparable(value.utf8), as: UTF8.self) == expected)
    }

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
