/// The two queues of S3-FIFO.
enum StoreQueue: UInt8, Sendable, CaseIterable {
    /// On probation: new entries.
    case small
    /// Entries that were asked for again.
    case main
}
