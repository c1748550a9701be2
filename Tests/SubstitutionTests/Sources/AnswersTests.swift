import Diagnostics
import HTTPSemantics
import Substitution
import Testing

@Suite("Answers in turn, in a map")
struct AnswersTests {
    private static let polling =
        "{ answers: [{ json: { state: queued }, status: 202, times: 2 }, { json: { state: done } }], repeat: last }"

    /// The answers of the first rule, as `GET` of a URL finds them.
    private func answers(_ map: SubstitutionMap, _ url: String = "http://h/a") throws -> AnswersInTurn {
        var scratch = LookupScratch()
        let uri = try TargetURI(url)
        let match = try #require(try map.match(url, scratch: &scratch))
        guard case .answers(let answers) = map.answer(match, uri: uri, scratch: scratch) else {
            throw UnexpectedErrors(text: "no answers in turn")
        }
        return answers
    }

    @Test("each answer has its turns, and the last one comes again, or the first one")
    func turns() throws {
        func numbers(_ rule: String, _ count: Int) throws -> [Int] {
            let answers = try answers(try rules("http://h/a: \(rule)"))
            var turn = 0
            return (0..<count).map { _ in
                defer { turn = answers.turn(after: turn) }
                return answers.number(of: turn)
            }
        }
        #expect(try numbers(Self.polling, 5) == [0, 0, 1, 1, 1])
        let three = "answers: [{ text: a, times: 2 }, { text: b, times: 1 }, { text: c, times: 3 }]"
        #expect(try numbers("{ \(three) }", 9) == [0, 0, 1, 2, 2, 2, 2, 2, 2])
        #expect(try numbers("{ \(three), repeat: cycle }", 9) == [0, 0, 1, 2, 2, 2, 0, 0, 1])
        #expect(try numbers("{ answers: [{ text: a }], repeat: cycle }", 3) == [0, 0, 0])
        #expect(
            try numbers("{ answers: [{ text: a, times: 1000000000 }, { text: b, times: 1000000000 }] }", 2) == [0, 0])
        let many = (0..<500).map { "{ text: \"\($0)\", times: \($0 % 3 + 1) }" }.joined(separator: ", ")
        let expected = (0..<500).flatMap { Array(repeating: $0, count: $0 % 3 + 1) }
        #expect(try numbers("{ answers: [\(many)], repeat: cycle }", expected.count * 2) == expected + expected)
    }

    @Test("an answer has any source, with the captures of the rule's key")
    func sources() throws {
        let map = try rules(
            "http://h/*/x: { answers: [{ file: \"$1/a.txt\" }, b.txt, { text: t }, { json: [1] }, { base64: SGk= }, "
                + "{ forward: \"http://o/$1\" }, { forward: true }, { redirect: \"/to/$1\" }, { block: true }, "
                + "{ template: \"$1.html\" }, { sqlite: a.db, sql: SELECT 1 }] }",
            "http://h/d/: { answers: [v1/, { file: v2/ }] }",
            "~^http://h/e/(?<name>[^/]*)$: { answers: [{ file: \"f/${name}.txt\" }, { template: { text: t } }] }")
        #expect(
            try map.answer("http://h/c/x").split(separator: " | ") == [
                "1-1 c/a.txt", "2-2 b.txt", "3-3 text/plain; charset=utf-8: t", "4-4 application/json: [1]",
                "5-5 application/octet-stream: Hi", "6-6 forward http://o/c", "7-7 forward", "8-8 redirect /to/c",
                "9-9 block", "10-10 template c.html", "11-11 a.db: h/c/x",
            ])
        #expect(try map.answer("http://h/d/e/f") == "1-1 v1/e/f | 2-2 v2/e/f")
        #expect(try map.answer("http://h/e/n") == "1-1 f/n.txt | 2-2 template ")
        #expect(map.ruleCount == 3)
    }

    @Test("captures by name are those of the key for its answers too")
    func namedCaptures() throws {
        let map = try rules("~^http://h/(?<name>.*)$: { answers: [{ text: t }, { template: { text: g } }] }")
        guard case .template(let call) = try answers(map, "http://h/x").answer(1) else {
            Issue.record("no template")
            return
        }
        #expect(call.captures.map(\.name) == ["1", "name"])
    }

    @Test("what stands beside the list holds for each answer that says nothing else")
    func inherited() throws {
        let map = try map(
            """
            defaults: { headers: { X-File: f, X-Rule: f }, delay: 1s, repeat: cycle }
            substitutions:
              http://h/a:
                answers: [{ text: a }, { text: b, status: 201, headers: { X-Rule: b }, delay: 2s }, { redirect: /c }]
                status: 503
                headers: { X-Rule: r }
              http://h/b: { answers: [x], repeat: last }
            """)
        let answers = try answers(map)
        let options = (0..<3).map { answers.rule($0).options }
        #expect(options.map(\.status) == [503, 201, nil])
        #expect(answers.rule(2).status == 302)
        #expect(options.map(\.delay) == [.seconds(1), .seconds(2), .seconds(1)])
        func fields(_ number: Int) -> [String: String] {
            Dictionary(
                uniqueKeysWithValues: options[number].headers.map {
                    ($0.name, String(decoding: $0.value ?? [], as: UTF8.self))
                })
        }
        #expect(fields(0) == ["X-File": "f", "X-Rule": "r"])
        #expect(fields(1) == ["X-File": "f", "X-Rule": "b"])
        #expect(options.allSatisfy { $0.isInTurn })
        #expect(answers.turn(after: 2) == 0)
        #expect(try self.answers(map, "http://h/b").turn(after: 0) == 0)
        #expect(try self.answers(map, "http://h/b").turnCount == 1)
    }

    @Test("conditions beside the list decide whether the rule answers, and the rules of a key follow each other")
    func conditions() throws {
        let map = try rules(
            "http://h/a: [{ answers: [{ text: p }, { text: q }], methods: [POST] }, { text: g, methods: [GET] }, "
                + "{ answers: [{ text: o }], query: { x: \"1\" } }]", "http://h/b: { text: b }")
        #expect(try map.answer("http://h/a", "POST").hasPrefix("1-1 text/plain; charset=utf-8: p | 2-2"))
        #expect(try map.answer("http://h/a") == "text/plain; charset=utf-8: g")
        #expect(try map.answer("http://h/a?x=1", "PUT") == "1-1 text/plain; charset=utf-8: o")
        #expect(try map.answer("http://h/a", "PUT") == "-")
        #expect(try map.answer("http://h/b") == "text/plain; charset=utf-8: b")
        #expect(map.ruleCount == 4)
    }

    @Test("the position of an answer is its own line")
    func positions() throws {
        let map = try map(
            """
            substitutions:
              http://h/a:
                answers:
                  - { text: a }
                  - json:
                      b: 1
                  - c.txt
            """)
        let answers = try answers(map)
        #expect((0..<3).map { answers.rule($0).position } == [4, 5, 7].map { "substitutions.yaml:\($0)" })
        #expect(try map.line("http://h/a") == 2)
    }

    @Test(
        "what can't be an answer is refused at its place",
        arguments: [
            ("answers: []", "2:26: error: an empty list of answers"),
            (
                "answers: { text: a }",
                "2:26: error: 'answers' is a list of rules, as in [{ text: wait, status: 503 }, { file: page.html }]"
            ),
            (
                "answers:",
                "2:17: error: 'answers' is a list of rules, as in [{ text: wait, status: 503 }, { file: page.html }]"
            ),
            ("answers: [[a]]", "2:27: error: a list of answers has no lists in it"),
            (
                "answers: [{ times: 2 }]",
                "2:27: error: this rule does not say what answers: file, text, json, base64, forward, redirect, block, sqlite, template or answers"
            ),
            ("answers: [{ text: a, times: 0 }]", "2:45: error: 'times' is a number from 1 to 1000000000"),
            ("answers: [{ text: a, times: -1 }]", "2:45: error: 'times' is a number from 1 to 1000000000"),
            ("answers: [{ text: a, times: 1.5 }]", "2:45: error: 'times' is a number from 1 to 1000000000"),
            ("answers: [{ text: a, times: 1000000001 }]", "2:45: error: 'times' is a number from 1 to 1000000000"),
            ("answers: [{ text: a, times: }]", "2:38: error: 'times' is a number from 1 to 1000000000"),
            (
                "answers: [{ text: a, times: 99999999999999999999 }]",
                "2:45: error: 'times' is a number from 1 to 1000000000"
            ),
            (
                "answers: [{ text: a, times: 1, times: 2 }]",
                "2:48: error: the option 'times' comes twice; it is on line 2 already"
            ),
            ("answers: [{ answers: [{ text: a }] }]", "2:29: error: an answer in turn has no 'answers' of its own"),
            (
                "answers: [{ text: a, repeat: last }]",
                "2:38: error: 'repeat' is for all answers; write it beside 'answers'"
            ),
            (
                "answers: [{ text: a, methods: [GET] }]",
                "2:38: error: 'methods' is a condition, and an answer in turn has none; write it beside 'answers'"
            ),
            (
                "answers: [{ text: a, query: ignore }]",
                "2:38: error: 'query' is a condition, and an answer in turn has none; write it beside 'answers'"
            ),
            (
                "answers: [{ text: a, request-headers: { a: b } }]",
                "2:38: error: 'request-headers' is a condition, and an answer in turn has none; write it beside 'answers'"
            ),
            (
                "answers: [{ text: a, when: always }]",
                "2:38: error: 'when' is for all answers; write it beside 'answers'"
            ),
            (
                "answers: [{ text: a, bypass: never }]",
                "2:38: error: 'bypass' is for all answers; write it beside 'answers'"
            ),
            ("answers: [{ text: a, cors: off }]", "2:38: error: 'cors' is for all answers; write it beside 'answers'"),
            (
                "answers: [{ file: a$1 }]",
                "2:36: error: there is no capture $1: an exact URL has none; write '$$' for a dollar"
            ),
            (
                "answers: [a/]",
                "2:27: error: one URL is mapped to a folder; end the key in '/' to map all that is below it"
            ),
            ("answers: [{ file: ../a }]", "2:35: error: the path leaves the root; a file is below 'root'"),
            (
                "answers: [{ redirect: /a, status: 200 }]",
                "2:51: error: the status of a redirect is one from 300 to 399, and not 304"
            ),
            ("answers: [{ text: a, stauts: 200 }]", "2:38: error: unknown option 'stauts'; did you mean 'status'?"),
            ("answers: [{ text: a, file: b }]", "2:38: error: two sources, 'text' and 'file'; a rule has one"),
            ("answers: [{ text: a }], repeat: ever", "2:49: error: 'repeat' is last or cycle"),
            ("answers: [{ text: a }], repeat: cylce", "2:49: error: 'repeat' is last or cycle; did you mean 'cycle'?"),
            ("answers: [{ text: a }], text: b", "2:41: error: two sources, 'answers' and 'text'; a rule has one"),
            ("text: a, repeat: last", "2:26: error: 'repeat' goes with 'answers', not with 'text'"),
            ("text: a, times: 2", "2:26: error: 'times' goes with one of the rules in 'answers'"),
            ("answers: [{ sqlite: a.db }]", "2:29: error: one URL needs 'resource' or 'sql'"),
            ("answers: [{ text: a, tables: [b] }]", "2:38: error: 'tables' goes with 'sqlite', not with 'text'"),
        ])
    func errors(_ rule: String, _ expected: String) {
        #expect(headlines("substitutions:\n  http://h/a: { \(rule) }\n") == [expected])
    }

    @Test("an error in an answer is shown with its line and a caret")
    func caret() {
        #expect(
            messages("substitutions:\n  http://h/a:\n    answers:\n      - { text: a, times: 0 }\n") == [
                """
                substitutions.yaml:4:27: error: 'times' is a number from 1 to 1000000000
                      - { text: a, times: 0 }
                                          ^
                """
            ])
        #expect(
            headlines("defaults: { answers: [] }\nsubstitutions: { \"http://h/a\": a }\n")
                == ["1:13: error: 'answers' can't be a default: it is what answers for one rule"])
    }

    @Test("a rule that is the same after a reload has the same turns, and one that has changed has others")
    func identity() throws {
        func identity(_ text: String, _ url: String = "http://h/a") throws -> UInt64 {
            try answers(try map(text), url).identity
        }
        func written(_ rule: String) -> String { "substitutions:\n  http://h/a: \(rule)\n" }
        let same = try identity(written(Self.polling))
        #expect(try identity(written(Self.polling)) == same)
        #expect(
            try identity(
                "substitutions:\n  http://other/: { text: x }\n  # moved\n  http://h/a:   \(Self.polling)\n") == same)
        for other in [
            written(Self.polling.replacing("done", with: "ready")), written(Self.polling.replacing("202", with: "201")),
            written(Self.polling.replacing("times: 2", with: "times: 3")),
            written(Self.polling.replacing("repeat: last", with: "repeat: cycle")),
            written(Self.polling.replacing("repeat", with: "delay: 1s, repeat")),
            "defaults: { delay: 1s }\n" + written(Self.polling),
        ] {
            #expect(try identity(other) != same, "\(other)")
        }
        let both = "substitutions:\n  //h/a: \(Self.polling)\n  http://h/b: \(Self.polling)\n"
        #expect(try identity(both) == identity(both, "https://h/a"))
        #expect(try identity(both) != identity(both, "http://h/b"))
        #expect(try map(both).answerIdentities.count == 2)
    }

    @Test("explain shows the answers, and what a client's first request gets")
    func explanation() throws {
        let map = try rules(
            "http://h/a: \(Self.polling)", "http://h/b: { answers: [{ text: x }, y.txt], repeat: cycle }")
        #expect(
            try map.explanation("http://h/a").lines == [
                "substitutions.yaml:2 answers with 2 answers, each client's in turn", "  rule: http://h/a",
                "  because the URL is the rule's", "  because the query is the rule's",
                "  requests 1 to 2 of a client: 18 bytes of application/json with status 202, substitutions.yaml:2",
                "  request 3 and all others of a client: 16 bytes of application/json with status 200, substitutions.yaml:2",
            ])
        #expect(
            try map.explanation("http://h/b").lines.suffix(3) == [
                "  request 1 of a client: 1 byte of text/plain; charset=utf-8 with status 200, substitutions.yaml:3",
                "  request 2 of a client: the file //y.txt with status 200, substitutions.yaml:3",
                "  request 3 of a client: as request 1",
            ])
        let many = try rules(
            "http://h/a: { answers: [\(Array(repeating: "{ text: a }", count: 50).joined(separator: ", "))] }")
        #expect(try many.explanation("http://h/a").lines.last == "  and 30 more answers")
        guard case .content? = try map.explanation("http://h/a").answer?.first.source else {
            Issue.record("no content first")
            return
        }
    }

    @Test("check looks for the files of answers")
    func files() throws {
        let result = loadFiles(
            [
                "substitutions.yaml":
                    "substitutions:\n  //h/a: { answers: [{ text: a }, here.txt, { file: gone.txt }] }\n"
            ],
            existing: ["/maps/here.txt": .file])
        let check = try #require(result.map).checkFiles()
        #expect(check.checked == 2 && check.missing == 1)
        #expect(
            check.diagnostics.map(\.diagnostic.headline) == [
                "substitutions.yaml:2:53: warning: the file '/maps/gone.txt' does not exist"
            ])
    }
}
