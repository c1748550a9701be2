import Basics
import CLinux
import Glibc

/// How much of the processor a thread gets beside others: less while it is at a query that takes long, so that the
/// threads that answer everything else don't wait for it.
///
/// A lower nice value alone isn't enough: the thread's part of the processor is a tenth then, but it comes in pieces of
/// a tick, 4 ms at 250 Hz, and whatever waits for the processor waits so long. So the thread gives way each slice.
///
/// Where the processor has nothing else to do, the query takes no longer.
struct ThreadWeight {
    /// Nanoseconds that a query runs before its thread steps back.
    static let patience: UInt64 = 5_000_000
    /// How much higher the nice value is then: a tenth of the weight (sched(7)).
    static let step: CInt = 10
    /// Nanoseconds that it runs then before it gives way. Linux counts a whole slice for each time, so its slices are
    /// as short.
    static let slice: UInt64 = 200_000

    /// What a thread has before it steps back.
    struct Former {
        let nice: CInt
        /// Nanoseconds that it runs before it gives way; 0 where the system doesn't tell.
        let slice: UInt64
    }

    /// What to go back to; nil where the thread hasn't stepped back.
    private(set) var former: Former?
    private let read: () -> CInt
    private let write: (CInt) -> Bool
    private let readSlice: () -> UInt64
    private let setSlice: (CInt, UInt64) -> Void
    private let yield: () -> Void
    private let clock: () -> UInt64
    /// When it last gave way.
    private var gaveWay: UInt64 = 0

    /// Of the thread that calls: on Linux the value is one of each thread (setpriority(2), "C library/kernel
    /// differences").
    init() {
        self.init(
            read: { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) },
            write: { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, $0) == 0 },
            readSlice: { linux_slice() }, setSlice: { _ = linux_set_slice($0, $1) }, yield: { _ = sched_yield() },
            clock: monotonicNanoseconds)
    }

    /// - Parameters:
    ///   - readSlice: nanoseconds that the thread runs before it gives way; 0 where the system doesn't tell.
    ///   - setSlice: gives the thread, of a nice value, slices of so many nanoseconds; 0 for the system's own.
    init(
        read: @escaping () -> CInt, write: @escaping (CInt) -> Bool, readSlice: @escaping () -> UInt64 = { 0 },
        setSlice: @escaping (_ nice: CInt, _ slice: UInt64) -> Void = { _, _ in }, yield: @escaping () -> Void = {},
        clock: @escaping () -> UInt64 = { 0 }
    ) {
        self.read = read
        self.write = write
        self.readSlice = readSlice
        self.setSlice = setSlice
        self.yield = yield
        self.clock = clock
    }

    /// A thread that one made which had stepped back has its nice value.
    var isLow: Bool { former != nil }

    /// Steps back, where that is allowed.
    mutating func lower() {
        guard former == nil else { return }
        let value = read()
        let lowered = min(19, value + ThreadWeight.step)
        let slice = readSlice()
        guard lowered > value, write(lowered) else { return }
        former = Former(nice: value, slice: slice)
        setSlice(lowered, ThreadWeight.slice)
    }

    /// Lets others have the processor that wait for it, where it has run for a slice.
    ///
    /// - Parameter now: nanoseconds of the monotonic clock.
    mutating func giveWay(at now: UInt64) {
        guard now &- gaveWay >= ThreadWeight.slice else { return }
        yield()
        // It may have waited long.
        gaveWay = clock()
    }

    /// Goes back to what it was.
    ///
    /// - Returns: whether it is that now: most systems let only the administrator lower a nice value.
    mutating func restore() -> Bool {
        guard let former else { return true }
        guard write(former.nice) else { return false }
        // As the system has it, unless somebody had set it.
        setSlice(former.nice, 0)
        if readSlice() != former.slice { setSlice(former.nice, former.slice) }
        self.former = nil
        return true
    }

    /// Takes over from the thread that made this one.
    mutating func inherit(_ former: Former?) { self.former = former }
}
