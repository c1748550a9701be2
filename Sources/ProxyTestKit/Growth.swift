import Glibc

/// How many times more processor time `work(16 * size)` takes than `work(size)`: near 16 where the work is linear, near
/// 256 where it is quadratic.
///
/// Both are measured in turn, and the least of each counts, since a busy machine adds to what is measured and takes
/// nothing away: five times, and up to a hundred times until it is below a limit.
///
/// - Parameter limit: what the caller expects at most. The default, 32, is for linear work.
public func growth(from size: Int, below limit: Double = 32, _ work: (Int) -> Void) -> Double {
    func nanoseconds(_ size: Int) -> Double {
        var (start, end) = (timespec(), timespec())
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start)
        work(size)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end)
        return Double(end.tv_sec - start.tv_sec) * 1e9 + Double(end.tv_nsec - start.tv_nsec)
    }
    var (small, large) = (Double.infinity, Double.infinity)
    for round in 1...100 {
        small = min(small, max(nanoseconds(size), 1))
        large = min(large, nanoseconds(16 * size))
        if round >= 5, large < limit * small { break }
    }
    return large / small
}
