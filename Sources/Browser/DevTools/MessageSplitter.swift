/// Cuts the bytes of a pipe into messages, each of which ends with NUL (`--remote-debugging-pipe`).
struct MessageSplitter {
    /// More than a page's markup has, and no more than can be held: 256 MiB.
    static let largestMessage = 256 << 20

    private var bytes: [UInt8] = []
    /// What of `bytes` has been given out, and how far there is no NUL.
    private var start = 0
    private var searched = 0

    /// Adds what was read.
    ///
    /// - Returns: false if a message is too large.
    mutating func append(_ piece: some Collection<UInt8>) -> Bool {
        if start > 0 {
            bytes.removeFirst(start)
            searched -= start
            start = 0
        }
        bytes += piece
        return bytes.count <= MessageSplitter.largestMessage
    }

    /// The next message without its NUL; nil until it is whole.
    mutating func next() -> [UInt8]? {
        guard let end = bytes[searched...].firstIndex(of: 0) else {
            searched = bytes.count
            return nil
        }
        defer {
            start = end + 1
            searched = start
        }
        return Array(bytes[start..<end])
    }
}
