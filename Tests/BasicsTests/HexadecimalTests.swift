import Basics
import Testing

@Suite("Hexadecimal digits")
struct HexadecimalTests {
    @Test("have their values in either case, and no other byte has one")
    func values() {
        for byte in UInt8.min...UInt8.max {
            let expected = byte < 0x80 ? Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) } : nil
            #expect(byte.hexValue == expected)
        }
    }

    @Test("are written in lower case unless the other is asked for, two for each byte")
    func bytes() {
        #expect(Hexadecimal.text([0x00, 0x0f, 0xa0, 0xff]) == "000fa0ff")
        #expect(Hexadecimal.text([0x00, 0x0f, 0xa0, 0xff], .upper) == "000FA0FF")
        #expect(Hexadecimal.text([]) == "")
        for value in UInt8(0)..<16 { #expect(Hexadecimal.digit(value).hexValue == value) }
        #expect(Hexadecimal.digit(0xfa) == UInt8(ascii: "a"))
        var output: [UInt8] = [0x22]
        Hexadecimal.append([0x1b], to: &output)
        #expect(output == Array("\"1b".utf8))
    }

    @Test(
        "are written with zeros in front for numbers",
        arguments: [(0, 4, "0000"), (0x1b, 2, "1B"), (0xabcd, 4, "ABCD"), (0x1F600, 4, "1F600"), (7, 0, "7")])
    func numbers(_ number: Int, _ width: Int, _ expected: String) {
        #expect(Hexadecimal.text(UInt(number), width: width, .upper) == expected)
        #expect(Hexadecimal.text(UInt(number), width: width) == expected.lowercased())
    }
}
