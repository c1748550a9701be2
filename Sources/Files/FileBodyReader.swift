import NIOCore

/// Reads a whole file, and makes sure that the bytes are those of one state of it.
struct FileBodyReader: Sendable {
    /// The largest file that is read, in bytes.
    let limit: Int
    let read: PositionedRead

    struct Outcome {
        /// The file's state that the content belongs to.
        var identity: FileIdentity
        /// nil where the file is over the limit.
        var body: ByteBuffer?
        /// Whether the file stayed as it was while it was read.
        var isConsistent = true
    }

    /// Reads the file again as long as it changes meanwhile, four times at most; then returns what the last attempt
    /// read.
    ///
    /// - Throws: the error of pread(2) or fstat(2).
    func read(_ file: borrowing OpenFile) throws(FileRefusal) -> Outcome {
        var outcome = Outcome(identity: file.identity)
        for _ in 0..<4 {
            let size = outcome.identity.size
            guard size <= limit else { return Outcome(identity: outcome.identity) }
            let body = try content(of: file, size: size)
            let after = try file.currentIdentity()
            outcome.isConsistent = after == outcome.identity && body.readableBytes == size
            outcome.identity = after
            outcome.body = body
            if outcome.isConsistent { break }
        }
        return outcome
    }

    /// Reads up to `size` bytes; fewer where the file ends before.
    private func content(of file: borrowing OpenFile, size: Int) throws(FileRefusal) -> ByteBuffer {
        var body = ByteBufferAllocator().buffer(capacity: size)
        let descriptor = file.descriptor
        while body.readableBytes < size {
            let offset = body.readableBytes
            let missing = size &- offset
            let count = try body.writeWithUnsafeMutableBytes(minimumWritableBytes: missing) {
                (space) throws(FileRefusal) -> Int in
                let target = UnsafeMutableRawBufferPointer(rebasing: space.prefix(missing))
                return try retryingRead(descriptor, target, offset, by: read)
            }
            if count == 0 { break }
        }
        return body
    }
}
