import CLinux
import Glibc

/// An open folder in which single names are looked up; its path may lead elsewhere meanwhile.
///
/// Names are C strings without `/`, so the last step of a look-up can neither leave the folder nor follow a link.
final class DirectoryDescriptor: Sendable {
    let descriptor: CInt

    /// Takes the descriptor over, one of O_PATH.
    init(owning descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// What stands at a name, a symbolic link not followed; the folder itself for the empty name.
    ///
    /// - Throws: the error of fstatat(2).
    func status(of name: [UInt8]) throws(FileRefusal) -> stat {
        var status = stat()
        let result =
            name.count > 1
            ? name.withCString { fstatat(descriptor, $0, &status, AT_SYMLINK_NOFOLLOW) } : fstat(descriptor, &status)
        guard result == 0 else { throw FileRefusal(errno: errno) }
        return status
    }

    /// The state of a regular file; anything else is refused.
    ///
    /// - Throws: ``FileRefusal`` where there is no regular file of the name.
    func identity(of name: [UInt8]) throws(FileRefusal) -> FileIdentity {
        let status = try status(of: name)
        switch FileKind(status) {
        case .regular: return FileIdentity(status)
        case .symbolicLink: throw .symbolicLink
        case let kind: throw .notRegularFile(kind)
        }
    }

    /// Opens a regular file.
    ///
    /// Nothing else is ever opened, since opening a device can have effects: the name is looked at first. What is
    /// opened after all, because it was put there between the two steps, is refused; O_NONBLOCK keeps it from hanging.
    ///
    /// - Throws: ``FileRefusal`` where there is no regular file of the name, or it can't be opened.
    func open(_ name: [UInt8]) throws(FileRefusal) -> OpenFile {
        for _ in 0..<8 {
            let expected = try identity(of: name)
            let opened = name.withCString {
                openat(descriptor, $0, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC)
            }
            guard opened >= 0 else {
                let code = errno
                if code == EINTR || code == EAGAIN { continue }
                throw FileRefusal(errno: code)
            }
            let file = try OpenFile(owning: opened)
            if file.identity.isSameFile(as: expected) { return file }
        }
        throw .io(errno: EAGAIN)
    }
}

extension [UInt8] {
    /// Calls with the bytes as a C string; they end in NUL, as ``RelativePath`` makes them.
    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, bytes.last == 0 else { return body("") }
            return body(base.assumingMemoryBound(to: CChar.self))
        }
    }
}
