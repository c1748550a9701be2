import Glibc

/// Removes folders with all that is in them.
public enum FolderRemoval {
    /// As many as a path has room for (PATH_MAX).
    private static let deepest = 2048

    /// Removes a file, or a folder with all in it; links are removed, not followed.
    ///
    /// - Returns: whether nothing is left.
    @discardableResult
    public static func remove(_ path: String) -> Bool { remove(path, depth: 0) }

    private static func remove(_ path: String, depth: Int) -> Bool {
        if unlink(path) == 0 || errno == ENOENT { return true }
        guard errno == EISDIR || errno == EPERM, depth < deepest else { return false }
        for name in names(in: path) where !remove("\(path)/\(name)", depth: depth + 1) { return false }
        return rmdir(path) == 0 || errno == ENOENT
    }

    /// The names in a folder, `.` and `..` left out; none where it can't be read.
    public static func names(in path: String) -> [String] {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        guard let folder = fdopendir(descriptor) else {
            close(descriptor)
            return []
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
