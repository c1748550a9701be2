import Glibc

/// How much of the processor a thread gets beside others: less while it is at a query that takes long, so that the
/// threads that answer everything else don't wait for it.
///
/// Where the processor has nothing else to do, the query takes no longer.
struct ThreadWeight {
    /// Nanoseconds that a query runs before its thread steps back.
    static let patience: UInt64 = 5_000_000
    /// How much higher the nice value is then: a tenth of the weight (sched(7)).
    static let step: CInt = 10

    /// The nice value to go back to; nil where the thread hasn't stepped back.
    private(set) var former: CInt?
    private let read: () -> CInt
    private let write: (CInt) -> Bool

    /// Of the thread that calls: on Linux the value is one of each thread (setpriority(2), "C library/kernel
    /// differences").
    init() {
        self.init(
            read: { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) },
            write: { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, $0) == 0 })
    }

    init(read: @escaping () -> CInt, write: @escaping (CInt) -> Bool) {
        self.read = read
        self.write = write
    }

    /// A thread that one made which had stepped back has its nice value.
    var isLow: Bool { former != nil }

    /// Steps back, where that is allowed.
    mutating func lower() {
        guard former == nil else { return }
        let value = read()
        let lowered = min(19, value + ThreadWeight.step)
        if lowered > value, write(lowered) { former = value }
    }

    /// Goes back to what it was.
    ///
    /// - Returns: whether it is that now: most systems let only the administrator lower a nice value.
    mutating func restore() -> Bool {
        guard let former else { return true }
        guard write(former) else { return false }
        self.former = nil
        return true
    }

    /// Takes over from the thread that made this one.
    mutating func inherit(_ former: CInt?) { self.former = former }
}
