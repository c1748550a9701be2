/// The beginning of a database's file (https://sqlite.org/fileformat2.html §1.3).
public struct SQLiteFileHeader: Sendable, Equatable {
    static let length = 100
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether it is read by a log (WAL mode).
    public var isOfLog: Bool { bytes[19] == 2 }
    /// Bytes of a page.
    public var pageSize: Int64 {
        let size = Int64(bytes[16]) << 8 | Int64(bytes[17])
        return size == 1 ? 65536 : size
    }
    /// How many pages it has; nil where an old version of SQLite has written it, which doesn't say.
    public var pageCount: Int64? { integer(24) == integer(92) ? integer(28) : nil }
    /// Pages that are not in use.
    public var freePages: Int64 { integer(36) }
    /// PRAGMA schema_version.
    public var schemaVersion: Int64 { Int64(Int32(truncatingIfNeeded: integer(40))) }

    private func integer(_ offset: Int) -> Int64 { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) } }
}
