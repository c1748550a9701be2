import Testing

@testable import Substitution

struct Base64Tests {
    @Test(
        "Base64 of RFC 4648 §10 is decoded",
        arguments: [
            ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"), ("Zm9v\nYmFy\n", "foobar"),
        ])
    func decodes(_ text: String, _ expected: String) {
        #expect(Base64.decoded(text.utf8).map { String(decoding: $0, as: UTF8.self) } == expected)
    }

    @Test(
        "what is no Base64 is refused",
        arguments: ["Z", "Zg", "Zg=", "Zg===", "=", "====", "Zh==", "Zm9=", "Zm9v=", "Z-_v", "Zg==Zg==", "Zm 9v!"])
    func refuses(_ text: String) {
        #expect(Base64.decoded(text.utf8) == nil)
    }
}
