import HTTPSemantics
import Testing

@Suite("Methods")
struct MethodTests {
    @Test(
        "Methods are recognised by case",
        arguments: [
            ("GET", .get), ("HEAD", .head), ("POST", .post), ("PUT", .put), ("DELETE", .delete), ("CONNECT", .connect),
            ("OPTIONS", .options), ("TRACE", .trace), ("PATCH", .patch), ("get", .other), ("Get", .other), ("", .other),
            ("GETS", .other), ("PROPFIND", .other), ("GE\0", .other),
        ] as [(String, Method)])
    func recognition(name: String, expected: Method) {
        #expect(withBytes(name) { Method($0) } == expected)
    }

    @Test("Safe methods are idempotent, unknown ones are neither")
    func properties() {
        let all: [Method] = [.other, .get, .head, .post, .put, .delete, .connect, .options, .trace, .patch]
        #expect(all.filter(\.isSafe) == [.get, .head, .options, .trace])
        #expect(all.filter(\.isIdempotent) == [.get, .head, .put, .delete, .options, .trace])
    }
}
