import ProxyTestKit
import Testing

@testable import ForwardProxy

@Suite struct DatabaseExchangeTests {
    @Test func `What one client's body brings is never another's answer`() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/p: { sqlite: a.db, seed: a.sql, sql: "SELECT @x AS x" }
            """, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY);"])
        let type = ["Content-Type: application/json"]
        #expect(
            try proxy.exchange("GET", "http://a.test/p", fields: type, body: #"{"x":"secret"}"#).body
                == #"[{"x":"secret"}]"#)
        #expect(try proxy.exchange("GET", "http://a.test/p").body == #"[{"x":null}]"#)
        #expect(try proxy.exchange("GET", "http://a.test/p", fields: type, body: #"{"x":2}"#).body == #"[{"x":2}]"#)
    }

    @Test func `A write goes to the origin first, with its body, and here where that fails`() throws {
        let origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            try connection.socket.send(
                "HTTP/1.1 201 Created\r\nContent-Length: \(request.body.count)\r\n\r\n"
                    + String(decoding: request.body, as: UTF8.self))
            return true
        }
        let map = """
            substitutions:
              http://127.0.0.1:\(origin.port)/: { sqlite: a.db, seed: a.sql, writes: memory, when: origin-fails }
            """
        let proxy = try TestProxy(map, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY, a);"])
        let url = "http://127.0.0.1:\(origin.port)/t"
        let type = ["Content-Type: application/json"]
        let forwarded = try proxy.exchange("POST", url, fields: type, body: #"{"a":1}"#)
        #expect(forwarded.body == #"{"a":1}"#, "\(forwarded.head) \(forwarded.body)")
        origin.stop()
        let made = try proxy.exchange("POST", url, fields: type, body: #"{"a":2}"#)
        #expect(made.status == 201 && made.body == #"{"id":1,"a":2}"#)
        #expect(try proxy.exchange("GET", url).body == #"[{"id":1,"a":2}]"#)
    }

    @Test func `Other machines and other sites may not write`() throws {
        let map =
            "substitutions:\n  http://a.test/: { sqlite: a.db, seed: a.sql, writes: file, origins: [\"http://ok.test\"] }\n"
        let proxy = try TestProxy(map, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY);"])
        for (origin, status) in [
            ("http://evil.test", 403), ("null", 403), ("http://localhost.evil.test", 403),
            ("http://localhost:3000", 201),
            ("http://a.test", 201), ("http://ok.test", 201), ("http://[::1]", 201),
        ] {
            let fields = ["Content-Type: application/json", "Origin: \(origin)"]
            #expect(
                try proxy.exchange("POST", "http://a.test/t", fields: fields, body: "{}").status == status, "\(origin)")
        }
    }
}
