import Testing

@testable import Authentication

@Suite("Which credentials are checked, and which wait")
struct CredentialChecksTests {
    private let client = FailedAttempts.Client("192.0.2.1")
    private let other = FailedAttempts.Client("192.0.2.2")
    private let ann = FailedAttempts.Name(Array("ann".utf8))
    private var checks = CredentialChecks<String, String>()

    @Test("of one client's no more are checked at once than may fail; the others wait for one of these to end")
    mutating func postponed() {
        for index in 0...FailedAttempts.free {
            #expect(checks.add("w\(index)", of: client, name: ann, key: "k\(index)", now: 0) == .begins)
        }
        #expect(checks.add("late", of: client, name: ann, key: "late", now: 0) == .waits)
        #expect(checks.add("same", of: client, name: ann, key: "k0", now: 0) == .waits)
        #expect(checks.add("other", of: other, name: ann, key: "other", now: 0) == .begins)
        let (done, freed) = checks.finish("k0", isRight: true, now: 0)
        #expect(done == ["w0", "same"])
        #expect(freed.map(\.waiter) == ["late"])
        #expect(checks.add("late", of: client, name: ann, key: "late", now: 0) == .begins)
    }

    @Test("after as many failures one at a time is checked, when the client has waited")
    mutating func oneByOne() {
        for index in 0...FailedAttempts.free {
            #expect(checks.add("w", of: client, name: ann, key: "\(index)", now: 0) == .begins)
        }
        for index in 0...FailedAttempts.free { _ = checks.finish("\(index)", isRight: false, now: 0) }
        #expect(checks.add("w", of: client, name: ann, key: "a", now: 0) == .mustWait(1_000_000_000))
        #expect(checks.add("w", of: client, name: ann, key: "a", now: 1_000_000_000) == .begins)
        #expect(checks.add("w", of: client, name: ann, key: "b", now: 1_000_000_000) == .waits)
        let (done, freed) = checks.finish("a", isRight: false, now: 1_000_000_000)
        #expect(done == ["w"] && freed.count == 1)
        #expect(checks.add("w", of: client, name: ann, key: "b", now: 1_000_000_000) == .mustWait(2_000_000_000))
    }

    @Test("wrong credentials are one failure of each client that gave them, and a check that was cancelled is none")
    mutating func failures() {
        for round in 0...FailedAttempts.free {
            #expect(checks.add("w", of: client, name: ann, key: "k", now: 0) == .begins)
            #expect(checks.add("w", of: client, name: ann, key: "k", now: 0) == .waits)
            #expect(checks.add("w", of: other, name: ann, key: "k", now: 0) == .waits)
            #expect(checks.finish("k", isRight: round == 0 ? nil : false, now: 0).done.count == 3)
        }
        #expect(checks.add("w", of: client, name: ann, key: "k", now: 0) == .begins)
        _ = checks.finish("k", isRight: false, now: 0)
        #expect(checks.add("w", of: client, name: ann, key: "k", now: 0) == .mustWait(1_000_000_000))
        #expect(checks.add("w", of: other, name: ann, key: "k", now: 0) == .begins)
    }

    @Test("what waits is bounded")
    mutating func bounded() {
        var placements: [CredentialChecks<String, String>.Placement] = []
        for index in 0..<100 { placements.append(checks.add("w", of: client, name: ann, key: "\(index)", now: 0)) }
        #expect(placements.count { $0 == .begins } == FailedAttempts.free + 1)
        let taken = FailedAttempts.free + 1 + CredentialChecks<String, String>.postponedLimit
        #expect(placements.count { $0 == .tooMany } == 100 - taken)
        // One client leaves room for others.
        #expect(checks.add("w", of: other, name: ann, key: "other", now: 0) == .begins)
        let crowd = (0..<100).map { FailedAttempts.Client("198.51.100.\($0)") }
        let others = crowd.map { checks.add("w", of: $0, name: ann, key: "\($0)", now: 0) }
        #expect(others.count { $0 == .begins } == CredentialChecks<String, String>.limit - taken - 1)
    }

    @Test("of a wider network's clients no more are checked at once than may fail either")
    mutating func widerNetwork() {
        let clients = (0..<30).map { FailedAttempts.Client("2001:db8:0:\(String($0, radix: 16))::1") }
        let placements = clients.enumerated().map {
            checks.add("w\($0)", of: $1, name: ann, key: "\($0)", now: 0)
        }
        #expect(placements.count { $0 == .begins } == 21)
        #expect(placements.count { $0 == .waits } == 9)
        // Right ones are no failures: the others come in their turn, each as its own client's.
        let (done, freed) = checks.finish("0", isRight: true, now: 0)
        #expect(done == ["w0"])
        #expect(freed.map(\.waiter) == (21..<30).map { "w\($0)" })
        #expect(freed.map(\.client) == Array(clients[21...]))
        #expect(checks.add("w21", of: clients[21], name: ann, key: "21", now: 0) == .begins)
        #expect(checks.add("w22", of: clients[22], name: ann, key: "22", now: 0) == .waits)
    }
}
