import HTTPSemantics
import Testing

@Suite("Fields of the connection")
struct HopByHopTests {
    /// The names that are passed on.
    private func kept(_ lines: [String]) -> [String] {
        let fields = HTTPSemanticsTests.fields(lines)
        let hopByHop = HopByHop(fields)
        return fields.lines.filter { !hopByHop.isConnectionLevel($0) }.map { line in
            fields.withName(line) { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test(
        "are not passed on",
        arguments: [
            "Connection: close", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "TE: trailers",
            "Transfer-Encoding: chunked", "Upgrade: websocket", "HTTP2-Settings: AAMAAABkAAQAAP__",
            "Proxy-Authorization: Basic YTpi", "Proxy-Authenticate: Basic", "Proxy-Authentication-Info: x",
            "kEEP-aLIVE: 1",
        ])
    func always(_ line: String) {
        #expect(kept(["Host: a", line, "X-A: b", "Trailer: X-T"]) == ["Host", "X-A", "Trailer"])
    }

    @Test(
        "are those that Connection nominates, but for what the message depends on",
        arguments: [
            ("X-A", ["X-B", "Accept", "Host"]), ("x-a, X-b", ["Accept", "Host"]),
            (" ,, X-A ,", ["X-B", "Accept", "Host"]),
            ("close, accept", ["X-A", "X-B", "Host"]), ("Host, close", ["X-A", "X-B", "Accept", "Host"]),
            ("close", ["X-A", "X-B", "Accept", "Host"]), ("", ["X-A", "X-B", "Accept", "Host"]),
            ("X-A;q=1, \"X-B\", X B", ["X-A", "X-B", "Accept", "Host"]), ("X", ["X-A", "X-B", "Accept", "Host"]),
        ])
    func nominated(_ value: String, _ names: [String]) {
        #expect(kept(["Connection: \(value)", "X-A: 1", "X-B: 2", "Accept: 3", "Host: a"]) == names)
    }

    @Test(
        "are never what frames, routes, authenticates or is for every recipient",
        arguments: [
            "Host", "Content-Length", "Content-Type", "Cache-Control", "Authorization", "Cookie", "Set-Cookie", "Date",
            "Expect", "Via", "Range", "If-Range", "ETag", "Max-Forwards", "Origin",
        ])
    func endToEnd(_ name: String) {
        #expect(kept(["Connection: \(name)", "\(name): 1"]) == [name])
    }

    @Test(
        "are nominated by Connection where it names more than options",
        arguments: [
            ("X-A", true), ("close, x-a", true), ("accept", true), ("close", false), ("Keep-Alive, TE", false),
            ("upgrade, HTTP2-Settings", false), ("Authorization, Content-Type", false), ("", false),
            ("\"x\", a b", false),
        ])
    func nomination(_ value: String, _ isOne: Bool) {
        #expect(HopByHop.nominatesFields(fields(["Connection: \(value)", "X-A: 1"])) == isOne)
        #expect(HopByHop.nominatesFields(fields(["Connection: close", "Connection: \(value)"])) == isOne)
        #expect(!HopByHop.nominatesFields(fields(["X-A: \(value)"])))
    }

    @Test("are found over several Connection fields, wherever they stand")
    func severalFields() {
        #expect(kept(["X-A: 1", "Connection: x-a", "X-B: 2", "Connection: keep-alive, X-B", "X-C: 3"]) == ["X-C"])
    }

    @Test("cost no more than their number where thousands are nominated")
    func manyNominations() {
        let nominations = (0..<5000).map { "a\($0)" }.joined(separator: ",")
        let names = kept(["Connection: \(nominations)"] + (0..<150).map { "a\($0): x" })
        #expect(!names.contains("a0") && !names.contains("a99") && names.contains("a149"))
    }

    @Test(
        "say what the options of Connection are",
        arguments: [
            (["close"], [.close]), (["Keep-Alive"], [.keepAlive]), (["keep-alive, Upgrade"], [.keepAlive, .upgrade]),
            (["TE, close"], [.te, .close]), (["x", "CLOSE"], [.close]), (["closed"], []), ([], []),
            (["clo", "se"], []),
        ] as [([String], ConnectionOptions)])
    func options(_ values: [String], _ options: ConnectionOptions) {
        #expect(HopByHop(fields(values.map { "Connection: \($0)" })).options == options)
    }

    @Test(
        "decide whether the connection persists",
        arguments: [
            ([], .http1_1, true, true), ([], .http1_0, true, false), ([.keepAlive], .http1_0, true, true),
            ([.keepAlive], .http1_0, false, false), ([.close], .http1_1, true, false),
            ([.close, .keepAlive], .http1_1, true, false), ([.close, .keepAlive], .http1_0, true, false),
            ([.upgrade], .http1_1, false, true),
        ] as [(ConnectionOptions, HTTPVersion, Bool, Bool)])
    func persistence(_ options: ConnectionOptions, _ version: HTTPVersion, _ honouring: Bool, _ persists: Bool) {
        #expect(options.persists(version, honouringKeepAlive: honouring) == persists)
    }
}
