import Basics
import Glibc
import NIOCore

/// What this machine can be reached by.
enum LocalAddress {
    /// Whether ::1 can be listened on. (bind(2))
    static var hasIPv6: Bool {
        guard let address = try? SocketAddress(ipAddress: "::1", port: 0) else { return false }
        let descriptor = socket(AF_INET6, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return address.withSockAddr { bind(descriptor, $0, socklen_t($1)) == 0 }
    }
}

/// Files that options name.
enum LocalFile {
    /// Why a file can't be opened for reading; nil where it can.
    ///
    /// - Parameters:
    ///   - mayBeFolder: whether it may be a folder.
    ///   - mayBePipe: whether it may be a pipe, which is not opened: its writer would take that for the reader's end.
    ///     The default of both is false.
    static func unreadableReason(_ path: String, mayBeFolder: Bool = false, mayBePipe: Bool = false) -> String? {
        if mayBePipe, FileStatus(path)?.isPipe == true { return access(path, R_OK) == 0 ? nil : SystemError().text }
        // Without O_NONBLOCK opening a named pipe would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return SystemError().text }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return SystemError().text }
        if mayBeFolder, status.st_mode & S_IFMT == S_IFDIR { return nil }
        guard status.st_mode & S_IFMT == S_IFREG else { return "not a regular file" }
        return nil
    }
}

extension LocalFile {
    /// Why nothing can be written into the folder that a file is in; nil where it can. (access(2))
    static func unwritableReason(folderOf path: String) -> String? {
        access(folder(of: path), W_OK | X_OK) == 0 ? nil : SystemError().text
    }

    /// Writes a file that is not there yet.
    ///
    /// - Parameter mode: of the file, less the mask. The default is for its owner alone.
    /// - Returns: false with errno where that can't be done.
    static func make(_ path: String, _ bytes: [UInt8], mode: mode_t = 0o600) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { return false }
        guard StandardStream(descriptor: descriptor).write(bytes) else {
            let code = errno
            close(descriptor)
            errno = code
            return false
        }
        // A file system of the network may tell only now that its disk is full.
        return close(descriptor) == 0
    }

    /// The folder that a file is in.
    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Where links lead that have a path's name, also where nothing is there yet.
    static func place(of path: String) -> String {
        var path = path
        // As many as the kernel follows.
        for _ in 0..<40 {
            var link = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(path, &link, link.count)
            guard count > 0 else { break }
            let next = String(decoding: link[..<count], as: UTF8.self)
            path = next.hasPrefix("/") ? next : "\(folder(of: path))/\(next)"
        }
        return path
    }

    /// What it is called there.
    static func name(of path: String) -> Substring {
        path[(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)...]
    }
}

/// What the system says of a file that a path leads to (stat(2)).
struct FileStatus {
    private let status: stat

    /// - Parameter followsLinks: whether a link is what it leads to, and not itself. The default is true.
    /// - Returns: nil where there is none.
    init?(_ path: String, followsLinks: Bool = true) {
        var status = stat()
        guard fstatat(AT_FDCWD, path, &status, followsLinks ? 0 : AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        self.status = status
    }

    var isFile: Bool { status.st_mode & S_IFMT == S_IFREG }
    var isFolder: Bool { status.st_mode & S_IFMT == S_IFDIR }
    /// Whether it is a symbolic link, which is told where links are not followed.
    var isLink: Bool { status.st_mode & S_IFMT == S_IFLNK }
    var isPipe: Bool { status.st_mode & S_IFMT == S_IFIFO }
    var hasOtherNames: Bool { status.st_nlink > 1 }

    /// Whether two paths lead to one file, or one folder.
    func isSame(as other: FileStatus?) -> Bool {
        status.st_ino == other?.status.st_ino && status.st_dev == other?.status.st_dev
    }
}

extension SystemError {
    /// What is said of an error that NIO reports, without the function that gave it.
    static func text(of error: any Error) -> String {
        (error as? IOError).map { SystemError($0.errnoCode).text } ?? "\(error)"
    }
}
