import CLinux
import Glibc

/// Which log stands beside a database: another one has another identity, even one that has got its inode.
///
/// The last connection that ends deletes the log, and the inode is free for the next file.
struct LogIdentity: Sendable, Hashable {
    var file: DatabaseFileIdentity
    /// When the file was made, in nanoseconds since 1970; nil where the file system doesn't keep it.
    var birth: Int64?

    init(file: DatabaseFileIdentity, birth: Int64?) {
        self.file = file
        self.birth = birth
    }

    /// The identity of what stands at a path; nil where nothing does. Blocks.
    ///
    /// - Parameter evenEmpty: whether a file without a byte is one too, as SQLite makes it before the first commit.
    init?(ofFile path: String, evenEmpty: Bool = true) {
        var status = stat()
        guard lstat(path, &status) == 0, evenEmpty || status.st_size > 0 else { return nil }
        let birth = linux_birth_time(path)
        self.init(
            file: DatabaseFileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)),
            birth: birth == 0 ? nil : birth)
    }
}

extension DatabaseFileIdentity {
    /// The same with when the file at a path was made. Blocks.
    func born(at path: String) -> DatabaseFileIdentity {
        DatabaseFileIdentity(device: device, inode: inode, birth: linux_birth_time(path))
    }
}
