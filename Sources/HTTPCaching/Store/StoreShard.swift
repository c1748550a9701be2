import Synchronization

/// One shard of the store: its contents behind a lock, and the ages of its queues' first entries before it.
final class StoreShard<Metadata: StoreMetadata>: Sendable {
    private let contents: Mutex<ShardContents<Metadata>>
    private let smallTurn = Atomic<UInt64>(.max)
    private let mainTurn = Atomic<UInt64>(.max)

    init(_ contents: ShardContents<Metadata>) { self.contents = Mutex(contents) }

    /// When the first of a queue was queued; `UInt64.max` where it is empty. Read without the lock, so it may be out of
    /// date.
    func turn(ofFirstIn queue: StoreQueue) -> UInt64 {
        queue == .small ? smallTurn.load(ordering: .relaxed) : mainTurn.load(ordering: .relaxed)
    }

    func read<Result: Sendable>(_ body: (ShardContents<Metadata>) -> Result) -> Result {
        contents.withLock { body($0) }
    }

    func change<Result: Sendable>(_ body: (inout ShardContents<Metadata>) -> Result) -> Result {
        contents.withLock {
            let result = body(&$0)
            smallTurn.store($0.turn(ofFirstIn: .small), ordering: .relaxed)
            mainTurn.store($0.turn(ofFirstIn: .main), ordering: .relaxed)
            return result
        }
    }
}
