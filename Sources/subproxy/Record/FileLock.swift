import Basics
import Glibc
import Recorder

/// The lock of a file that recorders append to (flock(2)).
final class FileLock: Sendable {
    private let descriptor: CInt

    /// - Returns: nil where there is no file.
    /// - Throws: ``RecorderFailure/busy`` where another recorder has it; else why it can't be locked.
    init?(_ path: String) throws(RecorderFailure) {
        do throws(SystemError) {
            descriptor = try FileLock.open(path)
        } catch {
            guard error.code != ENOENT, error.code != ENOTDIR else { return nil }
            throw RecorderFailure(locking: error, path)
        }
    }

    /// On a file system of the network only who may write a file may lock it; one that may only be read has no writers.
    private static func open(_ path: String) throws(SystemError) -> CInt {
        do throws(SystemError) {
            return try LockedFile.open(path, flags: O_RDWR)
        } catch {
            guard error.code == EACCES || error.code == EROFS else { throw error }
            return try LockedFile.open(path, flags: O_RDONLY)
        }
    }

    deinit { close(descriptor) }
}
