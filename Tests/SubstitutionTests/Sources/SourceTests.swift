import HTTPSemantics
import NIOCore
import Substitution
import Testing

/// What a match answers with.
struct SourceTests {
    @Test(
        "the rest of a folder's path is decoded segment by segment, and can't leave the folder",
        arguments: [
            ("a/b.txt", "f/a/b.txt"), ("", "f/index.html"), ("a/", "f/a/index.html"), ("a%20b/%C3%A9", "f/a b/é"),
            ("a%5Cb", "f/a\\b"), ("..a/.b", "f/..a/.b"), ("%252e%252e/x", "f/%2e%2e/x"), ("a%", "f/a%"),
            ("a%zz", "f/a%zz"),
            ("..;/x", "f/..;/x"),
            ("....//x", "refused: the path has two slashes in a row, and no file has an empty name"),
            ("a%2Fb", "refused: the path has an encoded slash (%2F) in it, which no file's name can have"),
            (
                "..%2f..%2fetc/passwd",
                "refused: the path has an encoded slash (%2F) in it, which no file's name can have"
            ),
            ("a%00", "refused: the path has a NUL byte (%00) in it, which no file's name can have"),
            ("/etc/passwd", "refused: the path has two slashes in a row, and no file has an empty name"),
            ("%2fetc/passwd", "refused: the path has an encoded slash (%2F) in it, which no file's name can have"),
            ("../d/x", "f/x"), ("../../etc/passwd", "-"), ("%2e%2e/%2e%2e/etc/passwd", "-"), ("./x", "f/x"),
            ("x?y=/../z", "f/x"),
        ])
    func folder(_ rest: String, _ expected: String) throws {
        #expect(try rules("http://m.test/d/: f/").answer("http://m.test/d/" + rest) == expected)
    }

    @Test("a path longer than any file's is looked for, and so missing")
    func longPath() throws {
        let map = try rules("http://m.test/d/: f/")
        let long = String(repeating: "a/", count: 3000)
        #expect(try map.answer("http://m.test/d/" + long) == "f/" + long + "index.html")
    }

    @Test("bytes that are not UTF-8 stay what they are")
    func bytes() throws {
        let map = try rules("http://m.test/d/: f/")
        var scratch = LookupScratch()
        let uri = try TargetURI("http://m.test/d/caf%E9")
        let match = try #require(try map.match("http://m.test/d/caf%E9", scratch: &scratch))
        guard case .file(let root, let path) = map.answer(match, uri: uri, scratch: scratch) else {
            Issue.record("no file")
            return
        }
        #expect(root == "/")
        #expect(path == Array("f/caf".utf8) + [0xE9])
    }

    @Test(
        "file names are taken literally, but for dots and doubled slashes",
        arguments: [
            ("./a", "a"), ("a//b", "a/b"), ("a/./b", "a/b"), ("a/../b", "b"), (".hidden", ".hidden"), ("..a", "..a"),
            ("a:b", "a:b"), ("~", "-"), ("~/a", "~/a"), ("\"a$$b\"", "a$b"), ("a b", "a b"), ("\"100%\"", "100%"),
            ("\"%41\"", "%41"), ("é", "é"), ("\"5\"", "5"), ("yes", "yes"), ("\"a\\\\b\"", "a\\b"), ("1.2.3", "1.2.3"),
            ("+a", "+a"), ("nullable", "nullable"), ("trueish", "trueish"),
        ])
    func literal(_ value: String, _ expected: String) throws {
        guard value != "~" else {
            #expect(headlines("substitutions:\n  http://h/a: ~").count == 1)
            return
        }
        #expect(try rules("http://h/a: \(value)").answer("http://h/a") == expected)
    }

    @Test(
        "a folder may be the root, and be written in several ways",
        arguments: [("./", "x"), (".", "x"), ("a/.", "a/x"), ("a/b/..", "a/x"), ("a//", "a/x"), ("a/", "a/x")])
    func folderNames(_ value: String, _ expected: String) throws {
        #expect(try rules("http://h/: \(value)").answer("http://h/x") == expected)
    }

    @Test(
        "captures in a file's path are decoded, and can't leave the root",
        arguments: [
            ("http://h/p/a%20b", "p/a b%41"),
            ("http://h/p/a%2Fb", "refused: the path has an encoded slash (%2F) in it, which no file's name can have"),
            ("http://h/p/%00", "refused: the path has a NUL byte (%00) in it, which no file's name can have"),
            ("http://h/q/a/b", "a/b"), ("http://h/q//a//b/", "a/b/index.html"), ("http://h/q/", "index.html"),
            ("http://h/r/.", "r/x"), ("http://h/r/..", "-"),
            ("http://h/s/x.", "refused: the path has '..' in it and could leave the root"),
            ("http://h/s/xa", ".a"),
        ])
    func captures(_ url: String, _ expected: String) throws {
        let map = try rules(
            "http://h/p/*: \"p/$1%41\"", "http://h/q/**: $1", "http://h/r/*: r/x", "\"~^http://h/s/x(.*)$\": .$1")
        #expect(try map.answer(url) == expected)
    }

    @Test("the ports of https that 'forward' names are known, but for captures")
    func forwardedPorts() throws {
        let map = try rules(
            "http://h/a: { forward: \"https://o:9443/\" }", "http://h/b: { forward: \"https://[::1]:9444/x:1/\" }",
            "http://h/c: { forward: \"http://o:9445/\" }", "http://h/d: { forward: true }",
            "\"http://h/e?port=*\": { forward: \"https://o:$1/\" }",
            "\"http://h/f/*\": { forward: \"https://$1.o:9446/\" }", "http://h/g: { forward: \"HTTPS://o/\" }",
            "\"http://h/i/*\": { forward: \"https://o:9447?x=$1\" }")
        #expect(map.forwardedPorts == [443, 9443, 9444, 9447])
    }

    @Test(
        "stars in a pattern's query capture too, in the order of the key",
        arguments: [
            ("http://h/p?x=a", "img/a.png"), ("http://h/p?y=1&x=a%20b&x=c", "img/a b.png"),
            ("http://h/p?x=", "img/.png"), ("http://h/p?x", "img/.png"), ("http://h/p?x=a/b", "img/a/b.png"),
            ("http://h/p?x=%61%2B", "img/a+.png"), ("http://h/p?x=a+b", "img/a+b.png"),
            ("http://h/p?x=a%2Fb", "refused: the path has an encoded slash (%2F) in it, which no file's name can have"),
            ("http://h/p?x=%2e./s/..", "refused: the path has '..' in it and could leave the root"),
            ("http://h/p?x=%00", "refused: the path has a NUL byte (%00) in it, which no file's name can have"),
            ("http://h/A/q/B?w=3x4&v=2", "A/B/2/3x4"), ("http://h/r?v=%2F1%2F2.3", "1%2F2-3"),
            ("http://h/s?a=1&b=2", "forward http://o/a=1&b=2?a=1&b=2"), ("http://h/s", "forward http://o/"),
            ("http://h/t?a=x", "forward http://o/x/a=x?a=x"),
            ("http://h/u?host=o.test", "forward http://o.test/u?host=o.test"),
            ("http://h/u?host=o.test@evil", "refused: a capture in its host brings more than a host and a port"),
        ])
    func queryCaptures(_ url: String, _ expected: String) throws {
        let map = try rules(
            "http://h/p?x=*: img/$1.png", "http://h/*/q/*?v=*&w=*: $1/$2/$3/$4",
            "http://h/r?v=/*/*.*: { redirect: \"/$1%2F$2-$3\" }", "\"http://h/s?*\": { forward: \"http://o/$1\" }",
            "\"http://h/t?a=**&*\": { forward: \"http://o/$1/$2\" }",
            "http://h/u?host=*: { forward: \"http://$1/u\" }")
        let answer = try map.answer(url)
        #expect(answer == expected || answer == "redirect /" + expected)
    }

    @Test("captures of a query are those of an expression over the query, as every source gets them")
    func queryCapturesAsGroups() throws {
        let template = "{ template: { text: \"{{request.captures.1}}\" } }"
        let map = try rules(
            "http://h/a?x=*: \(template)", "\"~^http://h/b[?]x=(.*)$\": \(template)", "http://h/c: \(template)")
        var scratch = LookupScratch()
        for value in ["", "a", "a%20b%2F..%2f", "%zz%", "+", "a=b"] {
            let found = try ["a", "b"].map { name in
                let url = "http://h/\(name)?x=\(value)"
                let match = try #require(try map.match(url, scratch: &scratch))
                guard case .template(let call) = map.answer(match, uri: try TargetURI(url), scratch: scratch) else {
                    return ["no template"]
                }
                return call.captures.map { "\($0.name) \($0.value)" }
            }
            #expect(found[0] == found[1])
            #expect(found[0].count == 1)
        }
        // What an earlier look-up has captured is nothing of a key without stars.
        let match = try #require(try map.match("http://h/c", scratch: &scratch))
        guard case .template(let call) = map.answer(match, uri: try TargetURI("http://h/c"), scratch: scratch) else {
            Issue.record("no template")
            return
        }
        #expect(call.captures.isEmpty)
    }

    @Test("a capture that a pattern's path and query do not have is an error")
    func missingQueryCapture() {
        #expect(
            headlines("substitutions:\n  http://h/*/p?x=*: $3\n") == [
                "2:21: error: there is no capture $3: the pattern has 2 stars"
            ])
        let stars = String(repeating: "*/", count: 98)
        #expect(headlines("substitutions:\n  http://h/\(stars)?x=*: ${99}\n").isEmpty)
        #expect(
            headlines("substitutions:\n  http://h/\(stars)?x=*-*: ${99}\n").map { $0.suffix(34) } == [
                "error: a pattern has 99 stars at most".suffix(34)
            ])
    }

    @Test("captures by name are those of the key for each of its rules")
    func namedCaptures() throws {
        let map = try rules(
            "~^http://h/(?<name>.*)$: [{ template: { text: p }, methods: [POST] }, { template: { text: g } }]")
        for method in ["POST", "GET"] {
            var scratch = LookupScratch()
            let match = try #require(try map.match("http://h/x", method, scratch: &scratch))
            guard case .template(let call) = map.answer(match, uri: try TargetURI("http://h/x"), scratch: scratch)
            else {
                Issue.record("no template")
                continue
            }
            #expect(call.captures.map(\.name) == ["1", "name"], "\(method)")
        }
    }

    @Test("bodies have the type of their kind")
    func bodies() throws {
        let map = try rules(
            "http://h/text: { text: \"a\\nb\" }", "http://h/json: { json: [1, 2.50, ~, { a: \"b\" }, yes] }",
            "http://h/base64: { base64: SGk= }", "http://h/empty: { text: \"\" }")
        #expect(try map.answer("http://h/text") == "text/plain; charset=utf-8: a\nb")
        #expect(try map.answer("http://h/json") == #"application/json: [1,2.50,null,{"a":"b"},"yes"]"#)
        #expect(try map.answer("http://h/base64") == "application/octet-stream: Hi")
        #expect(try map.answer("http://h/empty") == "text/plain; charset=utf-8: ")
    }

    @Test(
        "a forwarded URL gets captures, the rest of a folder's path and the query",
        arguments: [
            ("http://h/a", "forward http://o/x"), ("http://h/a?q=%41", "-"),
            ("http://h/b?q=%41&r", "forward http://o/x?k=v&q=A&r"),
            ("http://h/c/d/e?q", "forward https://o:8443/api/d/e?q"), ("http://h/c/", "forward https://o:8443/api/"),
            ("http://h/d/e%2Ff", "forward http://o/e%2Ff"), ("http://h/e/v1/x.json?q", "forward http://o/x/v1?q"),
            ("http://h/f?a=1", "forward http://o/g?a=1"), ("http://h/d/a//b", "forward http://o/a//b"),
        ])
    func forward(_ url: String, _ expected: String) throws {
        let map = try rules(
            "http://h/a: { forward: \"http://o/x\" }", "http://h/b: { forward: \"http://o/x?k=v\", query: ignore }",
            "http://h/c/: { forward: \"https://o:8443/api\" }", "http://h/d/: { forward: \"http://o\" }",
            "http://h/e/*/*.json: { forward: \"http://o/$2/$1\" }",
            "\"~^http://h/f(.*)$\": { forward: \"http://o/g$1\" }")
        #expect(try map.answer(url) == expected)
    }

    @Test("the query of a forwarded URL is sent as it was received")
    func rawQuery() throws {
        let map = try rules("http://h/c/: { forward: \"http://o/\" }")
        var scratch = LookupScratch()
        let uri = try TargetURI("http://h/c/x?q=%41%7e")
        let match = try #require(try map.match("http://h/c/x?q=%41%7e", scratch: &scratch))
        guard case .origin(let url?) = map.answer(match, uri: uri, scratch: scratch) else {
            Issue.record("not forwarded")
            return
        }
        #expect(String(buffer: url.rawPathAndQuery) == "/x?q=%41%7e")
    }

    @Test(
        "a redirect is to the URL as written, below a folder with the rest of the path",
        arguments: [
            ("http://h/a?x", "redirect http://o/x"), ("http://h/b/c?x", "redirect http://o/y/c?x"),
            ("http://h/c/d", "redirect http://o/one"), ("http://h/d/e", "redirect /f/e#g"),
            ("http://h/g/h?x", "redirect https://o/#/"), ("http://h/i/j?x", "redirect https://o/?to=/"),
        ])
    func redirect(_ url: String, _ expected: String) throws {
        let map = try rules(
            "http://h/a: { redirect: \"http://o/x\", query: ignore }", "http://h/b/: { redirect: \"http://o/y/\" }",
            "http://h/c/: { redirect: \"http://o/one\" }", "http://h/d/*: { redirect: \"/f/$1#g\" }",
            "http://h/g/: { redirect: \"https://o/#/\" }", "http://h/i/: { redirect: \"https://o/?to=/\" }")
        #expect(try map.answer(url) == expected)
    }

    @Test("a URL that captures make impossible is refused")
    func impossibleURL() throws {
        let map = try rules("\"~^http://h/(.*)$\": { forward: \"http://$1/\" }")
        #expect(try map.answer("http://h/o.example") == "forward http://o.example/")
        #expect(
            try map.answer("http://h/a b".replacingBlank)
                == "refused: the URL made with the captures is none: the URL's host is not a host name or an IP address"
        )
    }

    @Test(
        "captures in the host of a URL bring a host and a port, and where the URL ends with one, a path too",
        arguments: [
            // One that is the whole host.
            ("a/good", "http://good/p"), ("a/good:81", "http://good:81/p"), ("a/[::1]:81", "http://[::1]:81/p"),
            ("a/good@evil", nil), ("a/good:x@evil", nil), ("a/good%40evil", nil), ("a/@evil", nil), ("a/evil/x", nil),
            ("a/evil?x", nil), ("a/evil%2Fx", nil), ("a/evil%3Fx", nil), ("a/evil%23x", nil), ("a/evil%5Cx", nil),
            ("a/evil%20x", nil), ("a/evil%09x", nil), ("a/evil:80:81", nil), ("a/", nil), ("a/evil\\@x", nil),
            // One with some of the host behind it, or before it.
            ("b/good", "http://good.example.com/p"), ("b/evil/", nil), ("b/evil?", nil), ("b/evil:80/", nil),
            ("b/evil:80", nil), ("b/x@evil", nil), ("b/evil:80@", nil),
            ("c/1", "http://node1/p"), ("c/1:81", "http://node1:81/p"), ("c/@evil", nil), ("c/:x@evil", nil),
            // Those that a URL ends with.
            ("d/good/x@y?z@", "http://good/x@y?z@"), ("d/good?x/y", "http://good/?x/y"), ("d/x@evil/y", nil),
            ("d/good", "http://good/"), ("e/good/x/y", "http://good/x/y"), ("e/good", "http://good/"),
            ("e/x@good/x", nil),
            // A scheme, a port, user information of the map's own, a path.
            ("f/https:good", "https://good/p"), ("f/http://evil/:good", nil), ("f/ht@tp:good", nil),
            ("g/81", "http://good:81/p"), ("g/81@evil", nil), ("h/me", "http://good/p"), ("h/me@evil/", nil),
            ("i/x@y/z?@", "http://good/x@y/z?@/p"),
        ])
    func capturedAuthority(_ path: String, _ expected: String?) throws {
        let templates = [
            "a/(.*)": "http://$1/p", "b/(.*)": "http://$1.example.com/p", "c/(.*)": "http://node$1/p",
            "d/(.*)": "http://$1", "e/([^/]*)(/.*)?": "http://$1$2", "f/(.*?):([^:]*)": "$1://$2/p",
            "g/(.*)": "http://good:$1/p", "h/(.*)": "http://$1@good/p", "i/(.*)": "http://good/$1/p",
        ]
        for option in ["forward", "redirect"] {
            let lines = templates.map { "\"~^http://h/\($0)$\": { \(option): \"\($1)\" }" }
            let map = try rules(lines.joined(separator: "\n  "))
            let answer = try map.answer("http://h/\(path)")
            if let expected, option == "forward" {
                #expect(answer == "forward \(expected)")
            } else {
                #expect(answer.hasPrefix("redirect http") == (expected != nil), "\(answer)")
                #expect(answer.hasPrefix("refused: ") == (expected == nil), "\(answer)")
            }
        }
    }

    @Test(
        "captures that leave the host a dot without a name before it are refused",
        arguments: [
            "a/", "a/.", "a/x.", "a/.x", "a/x..y", "b/", "b/.x", "b/x..y", "c/", "c/x.", "c/.", "d/.x", "d/x..y",
        ])
    func emptyLabel(_ path: String) throws {
        let templates = [
            "a/(.*)": "http://$1.example.com/p", "b/(.*)": "http://me@$1.example.com:81/p", "c/(.*)": "http://a.$1.b/p",
            "d/(.*)": "http://$1/p",
        ]
        for option in ["forward", "redirect"] {
            let lines = templates.map { "\"~^http://h/\($0)$\": { \(option): \"\($1)\" }" }
            let map = try rules(lines.joined(separator: "\n  "))
            #expect(
                try map.answer("http://h/\(path)")
                    == "refused: with the captures its host has a dot without a name before it")
        }
        let relative = try rules("\"~^http://h/(.*)$\": { redirect: \"//$1.example.com/p\" }")
        #expect(try relative.answer("http://h/").hasPrefix("refused: with the captures its host has a dot"))
        #expect(try relative.answer("http://h/www") == "redirect //www.example.com/p")
    }

    @Test("a URL of the map's own has no dot without a name before it", arguments: ["forward", "redirect"])
    func emptyLabelOfMap(_ option: String) {
        for url in ["http://.example.com/", "http://a..b/", "http://a..$1/"] {
            let found = headlines("substitutions:\n  http://h/*: { \(option): \"\(url)\" }\n")
            #expect(found.count == 1 && found[0].contains("a host has no empty label"), "\(found)")
        }
    }

    @Test(
        "a redirect to a path of the same host stays there",
        arguments: [
            ("http://h/a/x", "redirect /x"), ("http://h/a//evil/x", "redirect /evil/x"),
            ("http://h/b/x", "redirect /x/y"),
            ("http://h/b//evil", "redirect /evil/y"), ("http://h/c/good", "redirect //good/x"),
            ("http://h/c/x@evil", "refused"),
        ])
    func redirectPath(_ url: String, _ expected: String) throws {
        let map = try rules(
            "\"~^http://h/a/(.*)$\": { redirect: \"/$1\" }", "\"~^http://h/b/(.*)$\": { redirect: \"/$1/y\" }",
            "\"~^http://h/c/(.*)$\": { redirect: \"//$1/x\" }")
        #expect(try map.answer(url).hasPrefix(expected))
    }

    @Test("a pattern whose own query has a star depends on the query, one that only asks for a parameter does not")
    func queryCaptures() throws {
        let map = try rules(
            "http://h/a?id=*: $1", "http://h/*?v=1: $1", "http://h/*/b?*: $2", "http://h/c?id=*: c",
            "\"~^http://h/d[?](.*)$\": $1")
        #expect(Array(map.rules).map(\.dependency) == [.url, .path, .url, .nothing, .path])
    }

    @Test("what a rule depends on, and what it is like")
    func views() throws {
        let map = try rules(
            "http://h/a: a", "http://h/b/: b/", "http://h/*.png: one.png", "http://h/*.gif: $1.gif",
            "http://h/t: { text: t }", "http://h/f: { forward: true }", "~x: x")
        let all = Array(map.rules)
        #expect(all.map(\.dependency) == [.nothing, .path, .nothing, .path, .nothing, .request, .nothing])
        #expect(all.map(\.kind) == [.exact, .folder, .pattern, .pattern, .exact, .exact, .expression])
        #expect(all.map(\.sourceText) == ["a", "b/", "one.png", "$1.gif", "", "", "x"])
        #expect(all.map(\.sourceName) == ["file", "file", "file", "file", "text", "forward", "file"])
        #expect(all.map(\.forwards) == [false, false, false, false, false, true, false])
        #expect(all[3].key == "http://h/*.gif")
        #expect(all[6].key == "~x")
        #expect(all[0].location == ("substitutions.yaml", 2))
        #expect(map.ruleIDCount == 7)
    }
}

extension String {
    fileprivate var replacingBlank: String { String(map { $0 == " " ? "%20" : String($0) }.joined()) }

    @Test(
        "a redirect to a path stays on its host, whatever captures and the rest of a folder's path are",
        arguments: [
            ("~^http://h/go/(.*)$: { redirect: /$1 }", "http://h/go//evil.test/x", "/evil.test/x"),
            ("~^http://h/go/(.*)$: { redirect: /$1 }", "http://h/go/%5Cevil.test", "/%5Cevil.test"),
            ("~^http://h/go/(.*)$: { redirect: /$1 }", "http://h/go/\\\\evil.test", "/%5C%5Cevil.test"),
            ("~^http://h/go/(x?)(.*)$: { redirect: /$1$2 }", "http://h/go///evil.test", "/evil.test"),
            ("~^http://h/go/(x?)(.*)$: { redirect: /$1/$2 }", "http://h/go/evil.test", "/evil.test"),
            ("http://h/go/**: { redirect: /$1 }", "http://h/go//evil.test/x?q=1", "/evil.test/x"),
            ("http://h/go/: { redirect: / }", "http://h/go//evil.test/x?q", "/evil.test/x?q"),
            ("http://h/go/: { redirect: /to/ }", "http://h/go//a", "/to//a"),
            ("~^http://h/go/(.*)$: { redirect: /a/$1 }", "http://h/go//b", "/a//b"),
            ("http://h/go: { redirect: //cdn.test/x }", "http://h/go", "//cdn.test/x"),
            ("~^http://h/go/(.*)$: { redirect: //cdn.test/$1 }", "http://h/go//b", "//cdn.test//b"),
            ("~^http://(.*)$: { redirect: https://$1 }", "http://h//evil.test", "https://h//evil.test"),
        ])
    func redirectsKeepTheirHost(rule: String, url: String, location: String) throws {
        #expect(try rules(rule).answer(url) == "redirect \(location)")
    }

    @Test(
        "a redirect that a capture alone would make absolute is refused",
        arguments: ["$1", "$1/x", "https:$1", "$1:/x", "x$1"])
    func relativeRedirects(template: String) {
        #expect(
            headlines("substitutions:\n  ~^http://h/(.*)$: { redirect: \"\(template)\" }\n")
                .contains { $0.contains("error: the URL is not absolute") || $0.contains("error: the URL's scheme") })
    }
}
