import Basics
import ProxyTestKit
import Testing

@Suite("A lock with a condition", .onThreads)
struct ConditionLockTests {
    /// Touched with the lock held.
    private final class Numbers: @unchecked Sendable {
        let lock = ConditionLock()
        var asked = 0
        var answered = 0
    }

    @Test("A thread that waits sees what another has done before it wakes it")
    func wakes() {
        let numbers = Numbers()
        Threads.start {
            for number in 1...100 {
                numbers.lock.locked {
                    while numbers.asked < number { numbers.lock.wait() }
                    numbers.answered = number
                    numbers.lock.wakeAll()
                }
            }
        }
        for number in 1...100 {
            let answer = numbers.lock.locked {
                numbers.asked = number
                numbers.lock.wakeAll()
                while numbers.answered < number { numbers.lock.wait() }
                return numbers.answered
            }
            #expect(answer == number)
        }
    }
}
