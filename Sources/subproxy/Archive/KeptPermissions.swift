import Glibc

/// The permissions of what is replaced, which what takes its place has too.
enum KeptPermissions {
    /// Gives a file or folder the mode and the group of another one, and if this is root its owner.
    ///
    /// - Parameters:
    ///   - old: what is replaced; where it is not there, nothing is done.
    ///   - new: what this program has just made.
    static func copy(from old: String, to new: String) {
        var (before, after) = (stat(), stat())
        guard stat(old, &before) == 0 else { return }
        // By its descriptor, and what this user has just made alone: who may write to the folder, too, could put
        // another file there, or a link to one.
        let descriptor = open(new, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard fstat(descriptor, &after) == 0, after.st_uid == geteuid() else { return }
        let isFolder = after.st_mode & S_IFMT == S_IFDIR
        guard isFolder || after.st_nlink == 1 else { return }
        var mode = before.st_mode & (isFolder ? 0o7777 : 0o777)
        if fchown(descriptor, before.st_uid, before.st_gid) != 0, fchown(descriptor, uid_t.max, before.st_gid) != 0 {
            // Who is in either group, or in none, may do what both the group and all others might.
            let common = mode & (mode >> 3) & 0o007
            mode = mode & ~0o077 | common << 3 | common
        }
        fchmod(descriptor, mode)
    }
}
