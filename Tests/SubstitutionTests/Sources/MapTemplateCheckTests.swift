import Diagnostics
import Glibc
import ProxyTestKit
import Testing

@testable import Substitution

@Suite struct MapTemplateCheckTests {
    private let folder = TemporaryFolder()

    /// What is said of a map's templates.
    ///
    /// - Parameter isOfServing: whether it is what the proxy says that serves the map.
    private func check(
        _ rules: String, _ files: [String: String] = [:], isOfServing: Bool = false
    ) throws -> [String] {
        for (name, text) in files {
            var above = ""
            for part in name.split(separator: "/").dropLast() {
                above += part + "/"
                mkdir(folder.at(above), 0o755)
            }
            try folder.write(name, text)
        }
        try folder.write("m.yaml", "substitutions:\n\(rules)\n")
        let result = SubstitutionMap.load(files: ["\(folder.path)/m.yaml"])
        let map = try #require(result.map, "\(result.diagnostics.map(\.rendering))")
        let said = isOfServing ? map.checkWrittenTemplates() : map.checkTemplates()
        return said.map { $0.diagnostic.headline.replacing(folder.path + "/", with: "") }
    }

    @Test func `A template that can't be read is an error at the rule`() throws {
        try folder.write("page.html", "")
        mkfifo(folder.at("pipe.html"), 0o600)
        symlink("page.html", folder.at("link.html"))
        #expect(
            try check(
                """
                  http://a/gone: { template: gone.html }
                  http://a/away: { template: gone.html, missing: forward }
                  http://a/pipe: { template: pipe.html }
                  http://a/link: { template: link.html }
                  http://a/good: { template: page.html }
                  http://a/any/*: { template: "$1.html" }
                """) == [
                    "m.yaml:2:30: error: the template 'gone.html' can't be read: no such file",
                    "m.yaml:3:30: warning: the template 'gone.html' can't be read: no such file",
                    "m.yaml:4:30: error: the template 'pipe.html' can't be read: not a regular file but a named pipe",
                    "m.yaml:5:30: error: the template 'link.html' can't be read: the path goes through a symbolic link",
                ])
    }

    @Test func `The partial of a template without an extension has none either`() throws {
        let files = ["noext": "{{> p2}}", "p2": "two", "x.html": "{{> p3}}", "p3.html": "three"]
        let rules = "  http://a/1: { template: noext }\n  http://a/2: { template: x.html }"
        #expect(try check(rules, files).isEmpty)
        let inMap = try check("  http://a/3: { template: { text: \"{{> p3}}\" } }")
        #expect(inMap.isEmpty, "one in the map is HTML")
    }

    @Test func `Values that are raw in HTML are found by the type that 'headers' name too`() throws {
        let rule = "  http://a/1: { template: p.txt, headers: { Content-Type: text/html } }"
        let found = try check(rule, ["p.txt": "{{{request.query.x}}}"])
        #expect(found.count == 1 && found.first?.contains("writes what the request brings") == true, "\(found)")
    }

    @Test func `Who serves a map is warned of partials that templates in it lack, and of no others`() throws {
        let said =
            try check(
                """
                  http://a/1: { template: gone.html }
                  http://a/2: { template: lost.html }
                  http://a/3: { template: { text: "a {{> none}} {{x}}" } }
                  http://a/4: { template: { text: "{{x}} {{> part}}" } }
                  http://a/5: { template: { text: "{{> broken}}" } }
                """, ["lost.html": "{{> none}}", "part.html": "", "broken.html": "\n{{#a}}"], isOfServing: true)
        #expect(
            said == [
                "m.yaml:4:38: warning: the partial 'none' is missing",
                "broken.html:2:1: warning: this tag is not closed; add a '{{/a}}'",
            ])
    }

    @Test func `An error in a template or a partial has its own place, and is said once`() throws {
        #expect(
            try check(
                """
                  http://a/1: { template: sub/page.html }
                  http://a/2: { template: sub/page.html, values: { a: 1 } }
                  http://a/3: { template: lost.html }
                  http://a/4: { template: out.html }
                  http://a/5: { template: { text: "{{> none}}" } }
                """,
                [
                    "sub/page.html": "{{> parts/nav}}", "sub/parts/nav.html": "{{> foot}}",
                    "sub/parts/foot.html": "x\n {{#b}}", "lost.html": "a {{> b}}", "out.html": "{{> ../x}}",
                ]) == [
                    "sub/parts/foot.html:2:2: error: this tag is not closed; add a '{{/b}}'",
                    "lost.html:1:3: error: the partial 'b' is missing",
                    "out.html:1:1: error: the partial '../x' is outside of the root",
                    "m.yaml:6:36: error: the partial 'none' is missing",
                ])
    }

    @Test func `A name that nothing has is warned of, outside of sections`() throws {
        let found = try check(
            """
              http://a/p:
                template: p.html
                values: { title: Shop, deep: { a: [1, 2] }, nothing: null }
                sqlite: shop.db
                sql: { rows: "SELECT 1" }
              http://a/inline: { template: { text: "{{titel}} {{.}}" }, values: { title: x } }
              http://a/list: { template: { text: "{{0}} {{length}} {{2}}" }, values: [1, 2] }
            """,
            [
                "p.html":
                    "{{title}} {{titel}} {{deep.a.1}} {{deep.a.2}} {{deep.b}} {{nothing}} {{rows.length}}\n"
                    + "{{#rows}}{{any}}{{/rows}} {{request.query.q}} {{request.quary}} {{titel}} {{^none}}x{{/none}}"
            ])
        #expect(
            found == [
                "p.html:1:11: warning: 'titel' is in neither 'values' nor 'sql' of m.yaml:2; did you mean 'title'?",
                "p.html:1:34: warning: 'deep.a.2' is in neither 'values' nor 'sql' of m.yaml:2",
                "p.html:1:47: warning: 'deep.b' is in neither 'values' nor 'sql' of m.yaml:2",
                "p.html:2:47: warning: 'request' has no 'quary'; did you mean 'query'?",
                "p.html:2:75: warning: 'none' is in neither 'values' nor 'sql' of m.yaml:2",
                "m.yaml:7:41: warning: 'titel' is in neither 'values' nor 'sql' of m.yaml:7; did you mean 'title'?",
                "m.yaml:8:56: warning: '2' is in neither 'values' nor 'sql' of m.yaml:8",
            ])
    }

    @Test func `A partial that calls itself without end is warned of, one that a section may end is not`() throws {
        #expect(
            try check(
                """
                  http://a/1: { template: self.html }
                  http://a/2: { template: page.html }
                  http://a/3: { template: tree.html }
                  http://a/4: { template: { text: "{{> page}}{{> page}}" } }
                """,
                [
                    "self.html": "x\n{{> self}}", "page.html": "{{> parts/nav}}",
                    "parts/nav.html": "{{<foot}}{{/foot}}",
                    "parts/foot.html": "a\n {{> nav}}{{> nav}}",
                    "tree.html": "{{#nodes}}{{> tree}}{{/nodes}}{{^nodes}}{{> tree}}{{/nodes}}{{$b}}{{> tree}}{{/b}}",
                ]) == [
                    "self.html:2:1: warning: this partial has no end, since no section is around it: self.html > self.html",
                    "parts/foot.html:2:2: warning: this partial has no end, since no section is around it: "
                        + "parts/nav.html > parts/foot.html > parts/nav.html",
                    "tree.html:1:1: warning: 'nodes' is in neither 'values' nor 'sql' of m.yaml:4",
                ])
    }

    @Test func `What the request brings is warned of where it is written raw into HTML`() throws {
        let raw = "{{{request.query.q}}}{{&request.body}}{{#request}}{{{path}}}{{/request}}{{{title}}}"
        let rules = """
              http://a/p: { template: p.html, values: { title: x } }
              http://a/j: { template: p.json, values: { title: x } }
              http://a/t: { template: p.txt, values: { title: x } }
              http://a/x: { template: p.txt, values: { title: x }, type: image/svg+xml }
              http://a/m: { template: p.html.mustache, values: { title: x } }
            """
        let found = try check(rules, ["p.html": raw, "p.json": raw, "p.txt": raw, "p.html.mustache": raw])
        #expect(found.count == 9)
        #expect(
            found.first
                == "p.html:1:1: warning: {{{request.query.q}}} writes what the request brings into the page as it is; "
                + "{{request.query.q}} escapes it")
        for file in ["p.html:1:22", "p.html:1:51", "p.txt:1:1", "p.html.mustache:1:51"] {
            #expect(found.contains { $0.hasPrefix(file + ": warning: {{{") }, "\(file)")
        }
    }
}
