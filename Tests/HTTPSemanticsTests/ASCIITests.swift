import HTTPSemantics
import Testing

@Suite("Bytes and their classes")
struct ASCIITests {
    @Test("The classes are those of the grammars")
    func classes() {
        func members(_ byteClass: ByteClass) -> [UInt8] {
            (UInt8.min...UInt8.max).filter { $0.isMember(of: byteClass) }
        }
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
        let digits = Array("0123456789".utf8)
        #expect(members(.alpha) == letters)
        #expect(members(.digit) == digits)
        #expect(members(.hexDigit) == Array("0123456789ABCDEFabcdef".utf8))
        #expect(members(.token) == (letters + digits + Array("!#$%&'*+-.^_`|~".utf8)).sorted())
        #expect(members(.unreserved) == (letters + digits + Array("-._~".utf8)).sorted())
        #expect(members(.fieldValue) == [0x09] + (0x20...0x7e) + (0x80...0xff))
        #expect(members(.lowerHost) == (Array("abcdefghijklmnopqrstuvwxyz-._".utf8) + digits).sorted())
        #expect(members(.plainTarget) == (0x21...0x7e).filter { !"%#\\".utf8.contains($0) })
    }

    @Test("Only capitals of ASCII become small")
    func lowercase() {
        for byte in UInt8.min...UInt8.max {
            #expect(byte.asciiLowercased == ((0x41...0x5a).contains(byte) ? byte + 32 : byte))
        }
    }

    @Test(
        "Decimal numbers are digits only and overflow to nil",
        arguments: [
            ("0", 0), ("007", 7), ("9223372036854775807", .max), ("9223372036854775808", nil),
            ("99999999999999999999", nil), ("", nil), ("+5", nil), ("-0", nil), ("1 ", nil), ("0x1", nil), ("1_0", nil),
            ("\u{FF11}", nil),
        ] as [(String, Int?)])
    func decimal(value: String, expected: Int?) {
        #expect(withBytes(value) { $0.decimalValue } == expected)
    }

    @Test("Comparison with and without case")
    func comparison() {
        withBytes("Close") { bytes in
            #expect(bytes.equalsIgnoringCase("close"))
            #expect(!bytes.equalsIgnoringCase("closed"))
            #expect(bytes.equals("Close"))
            #expect(!bytes.equals("close"))
        }
        withBytes("[") { #expect(!$0.equalsIgnoringCase("{")) }
        withBytes("@") { #expect(!$0.equalsIgnoringCase("`")) }
    }

    @Test(
        "Optional whitespace is spaces and tabs at both ends",
        arguments: [
            ("", ""), (" ", ""), ("\t \t", ""), (" a b\t", "a b"), ("\ra\n", "\ra\n"), ("\u{a0}a", "\u{a0}a"),
        ])
    func trimming(value: String, expected: String) {
        #expect(withBytes(value) { text($0.trimmingOptionalWhitespace) } == expected)
    }
}
