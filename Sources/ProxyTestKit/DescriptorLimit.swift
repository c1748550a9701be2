import Glibc

/// How many descriptors this process may have open (getrlimit(2)).
public enum DescriptorLimit {
    /// Raises the limit to what the system allows.
    ///
    /// - Returns: the limit from then on; children inherit it.
    @discardableResult
    public static func raise() -> Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }
}
