import Glibc
import SQLite
import Synchronization

/// The connections to a database's file, and whether they are to what stands at its place now.
///
/// All connections of a process use one index of the log, in the -shm, from the first one's opening to the last one's
/// end. It says which pages the log has, and how many there are in all. What takes the place of a file would be read by
/// the index of the one before, so it is opened only when no connection to that is left.
final class Openings: Sendable {
    /// A connection, or those that a thread opens one after the other. It is open as long as this lives.
    final class Opening: Sendable {
        fileprivate let openings: Openings
        /// Which file it is to, counted from the first one.
        let number: UInt64

        fileprivate init(_ openings: Openings, _ number: UInt64) {
            self.openings = openings
            self.number = number
        }

        deinit { openings.closed(number) }
    }

    /// What comes of the wish to open a file.
    enum Beginning {
        case begun(Opening)
        /// The connections of this number are to another file, which stood there when they began.
        case isOfOther(UInt64)
        /// Connections to a file before are open.
        case hasFormer
    }

    private struct Counts {
        /// How many there are to the file that stands there now.
        var current = 0
        /// The file that they are to.
        var file: DatabaseFileIdentity?
        /// How many there are to others.
        var former = 0
    }

    private let number = Atomic<UInt64>(0)
    private let counts = Mutex(Counts())
    /// How the file began before its log, as the connections that are open have seen it.
    fileprivate let base = Mutex<Base?>(nil)

    fileprivate struct Base {
        let log: LogIdentity
        let salts: UInt64
        let header: SQLiteFileHeader
        /// The log's count of commits, if all of them were in the file; nil if not.
        let commits: UInt32?

        init(_ identity: LogIdentity, _ log: SQLiteLogProgress, _ header: SQLiteFileHeader) {
            self.log = identity
            salts = log.salts
            self.header = header
            commits = log.copied == log.frames ? log.commits : nil
        }
    }

    /// The number of the file that stands there now.
    var current: UInt64 { number.load(ordering: .acquiring) }

    /// Begins a connection, before the file is opened.
    ///
    /// It holds for a file without a log too: SQLite opens a log that it finds beside the file when it reads, and what
    /// it finds there may belong to the file that came since.
    func begin(_ file: DatabaseFileIdentity) -> Beginning {
        counts.withLock { counts in
            guard counts.former == 0 else { return .hasFormer }
            guard counts.current == 0 || counts.file == file else { return .isOfOther(current) }
            counts.current += 1
            counts.file = file
            return .begun(Opening(self, current))
        }
    }

    /// Notes that another file stands there.
    ///
    /// - Returns: whether that was not noted before.
    func end(_ number: UInt64) -> Bool {
        counts.withLock { counts in
            guard current == number else { return false }
            counts = Counts(former: counts.former + counts.current)
            base.withLock { $0 = nil }
            self.number.store(number &+ 1, ordering: .releasing)
            return true
        }
    }

    private func closed(_ number: UInt64) {
        counts.withLock { counts in
            if number == current { counts.current -= 1 } else { counts.former -= 1 }
            // Whoever comes next may have the journal mode changed, and everything with it.
            if counts.current == 0 { base.withLock { $0 = nil } }
        }
    }
}

extension Openings.Opening {
    /// Whether a connection has been in WAL mode since the first of those that are open.
    var hasSeenLog: Bool { openings.base.withLock { $0 != nil } }

    /// Whether it is known that another file was copied over the one that the log belongs to: neither the log nor what
    /// was there before it begins as the file does. Both files may begin alike.
    ///
    /// With a log nobody writes to the file but a checkpoint, which copies pages of the log into it. To be asked of a
    /// connection that has read from the file in WAL mode. Blocks.
    func isWrittenOver(_ connection: SQLiteConnection, at path: String) -> Bool {
        var isSuspect = false
        // Another program may write to all of them meanwhile.
        for _ in 0..<10 {
            guard number == openings.current, let before = connection.logProgress,
                let header = connection.fileHeader, let origin = connection.origin(of: header, before)
            else { return false }
            guard let after = connection.logProgress, after.salts == before.salts, after.copied == before.copied else {
                continue
            }
            guard origin != .nowhere else {
                if isSuspect { return true }
                isSuspect = true
                continue
            }
            guard let identity = LogIdentity(ofFile: path + "-wal") else { return false }
            if case .beforeLog(let changes) = origin {
                // Such a log has been left by a program that could not write its first frame.
                if before.salts == 0, LogIdentity(ofFile: path + "-wal", evenEmpty: false) != nil { return false }
                if isOther(header, before, identity, connection, changes, at: path) {
                    // What is read while somebody writes it is part of one and part of the other.
                    if isSuspect { return true }
                    isSuspect = true
                    continue
                }
            } else if before.copied < before.frames {
                return false
            }
            openings.base.withLock { $0 = .init(identity, before, header) }
            return false
        }
        return false
    }

    /// Whether a file without a first page of its log is another one than it was before that.
    ///
    /// - Parameter changes: the count of changes of the first page that the log has first; nil where it has none.
    private func isOther(
        _ header: SQLiteFileHeader, _ log: SQLiteLogProgress, _ identity: LogIdentity, _ connection: SQLiteConnection,
        _ changes: UInt32?, at path: String
    ) -> Bool {
        if let base = openings.base.withLock({ $0 }), base.log == identity {
            guard base.header != header else { return false }
            // Nobody has committed between what was seen and the beginning of this log.
            let isBase =
                base.salts == log.salts
                || base.commits.map { connection.commits(in: log) == log.commits &- $0 } ?? false
            if isBase {
                // The log may have begun on the copy, where it was empty before.
                guard let changes else { return true }
                return changes &- header.changes != 1 || changes &- base.header.changes <= 1
            }
        }
        guard log.pages > 0 else { return false }
        if !header.isOfLog || header.pageSize != log.pageSize { return true }
        // Whoever writes to the first page counts on from what it reads there, once.
        if let changes { return changes &- header.changes > 1 }
        guard let pages = header.pageCount else { return false }
        // SQLite takes it for damaged where there are more, and adds pages in the wrong place where there are less. The
        // latter can be a file that is longer than its pages.
        if pages > log.pages || pages < log.pages && log.frames == 0 { return true }
        var status = stat()
        return lstat(path, &status) == 0 && Int64(status.st_size) < Int64(log.pages) * Int64(log.pageSize)
    }
}
