import Testing

@testable import ForwardProxy

@Suite("Networks of clients that are kept")
struct NetworkCountsTests {
    @Test("Those with most clients are crowded, whatever the clients' names and addresses within")
    func crowded() {
        var networks = NetworkCounts()
        let first = TurnClient(address: "192.0.2.1")
        let number = networks.add(first)
        #expect(networks.crowded == [number])
        let others = (0..<3).map { TurnClient(address: "198.51.100.1", user: [UInt8($0)]) }
        let numbers = Set(others.map { networks.add($0) })
        #expect(numbers.count == 1 && networks.crowded == numbers)
        for other in others.dropFirst() { numbers.forEach { networks.remove(other, of: $0) } }
        #expect(networks.crowded == numbers.union([number]))
        networks.remove(first, of: number)
        // A number that is free is another's.
        #expect(networks.add(TurnClient(address: "2001:db8::1")) == number)
        #expect(networks.add(TurnClient(address: "2001:db8::2")) == number)
        #expect(networks.crowded == [number])
    }
}
