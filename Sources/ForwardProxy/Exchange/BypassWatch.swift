import Synchronization

/// Notices clients that bypass the map again and again, to name the likely cause once; shared by all event loops, since
/// a client's connections are on several.
final class BypassWatch: Sendable {
    static let threshold = 5
    private static let maximumClients = 1000

    private let runs = Mutex<[String: Int]>([:])
    /// Whether there are runs at all, so that a hit locks nothing where there are none.
    private let hasRuns = Atomic<Bool>(false)

    /// Counts a bypass of a mapped URL by a client.
    ///
    /// - Returns: whether this one is the one to warn at: the fifth in a row.
    func countBypass(by client: String) -> Bool {
        hasRuns.store(true, ordering: .relaxed)
        return runs.withLock { runs in
            if runs.count > BypassWatch.maximumClients { runs.removeAll() }
            let count = (runs[client] ?? 0) &+ 1
            runs[client] = count
            return count == BypassWatch.threshold
        }
    }

    /// A mapped answer was served: the run is over.
    @inline(__always)
    func reset(_ client: @autoclosure () -> String) {
        guard hasRuns.load(ordering: .relaxed) else { return }
        let client = client()
        runs.withLock { runs in
            runs[client] = nil
            if runs.isEmpty { hasRuns.store(false, ordering: .relaxed) }
        }
    }
}
