import Glibc
import SQLite

/// A database's file that is open, and whether it is still what SQLite takes it for.
///
/// What others commit shows in PRAGMA data_version. What is written over the file without SQLite, as by cp, need not:
/// the two files may be at the same count of changes, and a log has another count. SQLite would go on with the pages
/// that it has. It shows in the file's stamp, but so do commits and checkpoints, which are no reason to open the file
/// anew:
///
/// - Without a log a commit writes to the file while nobody reads. So the stamp is taken within a transaction, together
///   with the data's version: it is that of the state before the commit or after it, never between.
/// - With a log only a checkpoint writes to the file, and only until all of the log is in it. So a stamp that changes
///   before, while one is at work, tells nothing. One that has changed by the end of it may be the checkpoint's, or
///   that of a file which was copied there after it: the file is opened anew.
///
/// A file that was copied there can be at another count of changes too. SQLite drops the pages that it has then, but
/// goes on with the schema that it has, where both have the same PRAGMA schema_version: it would read columns and
/// tables of one as those of the other. So the schema is compared whenever the data have changed and the file was
/// written to. With a log, so is the file's beginning with what the log can have made of it.
final class OpenedFile {
    let session: Session
    let identity: DatabaseFileIdentity
    /// The same with when it was made.
    let born: DatabaseFileIdentity
    let path: String
    /// It is opened for writing.
    let writes: Bool
    /// It is read as it lies, because nobody can write beside it.
    let isFrozen: Bool
    /// Tells that the connection is open.
    let opening: Openings.Opening
    private let file: any DatabaseFile
    /// PRAGMA data_version when it was last asked.
    private var dataVersion: Int64
    /// How the file looked when what is kept of it was last known to be so.
    private(set) var stamp: DatabaseFileStamp
    /// How far its log was in it then; nil where there is none.
    private var log: SQLiteLogProgress?
    /// The schema that SQLite has.
    private var schema: SchemaMark

    /// - Parameters:
    ///   - session: a connection that has just been opened.
    ///   - look: how the file looked before that.
    /// - Throws: What SQLite says; ``SQLiteError/copiedOver``.
    init(
        _ session: Session, _ file: any DatabaseFile, at path: String, _ look: DatabaseFileLook, writes: Bool,
        isFrozen: Bool, opening: Openings.Opening
    ) throws(SQLiteError) {
        self.session = session
        self.opening = opening
        self.file = file
        self.path = path
        self.writes = writes
        self.isFrozen = isFrozen
        identity = look.identity
        born = look.identity.born(at: path)
        stamp = look.stamp
        (dataVersion, schema, log) = try session.transaction(.begin, failure: { $0 }) { () throws(SQLiteError) in
            let known = (try session.own(.dataVersion) ?? 0, try session.schemaMark)
            let log = isFrozen ? nil : try? session.logProgress
            // The connections before this one know more than it can see.
            if log != nil, opening.isWrittenOver(session.connection, at: path) { throw .copiedOver }
            return (known.0, known.1, log)
        }
    }

    /// Asks for the data's version, within a transaction.
    ///
    /// - Returns: whether somebody else has changed the data since it was last asked.
    /// - Throws: What SQLite says; ``SQLiteError/copiedOver``.
    func hasChanged() throws(SQLiteError) -> Bool {
        let version = try session.own(.dataVersion) ?? 0
        guard version != dataVersion else { return false }
        let progress = self.progress
        let look = try? file.look()
        // A commit to the log changes nothing of the file, nor can it be a copy.
        var mayDiffer = look?.stamp != stamp
        if !mayDiffer { mayDiffer = try session.own(.schemaVersion) != schema.version }
        if mayDiffer {
            let mark = try session.schemaMark
            guard mark == schema || mark.version != schema.version else { throw .copiedOver }
            schema = mark
        }
        if let look, look.identity == identity {
            if let progress, look.stamp != stamp || progress.salts != log?.salts,
                opening.isWrittenOver(session.connection, at: path)
            {
                throw .copiedOver
            }
            stamp = look.stamp
            log = progress
        }
        dataVersion = version
        session.schemaMayBeOld = true
        return true
    }

    /// How far the log is in the file now, to be asked after something was read; nil where there is none.
    private var progress: SQLiteLogProgress? { isFrozen ? nil : try? session.logProgress }

    /// Notes how the file looks.
    ///
    /// - Parameter log: how far its log is in it, looked at before.
    private func take(log: SQLiteLogProgress?) {
        guard let look = try? file.look(), look.identity == identity else { return }
        // The next request finds that out.
        if log != nil, opening.isWrittenOver(session.connection, at: path) { return }
        stamp = look.stamp
        self.log = log
    }

    /// Finds out why the file's stamp is another one.
    ///
    /// - Parameter noteChange: called where somebody has changed the data.
    /// - Returns: whether SQLite knows the file; otherwise somebody has written to it past SQLite, or may have.
    func isKnown(_ noteChange: () -> Void) throws(SQLiteError) -> Bool {
        try session.transaction(.begin, failure: { $0 }) { () throws(SQLiteError) in
            if try hasChanged() {
                noteChange()
                return true
            }
            let progress = self.progress
            guard let look = try? file.look(), look.identity == identity else { return false }
            if look.stamp == stamp { return true }
            return isBeingCopied(progress) && !opening.isWrittenOver(session.connection, at: path)
        }
    }

    /// Whether a checkpoint has written to the file since its stamp was taken, or is about to, and has not come to the
    /// end of the log. A log that has been removed is nobody's reason to write.
    private func isBeingCopied(_ progress: SQLiteLogProgress?) -> Bool {
        guard let progress, progress.copied < progress.frames else { return false }
        guard progress.tried > progress.copied || progress != log else { return false }
        var status = stat()
        return lstat(path + "-wal", &status) == 0 && status.st_size > 0
    }

    /// Whether it is known that another file was copied over one with a log: no checkpoint has made the file what it
    /// is. Both may be too alike for that to be known.
    var isWrittenOver: Bool {
        guard log != nil, let look = try? file.look(), look.identity == identity, look.stamp != stamp else {
            return false
        }
        do throws(SQLiteError) {
            return try session.transaction(.begin, failure: { $0 }) { () throws(SQLiteError) in
                _ = try session.own(.dataVersion)
                return opening.isWrittenOver(session.connection, at: path)
            }
        } catch {
            // By the index there are fewer pages than by the file.
            return error.name == "SQLITE_CORRUPT" || opening.isWrittenOver(session.connection, at: path)
        }
    }

    /// Notes a commit of this connection, which shows in no data version. One to the log changes the file only where a
    /// checkpoint follows.
    func hasCommitted() {
        guard let before = log else { return take(log: nil) }
        let progress = session.connection.logProgress
        guard let progress, progress.salts == before.salts, progress.copied == before.copied,
            progress.tried == before.tried
        else {
            return take(log: progress)
        }
        log = progress
    }
}

extension SQLiteError {
    /// Another file was copied over it, and has to be opened anew.
    static let copiedOver = SQLiteError(code: schemaCode, message: "another file was copied over it")
    /// Another file came to its place while it was opened.
    static let movedOver = SQLiteError(code: schemaCode, message: "another file was moved to its place")
}
