import Archives
import Basics
import Files
import Glibc

/// What a path leads to.
public enum MappedKind: Sendable, Equatable {
    case file, folder
    /// The path is a symbolic link, or goes through one below the folder.
    case symbolicLink
    /// A device, a socket, a named pipe.
    case other
}

/// Why a map file can't be read.
public enum MapFileError: Error, Sendable, Equatable {
    case missing, isFolder, isNoRegularFile, unreadable
    /// It has more bytes than the limit.
    case tooLarge(limit: Int)
    /// The C library's error number.
    case system(Int32)

    /// What an error number of the C library says of a file (errno(3)).
    public init(errno number: Int32) {
        switch number {
        case ENOENT, ENOTDIR: self = .missing
        case EACCES, EPERM: self = .unreadable
        case EISDIR: self = .isFolder
        default: self = .system(number)
        }
    }

    /// What follows "the file …" in a message.
    var explanation: String {
        switch self {
        case .missing: "does not exist"
        case .isFolder: "is a folder; a map is a file"
        case .isNoRegularFile: "is no regular file"
        case .unreadable: "can't be read: permission denied"
        case .tooLarge(let limit): "has more than \(limit) bytes, the most that is read"
        case .system(let number): "can't be read: \(SystemError(number).text)"
        }
    }
}

/// A map file's bytes and what is noticed about it.
public struct MapFileContents: Sendable, Equatable {
    public var bytes: [UInt8]
    /// Whether every user of the machine may change it.
    public var isWorldWritable: Bool

    public init(bytes: [UInt8], isWorldWritable: Bool = false) {
        self.bytes = bytes
        self.isWorldWritable = isWorldWritable
    }
}

/// How maps and the files that they name are seen; a test gives one of its own.
public struct MapFileSystem: Sendable {
    /// Reads a file of at most so many bytes.
    public var read: @Sendable (_ path: String, _ limit: Int) -> Result<MapFileContents, MapFileError>
    /// What a path leads to below a folder; nil where nothing is.
    public var kind: @Sendable (_ root: String, _ path: [UInt8]) -> MappedKind?
    /// A path made absolute.
    public var absolutePath: @Sendable (_ path: String) -> String
    /// The same text for all paths that lead to the same file.
    public var identity: @Sendable (_ absolutePath: String) -> String
    /// Whether a file is an archive and no map. The default knows none.
    public var isArchive: @Sendable (_ absolutePath: String) -> Bool = { _ in false }

    public init(
        read: @escaping @Sendable (_ path: String, _ limit: Int) -> Result<MapFileContents, MapFileError>,
        kind: @escaping @Sendable (_ root: String, _ path: [UInt8]) -> MappedKind?,
        absolutePath: @escaping @Sendable (_ path: String) -> String,
        identity: @escaping @Sendable (_ absolutePath: String) -> String
    ) {
        self.read = read
        self.kind = kind
        self.absolutePath = absolutePath
        self.identity = identity
    }

    /// The machine's own. (libc: `open`, `fstat`, `read`, `stat`, `getcwd`, `realpath`.)
    public static let system: MapFileSystem = {
        var system = withoutArchives
        system.isArchive = { path in
            guard let file = try? ArchiveFile(path: path) else { return false }
            return ArchiveInput(file, name: path).isArchive
        }
        return system
    }()

    private static let withoutArchives = MapFileSystem(
        read: SystemFiles.read, kind: SystemFiles.kind,
        absolutePath: { path in PathText.joined(SystemFiles.currentFolder(), path) },
        identity: SystemFiles.identity)
}

/// The functions behind ``MapFileSystem/system``.
private enum SystemFiles {
    @Sendable
    static func read(_ path: String, limit: Int) -> Result<MapFileContents, MapFileError> {
        // Without O_NONBLOCK opening a named pipe would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return .failure(MapFileError(errno: errno)) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return .failure(MapFileError(errno: errno)) }
        switch kind(status) {
        case .file: break
        case .folder: return .failure(.isFolder)
        case .other, .symbolicLink: return .failure(.isNoRegularFile)
        }
        guard Int(status.st_size) <= limit else { return .failure(.tooLarge(limit: limit)) }
        do {
            let bytes = try FileReading.contents(of: descriptor, upTo: limit &+ 1, expecting: Int(status.st_size))
            guard bytes.count <= limit else { return .failure(.tooLarge(limit: limit)) }
            return .success(MapFileContents(bytes: bytes, isWorldWritable: status.st_mode & S_IWOTH != 0))
        } catch {
            return .failure(MapFileError(errno: error.code))
        }
    }

    @Sendable
    static func kind(_ root: String, _ path: [UInt8]) -> MappedKind? {
        var status = stat()
        var full: [UInt8] = []
        full.reserveCapacity(root.utf8.count + path.count + 2)
        full += root.utf8
        full.append(UInt8(ascii: "/"))
        full += path
        var error = look(at: full, &status)
        // A slash at the end asks for a folder; what stands there may be something else.
        if error == ENOTDIR {
            while full.count > 1, full.last == UInt8(ascii: "/") { full.removeLast() }
            error = look(at: full, &status)
        }
        if passesLink(root, path) { return .symbolicLink }
        return error == 0 ? kind(status) : nil
    }

    /// - Returns: an error number of the C library, or 0.
    private static func look(at path: [UInt8], _ status: inout stat) -> Int32 {
        let result = (path + [0]).withUnsafeBytes { bytes -> Int32 in
            guard let path = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return -1 }
            return stat(path, &status)
        }
        return result == 0 ? 0 : errno
    }

    /// Whether a component of a path below a folder is a symbolic link, which ``FolderRoot`` does not follow.
    private static func passesLink(_ root: String, _ path: [UInt8]) -> Bool {
        var status = stat()
        var partial = Array(root.utf8)
        for component in path.split(separator: UInt8(ascii: "/")) {
            partial.append(UInt8(ascii: "/"))
            partial += component
            partial.append(0)
            let result = partial.withUnsafeBytes { bytes -> Int32 in
                guard let path = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return -1 }
                return lstat(path, &status)
            }
            guard result == 0 else { return false }
            if status.st_mode & S_IFMT == S_IFLNK { return true }
            partial.removeLast()
        }
        return false
    }

    private static func kind(_ status: stat) -> MappedKind {
        switch status.st_mode & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .folder
        default: .other
        }
    }

    static func currentFolder() -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let path = getcwd(buffer.baseAddress, buffer.count) else { return "/" }
            // A name that is not UTF-8 can't be written as text; this leads to the same folder.
            return String(validatingCString: path) ?? "/proc/self/cwd"
        }
    }

    @Sendable
    static func identity(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}

/// Paths as text: joined and shortened without a look at the disk.
enum PathText {
    /// `path` as seen from `folder`: `path` itself if it is absolute.
    static func joined(_ folder: String, _ path: String) -> String {
        if path.utf8.first == UInt8(ascii: "/") { return simplified(path) }
        return folder.isEmpty ? simplified(path) : simplified(folder + "/" + path)
    }

    /// The folder that a file is in; empty for one without a `/`.
    static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    /// What stands behind the last `/`.
    static func lastComponent(_ path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }

    /// Without `.`, without `//`. A `..` stays, since the folder before it may be a symbolic link.
    private static func simplified(_ path: String) -> String {
        let isAbsolute = path.utf8.first == UInt8(ascii: "/")
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
            .filter { !$0.elementsEqual(".".utf8) }
            .map { String(decoding: $0, as: UTF8.self) }
        return (isAbsolute ? "/" : "") + parts.joined(separator: "/")
    }
}
