import Glibc
import Recorder

/// The lock of a file that recorders append to (flock(2)).
final class FileLock: Sendable {
    private let descriptor: CInt

    /// - Returns: nil where there is no file.
    /// - Throws: ``RecorderFailure/busy`` where another recorder has it.
    init?(_ path: String) throws(RecorderFailure) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .busy }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
