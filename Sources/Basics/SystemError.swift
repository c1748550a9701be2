public import Glibc

/// An error of the system's, by its number.
public struct SystemError: Error, Equatable {
    /// The number (errno(3)).
    public let code: CInt

    /// The error of this number; that of the last system call by default.
    public init(_ code: CInt = errno) { self.code = code }

    /// What strerror(3) says of it.
    public var text: String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }
}
