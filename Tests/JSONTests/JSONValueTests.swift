import JSON
import Testing

@Suite("A value of JSON's")
struct JSONValueTests {
    private func value(_ text: String) throws -> JSONValue { try JSONReader.value(Array(text.utf8)) }

    /// RFC 7396, appendix A.
    @Test(
        "is merged with a patch",
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, "{}"), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
            (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
            (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"),
            (#"{"a":"foo"}"#, #""bar""#, #""bar""#), (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
            ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
            ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        ])
    func mergePatch(original: String, patch: String, result: String) throws {
        var merged = try value(original)
        merged.merge(patch: try value(patch))
        #expect(String(decoding: merged.text, as: UTF8.self) == result)
    }

    @Test("keeps the order of its members when it is merged")
    func mergeOrder() throws {
        var merged = try value(#"{"a":1,"b":{"x":1,"y":2},"c":3}"#)
        merged.merge(patch: try value(#"{"d":4,"c":null,"b":{"x":5},"a":6}"#))
        #expect(String(decoding: merged.text, as: UTF8.self) == #"{"a":6,"b":{"x":5,"y":2},"d":4}"#)
    }

    @Test("finds members of large objects, and takes none twice")
    func lookup() {
        var object = JSONObject()
        for number in 0..<100 {
            let isNew = object.append(Array("m\(number)".utf8), .bool(number % 2 == 0))
            let isTwice = object.append(Array("m\(number / 2)".utf8), .null)
            #expect(isNew && !isTwice)
        }
        #expect(object.members.count == 100)
        for number in 0..<100 { #expect(object["m\(number)"] == .bool(number % 2 == 0)) }
        #expect(object["m100"] == nil)
    }

    @Test("is written as Swift's literals, and read member by member")
    func literals() {
        let value: JSONValue = ["a": ["b": [1, -2, "t", true]], "n": .null, "a": 2]
        #expect(String(decoding: value.text, as: UTF8.self) == #"{"a":{"b":[1,-2,"t",true]},"n":null}"#)
        let elements = value["a"]?["b"]?.elements ?? []
        #expect(elements.map(\.integerValue) == [1, -2, nil, nil])
        #expect(elements.map(\.realValue) == [1, -2, nil, nil])
        #expect(elements.map(\.stringValue) == [nil, nil, "t", nil])
        #expect(elements.map(\.stringBytes) == [nil, nil, [0x74], nil])
        #expect(elements.map(\.boolValue) == [nil, nil, nil, true])
        #expect(value["n"] == .null)
        #expect(value["m"] == nil)
        #expect(value["a"]?.elements == [])
        #expect(JSONValue("x")["a"] == nil)
    }
}
