import Glibc

/// How many times more processor time `work(16 * size)` takes than `work(size)`, the best of some runs each: near 16
/// where the work is linear, near 256 where it is quadratic. What else the machine does doesn't count.
public func growth(from size: Int, _ work: (Int) -> Void) -> Double {
    func nanoseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
    func best(_ size: Int) -> Double {
        var best = Double.infinity
        for _ in 0..<5 {
            let start = nanoseconds()
            work(size)
            best = min(best, nanoseconds() - start)
        }
        return best
    }
    let small = best(size)
    return best(16 * size) / max(small, 1)
}
