import Glibc
import NIOCore

/// Texts of the system's errors.
enum SystemError {
    /// What strerror(3) says of an error number.
    static func text(_ code: CInt) -> String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }

    /// The same for an error that NIO reports, without the function that gave it.
    static func text(of error: any Error) -> String {
        (error as? IOError).map { text($0.errnoCode) } ?? "\(error)"
    }
}
