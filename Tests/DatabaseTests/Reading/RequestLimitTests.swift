import Testing

@testable import Database

/// What a request may ask for: what is beyond that is 400, before it takes long.
@Suite struct RequestLimitTests {
    private let stage: Stage
    init() throws { stage = try Stage(Stage.shop) }

    @Test(arguments: [
        ("extra.", "=1"), ("extra.", ":ne=1"), ("_sort=-extra.", ""), (#"_where={"extra."#, #"":1}"#),
        (#"_where={"extra":{""#, #"":{"in":[1,2]}}}"#),
    ])
    func `A path into JSON has at most 64 members`(before: String, after: String) {
        func answer(_ count: Int) -> (status: Int, body: String) {
            let path = [String](repeating: "0", count: count).joined(separator: ".")
            let answer = stage.get("products?" + before + path + after)
            return (answer.status, answer.body)
        }
        #expect(answer(64).status == 200, "\(answer(64))")
        let refused = answer(65)
        #expect(refused.status == 400, "\(refused)")
        #expect(refused.body.contains("a path into JSON has 65 members; at most 64 are followed"), "\(refused)")
    }

    @Test func `Names of what is added to rows are read until there are too many`() {
        let names = (0..<1000).map { "N\($0)" }.joined(separator: ",")
        for target in ["products?_embed=\(names)", "products/1?_expand=\(names)"] {
            let answer = stage.get(target)
            #expect(answer.status == 400 && answer.body.contains("name more than 4 tables"), "\(answer)")
        }
        var controls = Controls()
        do throws(Problem) {
            try controls.take(Parameter(name: "_embed", value: Array(names.utf8)))
            Issue.record("a thousand names were taken")
        } catch {
            #expect(error.status == 400)
        }
        #expect(controls.joined.count == 5)
    }

    @Test func `As many values as there may be are compared with a member of JSON`() {
        let values = (2...1000).map(String.init).joined(separator: ",")
        let answer = stage.get(#"products?_where={"extra.tags.0":{"in":["b",\#(values)]}}"#)
        #expect(answer.status == 200 && answer.fields["X-Total-Count"] == "1", "\(answer)")
    }

    @Test(arguments: ["{}", #"{"or":[]}"#, #"{"and":[]}"#, #"{"id":{}}"#])
    func `What holds or fails without a value counts as a condition`(empty: String) {
        func answer(_ count: Int) -> (status: Int, body: String) {
            let list = [String](repeating: empty, count: count).joined(separator: ",")
            let answer = stage.get(#"products?_where={"or":[\#(list)]}"#)
            return (answer.status, answer.body)
        }
        #expect(answer(100).status == 200, "\(answer(100))")
        let refused = answer(101)
        #expect(refused.status == 400 && refused.body.contains("more than 100 conditions"), "\(refused)")
    }

    @Test func `What gets too long for a statement of SQLite's is told to whoever asks`() {
        let paths = (1...100).map { "extra.0.0.0.0.0.0.\($0)" }
        let long = String(repeating: "n", count: 30_000)
        for query in [
            paths.map { $0 + "=1" }.joined(separator: "&"), "_sort=" + paths.joined(separator: ","),
            "extra.0.0.0.0.0.0.\(long)=1",
        ] {
            let answer = stage.get("products?" + query)
            #expect(answer.status == 400, "\(answer)")
            #expect(answer.body.contains("too long for one statement; ask for fewer"), "\(answer)")
        }
    }
}
