import Testing

@testable import Substitution

/// Look-ups of random maps, compared with a slow model of the documented order.
struct PrecedenceModelTests {
    /// A rule of the model, over text.
    struct ModelRule {
        var key: String
        var methods: [String]?
        var query: String?
        var line: Int

        var isExpression: Bool { key.hasPrefix("~") }
        var isPattern: Bool { !isExpression && key.contains("*") }
        var isFolder: Bool { !isExpression && !isPattern && key.hasSuffix("/") }

        var prefixLength: Int { key.prefix { $0 != "*" }.utf8.count }

        func matchesURL(_ url: String) -> Bool {
            let path = String(url.prefix { $0 != "?" })
            if isExpression { return url.hasSuffix(String(key.dropFirst().dropLast())) }
            if isPattern {
                return PrecedenceModelTests.matches(Array(key.prefix { $0 != "?" }.utf8), Array(path.utf8))
                    && parameters(key).allSatisfy { wanted in
                        parameters(url).contains { PrecedenceModelTests.value(wanted, matches: $0) }
                    }
            }
            if isFolder { return path.hasPrefix(key) }
            return path == String(key.prefix { $0 != "?" })
        }

        func parameters(_ text: String) -> [String] {
            text.split(separator: "?").dropFirst().joined().split(separator: "&").map(String.init).sorted()
        }

        func holds(_ url: String, _ method: String) -> Bool {
            if let methods {
                guard methods.contains(method) || (method == "HEAD" && methods.contains("GET")) else { return false }
            } else if method != "GET", method != "HEAD" {
                return false
            }
            switch query ?? (isFolder || isPattern || isExpression ? "ignore" : "exact") {
            case "ignore": return true
            case "exact" where isPattern: return parameters(url).count == parameters(key).count
            case "exact": return parameters(url) == parameters(isExpression ? url : key)
            default:
                // The mapping is always { v: 1 }.
                let own = isFolder || isPattern || isExpression ? [] : parameters(key)
                return parameters(url).contains("v=1") && own.allSatisfy(parameters(url).contains)
            }
        }
    }

    /// The rule that answers by the documented order.
    static func answer(_ rules: [ModelRule], _ url: String, _ method: String) -> Int? {
        let candidates = rules.filter { $0.matchesURL(url) && $0.holds(url, method) }
        let exact = candidates.filter { !$0.isExpression && !$0.isPattern && !$0.isFolder }
        // Of several for one path, those that have the URL's very query, then those with a query of their own, and
        // those whose query is ignored last.
        func rank(_ rule: ModelRule) -> Int {
            guard rule.key.contains("?") else { return 2 }
            guard rule.query != "ignore" else { return 3 }
            return rule.query == nil || rule.query == "exact" ? 0 : 1
        }
        if let best = exact.min(by: { (rank($0), $0.line) < (rank($1), $1.line) }) { return best.line }
        let prefixed = candidates.filter { $0.isFolder || $0.isPattern }
        if let best = prefixed.min(by: { (-$0.prefixLength, $0.line) < (-$1.prefixLength, $1.line) }) {
            return best.line
        }
        return candidates.first { $0.isExpression }?.line
    }

    /// Patterns by recursion: `*` without `/`, `**` any text, `/**/` also `/`; in the host one byte or more.
    static func matches(_ pattern: [UInt8], _ text: [UInt8]) -> Bool {
        let hostEnd = pattern.dropFirst(7).firstIndex(of: 0x2f) ?? pattern.count
        var known: [Int: Bool] = [:]
        func go(_ p: Int, _ t: Int) -> Bool {
            if let value = known[p << 20 | t] { return value }
            let value: Bool
            if p == pattern.count {
                value = t == text.count
            } else if pattern[p] != 0x2a {
                var found = t < text.count && text[t] == pattern[p] && go(p + 1, t + 1)
                if !found, pattern[p...].starts(with: "/**/".utf8), p >= hostEnd, t < text.count, text[t] == 0x2f {
                    found = go(p + 4, t + 1)
                }
                value = found
            } else if p < hostEnd {
                value = (t..<text.count).prefix { text[$0] != 0x2f && text[$0] != 0x3a }.contains { go(p + 1, $0 + 1) }
            } else if p + 1 < pattern.count, pattern[p + 1] == 0x2a {
                value = (t...text.count).contains { go(p + 2, $0) }
            } else {
                let end = text[t...].firstIndex(of: 0x2f) ?? text.count
                value = (t...end).contains { go(p + 1, $0) }
            }
            known[p << 20 | t] = value
            return value
        }
        return go(0, 0)
    }

    /// Whether a parameter is the one wanted, which may end in a star.
    static func value(_ wanted: String, matches parameter: String) -> Bool {
        wanted.hasSuffix("*") ? parameter.hasPrefix(wanted.dropLast()) : parameter == wanted
    }

    /// A small generator with a seed (SplitMix64), so that a failure comes again.
    struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }

    static func url(_ generator: inout Generator) -> String {
        let hosts = ["a", "b.a", "longer-host.example"]
        let segments = ["a", "b", "ab", "abcdefg", "abcdefgh", "img.png", "x"]
        var url = "http://" + (hosts.randomElement(using: &generator) ?? "")
        for _ in 0..<Int.random(in: 0...4, using: &generator) {
            url += "/" + (segments.randomElement(using: &generator) ?? "")
        }
        return url
    }

    static func key(_ generator: inout Generator) -> String {
        var key = url(&generator)
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: return key.split(separator: "/").count > 2 ? key : key + "/x"
        case 1: return "http://a/" + (["x", "a"].randomElement(using: &generator) ?? "")
        case 2...3:
            let query = ["x=1", "v=1&x=2", "x=1&v=1", "x=1&y=0", "y=0"].randomElement(using: &generator) ?? ""
            return "http://a/" + (["x", "a"].randomElement(using: &generator) ?? "") + "?" + query
        case 4:
            let query = ["x=*", "v=*", "v=1&x=*", "v=1*&x=2*", "x=1&v=*"].randomElement(using: &generator) ?? ""
            return "http://a/" + (["x", "a", "a/", "x*"].randomElement(using: &generator) ?? "") + "?" + query
        case 5: return key + "/"
        case 6:
            return "~" + (["/a$", "/ab$", "img.png$", "h$", "1$"].randomElement(using: &generator) ?? "")
        default:
            let stars = ["*", "**", "/*", "/**", "/**/x", "/*/b", "*.png", "/**/img.png"]
            if Bool.random(using: &generator) { key = key.replacingFirstHost }
            return key + (key.split(separator: "/").count > 2 ? "" : "/")
                + (stars.randomElement(using: &generator) ?? "")
        }
    }

    @Test("random maps answer as the model does", arguments: 0..<60)
    func model(_ seed: Int) throws {
        var generator = Generator(state: UInt64(seed) &* 7919 &+ 1)
        var rules: [ModelRule] = []
        var text = "substitutions:\n"
        var keys: Set<String> = []
        for _ in 0..<Int.random(in: 1...60, using: &generator) {
            let key = Self.key(&generator)
            // Keys that are the same URL would be an error.
            let identity =
                key.contains("?")
                ? key.split(separator: "?").map { $0.split(separator: "&").sorted().joined() }.joined() : key
            guard keys.insert(identity).inserted else { continue }
            var rule = ModelRule(key: key, line: rules.count + 2)
            var options = key.hasSuffix("/") ? "file: f/" : "file: f"
            if Int.random(in: 0..<3, using: &generator) == 0 {
                rule.methods = [["POST"], ["GET"], ["HEAD", "PUT"]].randomElement(using: &generator)
                options += ", methods: [\((rule.methods ?? []).joined(separator: ", "))]"
            }
            if !key.hasPrefix("~"), !(key.contains("?")), Int.random(in: 0..<3, using: &generator) == 0 {
                rule.query = ["exact", "ignore", "{ v: 1 }"].randomElement(using: &generator)
            } else if key.contains("?"), Bool.random(using: &generator) {
                rule.query = ["exact", "ignore", "{ v: 1 }"].randomElement(using: &generator)
            }
            if let query = rule.query { options += ", query: \(query)" }
            rules.append(rule)
            text += "  \"\(key)\": { \(options) }\n"
        }
        let map = try map(text)
        for _ in 0..<300 {
            var url = Self.url(&generator)
            if Int.random(in: 0..<3, using: &generator) == 0 {
                url = "http://a/" + (["x", "a"].randomElement(using: &generator) ?? "")
            }
            if url.split(separator: "/").count < 3 { url += "/" }
            if Int.random(in: 0..<4, using: &generator) == 0 { url += url.hasSuffix("/") ? "" : "/" }
            url += ["", "", "?x=1", "?v=1", "?x=2&v=1", "?y=0&x=1&v=1", "?"].randomElement(using: &generator) ?? ""
            let method = ["GET", "GET", "HEAD", "POST", "PUT"].randomElement(using: &generator) ?? ""
            let expected = Self.answer(rules, url, method)
            let found = try map.line(url, method)
            #expect(found == expected, "\(method) \(url)\n\(text)")
            if found != expected { return }
            #expect(try map.explanation(url, method).answer?.rule.location.line == expected)
        }
    }
}

extension String {
    /// The URL with a star for the first label of its host.
    fileprivate var replacingFirstHost: String {
        let rest = dropFirst(7)
        let label = rest.prefix { $0 != "." && $0 != "/" }
        return "http://*" + rest.dropFirst(label.count)
    }
}
