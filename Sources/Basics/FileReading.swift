public import Glibc

/// Reads files whole that are expected to be small.
public enum FileReading {
    /// Reads a file from its start.
    ///
    /// A named pipe that nobody writes to is empty; nothing is waited for.
    ///
    /// - Parameter limit: the most bytes that are returned; of a longer file they are the first ones. A caller that
    ///   refuses such a file gives one byte more than it takes.
    /// - Throws: why the file can't be opened or read.
    public static func contents(of path: String, upTo limit: Int) throws(SystemError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw SystemError() }
        defer { close(descriptor) }
        return try contents(of: descriptor, upTo: limit)
    }

    /// Reads a descriptor from where it stands to its end.
    ///
    /// - Parameters:
    ///   - limit: as for a path.
    ///   - size: how many bytes are expected, so that they are read into memory of that size; 0 where that is unknown.
    /// - Throws: why it can't be read.
    public static func contents(
        of descriptor: CInt, upTo limit: Int, expecting size: Int = 0
    ) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        // Room for one byte more than expected: whether it stays empty shows whether this is the end.
        var room = size > 0 ? size &+ 1 : pieceSize
        while bytes.count < limit {
            let count = min(room, limit &- bytes.count)
            let piece = try piece(of: descriptor, upTo: count, isFilled: true)
            if bytes.isEmpty { bytes = piece } else { bytes += piece }
            if piece.count < count { break }
            room = pieceSize
        }
        return bytes
    }

    /// Reads once from a descriptor, for a caller that waits before each reading (read(2)).
    ///
    /// - Returns: at most `count` bytes; none at the end.
    /// - Throws: why it can't be read, EAGAIN among that.
    public static func next(of descriptor: CInt, upTo count: Int = pieceSize) throws(SystemError) -> [UInt8] {
        try piece(of: descriptor, upTo: count, isFilled: false)
    }

    /// How much is read at a time where no size is known: 64 KiB.
    public static let pieceSize = 1 << 16

    /// - Parameter isFilled: whether to read on until there are `count` bytes, or the end has come.
    private static func piece(of descriptor: CInt, upTo count: Int, isFilled: Bool) throws(SystemError) -> [UInt8] {
        var failure: SystemError?
        let piece = [UInt8](unsafeUninitializedCapacity: count) { buffer, total in
            while total < count {
                let result = read(descriptor, buffer.baseAddress.map { $0 + total }, count &- total)
                if result < 0, errno == EINTR { continue }
                if result < 0 { failure = SystemError() }
                guard result > 0 else { return }
                total &+= result
                if !isFilled { return }
            }
        }
        if let failure { throw failure }
        return piece
    }
}

/// An error of the system's, by its number.
public struct SystemError: Error, Equatable {
    /// The number (errno(3)).
    public let code: CInt

    /// The error of this number; that of the last system call by default.
    public init(_ code: CInt = errno) { self.code = code }

    /// What strerror(3) says of it.
    public var text: String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }
}
