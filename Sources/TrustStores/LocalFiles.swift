import Basics
import Glibc

/// Reads and makes the files and folders that trust stores consist of.
enum LocalFiles {
    /// What strerror(3) says of an error number.
    static func text(_ code: CInt) -> String { SystemError(code).text }

    static func isFile(_ path: String) -> Bool { kind(path) == S_IFREG }
    static func isFolder(_ path: String) -> Bool { kind(path) == S_IFDIR }

    private static func kind(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    /// The bytes of a regular file of at most 32 MiB; nil where it can't be read.
    static func contents(_ path: String) -> [UInt8]? {
        // Without O_NONBLOCK opening a named pipe would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= 32 << 20 else {
            return nil
        }
        let limit = 32 << 20
        guard let bytes = try? FileReading.contents(of: descriptor, upTo: limit + 1), bytes.count <= limit else {
            return nil
        }
        return bytes
    }

    /// The names in a folder but `.` and `..`, sorted; none where it can't be read.
    static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let bytes = withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            let name = String(decoding: bytes, as: UTF8.self)
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Makes a folder and those above it, with mode 0700; false where that fails (see `errno`).
    static func makeFolder(_ path: String) -> Bool {
        guard !isFolder(path) else { return true }
        if let slash = path.lastIndex(of: "/"), slash > path.startIndex {
            guard makeFolder(String(path[..<slash])) else { return false }
        }
        return mkdir(path, 0o700) == 0 || errno == EEXIST
    }

    /// Puts a new file in the place of what is there, whole or not at all.
    ///
    /// - Returns: 0, or the number of the error.
    static func replace(_ path: String, with bytes: [UInt8], mode: mode_t) -> CInt {
        let draft = "\(path).\(getpid()).new"
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600 as mode_t)
        guard descriptor >= 0 else { return errno }
        var code: CInt = 0
        var rest = bytes[...]
        while code == 0, !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno != EINTR { code = errno }
            rest = rest.dropFirst(max(0, count))
        }
        if code == 0, fchmod(descriptor, mode) != 0 || fsync(descriptor) != 0 { code = errno }
        close(descriptor)
        if code == 0, rename(draft, path) != 0 { code = errno }
        if code != 0 { unlink(draft) }
        return code
    }
}
