import Substitution
import Testing

/// `methods`, `query` and `request-headers`.
struct ConditionTests {
    @Test(
        "methods are those of the rule, or its source's by default",
        arguments: [
            ("{ file: x }", "GET", true), ("{ file: x }", "HEAD", true), ("{ file: x }", "POST", false),
            ("{ file: x }", "get", false), ("{ text: x }", "DELETE", true), ("{ text: x }", "BREW", true),
            ("{ json: x }", "PUT", true), ("{ base64: eA== }", "PATCH", true), ("{ block: true }", "OPTIONS", true),
            ("{ forward: true }", "POST", true), ("{ redirect: \"http://h/b\" }", "POST", true),
            ("{ file: x, methods: [GET] }", "HEAD", true), ("{ file: x, methods: [HEAD] }", "GET", false),
            ("{ file: x, methods: [POST, PROPFIND] }", "PROPFIND", true),
            ("{ file: x, methods: [PROPFIND] }", "BREW", false),
            ("{ text: x, methods: [POST] }", "GET", false), ("{ file: x, methods: [options] }", "options", false),
        ])
    func methods(_ rule: String, _ method: String, _ isAnswered: Bool) throws {
        guard !rule.contains("[options]") else {
            #expect(headlines("substitutions: { \"http://h/a\": \(rule) }").count == 1)
            return
        }
        #expect(try rules("http://h/a: \(rule)").line("http://h/a", method) == (isAnswered ? 2 : nil))
    }

    @Test(
        "an exact query is the same parameters in any order",
        arguments: [
            ("http://h/a", "http://h/a", true), ("http://h/a", "http://h/a?", true),
            ("http://h/a", "http://h/a?&&", true),
            ("http://h/a", "http://h/a?x", false), ("http://h/a?", "http://h/a", true),
            ("http://h/a?x=1&y=2", "http://h/a?y=2&x=1", true), ("http://h/a?x=1&y=2", "http://h/a?x=1&y=2", true),
            ("http://h/a?x=1&y=2", "http://h/a?x=1", false), ("http://h/a?x=1&y=2", "http://h/a?x=1&y=2&z", false),
            ("http://h/a?x=1&x=1&y", "http://h/a?x=1&y&y", false), ("http://h/a?x=1&x=2", "http://h/a?x=2&x=1", true),
            ("http://h/a?x=1&x=1", "http://h/a?x=1", false), ("http://h/a?x=%7e&%41=2", "http://h/a?A=2&x=~", true),
            ("http://h/a?x=a+b", "http://h/a?x=a%20b", false), ("http://h/a?x", "http://h/a?x=", true),
            ("http://h/a?x=1", "http://h/a?X=1", false), ("http://h/a?x=1", "http://h/b?x=1", false),
            ("http://h/a?x=1;y=2", "http://h/a?y=2;x=1", false), ("http://h/a?=1", "http://h/a?=1", true),
        ])
    func exact(_ key: String, _ url: String, _ matches: Bool) throws {
        #expect(try rules("\"\(key)\": x").answer(url) == (matches ? "x" : "-"))
    }

    @Test(
        "a mapping names the parameters that matter",
        arguments: [
            ("{ v: 1 }", "?v=1", true), ("{ v: 1 }", "?a=b&v=1&c", true), ("{ v: 1 }", "?v=10", false),
            ("{ v: 1 }", "", false),
            ("{ v: \"1*\" }", "?v=10", true), ("{ v: \"*\" }", "?v", true), ("{ v: \"*\" }", "?w", false),
            ("{ v: \"\" }", "?v=", true), ("{ v: \"\" }", "?v=1", false), ("{ v: \"a*c*e\" }", "?v=abcde", true),
            ("{ v: \"a*c*e\" }", "?v=abde", false), ("{ v: \"a*a\" }", "?v=a", false), ("{ v: true }", "?v=true", true),
            ("{ v: \"a b\" }", "?v=a%20b", true), ("{ v: \"a b\" }", "?v=a+b", false), ("{ v: \"%2A\" }", "?v=*", true),
            ("{ v: \"%2A\" }", "?v=x", false), ("{ v: 1, w: 2 }", "?w=2&v=1", true), ("{ v: 1, w: 2 }", "?v=1", false),
            ("{ v: 2 }", "?v=1&v=2", true), ("{ \"a[b]\": c }", "?a%5Bb%5D=c", true), ("{ v: é }", "?v=%C3%A9", true),
        ])
    func mapping(_ condition: String, _ query: String, _ matches: Bool) throws {
        for key in ["http://h/a", "http://h/*a", "http://h/"] {
            let map = try rules("\(key): { text: x, query: \(condition) }")
            #expect(try map.line("http://h/a" + query) == (matches ? 2 : nil), "\(key)")
        }
    }

    @Test("a URL's own query and a mapping must both hold")
    func ownQuery() throws {
        let map = try rules(
            "http://h/a?x=1: { file: x, query: { y: \"2*\" } }", "http://h/a: { file: all, query: ignore }")
        #expect(try map.answer("http://h/a?y=22&x=1&z=3") == "x")
        #expect(try map.answer("http://h/a?y=22") == "all")
        #expect(try map.answer("http://h/a?x=1") == "all")
        #expect(try map.answer("http://h/a") == "all")
    }

    @Test("of rules for one path those with a query of their own come first")
    func specificFirst() throws {
        let map = try rules(
            "http://h/a: { file: all, query: ignore }", "http://h/a?x=1: exact",
            "http://h/a?y=1: { file: y, query: { z: \"*\" } }")
        #expect(try map.answer("http://h/a?x=1") == "exact")
        #expect(try map.answer("http://h/a?x=1&y=1&z=2") == "y")
        #expect(try map.answer("http://h/a?x=1&y=1") == "all")
        #expect(try map.answer("http://h/a") == "all")
    }

    @Test("folders and patterns ignore the query unless they say otherwise")
    func folders() throws {
        let map = try rules(
            "http://h/a/: a/", "http://h/b/: { file: b/, query: exact }", "http://h/c/*: { file: $1, query: exact }",
            "http://h/d/*?id=*&v=1: $1", "http://h/e/*?v=1: { file: $1, query: exact }", "\"http://h/f/x?*\": f")
        #expect(try map.answer("http://h/a/x?y") == "a/x")
        #expect(try map.answer("http://h/b/x") == "b/x")
        #expect(try map.answer("http://h/b/x?y") == "-")
        #expect(try map.answer("http://h/c/x?y") == "-")
        #expect(try map.answer("http://h/c/x") == "x")
        #expect(try map.answer("http://h/d/x?v=1&id=77&more") == "x")
        #expect(try map.answer("http://h/d/x?id=77") == "-")
        #expect(try map.answer("http://h/e/x?v=1") == "x")
        #expect(try map.answer("http://h/e/x?v=1&w=2") == "-")
        #expect(try map.answer("http://h/f/x") == "f")
        #expect(try map.answer("http://h/f/x?y=1") == "f")
    }

    @Test(
        "a request field must have a matching value on one of its lines",
        arguments: [
            ([("Accept", "image/webp")], true), ([("ACCEPT", "image/webp")], true), ([("Accept", "Image/webp")], false),
            ([("Accept", "text/html"), ("accept", "image/png")], true), ([("Accept", "text/html")], false),
            ([], false), ([("Accept-Language", "image/png")], false), ([("Accept", " image/ ")], true),
        ])
    func fields(_ fields: [(String, String)], _ matches: Bool) throws {
        let map = try rules("http://h/a: { file: x, request-headers: { aCCept: \"image/*\" } }")
        #expect(try map.answer("http://h/a", "GET", fields) == (matches ? "x" : "-"))
    }

    @Test("all request fields of a rule must match")
    func severalFields() throws {
        let map = try rules("http://h/a: { file: x, request-headers: { X-A: \"1\", X-B: \"*\" } }")
        #expect(try map.answer("http://h/a", "GET", [("x-a", "1"), ("x-b", "")]) == "x")
        #expect(try map.answer("http://h/a", "GET", [("x-a", "1")]) == "-")
        #expect(try map.answer("http://h/a", "BREW", [("x-a", "1"), ("x-b", "")]) == "-")
    }

    @Test("a hostile query costs no more than its length")
    func hostileQuery() throws {
        let map = try rules("http://h/a?x=1: a", "http://h/b: { file: b, query: { \"a\": \"*x*x*x*x*y\" } }")
        let many = String(repeating: "a=1&", count: 20_000)
        #expect(try map.answer("http://h/a?\(many)") == "-")
        #expect(try map.answer("http://h/b?a=\(String(repeating: "x", count: 30_000))") == "-")
    }
}
