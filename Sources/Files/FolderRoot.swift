import CLinux
import Glibc
import Synchronization

/// The folder that a map's local files are found in.
///
/// Paths below it are exact bytes, and lead to regular files inside it alone: `..`, an absolute path and a symbolic
/// link at any level are refused. The folder's own path may go through links. It is opened at first need, and again
/// when another folder has taken its place. All functions do blocking file I/O. (openat2(2), openat(2).)
public final class FolderRoot: Sendable {
    /// As given; relative ones count from the working directory.
    public let path: String

    private let opened = Mutex<Opened?>(nil)
    private let usesOpenat2: Atomic<Bool>
    /// The folders below that files were loaded from, by their paths; all are forgotten where they become too many.
    private let known = Mutex<[[UInt8]: KnownFolder]>([:])
    private static let knownAtMost = 16_384

    private struct Opened {
        let directory: DirectoryDescriptor
        let device: UInt64
        let inode: UInt64
    }

    public convenience init(path: String) { self.init(path: path, usesOpenat2: true) }

    /// - Parameter usesOpenat2: whether the kernel resolves paths in one call; else each component is looked up by
    ///   itself, as it is where the call is not there or forbidden.
    init(path: String, usesOpenat2: Bool) {
        self.path = path
        self.usesOpenat2 = Atomic(usesOpenat2)
    }

    /// Opens a regular file.
    ///
    /// - Throws: ``FileRefusal`` where the path leads to no regular file in the folder, or it can't be opened.
    public func open(_ relativePath: [UInt8]) throws(FileRefusal) -> OpenFile {
        let path = try RelativePath(relativePath)
        try refuseFolder(path)
        return try directory(of: path).open(path.name())
    }

    /// The state of a regular file, which is not opened.
    ///
    /// - Throws: ``FileRefusal`` where the path leads to no regular file in the folder.
    public func identity(of relativePath: [UInt8]) throws(FileRefusal) -> FileIdentity {
        let path = try RelativePath(relativePath)
        try refuseFolder(path)
        return try directory(of: path).identity(of: path.name())
    }

    /// What stands at a path, a symbolic link not followed; nil where nothing does or it can't be seen.
    public func kind(of relativePath: [UInt8]) -> FileKind? {
        guard let path = try? RelativePath(relativePath),
            let status = try? directory(of: path).status(of: path.name())
        else { return nil }
        let kind = FileKind(status)
        return path.mustBeDirectory && kind != .directory ? nil : kind
    }

    /// The folder that the last component of a path is to be looked up in.
    ///
    /// - Throws: ``FileRefusal`` where a folder on the way is missing, a link or not to be opened.
    func directory(of path: RelativePath) throws(FileRefusal) -> DirectoryDescriptor {
        let root = try directory()
        guard let parent = path.parent else { return root }
        guard usesOpenat2.load(ordering: .relaxed) else { return try root.descend(parent) }
        let flags = linux_o_path | O_DIRECTORY | O_CLOEXEC
        // EAGAIN: the kernel could not exclude that a rename let the look-up escape.
        for _ in 0..<8 {
            let descriptor = parent.withCString {
                linux_openat2(root.descriptor, $0, flags, linux_resolve_strictly_beneath())
            }
            if descriptor >= 0 { return DirectoryDescriptor(owning: descriptor) }
            switch -descriptor {
            case EAGAIN, EINTR: continue
            case ENOSYS, EPERM:
                // A kernel before 5.6, or a seccomp filter that does not know the call.
                usesOpenat2.store(false, ordering: .relaxed)
                return try root.descend(parent)
            case let code: throw FileRefusal(errno: code)
            }
        }
        throw .io(errno: EAGAIN)
    }

    /// The folder of a file, as all files of it share it.
    func knownFolder(of path: RelativePath) -> KnownFolder {
        guard let parent = path.parent else { return ownFolder }
        return known.withLock { known in
            if let folder = known[parent] { return folder }
            if known.count >= FolderRoot.knownAtMost { known.removeAll() }
            let folder = KnownFolder(root: self, path: parent)
            known[parent] = folder
            return folder
        }
    }

    /// The root itself, as event loops look at it.
    var ownFolder: KnownFolder {
        known.withLock { known in
            if let folder = known[[]] { return folder }
            let folder = KnownFolder(root: self, path: nil)
            known[[]] = folder
            return folder
        }
    }

    /// Looks, without waiting, whether the root's path still leads to the folder that is open.
    ///
    /// - Returns: nil where the kernel would have to wait, or it leads elsewhere: what files the root has is for a
    ///   look that may wait to say.
    func cachedLook(at now: UInt64) -> KnownFolder.Look? {
        guard usesOpenat2.load(ordering: .relaxed), let held = opened.withLock({ $0 }),
            let identity = path.withCString({ CachedState.of($0, in: AT_FDCWD, flags: O_DIRECTORY, resolve: 0) }),
            identity.device == held.device, identity.inode == held.inode
        else { return nil }
        return KnownFolder.Look(identity: identity, root: held.directory, time: now)
    }

    /// Refuses a path that ends in `/`, which leads to no file.
    ///
    /// - Throws: ``FileRefusal`` for a path that ends in `/`, by what it leads to.
    func refuseFolder(_ path: RelativePath) throws(FileRefusal) {
        guard path.mustBeDirectory else { return }
        switch FileKind(try directory(of: path).status(of: path.name())) {
        case .directory: throw .notRegularFile(.directory)
        case .symbolicLink: throw .symbolicLink
        default: throw .notFound
        }
    }

    /// The folder itself, opened again where its path leads to another one.
    private func directory() throws(FileRefusal) -> DirectoryDescriptor {
        guard !path.utf8.contains(0) else { throw .invalidName }
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileRefusal(errno: errno) }
        let device = UInt64(truncatingIfNeeded: status.st_dev)
        let inode = UInt64(truncatingIfNeeded: status.st_ino)
        // The open descriptor keeps the inode from being used again, so equal numbers are the same folder.
        let held = opened.withLock { $0 }
        if let held, held.device == device, held.inode == inode { return held.directory }
        let descriptor = Glibc.open(path, linux_o_path | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileRefusal(errno: errno) }
        let directory = DirectoryDescriptor(owning: descriptor)
        let fresh = FileIdentity(try directory.status(of: [0]))
        opened.withLock { $0 = Opened(directory: directory, device: fresh.device, inode: fresh.inode) }
        return directory
    }
}

extension DirectoryDescriptor {
    /// Opens a folder below this one a component at a time: what openat2(2) does in one call, with the same refusals.
    ///
    /// - Parameter path: a path that ``RelativePath`` has checked, with its NUL.
    /// - Throws: ``FileRefusal`` where a folder on the way is missing, a link or not to be opened.
    func descend(_ path: [UInt8]) throws(FileRefusal) -> DirectoryDescriptor {
        var current = self
        for component in path.dropLast().split(separator: UInt8(ascii: "/")) {
            let name = Array(component) + [0]
            let descriptor = name.withCString { [current] in
                openat(current.descriptor, $0, linux_o_path | O_NOFOLLOW | O_CLOEXEC)
            }
            guard descriptor >= 0 else { throw FileRefusal(errno: errno) }
            // Without O_DIRECTORY, which says ENOTDIR of a symbolic link too.
            let next = DirectoryDescriptor(owning: descriptor)
            switch FileKind(try next.status(of: [0])) {
            case .directory: current = next
            case .symbolicLink: throw .symbolicLink
            default: throw .notFound
            }
        }
        return current
    }
}
