import Glibc
public import NIOCore
import Synchronization

/// The content of an open file, read a piece at a time.
///
/// It may go on after the file was renamed, deleted or appended to; one that was cut short, or written to in its place,
/// ends in an error. All functions do blocking file I/O. (pread(2), posix_fadvise(2).)
public final class FileStream: Sendable {
    /// Borrowed, for sendfile(2): valid as long as the stream is.
    public let descriptor: CInt
    /// The file's state when it was opened.
    public let identity: FileIdentity
    /// The part of the content that ``next(maxBytes:)`` gives.
    public let range: Range<Int>

    private let position: Atomic<Int>
    private let read: PositionedRead
    /// Waits for a writer that has set the time of its writing, and not yet the new size.
    private let pause: @Sendable () -> Void

    /// - Parameter range: offsets into the file; the default is all of it as it is now.
    public convenience init(_ file: consuming OpenFile, range: Range<Int>? = nil) {
        self.init(file, range: range, read: systemRead)
    }

    init(
        _ file: consuming OpenFile, range: Range<Int>?, read: @escaping PositionedRead,
        pause: @escaping @Sendable () -> Void = { usleep(2000) }
    ) {
        self.pause = pause
        identity = file.identity
        let range = range ?? 0..<file.identity.size
        self.range = range.clamped(to: 0..<Int.max)
        position = Atomic(self.range.lowerBound)
        self.read = read
        descriptor = file.takeDescriptor()
    }

    deinit { close(descriptor) }

    /// Reads the next piece; nil at the end of the range, never more than the range has. One caller at a time.
    ///
    /// - Throws: `truncated` where the file ends before the range does; as ``bytes(at:maxBytes:)``.
    public func next(maxBytes: Int = 256 << 10) throws(FileStreamError) -> ByteBuffer? {
        let offset = position.load(ordering: .relaxed)
        let count = min(maxBytes, range.upperBound &- offset)
        guard count > 0 else { return nil }
        let piece = try bytes(at: offset, maxBytes: count)
        position.store(offset &+ piece.readableBytes, ordering: .relaxed)
        return piece
    }

    /// Reads one to `maxBytes` bytes from `offset` on.
    ///
    /// - Throws: `truncated` where the file ends at `offset` or before, `changed` where it is not as it was opened;
    ///   `io` with the error of pread(2).
    public func bytes(at offset: Int, maxBytes: Int) throws(FileStreamError) -> ByteBuffer {
        var buffer = ByteBuffer()
        guard maxBytes > 0 else { return buffer }
        let count = try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: maxBytes) {
            (space) throws(FileStreamError) -> Int in
            try readOnce(into: UnsafeMutableRawBufferPointer(rebasing: space.prefix(maxBytes)), at: offset)
        }
        guard count > 0 else { throw truncation(expected: offset &+ maxBytes) }
        // Behind the reading, so that what was read is of before.
        try check(upTo: offset &+ count)
        return buffer
    }

    /// Brings a part of the file into the page cache and makes sure that it is there, so that sendfile(2) of it does
    /// not wait for the disk.
    ///
    /// - Throws: `truncated` where the file has become too short for it, since sendfile(2) would give 0 there for ever;
    ///   `changed` where it is not as it was opened.
    public func prefetch(offset: Int, length: Int) throws(FileStreamError) {
        guard length > 0 else { return }
        let (end, overflow) = offset.addingReportingOverflow(length)
        try check(upTo: overflow ? .max : end)
        guard offset >= 0 else { throw .truncated(expected: end, found: identity.size) }
        // The kernel takes no more than a read-ahead window at a time, so all requests are put to it first. A byte of
        // each is read then, which waits for those that are under way.
        for start in stride(from: offset, to: end, by: FileStream.window) {
            posix_fadvise(descriptor, start, min(FileStream.window, end &- start), POSIX_FADV_WILLNEED)
        }
        for start in stride(from: offset, to: end, by: FileStream.window / 2) { try touch(start) }
        try touch(end &- 1)
    }

    /// Looks whether the content up to `end` is still that of the file as it was opened. What has grown was appended
    /// to, and other names, or none, make no difference, so the time of change doesn't count.
    private func check(upTo end: Int) throws(FileStreamError) {
        var now = try currentIdentity()
        if now.size == identity.size, now.modified != identity.modified {
            // Linux sets the time first, and the size when the bytes are there.
            pause()
            now = try currentIdentity()
        }
        guard end <= now.size else { throw .truncated(expected: end, found: now.size) }
        guard now.size > identity.size || now.size == identity.size && now.modified == identity.modified else {
            throw .changed
        }
    }

    private func currentIdentity() throws(FileStreamError) -> FileIdentity {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .io(errno: errno) }
        return FileIdentity(status)
    }

    /// The default read-ahead of a block device (read_ahead_kb in sysfs).
    private static let window = 128 << 10

    private func touch(_ offset: Int) throws(FileStreamError) {
        var byte: UInt8 = 0
        let count = try withUnsafeMutableBytes(of: &byte) { (space) throws(FileStreamError) -> Int in
            try readOnce(into: space, at: offset)
        }
        guard count > 0 else { throw truncation(expected: offset &+ 1) }
    }

    private func readOnce(
        into space: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(FileStreamError) -> Int {
        do {
            return try retryingRead(descriptor, space, offset, by: read)
        } catch .io(let code) {
            throw .io(errno: code)
        } catch {
            throw .io(errno: EIO)
        }
    }

    private func truncation(expected: Int) -> FileStreamError {
        do throws(FileStreamError) {
            return .truncated(expected: expected, found: try currentIdentity().size)
        } catch {
            return error
        }
    }
}

/// Why a file's content can't be read on; what was announced can't be sent whole.
public enum FileStreamError: Error, Hashable, Sendable {
    /// The file ends before the content that was announced: sizes in bytes.
    case truncated(expected: Int, found: Int)
    /// The file was written to since it was opened, so what follows may not belong to what was sent.
    case changed
    /// By its errno(3).
    case io(errno: CInt)
}

extension FileStreamError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .truncated(let expected, let found):
            "the file was cut short while it was sent: \(expected) bytes expected, \(found) found"
        case .changed: "the file was changed while it was sent"
        case .io(let code): "\(errnoText(code)) (errno \(code))"
        }
    }
}
