/// The place of a database's file, looked at as strictly as other files of a map.
public protocol DatabaseFile: Sendable {
    /// What messages call it.
    var name: String { get }

    /// Looks at the file, without opening it. Blocks.
    ///
    /// - Throws: Why nobody gets it.
    func look() throws(DatabaseFileProblem) -> DatabaseFileLook

    /// The path to open it by: absolute, with no symbolic link on it. Blocks.
    ///
    /// - Throws: Why nobody gets it.
    func path() throws(DatabaseFileProblem) -> String
}

/// What a look at a database's file tells of it.
public struct DatabaseFileLook: Sendable, Hashable {
    public var identity: DatabaseFileIdentity
    public var stamp: DatabaseFileStamp

    public init(_ identity: DatabaseFileIdentity, _ stamp: DatabaseFileStamp) {
        self.identity = identity
        self.stamp = stamp
    }
}

/// What of a file changes whenever somebody writes to it.
public struct DatabaseFileStamp: Sendable, Hashable {
    /// Bytes.
    public var size: Int64
    /// Nanoseconds since 1970.
    public var modified: Int64
    /// The same, of what no program can set.
    public var changed: Int64

    public init(size: Int64, modified: Int64, changed: Int64) {
        self.size = size
        self.modified = modified
        self.changed = changed
    }
}

/// Which file stands at a path: another one has another identity.
public struct DatabaseFileIdentity: Sendable, Hashable {
    public var device: UInt64
    public var inode: UInt64
    /// When the file was made, in nanoseconds since 1970, since the inode of one that is gone is free for the next; 0
    /// where that was not asked for, or the file system doesn't keep it.
    public var birth: Int64

    public init(device: UInt64, inode: UInt64, birth: Int64 = 0) {
        self.device = device
        self.inode = inode
        self.birth = birth
    }
}

/// Why nobody gets a database's file.
public enum DatabaseFileProblem: Error, Sendable, Equatable {
    /// Nothing stands at the path.
    case missing
    /// What stands there isn't given out, such as a symbolic link.
    case refused(String)
}
