import Basics
import Testing

@Suite("Base64")
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
        "is written with padding",
        arguments: [
            ([], ""), ([0x66], "Zg=="), ([0x66, 0x6F], "Zm8="), ([0x66, 0x6F, 0x6F], "Zm9v"), ([0xFB, 0xFF], "+/8="),
            ([0xFF, 0xFE, 0xFD, 0xFC], "//79/A=="),
        ] as [([UInt8], String)])
    func encodes(_ bytes: [UInt8], _ expected: String) {
        #expect(Base64.text(bytes) == expected)
        #expect(Base64.decoded(expected.utf8) == bytes)
    }

    @Test(
        "what is no Base64 is refused",
        arguments: ["Z", "Zg", "Zg=", "Zg===", "=", "====", "Zh==", "Zm9=", "Zm9v=", "Z-_v", "Zg==Zg==", "Zm 9v!"])
    func refuses(_ text: String) {
        #expect(Base64.decoded(text.utf8) == nil)
    }

    @Test(
        "in a token the padding may be missing, and nothing else",
        arguments: [
            ("", ""), ("Zg", "f"), ("Zg==", "f"), ("Zm8", "fo"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Z", nil),
            ("Zg=", nil), ("Zh", nil), ("Zm9", nil), ("Zm9v=", nil), ("Zm9v====", nil), ("Zm9v\nYmFy", nil),
            ("Zm9v ", nil), ("Z-_v", nil),
        ] as [(String, String?)])
    func token68(_ text: String, _ expected: String?) {
        #expect(Base64.decoded(text.utf8, .token68).map { String(decoding: $0, as: UTF8.self) } == expected)
    }

    @Test(
        "for URLs it has other characters and no padding",
        arguments: [
            ([], ""), ([0xFB], "-w"), ([0xFB, 0xFF], "-_8"), ([0xFB, 0xFF, 0xBF], "-_-_"),
            (Array("foobar".utf8), "Zm9vYmFy"), (Array("foob".utf8), "Zm9vYg"),
        ] as [([UInt8], String)])
    func urlSafe(_ bytes: [UInt8], _ expected: String) {
        var output = Array("\"".utf8)
        Base64.appendURLSafe(bytes, to: &output)
        #expect(String(decoding: output, as: UTF8.self) == "\"" + expected)
    }
}
