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
    /// - Parameter mayBeFolder: whether it may be a folder.
    static func unreadableReason(_ path: String, mayBeFolder: Bool = false) -> String? {
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
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        return access(folder, W_OK | X_OK) == 0 ? nil : SystemError().text
    }
}

extension SystemError {
    /// What is said of an error that NIO reports, without the function that gave it.
    static func text(of error: any Error) -> String {
        (error as? IOError).map { SystemError($0.errnoCode).text } ?? "\(error)"
    }
}
