import HTTPSemantics
import NIOCore
import Substitution
import Testing

@testable import ForwardProxy

@Suite("What a request gets")
struct DecisionTests {
    private static let map = """
        intercept: [named.test]
        substitutions:
          http://m.test/x: { text: mapped, cors: auto }
          https://m.test/x: { text: mapped }
          https://port.test:4443/x: { text: mapped }
          http://m.test/off: { text: mapped, cors: off }
          http://m.test/never: { text: mapped, bypass: never }
          http://m.test/check: { text: mapped, bypass: revalidate }
          http://m.test/fails: { text: mapped, when: origin-fails }
          http://m.test/both: { text: mapped, when: origin-fails, bypass: revalidate }
          http://m.test/post: { text: mapped, methods: [POST] }
          assets://post: { text: mapped, methods: [POST] }
          http://m.test/forward: { forward: true }
          http://m.test/secure: { forward: "https://e.test:9443/" }
          http://m.test/again: { forward: true, when: origin-fails }
          http://m.test/other: { forward: "http://e.test/", when: origin-fails }
          assets://other: { forward: "http://e.test/", when: origin-fails }
        """

    enum Mode: Sendable { case plain, offline, uncached, offlineUncached, never, revalidate }

    private static func decider(_ mode: Mode = .plain, _ identity: ProxyIdentity? = nil) throws -> Decider {
        let loaded = SubstitutionMap.load(text: map)
        let map = try #require(loaded.map, "\(loaded.diagnostics)")
        var ownNames = OwnNames()
        ownNames.add(listener: try SocketAddress(ipAddress: "127.0.0.1", port: 8888))
        let bypass: RuleOptions.Bypass? =
            switch mode {
            case .never: .never
            case .revalidate: .revalidate
            default: nil
            }
        return Decider(
            map: map, tunnels: TunnelPolicy(map), isOffline: mode == .offline || mode == .offlineUncached,
            bypass: bypass, hasCache: mode != .uncached && mode != .offlineUncached, connectPorts: [443],
            ownNames: ownNames, identity: identity)
    }

    private static func asked(
        _ method: String, _ url: String, _ fields: [String], version: HTTPVersion = .http1_1, hasBody: Bool = false
    ) throws -> AskedRequest {
        AskedRequest(
            uri: try TargetURI(url), method: Array(method.utf8).withUnsafeBytes { RequestMethod($0) }, version: version,
            fields: FieldSection(lines: fields), hasBody: hasBody)
    }

    // MARK: Decisions

    struct Case: Sendable, CustomTestStringConvertible {
        let mode: Mode
        let method: String
        let url: String
        let fields: [String]
        let expected: String

        init(
            _ method: String, _ url: String, _ fields: String..., in mode: Mode = .plain, is expected: String
        ) {
            self.mode = mode
            self.method = method
            self.url = url.contains(":") ? url : "http://m.test/\(url)"
            self.fields = fields
            self.expected = expected
        }

        var testDescription: String { "\(mode): \(method) \(url) \(fields) → \(expected)" }
    }

    private static let reload = "Cache-Control: no-cache"
    private static let revalidation = "Cache-Control: max-age=0"
    private static let onlyIfCached = "Cache-Control: only-if-cached"
    private static let preflight = "Access-Control-Request-Method: GET"
    private static let other = "http://o.test/"

    static let cases: [Case] = [
        // A rule answers.
        Case("GET", "x", is: "answer"), Case("HEAD", "x", is: "answer"), Case("BREW", "x", is: "answer"),
        Case("GET", "x", in: .offline, is: "answer"),
        Case("GET", "x", revalidation, is: "answer, revalidated"),
        Case("GET", "x", revalidation, in: .offline, is: "answer, revalidated"),
        Case("GET", "x", onlyIfCached, is: "answer"),
        Case("GET", "x", "Expect: magic", is: "refuse 417"),
        Case("GET", "x", "Expect: magic", in: .offline, is: "refuse 417"),
        Case("GET", "x", "Expect: 100-continue", is: "answer"),
        // What goes no further is no loop.
        Case("GET", "x", "Via: 1.1 subproxy-00000007", is: "answer"),
        // It is passed by, as the rule and the command line let it.
        Case("GET", "x", reload, is: "bypass"), Case("GET", "x", "Pragma: no-cache", is: "bypass"),
        Case("GET", "x", reload, in: .offline, is: "answer"),
        Case("GET", "x", reload, in: .never, is: "answer"),
        Case("GET", "x", reload, in: .revalidate, is: "answer, revalidated"),
        Case("GET", "x", reload, "Expect: magic", in: .revalidate, is: "refuse 417"),
        Case("GET", "x", reload, "Expect: magic", is: "bypass"),
        Case("GET", "never", reload, is: "answer"), Case("GET", "never", reload, in: .revalidate, is: "answer"),
        Case("GET", "check", reload, is: "answer, revalidated"),
        Case("GET", "check", reload, in: .never, is: "answer, revalidated"),
        Case("GET", "check", reload, in: .offline, is: "answer, revalidated"),
        // Who asks for no network gets none.
        Case("GET", "x", "Cache-Control: no-cache, only-if-cached", is: "answer"),
        // The origin goes first.
        Case("GET", "fails", is: "origin first"), Case("GET", "fails", onlyIfCached, is: "answer"),
        Case("GET", "fails", in: .offline, is: "answer"), Case("GET", "fails", reload, is: "bypass"),
        Case("GET", "fails", reload, in: .revalidate, is: "origin first"),
        Case("GET", "both", reload, is: "origin first"),
        Case("GET", "both", reload, in: .offline, is: "answer, revalidated"),
        // The rule says that the origin answers.
        Case("GET", "forward", is: "forward bypass"), Case("PUT", "forward", is: "forward bypass"),
        Case("GET", "forward", reload, is: "forward request"),
        Case("GET", "forward", onlyIfCached, is: "refuse 504"),
        Case("GET", "forward", in: .offline, is: "refuse 504"),
        Case("GET", "again", is: "forward bypass"),
        Case("GET", "other", is: "origin first"), Case("PUT", "other", reload, is: "origin first"),
        Case("GET", "other", onlyIfCached, is: "refuse 504"), Case("GET", "other", in: .offline, is: "refuse 504"),
        Case("GET", "assets://other", is: "forward bypass"),
        // Scripts of other origins ask first.
        Case("OPTIONS", "x", "Origin: http://a.test", preflight, is: "preflight"),
        Case("OPTIONS", "x", "Origin: http://a.test", preflight, in: .offline, is: "preflight"),
        Case("OPTIONS", "off", "Origin: http://a.test", preflight, is: "answer"),
        Case("OPTIONS", "x", preflight, is: "answer"),
        Case("OPTIONS", "x", "Origin: http://a.test", preflight, "Expect: magic", is: "refuse 417"),
        Case("OPTIONS", "post", "Origin: http://a.test", preflight, is: "forward method"),
        // No rule answers.
        Case("GET", other, is: "consult"), Case("HEAD", other, is: "consult"), Case("POST", other, is: "consult"),
        Case("PUT", other, is: "forward method"), Case("BREW", other, is: "forward method"),
        Case("GET", "post", is: "consult"), Case("PUT", other, onlyIfCached, is: "refuse 504"),
        Case("GET", other, reload, is: "consult"), Case("GET", "ftp://o.test/", is: "refuse 501"),
        Case("GET", other, "Connection: upgrade", "Upgrade: websocket", is: "forward bypass"),
        Case("GET", other, "Connection: upgrade", "Upgrade: websocket", onlyIfCached, is: "refuse 504"),
        Case("GET", other, "Connection: upgrade", "Upgrade: websocket", reload, in: .uncached, is: "forward bypass"),
        Case("GET", other, "Content-Length: 1", in: .uncached, is: "forward bypass"),
        Case("HEAD", other, "Content-Length: 1", reload, in: .uncached, is: "forward bypass"),
        Case("POST", other, "Content-Length: 1", reload, in: .uncached, is: "forward method"),
        Case("GET", other, in: .uncached, is: "forward uri-miss"),
        Case("GET", other, reload, in: .uncached, is: "forward request"),
        Case("POST", other, in: .uncached, is: "forward method"),
        Case("GET", other, onlyIfCached, in: .uncached, is: "refuse 504"),
        Case("GET", other, in: .offline, is: "consult"), Case("POST", other, in: .offline, is: "refuse 504"),
        Case("GET", other, in: .offlineUncached, is: "refuse 504"),
        Case("GET", other, "Connection: upgrade", "Upgrade: websocket", in: .offline, is: "refuse 504"),
        Case("GET", "post", in: .offline, is: "refuse 405"),
        Case("GET", "assets://post", is: "refuse 405"), Case("GET", "assets://post", in: .offline, is: "refuse 405"),
        // The proxy itself is asked.
        Case("GET", "http://127.0.0.1:8888/metrics", is: "own site"),
        Case("GET", "http://LOCALHOST:8888/", in: .offline, is: "own site"),
        Case("GET", "https://127.0.0.1:8888/", is: "consult"), Case("GET", "http://127.0.0.1/", is: "consult"),
    ]

    @Test("depends on the rule, the method and the request's fields", arguments: cases)
    func decision(_ row: Case) throws {
        let decider = try DecisionTests.decider(row.mode, ProxyIdentity(random: 7))
        let asked = try DecisionTests.asked(
            row.method, row.url, row.fields, hasBody: row.fields.contains("Content-Length: 1"))
        var scratch = LookupScratch()
        let match = decider.map.lookup(asked.uri, method: asked.method, fields: asked.fields, scratch: &scratch)
        let decision = decider.decision(on: asked, rule: match.map { decider.map.rule($0.id) }, scratch: &scratch)
        let found =
            switch decision {
            case .answer(let revalidates): revalidates ? "answer, revalidated" : "answer"
            case .preflight: "preflight"
            case .ownSite: "own site"
            case .bypass: "bypass"
            case .originFirst: "origin first"
            case .consultStore: "consult"
            case .forward(let reason): "forward \(reason.parameter)"
            case .refuse(let error): "refuse \(error.status)"
            }
        #expect(found == row.expected)
    }

    @Test(
        "with --offline a method that no rule of the URL answers is refused with all methods that one does",
        arguments: [
            ("{ text: t, methods: [HEAD] }", "GET", "HEAD"), ("{ text: t, methods: [PROPFIND] }", "GET", "PROPFIND"),
            ("{ text: t, methods: [TRACE] }", "GET", "TRACE"), ("{ text: t }", "GET", nil),
            ("[{ text: h, methods: [HEAD] }, { text: p, methods: [PUT] }]", "GET", "HEAD, PUT"),
            ("[{ text: p, methods: [PUT, LOCK] }, { text: g, methods: [GET] }]", "POST", "GET, HEAD, PUT, LOCK"),
            ("[{ text: h, methods: [HEAD] }, { text: q, methods: [PUT], query: { a: b } }]", "GET", "HEAD"),
        ] as [(String, String, String?)])
    func methodsAnswered(rules: String, method: String, allowed: String?) throws {
        let map = try #require(SubstitutionMap.load(text: "substitutions: { \"http://m.test/r\": \(rules) }").map)
        let decider = Decider(map: map, tunnels: TunnelPolicy(map), isOffline: true)
        let asked = try DecisionTests.asked(method, "http://m.test/r", [])
        var scratch = LookupScratch()
        let match = map.lookup(asked.uri, method: asked.method, fields: asked.fields, scratch: &scratch)
        let decision = decider.decision(on: asked, rule: match.map { map.rule($0.id) }, scratch: &scratch)
        guard case .refuse(let error) = decision else {
            #expect(allowed == nil)
            return
        }
        #expect(error.status == 405 && error.allow == allowed)
    }

    // MARK: The way to an origin

    @Test(
        "goes to the origin as a request or an upgrade, or is answered on the way",
        arguments: [
            ("GET", other, [], "request"), ("GET", "ftp://o.test/", [], "refuse 501"),
            ("GET", "https://o.test/", [], "request"), ("GET", "https://o.test:4443/", [], "request"),
            ("GET", "https://o.test:9443/", [], "request"), ("GET", "https://o.test:8443/", [], "refuse 403"),
            ("GET", "http://o.test:8443/", [], "request"),
            ("GET", other, ["Expect: magic"], "refuse 417"), ("GET", other, ["Expect: 100-continue"], "request"),
            ("GET", other, ["Expect: 100-continue", "Expect: 100-continue"], "refuse 417"),
            ("GET", other, ["Via: 1.1 subproxy-00000007"], "refuse 508"),
            ("GET", other, ["Via: 1.1 subproxy-00000008"], "request"),
            ("OPTIONS", other, ["Max-Forwards: 0"], "options"), ("OPTIONS", other, ["Max-Forwards: 1"], "request"),
            ("TRACE", other, ["Max-Forwards: 0"], "refuse 405"), ("TRACE", other, [], "request"),
            ("GET", other, ["Max-Forwards: 0"], "request"),
            ("GET", other, ["Connection: upgrade", "Upgrade: websocket"], "upgrade"),
            ("GET", other, ["Connection: upgrade", "Upgrade: a, b/2"], "upgrade"),
            ("GET", other, ["Connection: upgrade", "Upgrade: h2c"], "request"),
            ("GET", other, ["Connection: upgrade", "Upgrade: websocket, h2c"], "request"),
            ("GET", other, ["Upgrade: websocket"], "request"),
            ("POST", other, ["Connection: upgrade", "Upgrade: websocket"], "request"),
        ])
    func passage(method: String, url: String, fields: [String], expected: String) throws {
        let decider = try DecisionTests.decider(.plain, ProxyIdentity(random: 7))
        let asked = try DecisionTests.asked(method, url, fields)
        #expect(text(decider.passage(of: asked, to: asked.uri)) == expected)
    }

    @Test("TRACE that may go no further is refused with the methods that are answered (RFC 9110 §15.5.6)")
    func traceHere() throws {
        let asked = try DecisionTests.asked("TRACE", DecisionTests.other, ["Max-Forwards: 0"])
        guard
            case .refused(let error) = try DecisionTests.decider(.plain, ProxyIdentity(random: 7))
                .passage(of: asked, to: asked.uri)
        else {
            Issue.record("it is not refused")
            return
        }
        #expect(error.status == 405)
        #expect(error.allow == "GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, PATCH")
    }

    @Test(
        "depends on the version and the body too",
        arguments: [
            ("HEAD", [], HTTPVersion.http1_1, true, "refuse 400"), ("HEAD", [], .http1_1, false, "request"),
            ("GET", [], .http1_1, true, "request"), ("GET", ["Expect: magic"], .http1_0, false, "request"),
            ("GET", ["Expect: magic"], .http2, false, "refuse 417"),
            ("GET", ["Connection: upgrade", "Upgrade: websocket"], .http1_0, false, "request"),
            ("GET", ["Connection: upgrade", "Upgrade: websocket"], .http2, false, "request"),
            ("GET", ["Connection: upgrade", "Upgrade: websocket"], .http1_1, true, "request"),
        ])
    func passage(
        method: String, fields: [String], version: HTTPVersion, hasBody: Bool, expected: String
    ) throws {
        let asked = try DecisionTests.asked(
            method, DecisionTests.other, fields, version: version, hasBody: hasBody)
        #expect(text(try DecisionTests.decider().passage(of: asked, to: asked.uri)) == expected)
    }

    private func text(_ passage: Passage) -> String {
        switch passage {
        case .request: "request"
        case .upgrade: "upgrade"
        case .options: "options"
        case .refused(let error): "refuse \(error.status)"
        }
    }

    // MARK: Tunnels

    @Test(
        "is decrypted where the map names the host, else relayed where the port may be named",
        arguments: [
            ("o.test", 443, [], false, Mode.plain, "relay"), ("m.test", 443, [], false, .plain, "decrypt"),
            ("m.test", 443, [], false, .offline, "decrypt"), ("o.test", 443, [], false, .offline, "refuse 504"),
            ("m.test", 4443, [], false, .plain, "relay"), ("o.test", 8443, [], false, .plain, "refuse 403 port 8443"),
            ("m.test", 443, [], true, .plain, "refuse 400"),
            ("m.test", 443, ["Via: 1.1 subproxy-00000007"], false, .plain, "refuse 508"),
            ("m.test", 443, ["Expect: magic"], false, .plain, "refuse 417"),
            ("m.test", 443, ["Expect: 100-continue"], false, .plain, "decrypt"),
            ("named.test", 443, [], false, .plain, "decrypt"), ("port.test", 4443, [], false, .plain, "decrypt"),
            ("port.test", 443, [], false, .plain, "relay"),
        ])
    func tunnel(
        host: String, port: UInt16, fields: [String], hasBody: Bool, mode: Mode, expected: String
    ) throws {
        let decider = try DecisionTests.decider(mode, ProxyIdentity(random: 7))
        let decision = decider.tunnel(
            to: host, port: port, version: .http1_1, fields: FieldSection(lines: fields), hasBody: hasBody)
        let found =
            switch decision {
            case .relay: "relay"
            case .decrypt: "decrypt"
            case .refuse(.port(let port)): "refuse \(TunnelDecision.Refusal.port(port).error.status) port \(port)"
            case .refuse(let refusal): "refuse \(refusal.error.status)"
            }
        #expect(found == expected)
    }
}
