import Testing

@testable import Database

@Suite struct WritingTests {
    let stage: Stage
    init() throws { stage = try Stage(Stage.shop) }

    @Test func `POST inserts a row and says where it is`() {
        let answer = stage.send(
            .post, "products", #"{"name":"Egg","price":2,"sale":false,"extra":{"a":[1,"x"]},"image":"AQI="}"#)
        #expect(answer.status == 201)
        #expect(answer.fields["Location"] == "http://api.example/products/5")
        #expect(
            answer.body
                == #"{"id":5,"name":"Egg","brand":null,"price":2.0,"stock":null,"sale":false,"extra":{"a":[1,"x"]},"image":"AQI=","anything":null}"#
        )
        #expect(stage.get("products/5").body == answer.body)
        #expect(answer.fields["ETag"] == String(decoding: Stage.tag(Array(answer.body.utf8)), as: UTF8.self))
    }

    @Test func `POST of an array inserts all rows or none`() {
        let both = stage.send(.post, "plain", #"[{"a":1},{"a":2}]"#)
        #expect(
            both.status == 201 && both.body == #"[{"a":1,"b":null},{"a":2,"b":null}]"# && both.fields["Location"] == nil
        )
        let none = stage.send(.post, "products", #"[{"id":50},{"id":1}]"#)
        #expect(none.status == 409 && none.body.contains("UNIQUE constraint failed: products.id"))
        #expect(stage.get("products/50").status == 404)
    }

    @Test(
        arguments: [(".", nil), ("..", nil), ("", nil), ("...", "words/en/..."), (".a", "words/en/.a")]
            as [(String, String?)])
    func `A row has no URL where its key would be no segment of one, and a filter finds it`(
        word: String, place: String?
    ) throws {
        let stage = try Stage(Stage.shop)
        let answer = stage.send(.post, "words", #"{"lang":"en","word":"\#(word)","n":9}"#)
        #expect(answer.status == 201 && answer.fields["Location"] == place.map { "http://api.example/\($0)" })
        #expect(stage.get("words?lang=en&word=\(word)").body == #"[{"lang":"en","word":"\#(word)","n":9}]"#)
    }

    @Test func `POST to children sets the foreign key, and the row is of its own table`() {
        let answer = stage.send(.post, "products/2/reviews", #"{"text":"new","stars":4}"#)
        #expect(answer.body == #"{"id":4,"product":2,"text":"new","stars":4}"#)
        #expect(answer.fields["Location"] == "http://api.example/reviews/4")
        for same in ["2", "2.0", "2e0"] {
            #expect(stage.send(.post, "products/2/reviews", #"{"product":\#(same)}"#).body.contains(#""product":2,"#))
        }
        for other in ["1", "2.5", "null", "true"] {
            #expect(stage.send(.post, "products/2/reviews", #"{"product":\#(other)}"#).status == 400, "\(other)")
        }
        #expect(stage.send(.post, "products/99/reviews", "{}").status == 404)
    }

    @Test func `POST to children sets all columns of the foreign key`() throws {
        let stage = try Stage(ReadingTests.uses)
        let answer = stage.send(.post, "words/en/house/uses", #"{"w":"house"}"#)
        #expect(answer.status == 201 && answer.body == #"{"id":5,"w":"house","l":"en"}"#, "\(answer.body)")
        #expect(answer.fields["Location"] == "http://api.example/uses/5")
        #expect(stage.send(.post, "words/en/house/uses", #"{"w":"Haus"}"#).status == 400)
        #expect(stage.send(.post, "words/de/house/uses", "{}").status == 404)
    }

    @Test func `PUT sets what is left out to its default, PATCH leaves it`() throws {
        let stage = try Stage(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT DEFAULT 'd', b INT DEFAULT (1+1), c); INSERT INTO t VALUES(1,'x',9,8);"
        )
        #expect(stage.send(.patch, "t/1", #"{"c":7}"#).body == #"{"id":1,"a":"x","b":9,"c":7}"#)
        #expect(stage.send(.put, "t/1", #"{"id":1,"c":3}"#).body == #"{"id":1,"a":"d","b":2,"c":3}"#)
        #expect(stage.send(.put, "t/2", #"{"c":3}"#).status == 404)
        let made = stage.send(.put, "t/2", #"{"c":3}"#) { $0.ifNoneMatch = .any }
        #expect(made.status == 201 && made.body == #"{"id":2,"a":"d","b":2,"c":3}"#)
        #expect(stage.send(.put, "t/2", #"{"id":3}"#).status == 400)
    }

    @Test func `A default may end with a comment`() throws {
        let stage = try Stage(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, p INT DEFAULT (0 -- none
            ), q INT DEFAULT (1
              + 2)); INSERT INTO t VALUES(1,'x',9,9);
            """)
        let answer = stage.send(.put, "t/1", #"{"a":"y"}"#)
        #expect(answer.status == 200 && answer.body == #"{"id":1,"a":"y","p":0,"q":3}"#, "\(answer.body)")
    }

    @Test func `DELETE answers with the row that was`() {
        let answer = stage.send(.delete, "reviews/3")
        #expect(answer.status == 200 && answer.body == #"{"id":3,"product":3,"text":"fine","stars":3}"#)
        #expect(stage.get("reviews/3").status == 404)
        #expect(stage.send(.delete, "reviews/3").status == 404)
        #expect(stage.send(.delete, "products/1").status == 409)
    }

    @Test func `A merge patch changes members of JSON columns`() {
        let answer = stage.send(
            .patch, "products/1", #"{"extra":{"color":null,"new":1}}"#, type: "application/merge-patch+json")
        #expect(answer.body.contains(#""extra":{"tags":["a","b"],"size":{"w":3},"ok":true,"new":1}"#))
    }

    @Test(arguments: [#"{"keep":1,"x":"\ud83d"}"#, #"{"a":1,"a":2}"#])
    func `A merge patch leaves JSON as it is that it can't read whole`(stored: String) throws {
        let stage = try Stage("CREATE TABLE t(id INTEGER PRIMARY KEY, j JSON); INSERT INTO t VALUES (1,'\(stored)')")
        let merge = "application/merge-patch+json"
        let answer = stage.send(.patch, "t/1", #"{"j":{"b":1}}"#, type: merge)
        #expect(answer.status == 400 && answer.body.contains("set all of it as application/json"), "\(answer)")
        #expect(stage.get("t/1").body == #"{"id":1,"j":\#(stored)}"#)
        // What is shown as a text is one, which an object takes the place of (RFC 7396 §2).
        #expect(stage.send(.patch, "t/1", #"{"j":"text"}"#).status == 200)
        #expect(stage.send(.patch, "t/1", #"{"j":{"b":1}}"#, type: merge).body == #"{"id":1,"j":{"b":1}}"#)
    }

    @Test func `What a write answers with is within the limit, or nothing is written`() throws {
        var stage = try Stage("CREATE TABLE t(id INTEGER PRIMARY KEY, a, j JSON); INSERT INTO t VALUES(1, 'x', '{}');")
        stage.rule.limits.bytes = 40
        let long = String(repeating: "y", count: 60)
        #expect(stage.send(.patch, "t/1", "{\"a\":\"\(long)\"}").status == 400)
        #expect(stage.get("t/1").body == #"{"id":1,"a":"x","j":{}}"#)
        let merge = "application/merge-patch+json"
        #expect(
            stage.send(.patch, "t/1", "{\"j\":{\"a\":\"\(long)\"}}", type: merge) { $0.prefersMinimal = true }.status
                == 204)
        #expect(stage.get("t/1").status == 400)
        for (method, body) in [(.patch, #"{"a":1}"#), (.put, #"{"a":1,"j":"\#(long)"}"#), (.delete, "")]
            as [(DatabaseRequest.Method, String)]
        {
            let answer = stage.send(method, "t/1", body)
            #expect(answer.status == 400 && answer.body.contains("return=minimal"), "\(method) \(answer)")
        }
        // A text that GET refuses is not taken apart either.
        let patch = stage.send(.patch, "t/1", #"{"j":{"b":1}}"#, type: merge) { $0.prefersMinimal = true }
        #expect(patch.status == 400 && patch.body.contains("'j' has more than 40 bytes"), "\(patch)")
        #expect(stage.send(.delete, "t/1") { $0.prefersMinimal = true }.status == 204)
    }

    @Test func `Whole numbers that are one as doubles are two keys`() throws {
        let stage = try Stage("CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES(9007199254740992, 'x');")
        #expect(stage.send(.put, "t/9007199254740992", #"{"id":9007199254740993,"a":1}"#).status == 400)
        #expect(stage.send(.put, "t/9007199254740992", #"{"id":9007199254740992,"a":1}"#).status == 200)
    }

    @Test func `Preconditions are compared with the row's tag`() {
        let tag = Stage.tag(Array(stage.get("reviews/1").body.utf8))
        #expect(
            stage.send(.patch, "reviews/1", #"{"stars":2}"#) { $0.ifMatch = .strong(Array("\"x\"".utf8)) }.status == 412
        )
        #expect(
            stage.send(.patch, "reviews/1", #"{"stars":2}"#) { $0.ifMatch = .strong(Array("\"x\"".utf8), tag) }.status
                == 200)
        #expect(stage.send(.delete, "reviews/1") { $0.ifMatch = .strong(tag) }.status == 412)
        #expect(stage.send(.put, "reviews/1", "{}") { $0.ifNoneMatch = .any }.status == 412)
    }

    @Test func `Tags are compared strongly for If-Match, and weakly for If-None-Match`() {
        let tag = Stage.tag(Array(stage.get("reviews/1").body.utf8))
        var weak = EntityTags()
        weak.tags = [EntityTags.Tag(isWeak: true, quoted: tag)]
        #expect(stage.send(.patch, "reviews/1", "{}") { $0.ifMatch = weak }.status == 412)
        #expect(stage.send(.patch, "reviews/1", "{}") { $0.ifNoneMatch = weak }.status == 412)
        let own = Array("W/\"own\"".utf8)
        func patch(_ change: (inout DatabaseRequest.Body) -> Void) -> Int {
            stage.send(.patch, "reviews/1", "{}") {
                $0.ruleTag = own
                change(&$0)
            }.status
        }
        #expect(patch { $0.ifMatch = .strong(Array("\"own\"".utf8)) } == 412)
        #expect(patch { $0.ifNoneMatch = .strong(Array("\"own\"".utf8)) } == 412)
        #expect(patch { $0.ifMatch = EntityTags() } == 412)
        #expect(patch { $0.ifNoneMatch = EntityTags() } == 200)
    }

    @Test(arguments: ["INTEGER PRIMARY KEY DESC", "INT PRIMARY KEY"])
    func `A key that isn't the rowid needs a value, whatever its type is called`(declared: String) throws {
        let stage = try Stage("CREATE TABLE b(id \(declared), v); CREATE TABLE c(id INTEGER, v, PRIMARY KEY(id DESC))")
        let refused = stage.send(.post, "b", #"{"v":1}"#)
        #expect(refused.status == 400 && refused.body.contains("'id' is the key, and needs a value"), "\(refused)")
        #expect(stage.send(.post, "b", #"{"id":5,"v":1}"#).fields["Location"]?.hasSuffix("/b/5") == true)
        // This one is the rowid.
        #expect(stage.send(.post, "c", #"{"v":1}"#).body == #"{"id":1,"v":1}"#)
    }

    @Test func `A preference for less is followed and confirmed`() {
        let made = stage.send(.post, "plain", "{}") { $0.prefersMinimal = true }
        #expect(made.status == 201 && made.body.isEmpty && made.fields["Preference-Applied"] == "return=minimal")
        #expect(stage.send(.delete, "plain/1") { $0.prefersMinimal = true }.status == 204)
    }

    @Test func `A limit of the answer refuses no write whose answer has no body`() throws {
        let rows = "[{\"a\":1},{\"a\":2},{\"a\":3},{\"a\":4}]"
        for change in [{ $0.rows = 3 }, { $0.bytes = 10 }] as [(inout DatabaseRule.Limits) -> Void] {
            var stage = try Stage(Stage.shop)
            change(&stage.rule.limits)
            #expect(stage.send(.post, "plain", rows).status == 400)
            let made = stage.send(.post, "plain", rows) { $0.prefersMinimal = true }
            #expect(made.status == 201 && made.body.isEmpty, "\(made)")
            stage.rule.limits = DatabaseRule.unhurried.limits
            #expect(stage.get("plain").fields["X-Total-Count"] == "6")
        }
    }

    @Test func `A POST has the preconditions of its list`() {
        func post(_ change: (inout DatabaseRequest.Body) -> Void) -> Int {
            stage.send(.post, "products/1/reviews", #"{"text":"x"}"#, change).status
        }
        let tag = Stage.tag(Array(stage.get("products/1/reviews").body.utf8))
        #expect(post { $0.ifNoneMatch = .any } == 412)
        #expect(post { $0.ifMatch = .strong(Array("\"x\"".utf8)) } == 412)
        #expect(post { $0.ifMatch = .strong(tag) } == 201)
        #expect(post { $0.ifMatch = .strong(tag) } == 412)
        #expect(post { $0.ifNoneMatch = .strong(tag) } == 201)
    }

    @Test(arguments: [
        (#"{"name":"#, 400, "line 1, column"), (#"{"prize":1}"#, 400, "no column 'prize'"),
        (#"{"name":{}}"#, 400, "no JSON column"),
        (#"{"name":"a","NAME":"b"}"#, 400, "twice"), (#"[1]"#, 400, "array is one of objects"), ("7", 400, "an object"),
        (#"{"image":"!"}"#, 400, "Base64"),
        (#"{"image":"AAE C"}"#, 400, "Base64"), (#"{"image":"AAEC\n"}"#, 400, "Base64"),
        (#"{"price":1e999}"#, 400, "range"),
        (#"{"id":"x"}"#, 400, "datatype mismatch"),
    ])
    func `A body that no row can have is refused with what is wrong`(body: String, status: Int, part: String) {
        let answer = stage.send(.post, "products", body)
        #expect(answer.status == status)
        #expect(answer.body.contains(part), "\(answer.body)")
    }

    @Test func `Methods that a resource hasn't are refused with those that it has`() {
        #expect(stage.send(.post, "products/1", "{}").fields["Allow"] == "GET, HEAD, OPTIONS, PUT, PATCH, DELETE")
        #expect(stage.send(.put, "products", "{}").fields["Allow"] == "GET, HEAD, OPTIONS, POST")
        #expect(stage.send(.post, "cheap", "{}").fields["Allow"] == "GET, HEAD, OPTIONS")
        #expect(stage.send(.post, "words", #"{"lang":"fr"}"#).status == 400)
        #expect(
            stage.send(.post, "words", #"{"lang":"fr","word":"l'œuf"}"#).fields["Location"]
                == "http://api.example/words/fr/l%27%C5%93uf")
    }

    @Test func `A form's texts are taken by the columns' types`() {
        let answer = stage.send(
            .post, "products", "name=A+b&price=1.50&sale=true&extra=%5B1%5D", type: "application/x-www-form-urlencoded")
        #expect(
            answer.body
                == #"{"id":5,"name":"A b","brand":null,"price":1.5,"stock":null,"sale":true,"extra":[1],"image":null,"anything":null}"#
        )
    }

    @Test(arguments: [
        ("true", 201, #""sale":true"#), ("1", 201, #""sale":true"#), ("0", 201, #""sale":false"#),
        ("maybe", 400, "'sale' is true or false, not 'maybe'"), ("", 400, "bad value"),
    ])
    func `A form's value for a boolean column is true or false`(value: String, status: Int, part: String) {
        let answer = stage.send(.post, "products", "sale=" + value, type: "application/x-www-form-urlencoded")
        #expect(answer.status == status && answer.body.contains(part), "\(answer.body)")
    }

    @Test func `A number beyond a double's range is refused where a JSON column would keep it as a number`() throws {
        let numeric = #"'j' is beyond a double's range"#
        for (body, type) in [
            (#"{"j":1e400}"#, "application/json"), (#"{"j":-1.8e308}"#, "application/json"),
            ("j=1e400", "application/x-www-form-urlencoded"), (#"{"j":1e400}"#, "application/merge-patch+json"),
        ] {
            let stage = try Stage("CREATE TABLE t(id INTEGER PRIMARY KEY, j JSON); INSERT INTO t VALUES (1,'[2]')")
            let answer = stage.send(.patch, "t/1", body, type: type)
            #expect(answer.status == 400 && answer.body.contains(numeric), "\(body): \(answer.body)")
            #expect(stage.get("t/1").body == #"{"id":1,"j":[2]}"#)
        }
        let stage = try Stage("CREATE TABLE t(id INTEGER PRIMARY KEY, j JSON)")
        #expect(stage.send(.post, "t", #"{"j":[1e400]}"#).body == #"{"id":1,"j":[1e400]}"#)
    }

    @Test func `A change that the schema dropped is a conflict, and an empty one is none`() throws {
        let stage = try Stage(
            """
            CREATE TABLE u(id INTEGER PRIMARY KEY, code TEXT UNIQUE ON CONFLICT IGNORE, v);
            CREATE TRIGGER g BEFORE UPDATE ON u WHEN new.v = 'ignore' BEGIN SELECT RAISE(IGNORE); END;
            INSERT INTO u VALUES (1,'A',1), (2,'B',2);
            """)
        for body in [#"{"v":"ignore"}"#, #"{"code":"B"}"#] {
            #expect(stage.send(.patch, "u/1", body).status == 409)
            #expect(stage.send(.put, "u/1", body).status == 409)
        }
        #expect(stage.get("u/1").body == #"{"id":1,"code":"A","v":1}"#)
        #expect(stage.send(.patch, "u/1", "{}").status == 200)
        #expect(stage.send(.patch, "u/1", #"{"v":1}"#).status == 200)
        let words = try Stage("CREATE VIRTUAL TABLE f USING fts5(a); INSERT INTO f VALUES ('x')")
        #expect(words.send(.patch, "f/1", #"{"a":"y"}"#).body == #"{"a":"y"}"#)
    }

    @Test func `A row needs a value for a text that is the rule's key`() throws {
        var rule = DatabaseRule.unhurried
        rule.keys = ["p", "d", "g"].map { .init(table: $0, columns: ["code"]) }
        let stage = try Stage(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, code TEXT UNIQUE);
            CREATE TABLE g(id INTEGER PRIMARY KEY, code TEXT UNIQUE);
            CREATE TRIGGER t AFTER INSERT ON g BEGIN UPDATE g SET code = 'c' || new.id WHERE id = new.id; END;
            CREATE TABLE d(id INTEGER PRIMARY KEY, code TEXT UNIQUE DEFAULT 'new');
            """, rule: rule)
        for body in ["{}", #"{"code":null}"#] {
            let answer = stage.send(.post, "p", body)
            #expect(answer.status == 400 && answer.body.contains("'code' is the key, and needs a value"))
        }
        #expect(stage.send(.post, "p", #"{"code":"a"}"#).fields["Location"] == "http://api.example/p/a")
        #expect(stage.send(.post, "d", "{}").fields["Location"] == "http://api.example/d/new")
        // Also one that a trigger gives.
        #expect(stage.send(.post, "g", "{}").fields["Location"] == "http://api.example/g/c1")
    }

    @Test func `What a table can't do at all is a conflict with SQLite's words`() throws {
        let stage = try Stage(
            """
            CREATE VIRTUAL TABLE f USING fts5(a, content=''); INSERT INTO f(rowid, a) VALUES (1,'x');
            CREATE TABLE s(id INTEGER PRIMARY KEY AUTOINCREMENT, v);
            INSERT INTO s VALUES (9223372036854775807, 1);
            """)
        let answers = [
            stage.send(.patch, "f/1", #"{"a":"y"}"#), stage.send(.delete, "f/1"), stage.send(.post, "s", "{}"),
        ]
        #expect(answers.map(\.status) == [409, 409, 409])
        #expect(answers[0].body.contains("contentless") && answers[1].body.contains("contentless"))
        #expect(answers[2].body.contains("s has AUTOINCREMENT, and no number is left"), "\(answers[2].body)")
    }

    @Test func `A write changes the one row that GET shows`() throws {
        let stage = try Stage("CREATE TABLE u(id PRIMARY KEY, v); INSERT INTO u VALUES (1,'number'),('1','text');")
        let shown = stage.get("u/1").body
        #expect(stage.send(.patch, "u/1", #"{"v":"new"}"#).status == 200)
        #expect(stage.get("u?v=new").fields["X-Total-Count"] == "1")
        #expect(stage.send(.delete, "u/1").status == 200)
        #expect(stage.get("u").fields["X-Total-Count"] == "1")
        #expect(shown.contains("number") || shown.contains("text"))
        #expect(stage.send(.put, "u/9", #"{"v":1}"#) { $0.ifNoneMatch = .any }.body == #"{"id":9,"v":1}"#)
        let plain = try Stage("CREATE TABLE p(a)")
        #expect(plain.send(.put, "p/9", #"{"a":1}"#) { $0.ifNoneMatch = .any }.status == 201)
        #expect(plain.get("p/9").body == #"{"a":1}"#)
    }

    @Test func `Defaults are set whatever words the schema has for them`() throws {
        let stage = try Stage(
            #"CREATE TABLE d(id INTEGER PRIMARY KEY, a DEFAULT word, b DEFAULT "quo""ted", c DEFAULT (1+1), d DEFAULT TRUE, e DEFAULT -5, word); INSERT INTO d(id, word) VALUES (1, 'w');"#
        )
        let inserted = stage.get("d/1").body
        #expect(inserted == #"{"id":1,"a":"word","b":"quo\"ted","c":2,"d":1,"e":-5,"word":"w"}"#)
        #expect(stage.send(.patch, "d/1", #"{"a":1,"b":1,"c":1,"d":0,"e":0}"#).status == 200)
        #expect(stage.send(.put, "d/1", #"{"word":"w"}"#).body == inserted)
    }

    @Test func `An array is bounded by what its answer may have`() {
        var stage = stage
        stage.rule.limits.rows = 2
        #expect(stage.send(.post, "plain", "[{},{},{}]").status == 400)
        #expect(stage.get("plain").fields["X-Total-Count"] == "2")
    }

    @Test func `A primary key changes beside a key of the rule's`() throws {
        var rule = DatabaseRule.unhurried
        rule.keys = [.init(table: "ai", columns: ["b"]), .init(table: "wr", columns: ["b"])]
        let stage = try Stage(
            """
            CREATE TABLE ai(a INTEGER PRIMARY KEY, b TEXT UNIQUE, v);
            CREATE TABLE wr(a TEXT PRIMARY KEY, b INTEGER UNIQUE, v) WITHOUT ROWID;
            INSERT INTO ai VALUES(1, 'x', 1);
            INSERT INTO wr VALUES('k1', 5, 1);
            """, rule: rule)
        #expect(stage.send(.patch, "ai/x", #"{"a":9}"#).body == #"{"a":9,"b":"x","v":1}"#)
        #expect(stage.send(.put, "ai/x", #"{"a":7,"v":3}"#).body == #"{"a":7,"b":"x","v":3}"#)
        #expect(stage.send(.put, "ai/x", #"{"v":4}"#).body == #"{"a":7,"b":"x","v":4}"#)
        #expect(stage.send(.patch, "wr/5", #"{"a":"k9"}"#).body == #"{"a":"k9","b":5,"v":1}"#)
    }

    @Test func `A view that SQLite can't use says why, and the others are there`() throws {
        let stage = try Stage(
            "CREATE TABLE t(a); CREATE VIEW gone AS SELECT * FROM nowhere; CREATE VIEW good AS SELECT a FROM t;")
        let answer = stage.get("gone")
        #expect(answer.status == 502 && answer.body.contains("no such table: main.nowhere"), "\(answer.body)")
        #expect(stage.get("good").body == "[]" && stage.get("never").status == 404)
    }

    @Test func `Nothing that a client sends is SQL`() {
        let evil = #"x'); DROP TABLE reviews; --"#
        _ = stage.send(.post, "plain", "{\"a\":\"\(evil)\"}")
        #expect(stage.get("plain?a=" + evil.addingEscapes).body == "[{\"a\":\"\(evil)\",\"b\":null}]")
        for target in [
            "reviews?_sort=id;DROP+TABLE+reviews", "reviews?id=1%20OR%201=1&text:in='a'),('b", "reviews;DROP/1",
            "reviews?%22id%22=1", "reviews/1'--", "products?extra.a')--=1", "products?extra.%22),1)--=1",
            "notes?q=%22+OR+title:x*",
        ] {
            _ = stage.get(target)
        }
        #expect(stage.get("reviews?_limit=1").fields["X-Total-Count"] == "3")
    }
}

extension String {
    fileprivate var addingEscapes: String {
        utf8.map { "%" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
