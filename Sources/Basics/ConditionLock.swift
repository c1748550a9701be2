import Glibc

/// A lock with conditions that threads wait for (pthread_cond_wait(3)).
public final class ConditionLock: Sendable {
    // Their addresses stay as they are for good, as POSIX wants.
    nonisolated(unsafe) private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    nonisolated(unsafe) private let conditions: UnsafeMutablePointer<pthread_cond_t>
    private let count: Int

    /// - Parameter conditions: how many there are, numbered from 0.
    public init(conditions count: Int = 1) {
        self.count = count
        conditions = .allocate(capacity: count)
        conditions.initialize(repeating: pthread_cond_t(), count: count)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        for index in 0..<count { pthread_cond_init(conditions + index, &attributes) }
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        for index in 0..<count { pthread_cond_destroy(conditions + index) }
        pthread_mutex_destroy(mutex)
        conditions.deallocate()
        mutex.deallocate()
    }

    /// Does something with the lock held.
    public func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// Waits for a wake-up, which can come without cause; to be called with the lock held, which others have meanwhile.
    public func wait(for condition: Int = 0) { pthread_cond_wait(address(condition), mutex) }

    /// The same, at most until a time of the monotonic clock in nanoseconds.
    public func wait(for condition: Int = 0, until time: UInt64) {
        var deadline = timespec(
            tv_sec: Int(clamping: time / 1_000_000_000), tv_nsec: Int(clamping: time % 1_000_000_000))
        pthread_cond_timedwait(address(condition), mutex, &deadline)
    }

    /// Wakes one of those that wait for a condition.
    public func wakeOne(of condition: Int = 0) { pthread_cond_signal(address(condition)) }

    /// Wakes all that wait, whatever for.
    public func wakeAll() {
        for index in 0..<count { pthread_cond_broadcast(conditions + index) }
    }

    /// Traps at a condition that there isn't.
    private func address(_ condition: Int) -> UnsafeMutablePointer<pthread_cond_t> {
        precondition((0..<count).contains(condition))
        return conditions + condition
    }
}
