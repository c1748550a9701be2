import Dispatch
import ProxyTestKit
import Synchronization
import Testing

@testable import subproxy

@Suite("Messages to the service manager", .onThreads)
struct ServiceNotifierTests {
    @Test("A sign of life waits for nothing, and comes behind a message that does")
    func signOfLife() throws {
        let folder = TemporaryFolder()
        let manager = try NotifySocket("\(folder.path)/notify")
        let notifier = ServiceNotifier(socket: "\(folder.path)/notify")
        // Until the manager's queue is full.
        for _ in 0..<600 { notifier.alive() }
        let isDone = Atomic<Bool>(false)
        let (hasBegun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        DispatchQueue.global().async {
            hasBegun.signal()
            notifier.ready("work")
            isDone.store(true, ordering: .sequentiallyConsistent)
            ended.signal()
        }
        hasBegun.wait()
        // The message waits for five seconds.
        #expect(
            Wait.keeps(for: 1) {
                notifier.alive()
                return !isDone.load(ordering: .sequentiallyConsistent)
            })
        var messages: [String] = []
        #expect(
            Wait.holds {
                messages += manager.waiting()
                return isDone.load(ordering: .sequentiallyConsistent)
            })
        ended.wait()
        messages += manager.waiting()
        #expect(messages.last == "WATCHDOG=1")
        #expect(messages.dropLast().last == "READY=1\nSTATUS=work")
    }
}
