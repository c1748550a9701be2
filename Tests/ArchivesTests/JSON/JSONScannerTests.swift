import ProxyTestKit
import Testing

@testable import Archives

@Suite("A scanner of JSON")
struct JSONScannerTests {
    /// All strings and integers of a text in their order, names too.
    private func values(_ text: [UInt8], room: Int = 1 << 18) throws(JSONError) -> [String] {
        var values: [String] = []
        var scanner = JSONScanner(ArchiveBytes(text), room: room)
        try scanner.beginning()
        try walk(&scanner, into: &values)
        guard try scanner.isAtEnd() else { throw .syntax("more", at: scanner.offset) }
        return values
    }

    private func walk(_ scanner: inout JSONScanner, into values: inout [String]) throws(JSONError) {
        if try scanner.enterObject() {
            while let name = try scanner.nextMember() {
                values.append(String(decoding: name, as: UTF8.self) + (scanner.isCut ? "…" : ""))
                try walk(&scanner, into: &values)
            }
        } else if try scanner.enterArray() {
            while try scanner.nextElement() { try walk(&scanner, into: &values) }
        } else if try scanner.significant() == UInt8(ascii: "\"") {
            guard let text = try scanner.string() else { return }
            values.append(String(decoding: text, as: UTF8.self) + (scanner.isCut ? "…" : ""))
        } else if let integer = try scanner.integer() {
            values.append("\(integer)")
        }
    }

    private func skip(_ text: String, room: Int = 1 << 18) throws(JSONError) {
        var scanner = JSONScanner(ArchiveBytes(Array(text.utf8)), room: room)
        try scanner.skipValue()
        guard try scanner.isAtEnd() else { throw .syntax("more", at: scanner.offset) }
    }

    @Test("reads values, wherever its room ends")
    func reads() throws {
        let text =
            #"{"a" : [1, -20, 3.5, 4e2, "x\"\\", [], {}], "b\n" :"# + "\n\t"
            + #"{"c": {"d":null,"e":true}}, "":"ü\u00fc"}"#
        let expected = ["a", "1", "-20", "400", "x\"\\", "b\n", "c", "d", "e", "", "üü"]
        for padding in 0..<600 {
            let padded = Array((String(repeating: " ", count: padding) + text).utf8)
            #expect(try values(padded, room: 512) == expected)
            try skip(String(decoding: padded, as: UTF8.self), room: 512)
        }
    }

    @Test("cuts strings that are longer than its room")
    func cuts() throws {
        let long = String(repeating: #"a\\"#, count: 1000)
        let start = String(repeating: #"a\"#, count: 85)
        for padding in 0..<8 {
            let blanks = String(repeating: " ", count: padding)
            let values = try values(Array(#"\#(blanks){"\#(long)" : "\#(long)", "b":1}"#.utf8), room: 512)
            #expect(values == [start + "a…", start + "a…", "b", "1"])
        }
    }

    @Test(
        "takes what is JSON",
        arguments: [
            "1", "\"\"", "[]", "{}", "[1,2]", " { \"a\" : [ null , true , false ] } ",
            "[NaN,Infinity,-Infinity,-0.5e+3]",
            #"["\\","\\\"","\\\\\""]"#, "\"\u{1}\"",
        ])
    func takes(_ text: String) {
        #expect(throws: Never.self) { try skip(text) }
    }

    @Test(
        "refuses what is not",
        arguments: [
            "", " ", "[", "{", "\"", "[1,]", "[,1]", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "[1 2]", "[}",
            "{]",
            "nul", "[tru]", "[-]", "[+]", "[e]", "]", "1 2", "[\u{1}]", #""\""#, "{\"a\" 1}", "[nulll]",
        ])
    func refuses(_ text: String) {
        #expect(throws: JSONError.self) { try skip(text) }
        #expect(throws: JSONError.self) {
            let values = try values(Array(text.utf8))
            if !values.isEmpty || text == "[+]" { throw JSONError.syntax("numbers are not checked", at: 0) }
        }
    }

    @Test("goes 64 levels deep")
    func depth() throws {
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        try skip(deep)
        #expect(try values(Array(deep.utf8)) == [])
        #expect(throws: JSONError.self) { try skip("[" + deep + "]") }
        #expect(throws: JSONError.self) { try values(Array("[\(deep)]".utf8)) }
    }

    @Test(
        "decodes escapes, wherever pieces end",
        arguments: [
            (#"a\"\\\/\b\f\n\r\t"#, "a\"\\/\u{8}\u{c}\n\r\t", 0), (#"\u00e9\u20AC\ud83d\ude00"#, "é€😀", 0),
            (#"\ud83dx"#, "\u{FFFD}x", 1), (#"\ude00"#, "\u{FFFD}", 1), (#"\ud83d\ud83d\ude00"#, "\u{FFFD}😀", 1),
            (#"\ud83d\n"#, "\u{FFFD}\n", 1), (#"\x\ud83d"#, "x\u{FFFD}", 2), (#"\u12g4"#, "\u{FFFD}g4", 1),
            (#"\u12\n"#, "\u{FFFD}\n", 1), (#"\u"#, "\u{FFFD}", 1), (#"\ud83d\u"#, "\u{FFFD}\u{FFFD}", 2),
            ("ü", "ü", 0),
        ])
    func escapes(_ written: String, _ text: String, _ faults: Int) {
        let bytes = Array(written.utf8)
        for cut in 0...bytes.count {
            var escapes = JSONEscapes()
            var decoded: [UInt8] = []
            for piece in [bytes[..<cut], bytes[cut...]] { piece.withUnsafeBytes { escapes.decode($0, into: &decoded) } }
            escapes.finish(into: &decoded)
            #expect(String(decoding: decoded, as: UTF8.self) == text)
            #expect(escapes.faults == faults)
        }
    }

    @Test("decodes base64 as far as it goes, wherever pieces end")
    func base64() {
        let cases: [(String, String, Int)] = [
            ("", "", 0), ("YQ==", "a", 0), ("YWI=", "ab", 0), ("YWJj", "abc", 0), ("YQ", "a", 0), ("YWI", "ab", 0),
            ("Y W\r\nJj", "abc", 0), ("Y-W_Jj!", "abc", 3), ("YQ==YWJj", "aabc", 0), ("YWJjY", "abc", 1),
            ("====", "", 0),
        ]
        for (text, decoded, strangers) in cases {
            let bytes = Array(text.utf8)
            for cut in 0...bytes.count {
                var base64 = LenientBase64()
                var result: [UInt8] = []
                base64.decode(Array(bytes[..<cut]), into: &result)
                base64.decode(Array(bytes[cut...]), into: &result)
                base64.finish(into: &result)
                #expect(String(decoding: result, as: UTF8.self) == decoded)
                #expect(base64.strangers == strangers)
            }
        }
    }

    @Test(
        "reads times",
        arguments: [
            ("2026-11-23T04:05:06.789Z", 1_795_406_706_789), ("2026-11-23T04:05:06Z", 1_795_406_706_000),
            ("2026-11-23T05:05:06.7891234+01:00", 1_795_406_706_789), ("2026-11-22T23:05:06-0500", 1_795_406_706_000),
            ("20261123T040506Z", 1_795_406_706_000), ("2024-02-29T00:00Z", 1_709_164_800_000),
            ("2023-02-29T00:00:00Z", nil), ("1970-01-01T00:00:00.000Z", nil), ("yesterday", nil), ("", nil),
        ] as [(String, Int64?)])
    func times(_ text: String, _ time: Int64?) {
        let bytes = Array(text.utf8)
        #expect(bytes.withUnsafeBytes { HARTime.milliseconds($0) } == time)
        guard let time else { return }
        #expect(HARTime.text(time).withUnsafeBytes { HARTime.milliseconds($0) } == time)
    }
}
