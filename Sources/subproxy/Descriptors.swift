import Glibc

/// The descriptors 0, 1 and 2.
enum StandardDescriptors {
    /// Opens /dev/null for those that are closed, so that no socket gets their number and is written to as if it were
    /// standard error. (libc: `open` takes the lowest free number.)
    static func openMissing() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            guard open("/dev/null", O_RDWR) >= 0 else { return }
        }
    }
}

/// The descriptors that the process has open.
enum OpenDescriptors {
    /// All of them; none where /proc can't be read. (proc(5))
    static func list() -> Set<CInt> {
        guard let directory = opendir("/proc/self/fd") else { return [] }
        defer { closedir(directory) }
        var found: Set<CInt> = []
        while let entry = readdir(directory) {
            let digits = withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if let number = DecimalNumber.parse(digits).flatMap(CInt.init(exactly:)) { found.insert(number) }
        }
        found.remove(dirfd(directory))
        return found
    }
}
