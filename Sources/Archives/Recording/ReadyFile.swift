import Basics
import Crypto
import Glibc

/// A file without a name that has a body, which can become one of a recording's.
public struct ReadyFile {
    /// Open for reading.
    let descriptor: CInt
    let count: Int
    let digest: BodyDigest

    /// - Parameter digest: that of all of its bytes.
    public init(descriptor: CInt, count: Int, digest: BodyDigest) {
        self.descriptor = descriptor
        self.count = count
        self.digest = digest
    }

    func forEachPiece(_ body: ([UInt8]) throws(SystemError) -> Void) throws(SystemError) {
        var position = 0
        while position < count {
            var bytes = [UInt8](repeating: 0, count: min(count - position, 1 << 18))
            let result = pread(descriptor, &bytes, bytes.count, off_t(position))
            if result < 0, errno == EINTR { continue }
            guard result > 0 else { throw result == 0 ? SystemError(EIO) : SystemError() }
            try body(Array(bytes.prefix(result)))
            position += result
        }
    }
}

/// What tells a recording's files apart, taken along as the bytes come.
public struct BodyDigest: Sendable {
    private var digest = SHA256()

    public init() {}

    public mutating func update(_ bytes: UnsafeRawBufferPointer) { digest.update(bufferPointer: bytes) }

    var value: [UInt8] { Array(digest.finalize()) }
}
