import Substitution
import Testing

/// Regular expressions that are meant for https, and of whose hosts nothing is decrypted.
struct MapExpressionCheckTests {
    private func renderings(ofMap text: String, also others: [String] = []) throws -> [String] {
        let map = try map(text)
        return map.checkExpressions(InterceptedHosts(map, also: others)).map(\.rendering)
    }

    /// The headlines for a map with one expression, behind its place.
    private func warnings(_ expression: String, _ intercept: String = "", rule: String = "") throws -> [String] {
        let text = "intercept: [\(intercept)]\nsubstitutions:\n  '~\(expression)': { text: x }\n  \(rule)\n"
        return try renderings(ofMap: text).map { rendering in
            let headline = rendering.prefix { $0 != "\n" }
            #expect(headline.hasPrefix("substitutions.yaml:3:4: warning: "), "\(headline)")
            return String(headline.dropFirst("substitutions.yaml:3:4: warning: ".count))
        }
    }

    @Test("an expression for https is warned of at its place where nothing has its host decrypted")
    func place() throws {
        let text = #"""
            substitutions:
              http://a.test/x: { text: x }
              ~^https?://api\.example\.test/v(\d+)/users$:
                - { text: one, methods: [GET] }
                - { text: two }
              ~^http://api\.example\.test/: { text: three }

            """#
        #expect(
            try renderings(ofMap: text) == [
                #"""
                substitutions.yaml:3:3: warning: the tunnels to api.example.test are not decrypted, so this expression sees no https URL in them; name the host in 'intercept'
                  ~^https?://api\.example\.test/v(\d+)/users$:
                  ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                """#
            ])
        for hosts in [["*"], ["api.example.test"], ["*.example.test"]] {
            #expect(try renderings(ofMap: text, also: hosts) == [])
        }
        #expect(try renderings(ofMap: text, also: ["other.test"]).count == 1)
    }

    @Test(
        "it is what the map has decrypted that counts, and the port",
        arguments: [
            (#"^https://a\.test/"#, "", "", "a.test"), (#"^https://a\.test/"#, "a.test", "", nil),
            (#"^https://a\.test/"#, "b.test", "", "a.test"), (#"^https://a\.test/"#, "\"*.test\"", "", nil),
            (#"^https://a\.test/"#, "", "https://a.test/y: y", nil), (#"^https://a\.test/"#, "", "//a.test/: y/", nil),
            (#"^https://a\.test/"#, "", "https://*.test/: y", nil),
            (#"^https://a\.test/"#, "", "http://a.test/y: y", "a.test"),
            (#"^https://a\.test/"#, "", "https://a.test:8443/y: y", "a.test"),
            (#"^https://a\.test:8443/"#, "", "https://a.test:8443/y: y", nil),
            (#"^https://a\.test:8443/"#, "", "https://a.test/y: y", "a.test"),
            (#"^https://(www\.)?a\.test/"#, "www.a.test", "", "a.test"), (#"https?://a\.test/x"#, "", "", "a.test"),
            (#"://a\.test/x"#, "", "", "a.test"), (#"^[a-z]+://a\.test/"#, "", "", "a.test"),
            (#"^https://(a|b)\.test/"#, "", "", "a.test and b.test"),
            (#"^https://(a|b)\.test/"#, "a.test", "", "b.test"),
            (#"^https://(a|b)\.test/"#, "a.test, b.test", "", nil),
        ])
    func hosts(_ expression: String, _ intercept: String, _ rule: String, _ host: String?) throws {
        let noun = host?.contains(" ") == true ? "the hosts" : "the host"
        let expected = host.map {
            [
                "the tunnels to \($0) are not decrypted, so this expression sees no https URL in them; "
                    + "name \(noun) in 'intercept'"
            ]
        }
        #expect(try warnings(expression, intercept, rule: rule) == expected ?? [])
    }

    @Test("of a host that is not written out it is enough that one may be meant that is decrypted")
    func beginnings() throws {
        let ending = "is decrypted, so this expression sees no https URL in a tunnel; name its hosts in 'intercept'"
        for (expression, intercept, beginning) in [
            (#"^https://[^/]+/x"#, "", ""), (#"^https://api\.[a-z]+\.test/"#, "b.test", "api."),
            (#"^https://api\d*\.test/"#, "\"b*.test\"", "api"),
        ] {
            let hosts = beginning.isEmpty ? "no host" : "no host that begins with '\(beginning)'"
            #expect(try warnings(expression, intercept) == ["\(hosts) \(ending)"])
        }
        for (expression, intercept) in [
            (#"^https://[^/]+/x"#, "b.test"), (#"^https://api\.[a-z]+\.test/"#, "api.b.test"),
            (#"^https://api\.[a-z]+\.test/"#, "\"*.test\""), (#"^https://api\d*\.test/"#, "\"api*.test\""),
            (#"^https://a\.test(:\d+)?/"#, "a.test"),
        ] {
            #expect(try warnings(expression, intercept) == [], "\(expression)")
        }
    }

    @Test(
        "of an expression that says nothing of https, or names no host that a URL can have, nothing is said",
        arguments: [
            #"^http://a\.test/"#, #"\.png$"#, "^.*$", #"/users/(\d+)$"#, #"^http://a\.test/\?next=https://b\.test/"#,
            #"next=https://b\.test/"#, "^assets://x/", #"/login\?next=[a-z]+://shop\.test/"#,
            #"^https:///x"#, #"^https://user@a\.test/"#, #"cdn\.test/proxy\?u=.*://www\.test/"#,
            #"archive\.test/web/\d+/\w+://www\.long\.test/"#,
        ])
    func others(_ expression: String) throws {
        #expect(try warnings(expression) == [])
    }

    @Test("of many only the first are told, and how many there are more")
    func many() throws {
        let rules = (1...25).map { "  ~^https://h\($0)/: { text: x }\n" }.joined()
        let messages = try renderings(ofMap: "substitutions:\n" + rules)
        #expect(messages.count == 21)
        #expect(
            messages.last
                == "substitutions.yaml: warning: of 5 further expressions the hosts are not decrypted either")
    }
}
