import CLinux
import Glibc

/// A regular file, open for reading.
///
/// Owns the descriptor, and closes it when it goes out of scope.
public struct OpenFile: ~Copyable, Sendable {
    /// Borrowed: valid as long as the file is.
    public let descriptor: CInt
    /// The file's state when it was opened.
    public let identity: FileIdentity

    /// Takes the descriptor over, also where it refuses it.
    ///
    /// - Throws: `notRegularFile`, or the error of fstat(2).
    init(owning descriptor: CInt) throws(FileRefusal) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let code = errno
            close(descriptor)
            throw FileRefusal(errno: code)
        }
        guard FileKind(status) == .regular else {
            close(descriptor)
            throw .notRegularFile(FileKind(status))
        }
        self.descriptor = descriptor
        identity = FileIdentity(status)
    }

    /// Opens a regular file by a path whose links are followed: for files that the proxy's user names, and never for a
    /// path that a request has brought.
    ///
    /// - Throws: `notRegularFile`, or the error of open(2).
    public init(following path: String) throws(FileRefusal) {
        guard !path.utf8.contains(0) else { throw .invalidName }
        // Without O_NONBLOCK opening a named pipe would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileRefusal(errno: errno) }
        try self.init(owning: descriptor)
    }

    /// A file in memory that has these bytes, and no name. (memfd_create(2))
    ///
    /// - Throws: the error of the system, mostly that there is no memory.
    public init(holding bytes: [UInt8]) throws(FileRefusal) {
        let opened = linux_memfd()
        guard opened >= 0 else { throw FileRefusal(errno: -opened) }
        let code = bytes.withUnsafeBytes { OpenFile.write($0, to: opened) }
        guard code == 0 else {
            close(opened)
            throw FileRefusal(errno: code)
        }
        try self.init(owning: opened)
    }

    /// - Returns: an error number of the C library, or 0.
    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) -> CInt {
        var done = 0
        while done < bytes.count {
            let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? ENOSPC : errno }
            done += count
        }
        return 0
    }

    /// The same open file once more. (fcntl(2), F_DUPFD_CLOEXEC)
    ///
    /// - Throws: the error of fcntl(2).
    public init(again other: borrowing OpenFile) throws(FileRefusal) {
        let duplicate = fcntl(other.descriptor, F_DUPFD_CLOEXEC, 0)
        guard duplicate >= 0 else { throw FileRefusal(errno: errno) }
        try self.init(owning: duplicate)
    }

    deinit { close(descriptor) }

    /// Hands the descriptor over; to close it is the caller's from here on.
    public consuming func takeDescriptor() -> CInt {
        let descriptor = descriptor
        discard self
        return descriptor
    }

    /// The file's state now (fstat(2)).
    ///
    /// - Throws: the error of fstat(2).
    public func currentIdentity() throws(FileRefusal) -> FileIdentity {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileRefusal(errno: errno) }
        return FileIdentity(status)
    }

    /// Reads up to `buffer.count` bytes from `offset` on (pread(2)).
    ///
    /// - Returns: how many bytes were read; 0 at the end of the file.
    /// - Throws: the error of pread(2), but for EINTR.
    public func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(FileRefusal) -> Int {
        try retryingRead(descriptor, buffer, offset, by: systemRead)
    }
}

/// Reads at an offset: descriptor, where to, offset → bytes read, or the negated errno.
///
/// pread(2), except in tests that play the kernel.
typealias PositionedRead = @Sendable (CInt, UnsafeMutableRawBufferPointer, Int) -> Int

let systemRead: PositionedRead = { descriptor, buffer, offset in
    let count = pread(descriptor, buffer.baseAddress, buffer.count, offset)
    return count < 0 ? -Int(errno) : count
}

/// Reads at an offset, again where a signal came between.
///
/// - Throws: the error that `read` gives, but for EINTR.
func retryingRead(
    _ descriptor: CInt, _ buffer: UnsafeMutableRawBufferPointer, _ offset: Int, by read: PositionedRead
) throws(FileRefusal) -> Int {
    while true {
        let count = read(descriptor, buffer, offset)
        if count >= 0 { return min(count, buffer.count) }
        guard count == -Int(EINTR) else { throw FileRefusal(errno: CInt(truncatingIfNeeded: -count)) }
    }
}
