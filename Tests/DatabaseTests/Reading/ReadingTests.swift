import Testing

@testable import Database

@Suite struct ReadingTests {
    let stage: Stage
    init() throws { stage = try Stage(Stage.shop) }

    private func ids(_ query: String) -> String {
        let answer = stage.get("products?" + query)
        guard answer.status == 200 else { return "\(answer.status) \(answer.body)" }
        return ReadingTests.numbers(in: answer.body)
    }

    private static func numbers(in body: String) -> String {
        body.split(separator: "{\"id\":").dropFirst().map { String($0.prefix { $0.isNumber }) }.joined(separator: " ")
    }

    @Test func `A row is an object in the order of its columns`() {
        let row =
            #"{"id":1,"name":"Apple","brand":"acme","price":1.5,"stock":10,"sale":true,"#
            + #""extra":{"color":"red","tags":["a","b"],"size":{"w":3},"ok":true},"image":"AP8=","anything":"7"}"#
        #expect(stage.get("products/1").body == row)
        #expect(
            stage.get("products/4").body
                == #"{"id":4,"name":"Date \"x\" \\ y","brand":null,"price":null,"stock":null,"sale":null,"extra":"not json","image":null,"anything":null}"#
        )
    }

    @Test(arguments: [
        ("", "1 2 3 4"),
        ("brand=acme", "1 2"), ("brand=acme&brand=fruitco", "1 2 3"), ("brand=ACME", ""),
        ("price=1.50", "1"), ("price_lt=10", "1 3"), ("price:lt=10", "1 3"), ("price_gte=3.25", "2 3"),
        ("brand_ne=acme", "3 4"), ("brand:ne=acme&brand:ne=fruitco", "4"), ("brand=null", "4"),
        ("brand:ne=null", "1 2 3"),
        ("id:in=1,%203,null", "1 3"), ("brand:in=fruitco,null", "3 4"),
        ("name:contains=A", "1 2 4"), ("name:contains=%25", "2"), ("name:contains=_", "3"),
        ("name:startsWith=a", "1"), ("name:endsWith=PIE", "3"), ("name_like=^[ab]", "1 2"),
        ("sale=true", "1 3"), ("sale=0", "2"), ("extra.color=red", "1"), ("extra.tags.0=b", "3"),
        ("extra.size.w=3", "1"),
        ("extra.ok=true", "1"), ("extra.color:contains=RED", "1 3"), ("extra.none=null", "1 2 3 4"),
        ("anything=7", "1 2"), ("anything:gt=5", "1 2 3"), ("image=QQ%3D%3D", "3"),
        ("q=ACME", "1 2"), ("_sort=-price,name", "2 3 1 4"), ("_sort=brand,price&_order=desc,asc", "3 1 2 4"),
        ("_limit=2", "1 2"), ("_start=1&_end=3", "2 3"), ("_start=3", "4"), ("_page=2&_limit=3", "4"), ("_page=9", ""),
        ("stock_gt=-1&price_lt=10", "1 3"), ("_=123", "1 2 3 4"), ("name=Banana+100%25", "2"),
        ("name:contains=x%00", ""), ("_sort=extra.color", "2 4 3 1"),
    ])
    func `A query finds the rows that its operators name`(query: String, expected: String) {
        #expect(ids(query) == expected)
    }

    @Test(arguments: [
        ("prize=1", 400, "products has no column 'prize'; did you mean 'price'?"),
        ("_pgae=1", 400, "'_pgae' is no parameter; did you mean '_page'?"),
        ("stock:gt=many", 400, "'stock:gt' needs a number, not 'many'"),
        ("stock_gt=many", 400, "'stock_gt' needs a number, not 'many'"),
        ("_page=0", 400, "whole number"), ("_page=1&_page=2", 400, "given twice"),
        ("_page=1&_start=2", 400, "two ways"),
        ("sale=maybe", 400, "true or false"), ("image:lt=QQ", 400, "BLOB"), ("image=!!", 400, "Base64"),
        ("image=AA+EC", 400, "Base64"), ("image=AAE%0AC", 400, "Base64"),
        ("name_like=a(", 400, "character"), ("price:near=3", 400, "is no parameter"),
        ("_sort=prise", 400, "no column 'prise'"),
        ("name=%ff", 400, "UTF-8"),
    ])
    func `What can't be asked is refused with what is wrong`(query: String, status: Int, part: String) {
        let answer = stage.get("products?" + query)
        #expect(answer.status == status)
        #expect(answer.body.contains(part), "\(answer.body)")
    }

    @Test(arguments: [
        ("products/042", 404), ("products/+1", 404), ("products/1.0", 404), ("products/9", 404), ("products//1", 404),
        ("products/1/", 200), ("nothing", 404), ("sqlite_schema", 404), ("notes_data", 404), ("PRODUCTS/1", 200),
        ("words/en/a%2Fb", 200), ("words/en", 404), ("products/1/reviews", 200), ("products/7/reviews", 404),
        ("products/1/words", 404), ("cheap/1", 404), ("cheap", 200), ("plain/1", 200), ("notes/2", 200),
        ("products/%ff", 400),
    ])
    func `Paths name tables, rows and children`(path: String, status: Int) {
        #expect(stage.get(path).status == status)
    }

    @Test func `Rows of other tables are added by foreign keys`() {
        let row = stage.get("reviews/3?_expand=products&_embed=products").body
        #expect(
            row.hasPrefix(#"{"id":3,"product":3,"text":"fine","stars":3,"products":{"id":3,"name":"cherry_pie""#),
            "\(row)")
        #expect(stage.get("products?_embed=reviews&id=2").body.hasSuffix(#""reviews":[]}]"#))
        #expect(stage.get("products?_embed=words").status == 400)
    }

    private static let collated = """
        CREATE TABLE up(code TEXT UNIQUE COLLATE NOCASE, id INTEGER PRIMARY KEY);
        INSERT INTO up VALUES ('AB',1),('c',2);
        CREATE TABLE uc(id INTEGER PRIMARY KEY, upcode TEXT REFERENCES up(code));
        INSERT INTO uc VALUES (1,'ab'),(2,'C');
        CREATE TABLE pair(a TEXT COLLATE NOCASE, b TEXT, PRIMARY KEY(a, b)) WITHOUT ROWID;
        INSERT INTO pair VALUES ('K','x');
        CREATE TABLE pc(id INTEGER PRIMARY KEY, a TEXT, b TEXT COLLATE NOCASE, FOREIGN KEY(a, b) REFERENCES pair);
        INSERT INTO pc VALUES (1,'k','x'),(2,NULL,'X');
        CREATE TABLE bin(code TEXT PRIMARY KEY);
        INSERT INTO bin VALUES ('AB'),('ab');
        CREATE TABLE bc(id INTEGER PRIMARY KEY, code TEXT COLLATE NOCASE REFERENCES bin);
        INSERT INTO bc VALUES (1,'ab');
        """

    @Test func `Rows refer to another one by its column's collation, as SQLite has it`() throws {
        let stage = try Stage("PRAGMA foreign_keys=ON;" + ReadingTests.collated)
        #expect(stage.get("up/1/uc").body == #"[{"id":1,"upcode":"ab"}]"#)
        #expect(stage.get("up?_embed=uc&id=1").body.contains(#""uc":[{"id":1,"upcode":"ab"}]"#))
        #expect(stage.get("uc/1?_expand=up").body.contains(#""up":{"code":"AB","id":1}"#))
        #expect(stage.get("pair/K/x/pc").body == #"[{"id":1,"a":"k","b":"x"}]"#)
        #expect(stage.get("bin/AB/bc").body == "[]")
        #expect(stage.get("bin/ab/bc").body == #"[{"id":1,"code":"ab"}]"#)
        #expect(
            stage.get("bin?_embed=bc").body == #"[{"code":"AB","bc":[]},{"code":"ab","bc":[{"id":1,"code":"ab"}]}]"#)
        #expect(stage.send(.post, "up/1/uc", "{}").body.hasSuffix(#""upcode":"AB"}"#))
    }

    @Test func `Of two foreign keys to one table none is taken for the other`() throws {
        let stage = try Stage(
            """
            CREATE TABLE users(id INTEGER PRIMARY KEY); INSERT INTO users VALUES (1),(2);
            CREATE TABLE posts(id INTEGER PRIMARY KEY, author_id REFERENCES users, editorId REFERENCES users);
            INSERT INTO posts VALUES (1,1,2);
            """)
        let several = "has several foreign keys to"
        #expect(stage.get("users?_embed=posts").body.contains("posts \(several) it: 'author_id', 'editorId'"))
        let expanded = stage.get("posts/1?_expand=users")
        #expect(
            expanded.status == 400 && expanded.body.contains("it \(several) users: 'author_id', 'editorId'"),
            "\(expanded)")
        #expect(stage.get("posts/1?_expand=author").body.hasSuffix(#""author":{"id":1}}"#))
        #expect(stage.get("posts/1?_expand=editor").body.hasSuffix(#""editor":{"id":2}}"#))
    }

    static let uses = """
        CREATE TABLE words(lang TEXT, word TEXT, n INT, PRIMARY KEY(lang, word));
        INSERT INTO words VALUES ('de','Haus',1),('en','house',2),('en','Haus',3);
        CREATE TABLE uses(id INTEGER PRIMARY KEY, w TEXT, l TEXT, FOREIGN KEY(l, w) REFERENCES words);
        INSERT INTO uses VALUES (1,'Haus','de'),(2,'Haus','en'),(3,'house','en'),(4,NULL,'de');
        CREATE TABLE marks(w TEXT, l TEXT, FOREIGN KEY(w, l) REFERENCES words(word, lang));
        INSERT INTO marks VALUES ('Haus','de'),('house','en');
        CREATE TABLE pairs(a REFERENCES uses(id), w TEXT, l TEXT, FOREIGN KEY(l, w) REFERENCES words,
          FOREIGN KEY(w, l) REFERENCES words(word, lang));
        """

    @Test func `Children refer by foreign keys of several columns too`() throws {
        let stage = try Stage(ReadingTests.uses)
        let children = stage.get("words/de/Haus/uses")
        #expect(children.body == #"[{"id":1,"w":"Haus","l":"de"}]"# && children.fields["X-Total-Count"] == "1")
        #expect(stage.get("words/en/Haus/uses?id:gt=2").body == "[]")
        #expect(stage.get("words/en/house/marks").body == #"[{"w":"house","l":"en"}]"#)
        #expect(stage.get("words/de/house/uses").status == 404)
        #expect(stage.get("words/de/Haus/pairs").body.contains("not just one foreign key to words"))
        // What is added to rows is joined by one column.
        #expect(stage.get("words?_embed=uses").status == 400 && stage.get("uses?_expand=words").status == 400)
        #expect(stage.get("uses?_embed=pairs&id=1").body == #"[{"id":1,"w":"Haus","l":"de","pairs":[]}]"#)
    }

    @Test func `A row is read beside rows of its own table`() throws {
        let stage = try Stage(
            "CREATE TABLE n(id INTEGER PRIMARY KEY, parent_id REFERENCES n(id)); INSERT INTO n VALUES (1,NULL),(2,1);")
        #expect(stage.get("n/2?_expand=parent").body == #"{"id":2,"parent_id":1,"parent":{"id":1,"parent_id":null}}"#)
    }

    @Test func `What is long takes no longer than its length`() throws {
        let stage = try Stage(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, replace(hex(zeroblob(500000)), '0', 'a'));"
        )
        let part = String(repeating: "a", count: 4000)
        #expect(stage.get("t?a:contains=\(part)b").body == "[]")
        #expect(stage.get("t?a:endsWith=\(part)&_limit=0").fields["X-Total-Count"] == "1")
        #expect(stage.get("t?a_like=(a%7Cb%7Cab)%7B1,50%7D").status == 400)
    }

    @Test(arguments: [("INTEGER", "1"), ("TEXT", "'1'"), ("TEXT", "'1.5'"), ("REAL", "1.0")])
    func `A column without a type refers by the type of what it refers to, as SQLite has it`(
        type: String, key: String
    ) throws {
        let stage = try Stage(
            """
            PRAGMA foreign_keys=ON; CREATE TABLE p(id INTEGER PRIMARY KEY, k \(type) UNIQUE);
            INSERT INTO p VALUES (7,\(key)),(8,NULL);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p REFERENCES p(k));
            CREATE INDEX i ON c(p); INSERT INTO c VALUES (1,\(key)),(2,NULL);
            """)
        let other = type == "TEXT" ? String(key.dropFirst().dropLast()) : "\"\(key)\""
        #expect(stage.send(.post, "c", #"{"p":\#(other)}"#).status == 201)
        #expect(ReadingTests.numbers(in: stage.get("p/7/c").body) == "1 3")
        #expect(ReadingTests.numbers(in: stage.get("p/7/c?id=3").body) == "3")
        #expect(stage.get("p/8/c").body == "[]")
        #expect(ReadingTests.numbers(in: stage.get("p/7?_embed=c").body) == "1 3")
        #expect(stage.get("c/3?_expand=p").body.contains(#"{"id":7,"#))
        #expect(stage.send(.delete, "p/7").status == 409)
        // An index on the column is used.
        let reference = ColumnReference(column: 1, target: 1, affinity: Affinity(declaredType: type))
        let plan = try QueryPlan(
            "SELECT * FROM c WHERE p\(reference.before)1\(reference.after)", on: stage.session.connection)
        #expect(plan.steps.contains { $0.detail.hasPrefix("SEARCH c USING COVERING INDEX i") }, "\(plan.steps)")
    }

    @Test func `Conditions in JSON have their types`() {
        #expect(ids(#"_where={"or":[{"price":{"gt":10}},{"brand":{"eq":"fruitco"}}]}"#) == "2 3")
        #expect(ids(#"_where={"id":{"in":[1,2,null]},"extra":{"color":{"contains":"RED"}}}"#) == "1")
        #expect(ids("_where={\"id\":{\"in\":[\((1...1000).map(String.init).joined(separator: ","))]}}") == "1 2 3 4")
        #expect(ids(#"_where={"anything":{"eq":7}}"#) == "2" && ids(#"_where={"anything":"7"}"#) == "1")
        #expect(ids(#"_where={"brand":null}"#) == "4" && ids(#"_where={"sale":false}"#) == "2")
        #expect(ids(#"_where={"id":true}"#) == "1" && ids(#"_where={"stock":{"eq":false}}"#) == "2")
        #expect(ids(#"_where={"stock":{"ne":false}}"#) == "1 3 4" && ids(#"_where={"id":{"in":[true,3]}}"#) == "1 3")
        #expect(ids(#"_where={"extra":{"ok":true}}"#) == "1" && ids(#"_where={"extra.ok":false}"#) == "")
        #expect(ids("stock=false") == "")
        #expect(stage.get(#"products?_where=[1]"#).status == 400)
        #expect(ids("extra.a%22b=1") == "" && ids("extra.%00:ne=1") == "1 2 3 4")
    }

    @Test(arguments: [
        ("j=draft", "1 2"), ("j:ne=draft", "3 4 5 6 7"), ("j:in=draft,5", "1 2 3 4"), ("j=5", "3 4"), ("j=null", "5 6"),
        ("j:ne=null", "1 2 3 4 7"), ("j:in=null,true", "5 6 7"), (#"_where={"j":"draft"}"#, "1 2"),
        (#"_where={"j":{"ne":"draft"}}"#, "3 4 5 6 7"), (#"_where={"j":5}"#, "3"), (#"_where={"j":"5"}"#, "4"),
        (#"_where={"j":null}"#, "5 6"), (#"_where={"j":{"ne":null}}"#, "1 2 3 4 7"), (#"_where={"j":true}"#, "7"),
        (#"_where={"j":"null"}"#, ""), (#"_where={"j":"05"}"#, ""), (#"_where={"j":{"in":["draft",null]}}"#, "1 2 5 6"),
    ])
    func `A value of a JSON column is found by what is shown of it`(query: String, expected: String) throws {
        // The second is shown as a text too, since it is no JSON.
        let values = #"(1,'"draft"'),(2,'draft'),(3,'5'),(4,'"5"'),(5,'null'),(6,NULL),(7,'true')"#
        for type in ["JSON", "TEXT", ""] {
            var stage = try Stage("CREATE TABLE t(id INTEGER PRIMARY KEY, j \(type)); INSERT INTO t VALUES \(values)")
            stage.rule.forms = [.init(table: "t", column: "j", form: .json)]
            let answer = stage.get("t?" + query)
            #expect(ReadingTests.numbers(in: answer.body) == expected, "\(type): \(answer)")
        }
    }

    @Test func `True in a condition is no text of that name, and no number in JSON`() throws {
        let stage = try Stage(
            #"CREATE TABLE t(id INTEGER PRIMARY KEY, j JSON); INSERT INTO t VALUES (1,'{"a":true}'),(2,'{"a":"true"}'),(3,'{"a":1}')"#
        )
        #expect(stage.get(#"t?_where={"j":{"a":true}}"#).body == #"[{"id":1,"j":{"a":true}}]"#)
        #expect(stage.get(#"t?_where={"j":{"a":{"ne":true}}}"#).fields["X-Total-Count"] == "2")
        #expect(stage.get(#"t?_where={"id":{"gt":false}}"#).status == 400)
        #expect(stage.get(#"t?_where={"j":{"a":{"lt":true}}}"#).status == 400)
    }

    @Test func `A number in a condition is neither true nor false in JSON`() throws {
        let stage = try Stage(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, j JSON);
            INSERT INTO t VALUES (1,'{"a":true}'),(2,'{"a":1}'),(3,'{"a":false}'),(4,'{"a":0}'),(5,'{"a":null}'),
              (6,'no JSON'),(7,NULL),(8,'{"a":"1"}');
            """)
        func ids(_ query: String) -> String { ReadingTests.numbers(in: stage.get("t?" + query).body) }
        #expect(ids("j.a=1") == "2 8" && ids("j.a=1.0") == "2" && ids("j.a=0") == "4")
        #expect(ids("j.a:ne=1") == "1 3 4 5 6 7" && ids("j.a:ne=0") == "1 2 3 5 6 7 8")
        #expect(ids("j.a:in=0,1") == "2 4 8" && ids("j.a:in=null,0") == "4 5 6 7" && ids("j.a:in=7") == "")
        #expect(ids("j.a:in=true") == "1" && ids("j.a:in=true,false,1") == "1 2 3 8")
        #expect(ids("j.a:gte=0") == "2 4 8" && ids("j.a:lt=1") == "4")
        #expect(ids("j.a=true") == "1" && ids("j.a:ne=true") == "2 3 4 5 6 7 8")
        #expect(ids(#"_where={"j":{"a":1}}"#) == "2" && ids(#"_where={"j":{"a":0.0}}"#) == "4")
        #expect(ids(#"_where={"j":{"a":{"ne":1}}}"#) == "1 3 4 5 6 7 8")
        #expect(ids(#"_where={"j":{"a":{"in":[1,false]}}}"#) == "2 3")
        #expect(ids(#"_where={"j":{"a":{"gt":0}}}"#) == "2 8")
    }

    @Test func `A column of any type in a strict table keeps texts and numbers apart`() throws {
        let stage = try Stage(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a ANY) STRICT;
            INSERT INTO t VALUES (1,42),(2,'42'),(3,'1.0'),(4,7.5);
            CREATE TABLE u(id INTEGER PRIMARY KEY, a ANY); INSERT INTO u VALUES (1,42),(2,'42'),(3,'x');
            """)
        func ids(_ target: String) -> String { ReadingTests.numbers(in: stage.get(target).body) }
        #expect(ids("t?a=42") == "1 2" && ids("t?a=7.5") == "4" && ids("t?a=1.0") == "3" && ids("t?a:ne=42") == "3 4")
        #expect(ids("t?a:gt=7") == "1 4" && ids(#"t?_where={"a":42}"#) == "1" && ids(#"t?_where={"a":"42"}"#) == "2")
        #expect(ids("u?a=42") == "1 2" && ids("u?a=42.0") == "1 2")
    }

    @Test func `Names of one column in any case are one parameter`() {
        #expect(ids("id=1&ID=2") == "1 2" && ids("id=1&Id:eq=2") == "1 2" && ids("id:ne=1&ID:ne=2") == "3 4")
        #expect(ids("extra.color=red&EXTRA.color=dark%20red") == "1 3" && ids("extra.color=red&extra.Color=red") == "")
    }

    @Test func `Several foreign keys of a table are told`() throws {
        let stage = try Stage(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY); INSERT INTO p VALUES (1);
            CREATE TABLE c(id INTEGER PRIMARY KEY, a REFERENCES p, b REFERENCES p);
            """)
        let answer = stage.get("p?_embed=c")
        #expect(answer.status == 400)
        #expect(answer.body.contains("added to p: c has several foreign keys to it: 'a', 'b'"), "\(answer.body)")
    }

    @Test func `True is found in a member whose name is a number`() throws {
        let stage = try Stage(
            #"CREATE TABLE t(id INTEGER PRIMARY KEY, j JSON); INSERT INTO t VALUES (1,'{"1":true}'),(2,'[0,true]')"#)
        #expect(stage.get(#"t?_where={"j":{"1":true}}"#).fields["X-Total-Count"] == "2")
        #expect(stage.get(#"t?_where={"j":{"1":{"ne":true}}}"#).body == "[]")
    }

    @Test(arguments: [
        ("d.1.0=z", "1"), ("d.1.1.0=y", "1"), ("d.2.1.0=q", "1"), ("d.k.0.0=5", "2"), ("d.1.0=7", "2"),
        ("d.1.1=8", "2"), ("d.1.0=9", "3"), ("d.k.0.0:gt=1", "2"), ("d.1.0:in=7,9", "2 3"),
        (#"_where={"d":{"1":{"0":{"eq":7}}}}"#, "2"), (#"_where={"d":{"1":{"0":true}}}"#, "4"),
        ("d.0.0.0.0.0.0.0=7", "5"), ("d.0.0.0.0.0.0.1=8", "5"), ("_sort=-d.1.0&d.1.0:gt=0", "1 3 2"),
    ])
    func `Digits are an index where an array is, and a name where an object is`(query: String, expected: String) throws
    {
        let stage = try Stage(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, d JSON);
            INSERT INTO t VALUES (1,'[1,{"0":"z","1":{"0":"y"}},["p",["q"]]]'), (2,'{"1":[7,8],"k":[{"0":5}]}'),
              (3,'{"1":{"0":9}}'), (4,'{"1":[true]}'), (5,'[[[[[[[7,8]]]]]]]');
            """)
        #expect(ReadingTests.numbers(in: stage.get("t?" + query).body) == expected)
    }

    @Test func `A condition in JSON takes the place of the filters, not of the controls`() {
        #expect(ids(#"brand=nobody&_where={"id":{"lt":3}}&price:lt=0"#) == "1 2")
        #expect(ids(#"brand=nobody&_where={"id":{"lt":4}}&q=acme&_sort=-id&_limit=1"#) == "2")
        #expect(stage.get(#"products?prize=1&_where={"id":1}"#).status == 400)
    }

    @Test func `The list of tables has no parameters`() throws {
        #expect(stage.get("?_=1").status == 200)
        let refused = stage.get("?x=1")
        #expect(refused.status == 400 && refused.body.contains("'x' is no parameter of the list of tables"))
        var rule = DatabaseRule.unhurried
        rule.conditionNames = ["x"]
        let stage = try Stage(Stage.shop, rule: rule)
        #expect(stage.get("?x=1").status == 200 && stage.get("?y=1").status == 400)
    }

    @Test func `A parameter of the rule's own conditions is let pass, but as a column it is a filter`() throws {
        var rule = DatabaseRule.unhurried
        rule.conditionNames = ["mode", "brand"]
        let stage = try Stage(Stage.shop, rule: rule)
        #expect(stage.get("products?mode=live&brand=fruitco").fields["X-Total-Count"] == "1")
        #expect(stage.get("products/1?mode=live").status == 200)
        #expect(stage.send(.patch, "products/1?mode=live", #"{"stock":1}"#).status == 200)
        #expect(stage.get("products?mood=live").status == 400)
    }

    @Test func `Tables whose names only begin as those of PRAGMAs are read`() throws {
        let stage = try Stage(
            "CREATE VIRTUAL TABLE pragma_fts USING fts5(a); INSERT INTO pragma_fts VALUES ('some words')")
        #expect(stage.get("pragma_fts?q=words").body == #"[{"a":"some words"}]"#)
        var rule = DatabaseRule.unhurried
        rule.statement = DatabaseRule.Statement(sql: "WITH pragma_x AS (SELECT 1) SELECT count(*) AS n FROM pragma_x")
        #expect(try Stage(Stage.shop, rule: rule).send(.post, "", "{}").body.contains(#""n":1"#))
    }

    @Test func `A foreign key of one column is taken before those of several`() throws {
        let stage = try Stage(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, l TEXT, UNIQUE(id, l)); INSERT INTO p VALUES (1,'de');
            CREATE TABLE c(id INTEGER PRIMARY KEY, p REFERENCES p, l, FOREIGN KEY(p, l) REFERENCES p(id, l));
            INSERT INTO c VALUES (5,1,NULL);
            """)
        #expect(stage.get("p/1/c").body == #"[{"id":5,"p":1,"l":null}]"#)
    }

    @Test func `Rows that are added count, and what has too many is never cut`() {
        var stage = stage
        stage.rule.limits.rows = 4
        #expect(stage.get("products?_embed=reviews&_limit=1").status == 200)
        let list = stage.get("products?_embed=reviews")
        #expect(list.status == 400)
        #expect(list.body.contains("more than 4 rows with those that are added; ask for pages"), "\(list.body)")
        stage.rule.limits.rows = 2
        #expect(stage.get("products").body.contains("4 rows; ask for pages, as ?_page=1&_limit=100"))
        let row = stage.get("products/1?_embed=reviews")
        #expect(row.status == 400 && row.body.contains("too many rows"), "\(row.body)")
        #expect(row.body.contains("more than 2 rows with those that are added"), "\(row.body)")
        stage.rule.limits.rows = 3
        #expect(stage.get("products/1?_embed=reviews").status == 200)
    }

    @Test func `What is not UTF-8 is replaced as everywhere in Swift`() throws {
        let bytes: [UInt8] = [0x41, 0x80, 0xC2, 0xE0, 0xA0, 0xED, 0xE2, 0x82, 0xF0, 0x9F, 0xF4, 0x8F, 0xFF]
        var different: [[UInt8]] = []
        for first in bytes {
            for second in bytes {
                for third in bytes {
                    for last in bytes {
                        let text = [first, second, third, last]
                        var output = JSONOutput()
                        text.withUnsafeBufferPointer { output.append(string: $0) }
                        let expected = "\"" + String(decoding: text, as: UTF8.self) + "\""
                        if output.bytes != Array(expected.utf8) { different.append(text) }
                    }
                }
            }
        }
        #expect(different.isEmpty)
    }

    @Test func `Pages come with links, or in an object`() {
        let array = stage.get("products?_page=2&_limit=1&brand=acme")
        #expect(array.fields["X-Total-Count"] == "2")
        #expect(
            array.fields["Link"] == """
                <http://api.example/products?_page=1&_limit=1&brand=acme>; rel="first", \
                <http://api.example/products?_page=1&_limit=1&brand=acme>; rel="prev", \
                <http://api.example/products?_page=2&_limit=1&brand=acme>; rel="last"
                """)
        #expect(
            stage.get("products?_page=1&_limit=9&brand:ne=\"<>%20\u{E9}").fields["Link"] == """
                <http://api.example/products?_page=1&_limit=9&brand:ne=%22%3C%3E%20%C3%A9>; rel="first", \
                <http://api.example/products?_page=1&_limit=9&brand:ne=%22%3C%3E%20%C3%A9>; rel="last"
                """)
        let wrapped = stage.get("words?_page=2&_per_page=2")
        #expect(
            wrapped.body
                == #"{"first":1,"prev":1,"next":null,"last":2,"pages":2,"items":3,"data":[{"lang":"en","word":"house","n":2}]}"#
        )
    }

    @Test func `Words are searched in a full-text table, best first`() {
        #expect(stage.get("notes?q=quick").body.hasPrefix(#"[{"title":"two""#), "\(stage.get("notes?q=quick").body)")
        #expect(stage.get("notes?q=quick+AND").body == "[]")
        #expect(stage.get("notes?q=%22quick").body != "[]")
    }

    @Test func `Views compare by their values' own types`() {
        #expect(stage.get("cheap?twice=3").body == #"[{"name":"Apple","price":1.5,"twice":3.0}]"#)
    }
}
