import HTTPSemantics
import Substitution
import Testing

/// `navigation`.
struct NavigationTests {
    private static let rule = "http://h/a: { text: x, navigation: true }"

    private func fields(_ lines: [String]) -> FieldSection {
        var section = FieldSection()
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            section.append(name: parts[0].utf8, value: parts[1].drop { $0 == " " }.utf8)
        }
        return section
    }

    private func isAnswered(_ rule: String, _ lines: [String]) throws -> Bool {
        var scratch = LookupScratch()
        return try rules(rule).lookup(
            TargetURI("http://h/a"), method: RequestMethod(.get), fields: fields(lines), scratch: &scratch) != nil
    }

    @Test(
        "a document's load is what Fetch Metadata says, or Upgrade-Insecure-Requests where there is none of it",
        arguments: [
            (["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Upgrade-Insecure-Requests: 1"], true),
            (["sec-fetch-mode: navigate", "sec-fetch-dest: iframe"], true), (["SEC-FETCH-MODE:  navigate"], true),
            (["Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"], false), (["Sec-Fetch-Mode: cors"], false),
            (["Sec-Fetch-Mode: same-origin"], false), (["Sec-Fetch-Mode: websocket"], false),
            (["Sec-Fetch-Mode: Navigate"], false), (["Sec-Fetch-Mode: navigate", "Sec-Fetch-Mode: cors"], false),
            (["Sec-Fetch-Mode: navigate", "Sec-Fetch-Mode: navigate"], false),
            // Metadata count before the other field.
            (["Sec-Fetch-Mode: cors", "Upgrade-Insecure-Requests: 1"], false),
            (["Sec-Fetch-Site: none", "Upgrade-Insecure-Requests: 1"], false),
            (["Upgrade-Insecure-Requests: 1"], true), (["upgrade-insecure-requests: 1"], true),
            (["Upgrade-Insecure-Requests: 0"], false), (["Upgrade-Insecure-Requests: 11"], false),
            ([], false), (["Accept: text/html"], false),
            (["Sec-Fetch-: navigate", "Upgrade-Insecure-Requests: 1"], true),
        ])
    func table(_ lines: [String], _ isNavigation: Bool) throws {
        #expect(try isAnswered(Self.rule, lines) == isNavigation)
        #expect(try isAnswered("http://h/a: { text: x, navigation: false }", lines) != isNavigation)
        #expect(try isAnswered("http://h/a: x", lines))
    }

    @Test("a rule without it is next in its list, and a default may say it")
    func lists() throws {
        let map = try map(
            """
            defaults: { navigation: true }
            substitutions:
              http://h/a: [{ text: page }, { text: part, navigation: false }]
            """)
        var scratch = LookupScratch()
        func line(_ lines: [String]) throws -> String? {
            let match = map.lookup(
                try TargetURI("http://h/a"), method: RequestMethod(.get), fields: fields(lines), scratch: &scratch)
            guard let match,
                case .content(let content) = map.answer(match, uri: try TargetURI("http://h/a"), scratch: scratch)
            else { return nil }
            return String(decoding: content.bytes, as: UTF8.self)
        }
        #expect(try line(["Sec-Fetch-Mode: navigate"]) == "page")
        #expect(try line(["Sec-Fetch-Mode: cors"]) == "part")
        #expect(map.dependsOnFields)
    }

    @Test("what is no boolean is an error, and an answer in turn has no condition")
    func errors() {
        #expect(
            headlines("substitutions: { \"http://h/a\": { text: x, navigation: yes } }")
                == ["1:55: error: 'navigation' is true or false; for 'yes' write true or false"])
        #expect(
            headlines("substitutions: { \"http://h/a\": { text: x, navigation: [] } }")
                == ["1:55: error: 'navigation' is true or false"])
        #expect(
            headlines("substitutions: { \"http://h/a\": { answers: [{ text: x, navigation: true }] } }").first?
                .contains("'navigation' is a condition") == true)
    }

    @Test("explain says what held, and what didn't")
    func explain() throws {
        let map = try rules(Self.rule)
        var scratch = LookupScratch()
        func lines(_ fields: FieldSection) throws -> String {
            map.explain(try TargetURI("http://h/a"), method: RequestMethod(.get), fields: fields, scratch: &scratch)
                .lines
                .joined(separator: "\n")
        }
        #expect(try lines(fields(["Sec-Fetch-Mode: navigate"])).contains("because the request loads a document"))
        #expect(try lines(fields([])).contains("passed over: substitutions.yaml:2: for it loads no document"))
    }

    @Test("delay and rate go with forward, and are not warned of")
    func forward() {
        #expect(headlines("substitutions: { \"http://h/a\": { forward: true, delay: 1s, rate: 1KiB/s } }").isEmpty)
    }
}
