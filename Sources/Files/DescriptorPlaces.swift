import Glibc
import Synchronization

/// How many descriptors something may take at a time: connections need theirs.
final class DescriptorPlaces: Sendable {
    private let free: Atomic<Int>

    init(_ count: Int) { free = Atomic(count) }

    /// For sealed contents: a sixteenth of the descriptors that the process may have, at most 256.
    static func forContents() -> DescriptorPlaces { DescriptorPlaces(min(limit / 16, 256)) }

    /// For looks at files: a quarter of the descriptors that the process may have beyond 4096.
    static func forLooks() -> DescriptorPlaces { DescriptorPlaces(max(0, limit - 4096) / 4) }

    private static var limit: Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }

    func take() -> Bool {
        if free.subtract(1, ordering: .relaxed).newValue >= 0 { return true }
        giveBack()
        return false
    }

    func giveBack() { free.add(1, ordering: .relaxed) }
}
