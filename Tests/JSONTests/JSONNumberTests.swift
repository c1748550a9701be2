import JSON
import Testing

@Suite("A number of JSON's")
struct JSONNumberTests {
    @Test(
        "is an integer where it is written so and within 64 bits",
        arguments: [
            ("0", 0), ("-0", 0), ("42", 42), ("-42", -42), ("9223372036854775807", Int64.max),
            ("-9223372036854775808", Int64.min), ("9223372036854775808", nil), ("-9223372036854775809", nil),
            ("1.0", nil), ("1e2", nil), ("100000000000000000000000", nil),
        ])
    func integers(text: String, integer: Int64?) throws {
        #expect(try #require(JSONNumber(Array(text.utf8))).integer == integer)
    }

    @Test(
        "is the double that is nearest, where there is one",
        arguments: [
            ("0.1", 0.1), ("-1.5e3", -1500), ("1E2", 100), ("1e308", 1e308), ("1e309", nil), ("-1e400", nil),
            ("1e-400", 0), ("0e999999999999999999999", 0), ("1e999999999999999999999", nil),
            ("1e-999999999999999999999", 0), ("9007199254740993", 9_007_199_254_740_992),
        ])
    func reals(text: String, real: Double?) throws {
        #expect(try #require(JSONNumber(Array(text.utf8))).real == real)
    }

    @Test(
        "of many digits is rounded as one of few",
        arguments: [
            ("1" + String(repeating: "0", count: 1000) + "e-1000", 1.0),
            ("0." + String(repeating: "0", count: 1000) + "25e1000", 0.25),
            ("-0." + String(repeating: "3", count: 2000), -1.0 / 3),
            ("0." + String(repeating: "0", count: 1000) + "e5", 0),
            // Halfway between two doubles, and above it by a digit that is far behind.
            ("9007199254740993." + String(repeating: "0", count: 2000), 9_007_199_254_740_992),
            ("9007199254740993." + String(repeating: "0", count: 2000) + "1", 9_007_199_254_740_994),
            (String(repeating: "9", count: 1000), nil), (String(repeating: "9", count: 1000) + "e-1000", 1.0),
        ] as [(String, Double?)])
    func manyDigits(text: String, real: Double?) throws {
        #expect(try #require(JSONNumber(Array(text.utf8))).real == real)
    }

    @Test(
        "is nothing else",
        arguments: ["", "-", "01", "-01", "+1", ".5", "5.", "1e", "1e+", "0x10", "1 ", " 1", "1a", "Infinity", "1_0"])
    func others(text: String) { #expect(JSONNumber(Array(text.utf8)) == nil) }
}
