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
            ("Access-Control-Allow-Credentials", "\"false\"", "false"), ("access-control-allow-credentials", "null", nil),
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
            ("Access-Control-Allow-Credentials", "\"false\"", "false"), ("Access-Control-Allow-Credentials", "null", nil),
            ("access-control-max-age", "\"600\"", "600"), ("Access-Control-Max-Age", "null", nil),
            ("Access-Control-Allow-Methods", "PUT", "PUT"), ("X-Mock", "\"yes\"", nil),
        ] as [(String, String, String?)])
    func namedInPreflight(_ name: String, _ value: String, _ expected: String?) throws {
        let response = try preflight(proxy("\(name): \(value)"))
        #expect(response.status == 204)
        #expect(response.field(name) == expected)
        #expect(response.field("Access-Control-Allow-Origin") == "http://app.test")
    }
}
