import HTTPSemantics
import ProxyTestKit
import Synchronization
import Testing

@testable import ForwardProxy

/// An origin that authenticates connections, as NTLM does: the second of two steps makes the connection the user's.
private final class MailServer: Sendable {
    private let users = Mutex<[ObjectIdentifier: String]>([:])
    private let steps = Mutex<[ObjectIdentifier: Int]>([:])

    func origin(_ fields: String = "") throws -> ScriptedOrigin {
        try ScriptedOrigin { [self] request, connection in
            let request = try connection.readBody(of: request)
            let id = ObjectIdentifier(connection.socket)
            let credentials = request.field("Authorization")?.split(separator: " ").map(String.init) ?? []
            if credentials.first?.lowercased() == "ntlm" {
                if credentials.last == "hello" {
                    steps.withLock { $0[id] = 1 }
                    try connection.respond("401 X", fields: "WWW-Authenticate: NTLM challenge\r\n", body: "")
                    return true
                }
                if steps.withLock({ $0[id] }) == 1 { users.withLock { $0[id] = credentials.last } }
            }
            guard let user = users.withLock({ $0[id] }) else {
                try connection.respond("401 X", fields: "WWW-Authenticate: Negotiate, NTLM\r\n", body: "who?")
                return true
            }
            try connection.respond(fields: fields, body: "mail of \(user), \(request.method)")
            return true
        }
    }
}

@Suite("Connections to origins that are a user's")
struct ConnectionAuthenticationTests {
    /// Sends a request on a connection that stays open, and reads the response.
    private func ask(
        _ socket: Socket, _ url: String, _ credentials: String? = nil, method: String = "GET", body: String = ""
    ) throws -> (status: Int, head: String, body: String) {
        let field = credentials.map { "Authorization: \($0)\r\n" } ?? ""
        let length = method == "GET" ? "" : "Content-Length: \(body.utf8.count)\r\n"
        try socket.send("\(method) \(url) HTTP/1.1\r\nHost: x\r\n\(field)\(length)\r\n\(body)")
        let head = String(decoding: try socket.receive(until: "\r\n\r\n"), as: UTF8.self)
        let answer = TestResponse(Array(head.utf8))
        let size = answer.field("Content-Length").flatMap { Int($0) } ?? 0
        return (answer.status, head, String(decoding: try socket.receive(exactly: size), as: UTF8.self))
    }

    @Test("They work for the client's connection that made them so, whatever the method, and for no other")
    func own() throws {
        let origin = try MailServer().origin()
        let proxy = try TestProxy()
        let url = "http://127.0.0.1:\(origin.port)/"
        let alice = try proxy.connect()
        let asked = try ask(alice, url)
        #expect(asked.status == 401)
        #expect(asked.head.contains("\r\nProxy-Support: Session-Based-Authentication\r\n"))
        #expect(try ask(alice, url, "NTLM hello").status == 401)
        #expect(try ask(alice, url, "NTLM alice", method: "POST", body: "b").body == "mail of alice, POST")
        #expect(try ask(alice, url).body == "mail of alice, GET")

        let mallory = try proxy.connect()
        for _ in 0..<3 { #expect(try ask(mallory, url).status == 401) }
        #expect(try ask(mallory, url, "NTLM hello").status == 401)
        #expect(try ask(mallory, url, "NTLM mallory").body == "mail of mallory, GET")
        #expect(try ask(alice, url).body == "mail of alice, GET")

        // They end with the client's connection.
        let before = origin.openConnectionCount
        alice.close()
        try Wait.until(seconds: 30) { origin.openConnectionCount < before }
        #expect(try ask(try proxy.connect(), url).status == 401)
    }

    @Test(
        "What comes over them is stored for others only where the origin says that others may have it",
        arguments: [
            ("Cache-Control: max-age=60", false), ("Cache-Control: public, max-age=60", true),
        ])
    func storing(_ field: String, _ isShared: Bool) throws {
        let origin = try MailServer().origin(field + "\r\n")
        let proxy = try TestProxy()
        let url = "http://127.0.0.1:\(origin.port)/"
        let alice = try proxy.connect()
        _ = try ask(alice, url, "NTLM hello")
        #expect(try ask(alice, url, "NTLM alice").status == 200)
        // Without credentials, over the connection that has them.
        #expect(try ask(alice, url + "again").body == "mail of alice, GET")
        let mallory = try proxy.connect()
        #expect(try ask(mallory, url + "again").status == (isShared ? 200 : 401))
    }

    @Test("Where there are too many of them, a request has one for itself, once")
    func limit() throws {
        let origin = try ScriptedOrigin(body: "a")
        let proxy = try TestProxy()
        let url = "http://127.0.0.1:\(origin.port)/"
        let count = OwnConnectionsCounter.limitOfClient
        let clients = try (0..<count).map { _ in try proxy.connect(seconds: 30) }
        for client in clients { #expect(try ask(client, url, "Negotiate x").status == 200) }
        #expect(origin.openConnectionCount == count)
        let more = try proxy.connect()
        for _ in 0..<3 { #expect(try ask(more, url, "Negotiate x").status == 200) }
        #expect(origin.connectionCount == count + 3)
        try Wait.until(seconds: 30) { origin.openConnectionCount == count }
        // One that leaves makes room for another.
        clients[0].close()
        try Wait.until(seconds: 30) { origin.openConnectionCount == count - 1 }
        for _ in 0..<3 { #expect(try ask(more, url, "Negotiate x").status == 200) }
        #expect(origin.connectionCount == count + 4)
    }

    @Test(
        "Credentials are a connection's by their scheme",
        arguments: [
            ("NTLM TlRM", true), ("negotiate YII=", true), ("Kerberos x", true), ("Basic eDp5", false),
            ("Bearer NTLM", false), ("NTLMv2 x", false), ("", false), ("Basic eDp5, NTLM x", true), (", NTLM x", true),
            ("Digest username=\"a, NTLM x\"", false),
        ])
    func schemes(_ value: String, _ expected: Bool) {
        var request = FieldSection()
        request.append(name: "Authorization".utf8, value: value.utf8)
        #expect(ConnectionAuthentication.isUsed(by: request) == expected)
        var response = FieldSection()
        response.append(name: "WWW-Authenticate".utf8, value: "Basic realm=\"NTLM\", \(value)".utf8)
        #expect(ConnectionAuthentication.isAskedFor(by: response) == expected)
    }
}
