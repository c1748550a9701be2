import Glibc

/// The process's limits on descriptors and core dumps. (getrlimit(2))
struct ResourceLimits {
    private let descriptors: rlimit
    private let core: rlimit
    private let coreFilter = CoreDumpFilter()

    /// More descriptors than this are of no use: the limit on connections comes first.
    private static let mostDescriptors: rlim_t = 65_536

    /// Notes the limits that the program was started with.
    init() {
        var descriptors = rlimit()
        var core = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors)
        getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &core)
        self.descriptors = descriptors
        self.core = core
    }

    /// Raises the limit on descriptors to what the system allows, and turns core dumps off: bodies and credentials of
    /// clients are in memory.
    func applyForServing() {
        var raised = descriptors
        let wanted = min(descriptors.rlim_max, ResourceLimits.mostDescriptors)
        if raised.rlim_cur < wanted { raised.rlim_cur = wanted }
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised)
        var none = core
        none.rlim_cur = 0
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        coreFilter.clear()
    }

    /// Runs `body` under the limits that the program was started with, for a child that inherits them.
    func withInherited<Result>(_ body: () -> Result) -> Result {
        var descriptors = descriptors
        var core = core
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &core)
        coreFilter.restore()
        defer { applyForServing() }
        return body()
    }
}
