import Testing

@testable import Database

@Suite struct RowKeyTests {
    @Test func `A boolean key is named as its values are written, and by the number`() throws {
        let stage = try Stage("CREATE TABLE b(k BOOLEAN PRIMARY KEY, a); INSERT INTO b VALUES (1,'yes');")
        #expect(stage.get("b").body == #"[{"k":true,"a":"yes"}]"#)
        for key in ["true", "1"] { #expect(stage.get("b/\(key)").body == #"{"k":true,"a":"yes"}"#) }
        #expect(stage.get("b/false").status == 404)
        #expect(stage.get("b/TRUE").status == 404)

        let made = stage.send(.post, "b", #"{"k":false,"a":"no"}"#)
        #expect(made.status == 201)
        let location = try #require(made.fields["Location"])
        #expect(stage.get(String(location.dropFirst("http://api.example/".count))).body == made.body)
        #expect(stage.send(.put, "b/false", #"{"k":false,"a":"never"}"#).body == #"{"k":false,"a":"never"}"#)
        #expect(stage.send(.patch, "b/false", #"{"k":true}"#).status == 400)
        #expect(stage.send(.delete, "b/false").status == 200)
        let put = stage.send(.put, "b/false", #"{"a":"anew"}"#) { $0.ifNoneMatch = .any }
        #expect(put.status == 201 && put.body == #"{"k":false,"a":"anew"}"#)
    }

    @Test func `A boolean key that is a word has it as its name`() throws {
        let stage = try Stage("CREATE TABLE b(k BOOLEAN PRIMARY KEY, a); INSERT INTO b VALUES ('true','word');")
        #expect(stage.get("b/true").body == #"{"k":"true","a":"word"}"#)
    }
}
