/// How a WARC file ends.
public enum WARCEnd: Sendable, Equatable {
    /// Behind a record. There may be damage before, or behind it what is no record.
    case whole
    /// Within a record, or a gzip member, that begins at a place in the file.
    ///
    /// `isSure` says that all whole records stand before it: else what stands behind may be its body, or records, or the
    /// member has several records.
    case torn(at: Int, isSure: Bool)
}
