import NIOCore

/// The copies of whole responses that are asked for often: the newest ones.
///
/// Head and body in one buffer cost less to send than in two, but a copy of each body would double what the store
/// takes. Bound to its event loop.
final class ResponseCopies {
    /// Copies at the most; the oldest goes for one more. Each is at most ``ReadyRepresentation/inlineLimit`` and a
    /// head.
    private static let capacity = 2048

    private var copies: ContiguousArray<ResponseCopy> = []
    private var next = 0

    func insert(_ copy: ResponseCopy) {
        if copies.count < ResponseCopies.capacity { return copies.append(copy) }
        copies[next].drop()
        copies[next] = copy
        next = (next &+ 1) % ResponseCopies.capacity
    }
}

/// Head and body of a response in one buffer.
final class ResponseCopy {
    private(set) var bytes: ByteBuffer
    /// When the lines that change by the second were written; nil where the copy had to make room.
    private(set) var second: Int64?
    private var tailLength: Int

    init(_ bytes: ByteBuffer, second: Int64, tailLength: Int) {
        self.bytes = bytes
        self.second = second
        self.tailLength = tailLength
    }

    /// Writes the lines of another second; in place where no write of the bytes is pending.
    ///
    /// - Parameter offset: where they stand.
    /// - Returns: whether that is possible: they are as long as those before, and the copy is still there.
    func stamp(_ second: Int64, _ tail: ByteBuffer, at offset: Int) -> Bool {
        guard self.second != nil, tail.readableBytes == tailLength else { return false }
        bytes.setBuffer(tail, at: offset)
        self.second = second
        return true
    }

    func drop() {
        bytes = ByteBuffer()
        second = nil
    }
}
