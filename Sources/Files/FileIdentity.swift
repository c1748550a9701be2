import Glibc

/// What tells one state of a file from another without reading it: stat(2)'s answer.
///
/// The time of change can't be set by a program, so an edit that restores size and time of modification still shows.
public struct FileIdentity: Hashable, Sendable {
    public var device: UInt64
    public var inode: UInt64
    /// Bytes.
    public var size: Int
    /// When the content was last modified, or what touch(1) set.
    public var modified: FileTime
    /// When content or attributes last changed.
    public var changed: FileTime

    public init(device: UInt64, inode: UInt64, size: Int, modified: FileTime, changed: FileTime) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
    }

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
        size = max(0, Int(truncatingIfNeeded: status.st_size))
        modified = FileTime(status.st_mtim)
        changed = FileTime(status.st_ctim)
    }

    /// Whether both are states of the same file.
    func isSameFile(as other: FileIdentity) -> Bool { device == other.device && inode == other.inode }

    /// Whether a write that comes after `now` is sure to show in the identity.
    ///
    /// File times advance in steps, so a write shortly after another can bear the same time. A time without a fraction
    /// may come from a file system that counts whole seconds, or two. Times up to a minute ahead are a file server's
    /// whose clock runs fast; what is further ahead says nothing, and would be read again at each look for ever.
    ///
    /// - Parameter now: wall-clock nanoseconds, taken before the file is read.
    public func isSettled(at now: UInt64) -> Bool {
        let window: Int64 = changed.nanoseconds == 0 ? 2_000_000_000 : 50_000_000
        let age = Int64(clamping: now).subtractingReportingOverflow(changed.nanosecondsSinceEpoch)
        guard !age.overflow else { return true }
        return age.partialValue > window || age.partialValue < -60_000_000_000
    }

    /// Whether the file may have been changed at `time` or later, by the clock of files' times; where these count whole
    /// seconds, in the same one.
    func mayHaveChanged(since time: UInt64) -> Bool {
        let time = changed.nanoseconds == 0 ? time - time % 1_000_000_000 : time
        return changed.nanosecondsSinceEpoch >= Int64(clamping: time)
    }
}

/// A time that the file system gives.
public struct FileTime: Hashable, Comparable, Sendable {
    /// Unix seconds.
    public var seconds: Int64
    /// 0 to 999,999,999.
    public var nanoseconds: Int64

    public init(seconds: Int64, nanoseconds: Int64 = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    init(_ time: timespec) {
        seconds = Int64(time.tv_sec)
        nanoseconds = Int64(time.tv_nsec)
    }

    public static func < (lhs: FileTime, rhs: FileTime) -> Bool {
        (lhs.seconds, lhs.nanoseconds) < (rhs.seconds, rhs.nanoseconds)
    }

    /// Clamped to what 64 bits hold, which is the years 1678 to 2262.
    var nanosecondsSinceEpoch: Int64 {
        let scaled = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let sum = scaled.partialValue.addingReportingOverflow(nanoseconds)
        guard !scaled.overflow, !sum.overflow else { return seconds < 0 ? .min : .max }
        return sum.partialValue
    }

    /// Whether this time is more than `limit` seconds before the other.
    func isOlder(than other: FileTime, byMoreThan limit: Int64) -> Bool {
        let shifted = seconds.addingReportingOverflow(limit)
        guard !shifted.overflow else { return false }
        return FileTime(seconds: shifted.partialValue, nanoseconds: nanoseconds) < other
    }
}

/// What stands at a path (inode(7), "The file type and mode").
public enum FileKind: Hashable, Sendable {
    case regular, directory, symbolicLink, fifo, socket, characterDevice, blockDevice, unknown

    init(_ status: stat) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: self = .regular
        case S_IFDIR: self = .directory
        case S_IFLNK: self = .symbolicLink
        case S_IFIFO: self = .fifo
        case S_IFSOCK: self = .socket
        case S_IFCHR: self = .characterDevice
        case S_IFBLK: self = .blockDevice
        default: self = .unknown
        }
    }
}

extension FileKind: CustomStringConvertible {
    public var description: String {
        switch self {
        case .regular: "a regular file"
        case .directory: "a folder"
        case .symbolicLink: "a symbolic link"
        case .fifo: "a named pipe"
        case .socket: "a socket"
        case .characterDevice: "a character device"
        case .blockDevice: "a block device"
        case .unknown: "something unknown"
        }
    }
}
