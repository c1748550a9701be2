import Authentication

/// How many clients of each network are kept: so that nobody drives out others by asking under many names, it is the
/// network with most of them that has to give one up.
struct NetworkCounts {
    /// The numbers of networks, and how many clients each number has.
    private var numbers: [FailedAttempts.Client: Int] = [:]
    private var counts: [Int] = []
    private var free: [Int] = []

    /// Counts a client that is kept from now on.
    ///
    /// - Returns: the number of its network.
    mutating func add(_ client: TurnClient) -> Int {
        let network = FailedAttempts.Client(client.address)
        let number: Int
        if let known = numbers[network] {
            number = known
        } else if let known = free.popLast() {
            number = known
        } else {
            number = counts.count
            counts.append(0)
        }
        numbers[network] = number
        counts[number] += 1
        return number
    }

    /// A client is no longer kept.
    ///
    /// - Parameter number: of its network.
    mutating func remove(_ client: TurnClient, of number: Int) {
        counts[number] -= 1
        guard counts[number] == 0 else { return }
        numbers[FailedAttempts.Client(client.address)] = nil
        free.append(number)
    }

    /// The numbers of the networks that have most clients.
    var crowded: Set<Int> {
        let most = counts.max() ?? 0
        return Set(counts.indices.filter { counts[$0] == most })
    }
}
