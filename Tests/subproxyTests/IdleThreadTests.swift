import Dispatch
import ProxyTestKit
import Synchronization
import Testing

@testable import subproxy

@Suite("Work that nobody waits for", .onThreads)
struct IdleThreadTests {
    @Test("One piece of work is done at a time, and of those that wait the last alone")
    func oneAtATime() {
        let thread = IdleThread()
        let (isOpen, hasBegun, isDone) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        let done = Mutex<[Int]>([])
        thread.run {
            hasBegun.signal()
            isOpen.wait()
            done.withLock { $0.append(0) }
        }
        hasBegun.wait()
        for number in 1...20 {
            thread.run {
                done.withLock { $0.append(number) }
                isDone.signal()
            }
        }
        isOpen.signal()
        #expect(isDone.wait(timeout: .now() + 60) == .success)
        #expect(done.withLock { $0 } == [0, 20])
        // A thread that has ended is no hindrance.
        thread.run { isDone.signal() }
        #expect(isDone.wait(timeout: .now() + 60) == .success)
    }
}
