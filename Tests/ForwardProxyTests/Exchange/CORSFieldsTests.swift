import ProxyTestKit
import Testing

@testable import ForwardProxy

@Suite("What scripts of other origins may read")
struct CORSFieldsTests {
    private static let origin = "Origin: http://app.test"

    private func proxy(_ headers: String) throws -> TestProxy {
        try TestProxy("substitutions:\n  http://m.test/t: { text: t, headers: { \(headers) } }\n")
    }

    private func preflight(_ proxy: TestProxy) throws -> TestResponse {
        try proxy.exchange(
            "OPTIONS", "http://m.test/t", fields: [Self.origin, "Access-Control-Request-Method: GET"])
    }

    @Test(
        "a field that headers sets or removes is not added a second time",
        arguments: [
            ("Access-Control-Allow-Credentials", "\"false\"", "false"),
            ("access-control-allow-credentials", "null", nil),
            ("Access-Control-Expose-Headers", "X-Q", "X-Q"), ("Access-Control-Expose-Headers", "null", nil),
        ] as [(String, String, String?)])
    func named(_ name: String, _ value: String, _ expected: String?) throws {
        let response = try proxy("\(name): \(value)").exchange("GET", "http://m.test/t", fields: [Self.origin])
        #expect(response.field(name) == expected)
        #expect(response.field("Access-Control-Allow-Origin") == "http://app.test")
        #expect(response.field("Vary") == "Origin")
    }

    @Test(
        "a preflight has the field that headers sets, and not the one that it removes",
        arguments: [
            ("Access-Control-Allow-Credentials", "\"false\"", "false"),
            ("Access-Control-Allow-Credentials", "null", nil),
            ("access-control-max-age", "\"600\"", "600"), ("Access-Control-Max-Age", "null", nil),
            ("Access-Control-Allow-Methods", "PUT", "PUT"), ("X-Mock", "\"yes\"", nil),
        ] as [(String, String, String?)])
    func namedInPreflight(_ name: String, _ value: String, _ expected: String?) throws {
        let response = try preflight(proxy("\(name): \(value)"))
        #expect(response.status == 204)
        #expect(response.field(name) == expected)
        #expect(response.field("Access-Control-Allow-Origin") == "http://app.test")
    }

    @Test("where headers removes Access-Control-Allow-Origin, the preflight has none of the fields either")
    func removedOrigin() throws {
        let proxy = try proxy("Access-Control-Allow-Origin: null, X-Mock: \"yes\"")
        let response = try proxy.exchange("GET", "http://m.test/t", fields: [Self.origin])
        #expect(!response.head.contains("Access-Control-"))
        let preflight = try preflight(proxy)
        #expect(preflight.status == 204 && preflight.field("X-Mock") == "yes")
        #expect(!preflight.head.contains("Access-Control-"), "\(preflight.head)")
    }

    @Test("an error of a rule is for them what its answer would be")
    func errors() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://m.test/404: { file: nope.txt, missing: 404 }
              http://m.test/error: nope.txt
              http://m.test/forward: { file: nope.txt, missing: forward }
              http://m.test/folder/: ./
              http://m.test/sql/: { sqlite: nope.db, missing: 404 }
              http://m.test/page: { template: nope.html }
              http://m.test/off: { file: nope.txt, missing: 404, cors: off }
              http://m.test/own: { file: nope.txt, headers: { Access-Control-Allow-Origin: "*" } }

            """
        ) { $0.isOffline = true }
        for (path, status, isReadable) in [
            ("404", 404, true), ("error", 502, true), ("forward", 504, true), ("folder/a%2Fb", 404, true),
            ("sql/x", 404, true), ("page", 502, true), ("off", 404, false), ("own", 502, false),
        ] {
            let response = try proxy.exchange("GET", "http://m.test/\(path)", fields: [Self.origin])
            #expect(response.status == status, "\(path)")
            #expect(response.field("Access-Control-Allow-Origin") == (isReadable ? "http://app.test" : nil), "\(path)")
            #expect(response.field("Vary") == (isReadable ? "Origin" : nil), "\(path)")
            let exposed = response.field("Access-Control-Expose-Headers")?.split(separator: ", ").sorted()
            let names = ["Date", "Proxy-Status", "Vary", "Via", "X-Content-Type-Options"]
            if ["404", "error", "off", "own"].contains(path) {
                #expect(exposed?.map { String($0) } == (isReadable ? names : nil), "\(path)")
            }
            let plain = try proxy.exchange("GET", "http://m.test/\(path)")
            #expect(plain.field("Vary") == (isReadable ? "Origin" : nil), "\(path)")
        }
    }

    @Test("an error in the place of the origin's answer too, where a rule that answers has left the request to it")
    func originErrors() throws {
        let origin = try RawOrigin { _ = try $0.receive() }
        defer { origin.stop() }
        let base = "http://127.0.0.1:\(origin.port)"
        let proxy = try TestProxy(
            """
            substitutions:
              \(base)/missing: { file: nope.txt, missing: forward, methods: [GET, POST] }
              \(base)/turn: { answers: [{ forward: true }] }
              \(base)/off: { file: nope.txt, missing: forward, methods: [GET, POST], cors: off }
              \(base)/forward: { forward: true }

            """)
        for (path, isReadable) in [("missing", true), ("turn", true), ("off", false), ("forward", false)] {
            for method in ["GET", "POST"] {
                let response = try proxy.exchange(method, "\(base)/\(path)", fields: [Self.origin])
                #expect(response.status == 502, "\(method) \(path)")
                let readers = isReadable ? "http://app.test" : nil
                #expect(response.field("Access-Control-Allow-Origin") == readers, "\(method) \(path)")
                #expect(response.field("Vary") == (isReadable ? "Origin" : nil), "\(method) \(path)")
            }
        }
    }
}
