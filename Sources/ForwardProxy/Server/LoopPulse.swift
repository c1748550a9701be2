import Curl
import NIOCore
import Synchronization

/// Tells at intervals that every thread that serves takes its turns: a round goes through all of them, and while one
/// does not answer, nothing is told and no other round begins.
final class LoopPulse: Sendable {
    private let contexts: [LoopContext]
    private let transports: TransferLoops
    private let body: @Sendable () -> Void
    /// Threads that the round under way still waits for.
    private let missing = Atomic<Int>(0)

    /// - Parameter body: called on the thread that has answered last.
    init(_ contexts: [LoopContext], _ transports: TransferLoops, _ body: @escaping @Sendable () -> Void) {
        self.contexts = contexts
        self.transports = transports
        self.body = body
    }

    /// Begins the rounds, on the first event loop; they end with it.
    func start(every interval: TimeAmount) {
        contexts.first?.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in self.ask() }
    }

    private func ask() {
        guard missing.load(ordering: .acquiring) == 0 else { return }
        let threads = transports.running
        // One more, so that no round ends before all are asked.
        missing.store(contexts.count &+ threads.count &+ 1, ordering: .releasing)
        for context in contexts { context.eventLoop.execute { self.answer() } }
        for thread in threads where !thread.perform({ self.answer() }) { answer() }
        answer()
    }

    private func answer() {
        if missing.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { body() }
    }
}
