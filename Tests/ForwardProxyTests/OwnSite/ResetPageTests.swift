import Glibc
import NIOPosix
import ProxyTestKit
import Synchronization
import Testing

@testable import ForwardProxy

@Suite struct ResetPageTests {
    private static let files = ["t.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES(1);"]

    private func insert(_ proxy: TestProxy) throws {
        let type = ["Content-Type: application/json"]
        #expect(try proxy.exchange("POST", "http://a.test/api/t", fields: type, body: "{}").status == 201)
    }

    private func reset(_ proxy: TestProxy) throws {
        let socket = try proxy.connect()
        try socket.send("POST /reset HTTP/1.1\r\nHost: 127.0.0.1:\(proxy.port)\r\nConnection: close\r\n\r\n")
        #expect(TestResponse(try socket.receiveAll()).status == 204)
    }

    private func begin(_ url: String, _ proxy: TestProxy) throws -> Socket {
        let socket = try proxy.connect()
        try socket.send("GET \(url) HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
        return socket
    }

    private static let delayed = [
        "{ sqlite: t.db, sql: \"SELECT count(*) FROM t\", result: value, delay: 1500ms }",
        "{ sqlite: t.db, sql: \"SELECT count(*) + 0 * random() FROM t\", result: value, delay: 1500ms }",
        "{ sqlite: t.db, resource: t, delay: 1500ms }",
        """
        { template: { text: "{{n}}" }, delay: 1500ms,
              sqlite: t.db, sql: { n: { sql: "SELECT count(*) FROM t", result: value } } }
        """,
    ]

    @Test func `A request that waits for its rule's delay gets nothing that a reset has dropped meanwhile`()
        async throws
    {
        _ = try await atOnce(ResetPageTests.delayed.count) { index in
            try ResetPageTests().resetMeanwhile(ResetPageTests.delayed[index])
        }
    }

    private func resetMeanwhile(_ rule: String) throws {
        let proxy = try TestProxy(
            """
            defaults: { seed: t.sql }
            substitutions:
              http://a.test/api/: { sqlite: t.db, writes: memory }
              http://a.test/slow: \(rule)
            """, files: ResetPageTests.files)
        try insert(proxy)
        let before = try proxy.exchange("GET", "http://a.test/slow").body
        #expect(before == "2" || before == #"[{"id":1},{"id":2}]"#)
        // The second one is answered with what is kept.
        let start = Clock.seconds
        let waiting = try (0..<2).map { _ in try begin("http://a.test/slow", proxy) }
        usleep(200_000)
        try reset(proxy)
        // On a machine that is too busy they may have been answered before.
        guard Clock.seconds - start < 1.5 else { return }
        for socket in waiting {
            let answer = TestResponse(try socket.receiveAll())
            #expect(
                answer.status == 200 && (answer.body == "1" || answer.body == #"[{"id":1}]"#), "\(rule) \(answer.body)")
        }
    }

    @Test func `A page whose rows a reset drops while it is rendered is made anew`() throws {
        let proxy = try TestProxy(
            """
            defaults: { seed: t.sql }
            substitutions:
              http://a.test/api/: { sqlite: t.db, writes: memory }
              http://a.test/page:
                { template: { text: "{{n}} {{request.id}}" },
                  sqlite: t.db, sql: { n: { sql: "SELECT count(*) FROM t", result: value } } }
            """, files: ResetPageTests.files)
        try insert(proxy)
        #expect(try proxy.exchange("GET", "http://a.test/page").body.hasPrefix("2 "))
        let core = proxy.server.core
        // The pool that pages are rendered on has eight threads.
        let gate = HeldPool()
        defer { gate.open() }
        for _ in 0..<8 { core.filePool.submit { _ in gate.wait() } }
        let count = core.templates.renderingCount
        let waiting = try begin("http://a.test/page", proxy)
        try Wait.until { core.templates.renderingCount > count }
        try reset(proxy)
        gate.open()
        let answer = TestResponse(try waiting.receiveAll())
        #expect(answer.body.hasPrefix("1 "), "\(answer.body)")
    }
}

/// Holds threads until it is opened.
private final class HeldPool: Sendable {
    private let isOpen = Atomic<Bool>(false)
    func open() { isOpen.store(true, ordering: .releasing) }
    func wait() { while !isOpen.load(ordering: .acquiring) { usleep(1000) } }
}
