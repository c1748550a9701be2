import Basics
import Glibc

/// A new file that is written from its beginning to its end.
final class FileSink {
    private let descriptor: CInt
    private var buffer: [UInt8] = []
    private var failure: SystemError?

    /// Makes the file; what is there already is an error.
    ///
    /// - Parameter isPrivate: whether nobody else may read it.
    init(_ path: String, isPrivate: Bool) throws(ConversionFailure) {
        let mode: mode_t = isPrivate ? 0o600 : 0o666
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else { throw .writing(SystemError().text) }
    }

    deinit { close(descriptor) }

    /// Takes bytes; that they can't be written, the next ``flush()`` says.
    func write(_ bytes: [UInt8]) {
        guard failure == nil else { return }
        buffer += bytes
        if buffer.count >= FileReading.pieceSize { writeBuffer() }
    }

    private func writeBuffer() {
        do throws(SystemError) {
            try RecordingFiles.write(buffer, to: descriptor)
        } catch {
            failure = error
        }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Writes what has been taken.
    func flush() throws(ConversionFailure) {
        writeBuffer()
        if let failure { throw .writing(failure.text) }
    }

    /// Writes what has been taken, and has it on the disk: what replaces another file is whole there before it does,
    /// and a server that has no room for it says so. (fsync(2))
    func finish() throws(ConversionFailure) {
        try flush()
        guard fsync(descriptor) == 0 else { throw .writing(SystemError().text) }
    }

    /// Whether writing has failed.
    var hasFailed: Bool { failure != nil }
}
