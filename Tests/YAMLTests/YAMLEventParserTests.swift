import Diagnostics
import Testing
import YAML

@Suite("The event parser")
struct YAMLEventParserTests {
    @Test(
        "reads the parts of a source in its order",
        arguments: [
            ("", ""),
            ("# a comment\n", ""),
            ("---\n", "--- '' ..."),
            ("null", "--- 'null' ..."),
            ("a: 1\nb: 2\n", "--- { 'a' '1' 'b' '2' } ..."),
            ("a:\nb:\n", "--- { 'a' '' 'b' '' } ..."),
            ("- a\n-\n  - b\n", "--- [ 'a' [ 'b' ] ] ..."),
            ("{a: [b, {c: d}], e}", "--- { 'a' [ 'b' { 'c' 'd' } ] 'e' '' } ..."),
            ("? [a]\n: b\n", "--- { [ 'a' ] 'b' } ..."),
            ("%YAML 1.1\n---\na: b\n...\n", "--- { 'a' 'b' } ..."),
            ("%YAML 1.2\n---\na: b\n", "--- { 'a' 'b' } ..."),
            ("\u{FEFF}a: b\n", "--- { 'a' 'b' } ..."),
            ("a: b\r\nc: d\r\n", "--- { 'a' 'b' 'c' 'd' } ..."),
            ("\"<<\": a\n", "--- { '<<' 'a' } ..."),
            ("a: <<\n", "--- { 'a' '<<' } ..."),
            ("a: [<<]\n", "--- { 'a' [ '<<' ] } ..."),
        ])
    func order(source: String, expected: String) throws {
        #expect(try events(source) == expected)
    }

    @Test(
        "reads the text of a scalar in every style",
        arguments: [
            ("a: b c # d", "b c", YAMLScalar.Style.plain),
            ("a: b\n   c\n\n   d", "b c\nd", .plain),
            ("a: 'it''s'", "it's", .singleQuoted),
            ("a: 'b c'", "b c", .singleQuoted),
            ("a: ''", "", .singleQuoted),
            ("a: 'b\n  c'", "b c", .singleQuoted),
            (#"a: "b\n\t\"\\\/\x41\u00e9\U0001F600""#, "b\n\t\"\\/A\u{E9}\u{1F600}", .doubleQuoted),
            (#"a: "\0""#, "\0", .doubleQuoted),
            ("a: \"b c\"", "b c", .doubleQuoted),
            ("a: \"é\u{1F600}\"", "é\u{1F600}", .doubleQuoted),
            ("a: |\n  b\n   c\n", "b\n c\n", .literal),
            ("a: |-\n  b\n", "b", .literal),
            ("a: >\n  b\n  c\n", "b c\n", .folded),
            ("a: ~^https?://a\\.b/v(\\d+)/u$", "~^https?://a\\.b/v(\\d+)/u$", .plain),
            ("a: http://h.test/x?y=z&w#f", "http://h.test/x?y=z&w#f", .plain),
        ])
    func styles(source: String, expected: String, style: YAMLScalar.Style) throws {
        let scalar = try #require(try scalars(source).last)
        #expect(scalar.string == expected)
        #expect(Array(scalar.bytes) == [UInt8](expected))
        #expect(scalar.style == style)
        #expect(scalar.isPlain == (style == .plain))
    }

    @Test("gives each scalar its span, counted in characters and in bytes")
    func spans() throws {
        let source = "é: \"ü\u{1F600}\" # ö\n  # ñ\nz:   'x'\n"
        let found = try scalars(source)
        let marks = found.map { [$0.span.start.line, $0.span.start.column, $0.span.end.column] }
        #expect(marks == [[1, 1, 2], [1, 4, 8], [3, 1, 2], [3, 6, 9]])
        #expect(found.map { text(of: $0.span, in: [UInt8](source)) } == ["é", "\"ü\u{1F600}\"", "z", "'x'"])
    }

    @Test("counts the bytes of a byte-order mark in offsets and not in columns")
    func byteOrderMark() throws {
        for source in ["\u{FEFF}ab: c", "\u{FEFF}ab: é"] {
            let key = try #require(try scalars(source).first)
            #expect(key.span.start == TextMark(line: 1, column: 1, offset: 3))
            #expect(key.span.end == TextMark(line: 1, column: 3, offset: 5))
        }
    }

    @Test("counts a line at LF, CR and CRLF")
    func lineBreaks() throws {
        #expect(try scalars("a: 1\rb: 2\r\nc: 3\nd: 4").map(\.span.start.line) == [1, 1, 2, 2, 3, 3, 4, 4])
    }

    @Test("gives collections the span of their bracket or of their first key")
    func collectionSpans() throws {
        let parser = YAMLEventParser([UInt8]("a: {b: c}\n"))
        var starts: [TextSpan] = []
        loop: while true {
            switch try parser.next() {
            case .mappingStart(let span): starts.append(span)
            case .streamEnd: break loop
            default: continue
            }
        }
        #expect(starts.map(\.start.column) == [1, 4])
        #expect(starts.map { $0.end.offset - $0.start.offset } == [0, 1])
    }

    @Test("reads a source longer than libyaml's buffers, with characters across their edges")
    func longSource() throws {
        var source = ""
        for index in 0..<6_000 { source += "k\(index): ä€\u{1F600}\(index)\n" }
        let found = try scalars(source)
        let bytes = [UInt8](source)
        #expect(found.count == 12_000)
        #expect(found.last?.string == "ä€\u{1F600}5999")
        #expect(found.allSatisfy { text(of: $0.span, in: bytes) == $0.string })
    }

    @Test("keeps a scalar's text beyond the parser's life")
    func outliving() throws {
        #expect(try scalars("verbatim: \"esc\\u0061ped\"").map(\.string) == ["verbatim", "escaped"])
    }

    @Test("ends with the stream's end, again and again")
    func end() throws {
        let parser = YAMLEventParser([UInt8]("a"))
        for _ in 0..<3 { _ = try parser.next() }
        for _ in 0..<3 {
            guard case .streamEnd = try parser.next() else {
                Issue.record("not the end")
                return
            }
        }
    }

    @Test("gives the same error again after an error")
    func errorRepeats() {
        let parser = YAMLEventParser([UInt8]("[a, &b c]"))
        var errors: [YAMLError] = []
        for _ in 0..<8 {
            do throws(YAMLError) { _ = try parser.next() } catch { errors.append(error) }
        }
        #expect(errors.count == 5)
        #expect(Set(errors).count == 1)
    }

    @Test("can be abandoned before its first and in the middle of its events")
    func abandoned() throws {
        _ = YAMLEventParser([UInt8]("a: b"))
        let parser = YAMLEventParser([UInt8]("a: [b, c]"))
        for _ in 0..<4 { _ = try parser.next() }
    }

    @Test("treats every cut-off source as a source or an error, and never traps")
    func cutOff() {
        let source = [UInt8](
            "\u{FEFF}%YAML 1.1\n--- # c\né: {\"b\\u00e9\": ['c', |, ~]}\n? - x\n: |2-\n   lit\n"
                + "k: >\n  f\n  g\n&a *b: !!c <<\n"
        )
        for end in source.indices {
            _ = failure(Array(source[..<end]))
            _ = failure(Array(source[end...]))
        }
    }

    @Test("gives every one-byte change of a source an answer within the source")
    func changedBytes() {
        let source = [UInt8]("a: {b: [c, 'd', \"e\\n\"]}\nf: |\n  g\n- h\n")
        for index in source.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = source
                changed[index] = byte
                if let error = failure(changed) {
                    #expect(error.span.start.offset <= error.span.end.offset && error.span.end.offset <= changed.count)
                    #expect(!error.diagnostic(file: "f").rendered(source: changed).utf8.contains(0x1B))
                }
            }
        }
    }
}
