import Basics
import Glibc

extension FolderRoot {
    /// The absolute path of a name in a folder below the root, with no symbolic link on it, for programs that open
    /// files by their path. Does file I/O.
    ///
    /// - Throws: Why nothing can be looked up there. The name itself may not exist.
    public func location(of relativePath: [UInt8]) throws(FileRefusal) -> String {
        let path = try RelativePath(relativePath)
        let directory = try directory(of: path)
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = target.withUnsafeMutableBytes { buffer in
            buffer.baseAddress.map { start in
                readlink(
                    "/proc/self/fd/\(directory.descriptor)", start.assumingMemoryBound(to: CChar.self), buffer.count)
            } ?? 0
        }
        guard count > 0 else { throw FileRefusal(errno: errno) }
        let name = path.name().prefix { $0 != 0 }
        return String(decoding: target[..<count] + [UInt8(ascii: "/")] + name, as: UTF8.self)
    }

    /// The bytes of a regular file. Does file I/O.
    ///
    /// - Throws: Why it is not given out. Of a longer file the first `limit` bytes are read.
    public func contents(of relativePath: [UInt8], upTo limit: Int) throws(FileRefusal) -> [UInt8] {
        try read(relativePath, upTo: limit).bytes
    }

    /// The bytes of a regular file, and its state when it was opened. Does file I/O.
    ///
    /// - Throws: Why it is not given out. Of a longer file the first `limit` bytes are read.
    public func read(
        _ relativePath: [UInt8], upTo limit: Int
    ) throws(FileRefusal) -> (bytes: [UInt8], identity: FileIdentity) {
        let file = try open(relativePath)
        do throws(SystemError) {
            return (try FileReading.contents(of: file.descriptor, upTo: limit), file.identity)
        } catch {
            throw FileRefusal(errno: error.code)
        }
    }
}
