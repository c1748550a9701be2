import Diagnostics
import Testing
import YAML

@Suite("The bytes of a source")
struct CharacterValidationTests {
    @Test(
        "that are not UTF-8 are refused at the first bad byte",
        arguments: [
            ([0x61, 0x3A, 0x20, 0xE9, 0x0A], "0xE9"),
            ([0x61, 0x3A, 0x20, 0x80], "0x80"),
            ([0x61, 0x3A, 0x20, 0xC0, 0x80], "0xC0"),
            ([0x61, 0x3A, 0x20, 0xC1, 0xBF], "0xC1"),
            ([0x61, 0x3A, 0x20, 0xE0, 0x80, 0x80], "0xE0"),
            ([0x61, 0x3A, 0x20, 0xF0, 0x80, 0x80, 0x80], "0xF0"),
            ([0x61, 0x3A, 0x20, 0xED, 0xA0, 0x80], "0xED"),
            ([0x61, 0x3A, 0x20, 0xF4, 0x90, 0x80, 0x80], "0xF4"),
            ([0x61, 0x3A, 0x20, 0xF5, 0x80, 0x80, 0x80], "0xF5"),
            ([0x61, 0x3A, 0x20, 0xFF], "0xFF"),
            ([0x61, 0x3A, 0x20, 0xC3], "0xC3"),
            ([0x61, 0x3A, 0x20, 0xE2, 0x82], "0xE2"),
            ([0x61, 0x3A, 0x20, 0xC3, 0x28], "0xC3"),
        ] as [([UInt8], String)])
    func invalid(source: [UInt8], byte: String) throws {
        let error = try #require(failure(source))
        #expect(error.message == "the byte \(byte) is not UTF-8; save the file as UTF-8")
        #expect(error.span.start == TextMark(line: 1, column: 4, offset: 3))
    }

    @Test("that are not allowed give way to others, each told, so that the rest can be read")
    func repair() throws {
        let source = [UInt8]("a: \u{1}b\né: \u{2028}c\n".utf8) + [0xE9] + [UInt8](": d\n".utf8)
        let repair = try #require(SourceRepair(source))
        #expect(repair.text == [UInt8]("a: _b\né: \u{FFFD}c\n_: d\n".utf8))
        #expect(repair.errors.map { "\($0.span.start.line):\($0.span.start.column)" } == ["1:4", "2:4", "3:1"])
        #expect(SourceRepair([UInt8]("a: b\n".utf8)) == nil)
        #expect(SourceRepair([UInt8]("a: b\n\u{C}\n\u{0}".utf8))?.text == [UInt8]("a: b\n \n ".utf8))
        // What is no text, or another encoding's, is not repaired.
        #expect(SourceRepair([UInt8](repeating: 0xE9, count: 21)) == nil && SourceRepair([0xFF, 0xFE, 0x61, 0]) == nil)
    }

    @Test("have their line and column counted in characters before a bad one")
    func place() throws {
        let source = [UInt8]("a: b\r\né: ü\n# \u{1F600} ") + [0xE9] + [UInt8]("\nx: y\n")
        let error = try #require(failure(source))
        #expect([error.span.start.line, error.span.start.column] == [3, 5])
        #expect(source[error.span.start.offset] == 0xE9)
    }

    @Test(
        "in UTF-16 and UTF-32 are refused by name",
        arguments: [
            ([0xFF, 0xFE, 0x61, 0x00], "UTF-16"), ([0xFE, 0xFF, 0x00, 0x61], "UTF-16"),
            ([0xFF, 0xFE, 0x00, 0x00, 0x61, 0x00, 0x00, 0x00], "UTF-32"),
            ([0x00, 0x00, 0xFE, 0xFF, 0x00, 0x00, 0x00, 0x61], "UTF-32"),
            ([0x61, 0x00, 0x3A, 0x00], "NUL"), ([0x00, 0x61], "NUL"),
        ] as [([UInt8], String)])
    func otherEncodings(source: [UInt8], name: String) throws {
        let error = try #require(failure(source))
        #expect(error.message.contains(name))
        #expect(error.message.contains("save it as UTF-8"))
    }

    @Test(
        "that are control characters or line separators are refused, wherever they stand",
        arguments: [
            ("\u{0}", "NUL"), ("\u{1B}", "U+001B"), ("\u{7}", "U+0007"), ("\u{7F}", "U+007F"), ("\u{9B}", "U+009B"),
            ("\u{85}", "U+0085"), ("\u{2028}", "U+2028"), ("\u{2029}", "U+2029"), ("\u{FFFE}", "U+FFFE"),
            ("\u{FFFF}", "U+FFFF"),
        ])
    func controls(character: String, name: String) throws {
        for prefix in ["", "a: b", "# comment ", "a: \"", "0123456789 0123456789\n0123456789 "] {
            let error = try #require(failure(prefix + character + " z\n"))
            #expect(error.message.contains(name))
            #expect(error.span.start.offset == prefix.utf8.count)
            #expect(error.span.end.offset == prefix.utf8.count + character.utf8.count)
        }
    }

    @Test("that are refused may be written as the escape that the error names")
    func escapes() throws {
        let error = try #require(failure("a: \"\u{1B}\""))
        #expect(error.message.hasSuffix(#"it may be written \u001B"#))
        #expect(try scalars(#"a: "\u001B\u2028""#).last?.string == "\u{1B}\u{2028}")
    }

    @Test("of all other kinds are accepted at every position of a machine word")
    func accepted() {
        for character in [
            "\t", "~", " ", "\u{A0}", "é", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FEFF}",
            "\u{FFFD}", "\u{10000}", "\u{10FFFF}",
        ] {
            for length in 0..<17 {
                let source = "# " + String(repeating: "x", count: length) + character
                #expect(failure(source + "\na: b") == nil)
                #expect(failure(source) == nil)
            }
        }
    }

    @Test("are all looked at, whichever byte of a machine word is the bad one")
    func everyPosition() {
        for length in 0..<40 {
            for bad in [0x00, 0x1F, 0x7F, 0x80, 0xFF] as [UInt8] {
                var source = [UInt8](repeating: UInt8(ascii: "x"), count: 40)
                source[length] = bad
                #expect(failure(source)?.span.start.offset == length)
            }
        }
    }
}
