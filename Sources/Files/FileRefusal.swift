import Glibc

/// Why a local file is not served.
///
/// The description is for a log; what a client is told is the caller's choice.
public enum FileRefusal: Error, Hashable, Sendable {
    /// No such file, or a component of its path that is no folder.
    case notFound
    case notRegularFile(FileKind)
    /// An absolute path, or one with `..`.
    case outsideRoot
    /// The file or a folder on the way to it is a symbolic link.
    case symbolicLink
    case permissionDenied
    /// A path with NUL, or one that the system finds too long or unfit for a name.
    case invalidName
    /// The process or the system has no descriptor left.
    case tooManyOpenFiles
    /// Each time that it was opened it was another one, or had been written to.
    case changing
    /// Any other error, by its errno(3).
    case io(errno: CInt)
}

extension FileRefusal {
    /// Translates an error of a system call that looks up, opens or reads.
    init(errno code: CInt) {
        switch code {
        case ENOENT, ENOTDIR: self = .notFound
        case ELOOP: self = .symbolicLink
        case EXDEV: self = .outsideRoot
        case EACCES, EPERM: self = .permissionDenied
        case ENAMETOOLONG, EILSEQ: self = .invalidName
        case EMFILE, ENFILE: self = .tooManyOpenFiles
        case EISDIR: self = .notRegularFile(.directory)
        case ENXIO: self = .notRegularFile(.socket)
        default: self = .io(errno: code)
        }
    }
}

extension FileRefusal {
    /// What it means for who asked: no file can have a name that is too long or unfit, so there is none.
    public var asAnswered: FileRefusal { self == .invalidName ? .notFound : self }
}

extension FileRefusal: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notFound: "no such file"
        case .notRegularFile(let kind): "not a regular file but \(kind)"
        case .outsideRoot: "the path leads out of the root folder"
        case .symbolicLink: "the path goes through a symbolic link"
        case .permissionDenied: "permission denied"
        case .invalidName: "not a valid file name"
        case .tooManyOpenFiles: "too many open files"
        case .changing: "it changes again and again"
        case .io(let code): "\(errnoText(code)) (errno \(code))"
        }
    }
}

/// What strerror(3) says of an error.
func errnoText(_ code: CInt) -> String {
    guard let text = strerror(code) else { return "unknown error" }
    return String(cString: text)
}
