import Basics

/// A value that one thread will provide and others wait for.
final class Completion<Value: Sendable>: @unchecked Sendable {
    // Unchecked: `value` is touched with the lock held only.

    private let lock = ConditionLock()
    private var value: Value?

    /// Provides the value, once.
    func complete(_ value: Value) {
        lock.locked {
            self.value = value
            lock.wakeAll()
        }
    }

    /// Waits for the value.
    func wait() -> Value {
        lock.locked {
            while true {
                if let value { return value }
                lock.wait()
            }
        }
    }
}
