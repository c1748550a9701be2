import Glibc

/// A lock with a condition that threads wait for (pthread_cond_wait(3)).
public final class ConditionLock: Sendable {
    // Their addresses stay as they are for good, as POSIX wants.
    nonisolated(unsafe) private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    nonisolated(unsafe) private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    public init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Does something with the lock held.
    public func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// Waits for a wake-up, which can come without cause; to be called with the lock held, which others have meanwhile.
    public func wait() { pthread_cond_wait(condition, mutex) }

    /// Wakes all that wait.
    public func wakeAll() { pthread_cond_broadcast(condition) }
}
