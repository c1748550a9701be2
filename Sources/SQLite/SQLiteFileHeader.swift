import CSQLite

/// The beginning of a database's file (https://sqlite.org/fileformat2.html §1.3).
public struct SQLiteFileHeader: Sendable, Equatable {
    static let length = 100
    fileprivate let bytes: [UInt8]

    fileprivate init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether it is read by a log (WAL mode).
    public var isOfLog: Bool { bytes[19] == 2 }
    /// Bytes of a page.
    public var pageSize: Int64 {
        let size = Int64(bytes[16]) << 8 | Int64(bytes[17])
        return size == 1 ? 65536 : size
    }
    /// How often it was changed; with a log, only commits that write to the first page count.
    public var changes: UInt32 { UInt32(truncatingIfNeeded: integer(24)) }
    /// How many pages it has; nil where an old version of SQLite has written it, which doesn't say.
    public var pageCount: Int64? { integer(24) == integer(92) ? integer(28) : nil }

    private func integer(_ offset: Int) -> Int64 { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) } }
}

/// How far the log of a database in WAL mode has been copied into its file.
public struct SQLiteLogProgress: Sendable, Equatable {
    /// Frames that the log has: pages that were written.
    public let frames: UInt32
    /// Those that are in the file. Where all are, SQLite writes to the file no more before the next commit.
    public let copied: UInt32
    /// Those that the last checkpoint has begun to copy.
    public let tried: UInt32
    /// Pages that the database has by its last commit; 0 where the log has had none.
    public let pages: UInt32
    /// Bytes of a page.
    public let pageSize: UInt32
    /// Another number with each beginning of the log; 0 before the first frame of the first one.
    public let salts: UInt64
    /// Commits, counted over all beginnings of the log, from an unknown number on.
    public let commits: UInt32

    init(_ progress: subproxy_sqlite_log_progress) {
        frames = progress.frames
        copied = progress.copied
        tried = progress.tried
        pages = progress.pages
        pageSize = progress.page_size
        salts = progress.salts
        commits = progress.commits
    }

    fileprivate var asC: subproxy_sqlite_log_progress {
        subproxy_sqlite_log_progress(
            frames: frames, copied: copied, tried: tried, pages: pages, page_size: pageSize, salts: salts,
            commits: commits)
    }
}

/// Where the beginning of a file with a log can come from.
public enum SQLiteHeaderOrigin: Sendable, Equatable {
    /// From a frame of the log.
    case log
    /// From before the log: none of its first pages is in the file.
    ///
    /// - Parameter changes: the count of changes of the earliest that the log has; nil where it has none.
    case beforeLog(changes: UInt32?)
    /// Not from SQLite: the last first page of the log is in the file, and begins otherwise.
    case nowhere
}

extension SQLiteConnection {
    /// How the main database's file begins, whatever the log has; nil where it can't be read.
    public var fileHeader: SQLiteFileHeader? {
        var bytes = [UInt8](repeating: 0, count: SQLiteFileHeader.length)
        guard subproxy_sqlite_read_file(pointer, &bytes, CInt(bytes.count)) else { return nil }
        return SQLiteFileHeader(bytes)
    }

    /// Where the beginning of the main database's file comes from; nil where that can't be told. To be asked only of a
    /// connection that has read from the file in WAL mode.
    ///
    /// With a log only a checkpoint writes to the file, and what it writes stays in the log until that begins anew.
    ///
    /// - Parameter log: how far its log is, which may be another by the end of this.
    public func origin(of header: SQLiteFileHeader, _ log: SQLiteLogProgress) -> SQLiteHeaderOrigin? {
        var progress = log.asC
        var changes: UInt32 = 0
        switch Int(subproxy_sqlite_find_in_log(pointer, &progress, header.bytes, &changes)) {
        case SUBPROXY_SQLITE_LOG: return .log
        case SUBPROXY_SQLITE_BEFORE_LOG: return .beforeLog(changes: changes)
        case SUBPROXY_SQLITE_OUTSIDE_LOG: return .beforeLog(changes: nil)
        case SUBPROXY_SQLITE_NOWHERE: return .nowhere
        default: return nil
        }
    }

    /// How many commits are in the log; nil where that can't be told, or it has more than 4096 frames.
    public func commits(in log: SQLiteLogProgress) -> UInt32? {
        var progress = log.asC
        return UInt32(exactly: subproxy_sqlite_count_commits(pointer, &progress, 4096))
    }
}
