import Glibc

/// Removes folders with all that is in them.
public enum FolderRemoval {
    /// Folders within folders; what is deeper stays. Each on the way down is open meanwhile.
    private static let deepest = 512

    /// Removes a file, or a folder with all in it; links are removed, not followed.
    ///
    /// - Returns: whether nothing is left.
    @discardableResult
    public static func remove(_ path: String) -> Bool { remove(Array(path.utf8CString), in: AT_FDCWD, depth: 0) }

    /// Removes what has a name in an open folder, so that no link that somebody puts in a folder's place leads
    /// elsewhere. (openat(2), unlinkat(2))
    private static func remove(_ name: [CChar], in folder: CInt, depth: Int) -> Bool {
        if unlinkat(folder, name, 0) == 0 || errno == ENOENT { return true }
        guard errno == EISDIR || errno == EPERM, depth < deepest else { return false }
        let own = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if own >= 0 {
            defer { close(own) }
            for entry in entries(of: own) ?? [] where !remove(entry, in: own, depth: depth + 1) { return false }
        }
        return unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT
    }

    /// The names in a folder, `.` and `..` left out; none where it can't be read.
    public static func names(in path: String) -> [String] { listedNames(in: path) ?? [] }

    /// The names in a folder, `.` and `..` left out; nil with errno where it can't be read.
    public static func listedNames(in path: String) -> [String]? {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return entries(of: descriptor)?.map { name in
            String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// The names in an open folder as they are, with the zero at their end; nil where it can't be read.
    private static func entries(of descriptor: CInt) -> [[CChar]]? {
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard own >= 0 else { return nil }
        guard let folder = fdopendir(own) else {
            close(own)
            return nil
        }
        defer { closedir(folder) }
        var names: [[CChar]] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                bytes.prefix { $0 != 0 }.map { CChar(bitPattern: $0) }
            }
            let isSpecial = name == [0x2e] || name == [0x2e, 0x2e]
            if !isSpecial { names.append(name + [0]) }
        }
        return names
    }
}
