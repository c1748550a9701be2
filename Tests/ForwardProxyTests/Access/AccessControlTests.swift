import Foundation
import Glibc
import HTTPSemantics
import ProxyTestKit
import Synchronization
import Testing

@testable import Authentication
@testable import ForwardProxy

@Suite("Clients that need credentials")
struct AccessControlTests {
    private static let users = "\(TestUsers.ann)\n\(TestUsers.bob)\n"

    /// `Basic …` of a name and a password.
    private static func basic(_ text: String) -> String { "Basic " + Data(text.utf8).base64EncodedString() }

    private func proxy(
        _ map: String = "substitutions:\n  http://m.test/x: { text: mapped }\n", users: String = users,
        configure: (inout ProxyConfiguration) -> Void = { _ in }
    ) throws -> (proxy: TestProxy, passwords: Passwords) {
        let path = FileManager.default.temporaryDirectory.appending(path: "users-\(UUID().uuidString)").path
        try users.write(toFile: path, atomically: true, encoding: .utf8)
        let passwords = try Passwords(file: path)
        let proxy = try TestProxy(map) {
            $0.passwords = passwords
            configure(&$0)
        }
        return (proxy, passwords)
    }

    @Test("a CONNECT without credentials may be asked again on its connection, unless more came with it")
    func challengedConnect() throws {
        let origin = try ScriptedOrigin(body: "found")
        let (proxy, _) = try proxy { $0.connectPorts = [origin.port] }
        let connect = "CONNECT 127.0.0.1:\(origin.port) HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\n"
        let field = "Proxy-Authorization: \(Self.basic("ann:secret"))\r\n"
        let patient = try proxy.connect()
        try patient.send(connect + "\r\n")
        #expect(try patient.receiveResponse(to: "CONNECT").status == 407)
        try patient.send(connect + field + "\r\n")
        #expect(try patient.receiveResponseHead().status == 200)
        try patient.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try patient.receiveResponse().text == "found")
        let hasty = try proxy.connect()
        try hasty.send(connect + "\r\nGET http://m.test/x HTTP/1.1\r\nHost: m.test\r\n\(field)\r\n")
        let all = String(decoding: try hasty.receiveAll(), as: UTF8.self)
        #expect(all.hasPrefix("HTTP/1.1 407 ") && all.contains("\r\nConnection: close\r\n"))
        #expect(!all.contains("mapped"))
    }

    @Test(
        "only a name with its password gets anything",
        arguments: [
            ("ann:secret", 200), ("bob:other", 200), ("ann:other", 407), ("ann:", 407), ("nobody:secret", 407),
            ("ann:secret\u{0}x", 407), ("", 407),
        ])
    func credentials(text: String, status: Int) throws {
        let (proxy, _) = try proxy()
        for _ in 0..<2 {
            let response = try proxy.exchange(
                "GET", "http://m.test/x", fields: ["Proxy-Authorization: \(Self.basic(text))"])
            #expect(response.status == status)
            #expect(response.body.contains("mapped") == (status == 200))
            guard status == 407 else { continue }
            #expect(response.field("Proxy-Authenticate") == #"Basic realm="subproxy", charset="UTF-8""#)
            #expect(response.field("Cache-Control") == "no-store")
        }
    }

    @Test(
        "without credentials that can be read it is 407",
        arguments: [
            [], ["Authorization: \(basic("ann:secret"))"], ["Proxy-Authorization: Bearer abc"],
            ["Proxy-Authorization: \(basic("ann:secret"))", "Proxy-Authorization: \(basic("ann:secret"))"],
            ["Proxy-Authorization: Basic " + String(repeating: "YTpi", count: 2000)],
        ])
    func missing(fields: [String]) throws {
        let (proxy, _) = try proxy()
        #expect(try proxy.exchange("GET", "http://m.test/x", fields: fields).status == 407)
    }

    @Test("nothing is asked, connected or read for a client that has none, and the credentials go nowhere")
    func beforeAnyWork() throws {
        let origin = try ScriptedOrigin(body: "found")
        let (proxy, _) = try proxy { $0.connectPorts = [origin.port] }
        let url = "http://127.0.0.1:\(origin.port)/"
        #expect(try proxy.exchange("GET", url).status == 407)
        #expect(try proxy.exchange("POST", url, body: "content").status == 407)
        #expect(try proxy.exchange("OPTIONS", url).status == 407)
        #expect(try proxy.exchange("CONNECT", "127.0.0.1:\(origin.port)").status == 407)
        #expect(try proxy.exchange("GET", "ftp://any.test/").status == 407)
        #expect(origin.connectionCount == 0)
        let field = "Proxy-Authorization: \(Self.basic("ann:secret"))"
        let response = try proxy.exchange("GET", url, fields: [field, "Authorization: \(Self.basic("for:origin"))"])
        #expect(response.body == "found")
        let request = try #require(origin.requests.first)
        #expect(request.field("Proxy-Authorization") == nil)
        #expect(request.field("Authorization") == Self.basic("for:origin"))
    }

    @Test("after 407 the connection goes on, whatever of the request's body has come")
    func keptConnection() throws {
        let (proxy, _) = try proxy("substitutions:\n  http://m.test/x: { text: mapped, methods: [GET, POST] }\n")
        let socket = try proxy.connect()
        let field = "Proxy-Authorization: \(Self.basic("ann:secret"))\r\n"
        for body in ["", "content", String(repeating: "x", count: 100_000)] {
            for (credentials, status) in [("", 407), (field, 200)] {
                try socket.send(
                    "POST http://m.test/x HTTP/1.1\r\nHost: m.test\r\n\(credentials)Content-Length: \(body.count)\r\n\r\n"
                )
                try socket.send(body)
                #expect(try socket.receiveResponse().status == status)
            }
            try socket.send("GET http://m.test/x HTTP/1.1\r\nHost: m.test\r\n\(field)\r\n")
            #expect(try socket.receiveResponse().text == "mapped")
        }
    }

    @Test("a body that comes while the credentials are checked reaches the origin whole", arguments: [false, true])
    func bodyMeanwhile(isChunked: Bool) throws {
        let origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            try connection.respond(body: "\(request.body.count)")
            return true
        }
        let (proxy, _) = try proxy()
        let socket = try proxy.connect()
        let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 300000"
        try socket.send(
            "POST http://127.0.0.1:\(origin.port)/ HTTP/1.1\r\nHost: x\r\n\(framing)\r\n"
                + "Proxy-Authorization: \(Self.basic("ann:secret"))\r\n\r\n")
        for _ in 0..<3 {
            if isChunked { try socket.send("186a0\r\n") }
            try socket.send(String(repeating: "x", count: 100_000))
            if isChunked { try socket.send("\r\n") }
        }
        if isChunked { try socket.send("0\r\n\r\n") }
        #expect(try socket.receiveResponse().text == "300000")
    }

    @Test("a client that waits for 100 gets 407 instead, and the connection closes")
    func expectation() throws {
        let (proxy, _) = try proxy()
        let socket = try proxy.connect()
        try socket.send(
            "POST http://m.test/x HTTP/1.1\r\nHost: m.test\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n")
        let response = try socket.receiveResponse()
        #expect(response.status == 407 && response.interim.isEmpty)
        #expect(response.field("Connection") == "close")
        #expect(try socket.receiveAll().isEmpty)
    }

    @Test("pipelined requests are answered in order, one check for all")
    func pipelined() throws {
        let (proxy, _) = try proxy(
            "substitutions:\n  http://m.test/1: { text: one }\n  http://m.test/2: { text: two }\n")
        let socket = try proxy.connect()
        let field = "Proxy-Authorization: \(Self.basic("ann:secret"))\r\n"
        try socket.send(
            (1...2).map { "GET http://m.test/\($0) HTTP/1.1\r\nHost: m.test\r\n\(field)\r\n" }.joined()
                + "GET http://m.test/1 HTTP/1.1\r\nHost: m.test\r\n\r\n")
        #expect(try socket.receiveResponse().text == "one")
        #expect(try socket.receiveResponse().text == "two")
        #expect(try socket.receiveResponse().status == 407)
    }

    @Test("after several failures a client is told to wait, but credentials that are known still pass")
    func backOff() throws {
        var (proxy, _) = try proxy()
        func ask(_ text: String) throws -> TestResponse {
            try proxy.exchange("GET", "http://m.test/x", fields: ["Proxy-Authorization: \(Self.basic(text))"])
        }
        var isEarly = false
        // On a busy machine the second may be over before it is asked.
        for _ in 0..<100 where !isEarly {
            (proxy, _) = try self.proxy()
            #expect(try ask("ann:secret").status == 200)
            let clock = ContinuousClock()
            var start = clock.now
            for index in 0..<(FailedAttempts.free + 1) {
                start = clock.now
                #expect(try ask("ann:wrong\(index)").status == 407)
            }
            let response = try ask("ann:wrong")
            // Right ones that were not checked yet have to wait too.
            let right = try ask("bob:other")
            isEarly = clock.now - start < .milliseconds(900)
            guard isEarly else { continue }
            #expect(response.status == 429)
            #expect(response.field("Retry-After") == "1")
            #expect(right.status == 429)
        }
        #expect(isEarly)
        #expect(try ask("ann:secret").status == 200)
        #expect(Wait.holds { (try? ask("bob:other").status) == 200 })
        #expect(try ask("ann:wrong").status == 407)
    }

    @Test("a password that is right by its first 72 bytes is the same however it goes on, and resets nothing")
    func longPasswords() throws {
        // Of 72 bytes `p`.
        let (proxy, _) = try proxy(
            users: Self.users + "eve:$2y$05$abcdefghijklmnopqrstuueTFRGDqVFTIfwSnwEw/V4ZpLYuQbKSG\n")
        func ask(_ text: String) throws -> Int {
            try proxy.exchange("GET", "http://m.test/x", fields: ["Proxy-Authorization: \(Self.basic(text))"]).status
        }
        let long = String(repeating: "p", count: 72)
        #expect(try ask("eve:\(long)") == 200)
        #expect(try ask("eve:\(long.dropLast())") == 407)
        for index in 0..<FailedAttempts.free {
            #expect(try ask("ann:wrong\(index)") == 407)
            #expect(try ask("eve:\(long)\(index)") == 200)
        }
        // On a busy machine the second may be over before it is asked; then two have to pass, and so on.
        var turn = 0
        #expect(
            try Wait.holds {
                turn += 1
                return try ask("ann:wrong") == 429 && ask("eve:\(long)more\(turn)") == 200 && ask("ann:wrong") == 429
            })
    }

    @Test("right credentials of another name's owner do not give more guesses")
    func ownName() throws {
        var isEarly = false
        // On a busy machine the second may be over before it is asked.
        for _ in 0..<100 where !isEarly {
            let (proxy, _) = try proxy()
            func ask(_ text: String) throws -> Int {
                try proxy.exchange("GET", "http://m.test/x", fields: ["Proxy-Authorization: \(Self.basic(text))"])
                    .status
            }
            for index in 0..<FailedAttempts.free { #expect(try ask("ann:wrong\(index)") == 407) }
            #expect(try ask("bob:other") == 200)
            let clock = ContinuousClock()
            let start = clock.now
            #expect(try ask("ann:wrong") == 407)
            let last = try ask("ann:more")
            isEarly = clock.now - start < .milliseconds(900)
            if isEarly { #expect(last == 429) }
        }
        #expect(isEarly)
    }

    @Test("the passwords of a changed file count at once, those of a faulty one never")
    func reload() throws {
        let (proxy, passwords) = try proxy()
        func status(_ text: String) throws -> Int {
            try proxy.exchange("GET", "http://m.test/x", fields: ["Proxy-Authorization: \(Self.basic(text))"]).status
        }
        #expect(try status("ann:secret") == 200)
        try TestUsers.bob.write(toFile: passwords.file, atomically: true, encoding: .utf8)
        #expect(try status("ann:secret") == 200)
        #expect(try passwords.reload())
        #expect(try passwords.reload() == false)
        #expect(try status("ann:secret") == 407)
        #expect(try status("bob:other") == 200)
        try "ann:plain".write(toFile: passwords.file, atomically: true, encoding: .utf8)
        #expect(throws: PasswordListError.self) { try passwords.reload() }
        #expect(try status("bob:other") == 200)
    }

    @Test("pages that clients need first, and all pages for this machine, are there without credentials")
    func ownPages() throws {
        let (proxy, _) = try proxy()
        for path in ["/", "/proxy.pac", "/healthz", "/metrics"] {
            let socket = try proxy.connect()
            try socket.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(proxy.port)\r\n\r\n")
            #expect(try socket.receiveResponse().status == 200, "\(path)")
        }
        // In absolute-form the proxy is asked, not its site.
        #expect(try proxy.exchange("GET", "http://127.0.0.1:\(proxy.port)/metrics").status == 407)
    }

    @Test(
        "from another machine the pages that tell something need credentials",
        .kernel(Remote.exists, "an interface beside loopback"))
    func ownPagesFromAfar() throws {
        let (proxy, _) = try proxy()
        func get(_ path: String, _ fields: String = "") throws -> ProxyResponse {
            let socket = try Remote.connect(port: proxy.port)
            try socket.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(proxy.port)\r\n\(fields)\r\n")
            return try socket.receiveResponse()
        }
        for path in ["/proxy.pac", "/healthz"] { #expect(try get(path).status == 200, "\(path)") }
        for path in ["/", "/metrics"] {
            let refusal = try get(path)
            #expect(refusal.status == 401)
            #expect(refusal.field("WWW-Authenticate") == #"Basic realm="subproxy", charset="UTF-8""#)
            #expect(try get(path, "Authorization: \(Self.basic("ann:wrong"))\r\n").status == 401)
            #expect(try get(path, "Proxy-Authorization: \(Self.basic("ann:secret"))\r\n").status == 401)
            #expect(try get(path, "Authorization: \(Self.basic("ann:secret"))\r\n").status == 200)
        }
        let open = try TestProxy()
        let socket = try Remote.connect(port: open.port)
        for (path, status) in [("/metrics", 403), ("/healthz", 200), ("/proxy.pac", 200)] {
            try socket.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(open.port)\r\n\r\n")
            #expect(try socket.receiveResponse().status == status, "\(path)")
        }
    }

    @Test("a name that is nobody's takes as long as one that is somebody's")
    func equalTime() throws {
        let list = try PasswordList(Array(Self.users.utf8), file: "users")
        func seconds(_ name: String) -> Double {
            let start = clock()
            for _ in 0..<10 { #expect(!list.accepts(Array(name.utf8), Array("wrong".utf8))) }
            return clock() - start
        }
        func clock() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        // The machine adds to each measurement as it likes, and takes nothing away.
        var (known, unknown) = (Double.infinity, Double.infinity)
        var isEqual = false
        for round in 1...100 where !isEqual {
            known = min(known, seconds("ann"))
            unknown = min(unknown, seconds("nobody"))
            isEqual = round >= 3 && unknown > known / 2 && unknown < known * 2
        }
        #expect(known > 0.0005)
        #expect(isEqual, "\(known), \(unknown)")
    }

    /// Gives credentials that have to be checked.
    private func attempt(_ text: String, _ access: AccessControl) -> AccessControl.Attempt? {
        var fields = FieldSection()
        fields.append(name: "Proxy-Authorization".utf8, value: Self.basic(text).utf8)
        guard case .unknown(let attempt) = access.judge(fields, .proxyAuthorization) else { return nil }
        return attempt
    }

    /// Has credentials checked at once from one address: what came of each, by its status.
    private func checkTogether(_ credentials: [String], users: String) throws -> [Int] {
        let path = FileManager.default.temporaryDirectory.appending(path: "users-\(UUID().uuidString)").path
        try users.write(toFile: path, atomically: true, encoding: .utf8)
        let access = AccessControl(try Passwords(file: path), clock: { 0 })
        defer { access.shutdown() }
        let results = Mutex<[Int: Int]>([:])
        for (index, attempt) in credentials.compactMap({ attempt($0, access) }).enumerated() {
            let refusal = access.check(attempt, by: "192.0.2.1") { outcome in
                let status =
                    switch outcome {
                    case .right: 200
                    case .wrong: 407
                    case .refused(let error): error.status
                    }
                results.withLock { $0[index] = status }
            }
            if let refusal { results.withLock { $0[index] = refusal.status } }
        }
        #expect(Wait.holds { results.withLock(\.count) == credentials.count })
        return results.withLock { results in results.sorted { $0.key < $1.key }.map(\.value) }
    }

    @Test("right credentials from behind one address are no failures, however many are checked at once")
    func manyRight() throws {
        let users = (0..<20).map { "u\($0):\(TestUsers.ann.dropFirst("ann:".count))" }
        let statuses = try checkTogether(
            (0..<20).map { "u\($0):secret" }, users: users.joined(separator: "\n") + "\n")
        #expect(statuses == Array(repeating: 200, count: 20))
    }

    @Test("many guesses at once are no way around the wait")
    func manyWrong() throws {
        let statuses = try checkTogether((0..<20).map { "ann:wrong\($0)" }, users: Self.users)
        #expect(statuses.count { $0 == 407 } == FailedAttempts.free + 1)
        #expect(statuses.count { $0 == 429 } == 20 - FailedAttempts.free - 1)
    }

    /// Of `secret`, with a cost at which a check takes more than a tenth of a second.
    private static let costlyHash = "$2y$12$abcdefghijklmnopqrstuuT1Iwu6o8Wx7BoOyIMHfgVJq6JO/IJhW"

    @Test("the answer to a request that had to be checked has the time at which it was let in")
    func timeOfAnswer() throws {
        let hash = Self.costlyHash
        let (proxy, _) = try proxy(users: "ann:\(hash)\nbob:\(hash)\n")
        let socket = try proxy.connect()
        func ask(_ name: String) throws -> ProxyResponse {
            try socket.sendRequest(
                "GET", "http://m.test/x", fields: ["Proxy-Authorization: \(Self.basic("\(name):secret"))"])
            return try socket.receiveResponse()
        }
        // Where no answer is ready the time is read later.
        for _ in 0..<2 { #expect(try ask("ann").status == 200) }
        var second = 0
        try Wait.until {
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            second = now.tv_sec
            return now.tv_nsec > 980_000_000
        }
        let date = try #require(try ask("bob").field("Date"))
        let stamp = try #require(Array(date.utf8).withUnsafeBytes { HTTPDate.parse($0, now: Int64(second)) })
        #expect(stamp > second)
    }

    @Test("who needs credentials for a page of the proxy's own is told of --user, else of --proxy-user")
    func advice() {
        #expect(ProxyError.credentialsNeeded(.authorization).advice.contains("curl --user "))
        #expect(ProxyError.credentialsNeeded(.proxyAuthorization).advice.contains("curl --proxy-user "))
    }

    /// Has credentials checked for 200 clients at once: how many were refused unchecked, and how many found right.
    ///
    /// - Parameter waits: whether for the end of all checks.
    private func check(
        users: String = Self.users, waits: Bool = true, _ credentials: (Int) -> String
    ) throws -> (refused: Int, right: Int) {
        let path = FileManager.default.temporaryDirectory.appending(path: "users-\(UUID().uuidString)").path
        try users.write(toFile: path, atomically: true, encoding: .utf8)
        let access = AccessControl(try Passwords(file: path))
        defer { access.shutdown() }
        let done = Atomic<Int>(0)
        let right = Atomic<Int>(0)
        var refused = 0
        for index in 0..<200 {
            guard let attempt = attempt(credentials(index), access) else {
                // Checked meanwhile.
                right.add(1, ordering: .relaxed)
                done.add(1, ordering: .sequentiallyConsistent)
                continue
            }
            let refusal = access.check(attempt, by: "198.51.100.\(index)") { outcome in
                if case .right = outcome { right.add(1, ordering: .relaxed) }
                done.add(1, ordering: .sequentiallyConsistent)
            }
            if let refusal {
                #expect(refusal.status == 503 && refusal.retryAfter == 1)
                refused += 1
            }
        }
        #expect(!waits || Wait.holds { done.load(ordering: .sequentiallyConsistent) + refused == 200 })
        return (refused, right.load(ordering: .relaxed))
    }

    @Test("no more checks wait than a bound allows")
    func boundedChecks() throws {
        // None of them ends while the others come.
        let (refused, right) = try check(users: "ann:\(Self.costlyHash)\n", waits: false) { "ann:wrong\($0)" }
        #expect(refused > 0)
        #expect(right == 0)
    }

    @Test("the same credentials wait for one check, however many clients give them")
    func sharedCheck() throws {
        let (refused, right) = try check { _ in "ann:secret" }
        #expect(refused == 0)
        #expect(right == 200)
    }
}
