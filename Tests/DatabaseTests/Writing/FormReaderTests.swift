import JSON
import Testing

@testable import Database

@Suite("A form")
struct FormReaderTests {
    private func read(_ text: String) throws -> [String] {
        try FormReader.fields(Array(text.utf8)).map {
            String(decoding: $0.name, as: UTF8.self) + "=" + String(decoding: $0.value, as: UTF8.self)
        }
    }

    @Test(
        "has names and values",
        arguments: [
            ("", []), ("a=1", ["a=1"]), ("a=1&b=2", ["a=1", "b=2"]), ("a", ["a="]), ("a=", ["a="]), ("=1", ["=1"]),
            ("&&a=1&", ["a=1"]), ("a=b=c", ["a=b=c"]), ("a+b=c+d", ["a b=c d"]), ("a%2Bb=%26%3d%25", ["a+b=&=%"]),
            ("n=%C3%A9", ["n=é"]), ("n=é", ["n=é"]), ("n=a%00b", ["n=a\0b"]), ("a;b=1", ["a;b=1"]),
        ])
    func fields(text: String, expected: [String]) throws { #expect(try read(text) == expected) }

    @Test(
        "that is none is refused with its place",
        arguments: [
            ("a=%", "line 1, column 3: % needs two hexadecimal digits"),
            ("a=1&b=%4", "line 1, column 7: % needs two hexadecimal digits"),
            ("a=%4&b=1", "line 1, column 3: % needs two hexadecimal digits"),
            ("a=%zz", "line 1, column 3: % needs two hexadecimal digits"),
            ("a=1&b=%FF", "line 1, column 7: this is not UTF-8"), ("%C3=1", "line 1, column 1: this is not UTF-8"),
            ("a=1&b=2&%61=3", "line 1, column 9: 'a' comes twice"),
        ])
    func refusals(text: String, message: String) {
        let error = #expect(throws: TextError.self) { try FormReader.fields(Array(text.utf8)) }
        #expect(error?.description(in: Array(text.utf8)) == message)
    }
}
