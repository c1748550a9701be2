import Glibc

/// The certificate authority's folder, open, and checked to be one whose files only its owner can replace.
final class AuthorityFolderDescriptor {
    let path: String
    let descriptor: CInt

    /// Opens the folder; makes it, and those above it, with mode 0700 where they are missing.
    ///
    /// - Throws: ``AuthorityFailure`` where it can't be made or opened, or others can replace its files.
    static func making(_ path: String) throws(AuthorityFailure) -> AuthorityFolderDescriptor {
        let isNew = try make(path)
        guard let folder = try AuthorityFolderDescriptor(path) else { throw failure("\(path) can't be opened", ENOENT) }
        // The umask may have taken the owner's own rights away.
        if isNew, fchmod(folder.descriptor, 0o700) != 0 { throw failure("\(path) can't be made private", errno) }
        return folder
    }

    /// Opens the folder; nil where there is none.
    ///
    /// - Throws: ``AuthorityFailure`` where it can't be opened, or others can replace its files.
    init?(_ path: String) throws(AuthorityFailure) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let code = errno
            if code == ENOENT { return nil }
            throw AuthorityFolderDescriptor.failure("\(path) can't be opened", code)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw AuthorityFolderDescriptor.failure("\(path) can't be examined", errno)
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw AuthorityFailure(
                .foreignOwner, "\(path) belongs to another user (\(status.st_uid), not \(geteuid()))",
                advice: "run this as that user, or choose another folder with --ca-dir")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw AuthorityFailure(
                .exposed, "others can replace files in \(path) (mode 0\(String(status.st_mode & 0o7777, radix: 8)))",
                advice: "run `chmod 700 \(path)`, or choose another folder with --ca-dir")
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether this is the only process that holds the folder's lock; it is held until this object's end.
    func tryLock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    /// Makes the names in the folder last through a power cut.
    ///
    /// - Throws: ``AuthorityFailure`` with the error of fsync(2), but for file systems that can't sync a folder.
    func sync() throws(AuthorityFailure) {
        // Some file systems can't sync a folder and say so; there is nothing else to be done on them.
        guard fsync(descriptor) != 0 else { return }
        let code = errno
        if code != EINVAL, code != EROFS { throw failure("\(path) can't be synced", code) }
    }

    /// The names in the folder, read through a descriptor of its own, since reading moves the position.
    ///
    /// - Throws: ``AuthorityFailure`` where the folder can't be read.
    func names() throws(AuthorityFailure) -> [String] {
        let own = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard own >= 0 else { throw failure("\(path) can't be read", errno) }
        guard let stream = fdopendir(own) else {
            let code = errno
            close(own)
            throw failure("\(path) can't be read", code)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names
    }

    func failure(_ message: String, _ code: CInt) -> AuthorityFailure {
        AuthorityFolderDescriptor.failure(message, code)
    }

    private static func failure(_ message: String, _ code: CInt) -> AuthorityFailure {
        let reason = strerror(code).map { String(cString: $0) } ?? "error \(code)"
        return AuthorityFailure(.system, "\(message): \(reason)", advice: "choose another folder with --ca-dir")
    }

    /// Makes a folder and those above it; whether the folder itself is new.
    private static func make(_ path: String) throws(AuthorityFailure) -> Bool {
        // The second time the folder above is there, or there is an error to report.
        for isSecond in [false, true] {
            if mkdir(path, 0o700) == 0 { return true }
            let code = errno
            if code == EEXIST { return false }
            guard code == ENOENT, !isSecond, let above = parent(path) else {
                throw failure("the folder \(path) can't be made", code)
            }
            if try make(above) { chmod(above, 0o700) }
        }
        return false
    }

    private static func parent(_ path: String) -> String? {
        var bytes = Array(path.utf8)
        while bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")), slash > 0 else { return nil }
        return String(decoding: bytes[..<slash], as: UTF8.self)
    }
}
