import Basics
import NIOCore

extension SystemError {
    /// What is said of an error that NIO reports, without the function that gave it.
    static func text(of error: any Error) -> String {
        (error as? IOError).map { SystemError($0.errnoCode).text } ?? "\(error)"
    }
}
