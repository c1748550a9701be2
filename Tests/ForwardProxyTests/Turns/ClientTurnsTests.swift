import HTTPSemantics
import Testing

@testable import ForwardProxy

@Suite("The turns of clients")
struct ClientTurnsTests {
    private let turns = ClientTurns()

    private func take(_ address: String, _ user: String? = nil, rule: UInt64 = 1) -> Int {
        turns.take(rule, of: TurnClient(address: address, user: user.map { Array($0.utf8) })) { $0 + 1 }
    }

    private func next(_ address: String, _ user: String? = nil, rule: UInt64 = 1) -> Int {
        turns.next(rule, of: TurnClient(address: address, user: user.map { Array($0.utf8) }))
    }

    @Test("An address, a name and a rule have turns of their own")
    func own() {
        #expect((0..<3).map { _ in take("192.0.2.1") } == [0, 1, 2])
        #expect(take("192.0.2.2") == 0)
        #expect(take("192.0.2.1", "a") == 0)
        #expect(take("192.0.2.1", "") == 0)
        #expect(take("192.0.2.1", rule: 2) == 0)
        #expect(next("192.0.2.1") == 3 && next("192.0.2.1", "a") == 1 && next("192.0.2.9") == 0)
        #expect(turns.counts.clients == 4)
    }

    @Test("A reset begins all turns anew, or one client's")
    func reset() {
        for user in [nil, "a", "b"] { _ = take("192.0.2.1", user) }
        turns.reset(TurnClient(address: "192.0.2.1", user: Array("a".utf8)))
        turns.reset(TurnClient(address: "192.0.2.7"))
        #expect([next("192.0.2.1"), next("192.0.2.1", "a"), next("192.0.2.1", "b")] == [1, 0, 1])
        turns.reset()
        #expect(next("192.0.2.1") == 0 && turns.counts.clients == 0)
    }

    @Test("Turns of rules that are gone are forgotten")
    func rules() {
        for rule in [1, 2, 3] as [UInt64] { _ = take("192.0.2.1", rule: rule) }
        turns.keep(only: [2, 4])
        #expect(([1, 2, 3] as [UInt64]).map { next("192.0.2.1", rule: $0) } == [0, 1, 0])
        turns.keep(only: [])
        #expect(turns.counts.clients == 0)
    }

    @Test("Of a thousand and one clients the one that was here longest ago begins anew")
    func capacity() {
        for number in 0..<ClientTurns.capacity { _ = take("192.0.2.1", "\(number)") }
        _ = take("192.0.2.1", "0")
        _ = take("192.0.2.1", "one more")
        #expect(turns.counts.clients == ClientTurns.capacity)
        #expect(next("192.0.2.1", "0") == 2)
        #expect(next("192.0.2.1", "1") == 0)
        #expect(next("192.0.2.1", "2") == 1)
        #expect(next("192.0.2.1", "one more") == 1)
    }

    @Test("Turns of many rules are bounded together, and the client that asks keeps its own")
    func manyRules() {
        let each = ClientTurns.turnCapacity / 10
        for client in 0..<12 {
            for rule in 0..<each { _ = take("192.0.2.\(client)", rule: UInt64(rule)) }
        }
        #expect(turns.counts.clients == 10 && turns.counts.turns == ClientTurns.turnCapacity)
        #expect(next("192.0.2.1") == 0 && next("192.0.2.2") == 1 && next("192.0.2.11") == 1)
        turns.keep(only: [1, 2])
        #expect(turns.counts.turns == 20)
        turns.reset(TurnClient(address: "192.0.2.2"))
        #expect(turns.counts.turns == 18)
    }

    @Test("Addresses of their own are dropped by their age too")
    func addresses() {
        for number in 0...ClientTurns.capacity { _ = take("192.0.\(number / 256).\(number % 256)") }
        #expect(turns.counts.clients == ClientTurns.capacity)
        #expect(next("192.0.0.0") == 0 && next("192.0.0.1") == 1)
    }

    @Test(
        "Who asks under many names, or from many addresses of a network, drives out nobody else",
        arguments: [true, false])
    func crowds(hasNames: Bool) {
        _ = take("192.0.2.1")
        _ = take("2001:db8:1::1", "a")
        for number in 0..<3 * ClientTurns.capacity {
            _ = hasNames ? take("198.51.100.1", "\(number)") : take("2001:db8:2::\(String(number, radix: 16))")
        }
        #expect(turns.counts.clients == ClientTurns.capacity)
        #expect(next("192.0.2.1") == 1 && next("2001:db8:1::1", "a") == 1)
    }

    @Test("The name is that of Basic credentials, in the field that is for the request")
    func names() {
        func fields(_ lines: [(String, String)]) -> FieldSection {
            var fields = FieldSection()
            for (name, value) in lines { fields.append(name: Array(name.utf8), value: Array(value.utf8)) }
            return fields
        }
        func user(_ lines: [(String, String)], isProxied: Bool = false, hasAccessControl: Bool = false) -> String? {
            TurnClient(
                ownSite: fields(lines), address: "192.0.2.1", isProxied: isProxied, hasAccessControl: hasAccessControl
            ).user.map { String(decoding: $0, as: UTF8.self) }
        }
        // worker:, other:secret
        let proxied = ("Proxy-Authorization", "Basic d29ya2VyOg==")
        let direct = ("Authorization", "Basic b3RoZXI6c2VjcmV0")
        #expect(user([]) == nil && user([proxied]) == "worker" && user([direct]) == "other")
        #expect(user([proxied, direct]) == "worker")
        #expect(user([proxied, proxied]) == nil)
        for bad in ["Bearer x", "Basic", "Basic !", "Basic d29ya2Vy"] { #expect(user([("Authorization", bad)]) == nil) }
        #expect(user([proxied, direct], hasAccessControl: true) == "other")
        #expect(user([proxied], hasAccessControl: true) == nil)
        #expect(user([proxied, direct], isProxied: true, hasAccessControl: true) == "worker")
    }
}
