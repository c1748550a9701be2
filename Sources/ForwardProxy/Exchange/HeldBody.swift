import NIOCore

/// A request's body that is held in memory, up to a limit.
struct HeldBody {
    private(set) var bytes: [UInt8]
    /// Whether there was more than may be held; nothing is held then.
    private(set) var isTooLarge = false
    let limit: Int

    /// - Parameters:
    ///   - limit: bytes at most.
    ///   - bytes: what is held already; more than the limit is dropped.
    init(limit: Int, _ bytes: [UInt8] = []) {
        self.limit = limit
        isTooLarge = bytes.count > limit
        self.bytes = isTooLarge ? [] : bytes
    }

    /// Holds more of it.
    ///
    /// - Returns: whether all of it is held.
    mutating func append(_ part: ByteBuffer) -> Bool {
        guard !isTooLarge, bytes.count + part.readableBytes <= limit else {
            isTooLarge = true
            bytes = []
            return false
        }
        bytes += part.readableBytesView
        return true
    }

    /// Lets go of what is held.
    mutating func drop() { bytes = [] }
}
