import Diagnostics
import Testing
import YAML

@Suite("Errors of syntax")
struct SyntaxErrorTests {
    @Test(
        "say what is wrong, at the place where it is",
        arguments: [
            ("a:\n\tb: 1", "a tab is not allowed as indentation; use spaces", 2, 1),
            ("a: 1\n\tb: 2", "a tab is not allowed as indentation; use spaces", 2, 1),
            ("a: |\n\tb", "a tab is not allowed as indentation; use spaces", 2, 1),
            ("\ta: 1", "a tab is not allowed as indentation; use spaces", 1, 1),
            ("é: ü\n  \tb: 1", "a tab is not allowed as indentation; use spaces", 2, 3),
            ("a: b\nc: \"d\n  e\n", "this quoted text does not end; add the closing \"", 2, 4),
            ("a: 'b\nc: d\n", "this quoted text does not end; add the closing '", 1, 4),
            ("é: 'b", "this quoted text does not end; add the closing '", 1, 4),
            (#"a: "\"#, "this quoted text does not end; add the closing \"", 1, 4),
            ("a: 'b\n---\n", "this quoted text does not end before the '---' on line 2; add the closing '", 1, 4),
            ("a: 'b\n...\n", "this quoted text does not end before the '...' on line 2; add the closing '", 1, 4),
            ("{", "this bracket is not closed; add the '}'", 1, 1),
            ("a:\n  - [", "this bracket is not closed; add the ']'", 2, 5),
            ("a: [b, c", "this bracket is not closed; add the ']'", 1, 4),
            ("a: {b: c\n", "this bracket is not closed; add the '}'", 1, 4),
            ("a: [b\nc: d\ne: f", "',' or ']' is expected here, not ':'; the bracket was opened on line 1", 2, 2),
            ("a: [b c: d e: f]", "',' or ']' is expected here, not ':'; the bracket was opened on line 1", 1, 13),
            ("a: ]", "a value is expected here, not ']'", 1, 4),
            ("a: [,]", "a value is expected here, not ','", 1, 5),
            ("{a: b}}", "the document has ended before this; check the brackets and the indentation", 1, 7),
            ("[a]\nb: c", "the document has ended before this; check the brackets and the indentation", 2, 1),
            ("a: 1\n...\nb: 2", "the document has ended before this; check the brackets and the indentation", 3, 1),
            (
                "a: b: c",
                "a ':' is not expected here; if it belongs to a text, put that in quotes, else check the indentation,"
                    + " and that the key on the line before has a ': '", 1, 5
            ),
            ("a: b\nc\nd: e", "no ': ' follows this key; it must stand on the same line", 2, 1),
            (
                "- a\nb: c",
                "a '-' of the list that begins on line 1 is expected here, not 'b'; check the indentation", 2, 1
            ),
            (
                "a:\n  b: 1\n c: 2",
                "a key of the mapping that begins on line 1 is expected here, not 'c'; check the indentation and"
                    + " the quotes", 3, 2
            ),
            (
                "a: 'it's'",
                "a key of the mapping that begins on line 1 is expected here, not 's'; check the indentation and"
                    + " the quotes", 1, 8
            ),
            ("a: @b", "a text can't begin with '@'; put it in quotes", 1, 4),
            ("a: `b", "a text can't begin with '`'; put it in quotes", 1, 4),
            ("a: %b", "a text can't begin with '%'; put it in quotes", 1, 4),
            (#"a: "\d""#, #"'\d' is not an escape; write '\\d', or use single quotes"#, 1, 5),
            (#"a: "\é""#, #"'\é' is not an escape; write '\\é', or use single quotes"#, 1, 5),
            (#"a: "\x4""#, #"an escape \x takes 2 hexadecimal digits, \u 4, \U 8"#, 1, 7),
            (
                #"a: "\ud83d\ude00""#,
                #"this escape is not a character; surrogate pairs are not joined, so write \U and 8 digits, or the"#
                    + " character itself", 1, 7
            ),
            ("a: |0\n  b", "the number after '|' or '>' must be 1 to 9", 1, 5),
            ("a: | b", "the text after '|' or '>' begins on the next line", 1, 6),
            (
                "a: - b", "a list entry is not expected here; begin it on a line of its own, and check the indentation",
                1, 4
            ),
            ("a: ? b", "a '?' is not expected here; if it belongs to the text, put that in quotes", 1, 4),
            ("a: {b::, c}", "a ':' is not expected here; put the text in quotes", 1, 7),
            (
                "%x y\n---\na: b",
                "a line that begins with '%' is a YAML directive, and this one is not understood; remove it, or put"
                    + " the text in quotes", 1, 1
            ),
            ("%YAML 1.3\n---\na", "this version of YAML is not known; remove the directive", 1, 1),
            ("%YAML 1.1\n%YAML 1.1\n---\na", "a second %YAML directive; remove it", 2, 1),
            ("%TAG\n---\na", "the directive %TAG is not accepted; remove it", 1, 1),
        ])
    func sentences(source: String, message: String, line: Int, column: Int) throws {
        let error = try #require(failure(source))
        #expect(error.message == message)
        #expect([error.span.start.line, error.span.start.column] == [line, column])
    }

    @Test(
        "about a key over 1024 characters tell the other way to write it",
        arguments: ["", "a: b\n"])
    func longKey(before: String) throws {
        let key = String(repeating: "k", count: 1030)
        let error = try #require(failure(before + key + ": v"))
        #expect(error.message.hasPrefix("a key of more than 1024 characters is written '? KEY'"))
        #expect(try scalars("\(before)? \(key)\n: v").suffix(2).map(\.string) == [key, "v"])
        #expect(failure(before + String(repeating: "k", count: 1024) + ": v") == nil)
    }

    @Test("describe themselves with line and column")
    func description() throws {
        #expect("\(try #require(failure("a: ]")))" == "1:4: a value is expected here, not ']'")
    }
}
