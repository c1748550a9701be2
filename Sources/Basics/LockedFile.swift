public import Glibc

/// Opens files that one program at a time may write, with their lock (flock(2)).
public enum LockedFile {
    /// How often a file may be replaced while it is opened.
    private static let mostReplaced = 100
    /// How often the lock is asked for, a millisecond apart.
    private static let mostAttempts = 20

    /// Opens a file and locks it. The lock is that of the file which has this name once it is held: one that was
    /// replaced (rename(2)) or removed before that is left to itself.
    ///
    /// - Parameters:
    ///   - path: below `folder`, unless it is absolute.
    ///   - folder: a descriptor; the working directory by default.
    ///   - flags: of open(2); O_CLOEXEC and O_NOFOLLOW are added.
    ///   - mode: of a file that is made.
    ///   - opened: called before the lock is asked for; for tests.
    /// - Throws: why it can't be opened or locked; EWOULDBLOCK where another one has the lock.
    public static func open(
        _ path: String, in folder: CInt = AT_FDCWD, flags: CInt, mode: mode_t = 0, opened: () -> Void = {}
    ) throws(SystemError) -> CInt {
        for _ in 0..<mostReplaced {
            let descriptor = openat(folder, path, flags | O_CLOEXEC | O_NOFOLLOW, mode)
            guard descriptor >= 0 else { throw SystemError() }
            opened()
            do throws(SystemError) {
                if try lock(descriptor, path, in: folder) { return descriptor }
            } catch {
                close(descriptor)
                throw error
            }
            close(descriptor)
        }
        throw SystemError(EWOULDBLOCK)
    }

    /// - Returns: whether the file that is locked now has its name still.
    private static func lock(_ descriptor: CInt, _ path: String, in folder: CInt) throws(SystemError) -> Bool {
        var attempts = 0
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            // Who only asks whether the file is locked has the lock for a moment.
            guard errno == EWOULDBLOCK, attempts < mostAttempts else { throw SystemError() }
            attempts += 1
            usleep(1000)
        }
        return try hasName(descriptor, path, in: folder)
    }

    /// Whether a file that is open is the one that has this name: it was neither removed, nor moved, nor replaced.
    ///
    /// - Parameter folder: a descriptor, which the path is below; the working directory by default.
    /// - Throws: why that can't be found out.
    public static func hasName(
        _ descriptor: CInt, _ path: String, in folder: CInt = AT_FDCWD
    ) throws(SystemError) -> Bool {
        var opened = stat()
        var named = stat()
        guard fstat(descriptor, &opened) == 0 else { throw SystemError() }
        guard fstatat(folder, path, &named, AT_SYMLINK_NOFOLLOW) == 0 else {
            guard errno == ENOENT || errno == ENOTDIR else { throw SystemError() }
            return false
        }
        return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    /// Whether another program has the lock of a file; false where there is no file, or none that can be opened.
    public static func isLocked(_ path: String) -> Bool {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Shared, so that programs that only ask don't see each other.
        while flock(descriptor, LOCK_SH | LOCK_NB) != 0 {
            guard errno == EINTR else { return errno == EWOULDBLOCK }
        }
        return false
    }
}
