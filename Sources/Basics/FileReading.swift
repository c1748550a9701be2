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
    /// - Parameter limit: as for a path.
    /// - Throws: why it can't be read.
    public static func contents(of descriptor: CInt, upTo limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: max(1, min(limit, 1 << 16)))
        while bytes.count < limit {
            let count = read(descriptor, &chunk, min(chunk.count, limit &- bytes.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError() }
            if count == 0 { break }
            bytes += chunk[..<count]
        }
        return bytes
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
