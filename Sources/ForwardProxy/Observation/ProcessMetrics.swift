import Basics
import Glibc

/// What the system counts of this process, with the names that Prometheus's client libraries use.
///
/// Reads files of proc(5), so not on an event loop. What can't be read, because no descriptor is free or `/proc` is not
/// there, is left out.
struct ProcessMetrics: Sendable {
    var processorNanoseconds: UInt64
    var residentBytes: UInt64?
    var virtualBytes: UInt64?
    var openDescriptors: Int?
    var maximumDescriptors: UInt64?
    /// Nanoseconds since 1970.
    var startedAt: UInt64?

    static func read() -> ProcessMetrics {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        var metrics = ProcessMetrics(
            processorNanoseconds: nanoseconds(usage.ru_utime) &+ nanoseconds(usage.ru_stime))
        if let pages = words(of: "/proc/self/statm"), pages.count > 1, let all = UInt64(pages[0]),
            let resident = UInt64(pages[1])
        {
            let size = UInt64(clamping: sysconf(CInt(_SC_PAGESIZE)))
            metrics.virtualBytes = all &* size
            metrics.residentBytes = resident &* size
        }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            metrics.maximumDescriptors = UInt64(limit.rlim_cur)
        }
        metrics.openDescriptors = countDescriptors()
        metrics.startedAt = ProcessMetrics.start
        return metrics
    }

    /// When the process began: read once, since a wall clock that is set later doesn't move it.
    private static let start: UInt64? = {
        // The second field, the name, may have spaces in it; it ends with the last parenthesis.
        guard let fields = words(of: "/proc/self/stat", behind: UInt8(ascii: ")")), fields.count > 19,
            let ticks = UInt64(fields[19])
        else { return nil }
        let sinceBoot = steadyNanoseconds()
        let frequency = max(1, UInt64(clamping: sysconf(CInt(_SC_CLK_TCK))))
        let began = ticks &* (1_000_000_000 / frequency)
        return wallNanoseconds() &- (sinceBoot > began ? sinceBoot &- began : 0)
    }()

    private static func nanoseconds(_ time: timeval) -> UInt64 {
        UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_usec) &* 1000
    }

    /// The words of a short file, or those after the last occurrence of a byte in it.
    private static func words(of path: String, behind mark: UInt8? = nil) -> [Substring]? {
        guard let bytes = try? FileReading.contents(of: path, upTo: 4096), !bytes.isEmpty else { return nil }
        var text = bytes[...]
        if let mark, let last = text.lastIndex(of: mark) { text = text[(last &+ 1)...] }
        return String(decoding: text, as: UTF8.self).split { $0 == " " || $0 == "\n" }
    }

    private static func countDescriptors() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count &+= 1 }
        // Without `.` and `..`, and without the descriptor that the folder is read by.
        return max(0, count &- 3)
    }
}
