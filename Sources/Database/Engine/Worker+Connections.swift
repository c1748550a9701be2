import Basics
import Glibc
import SQLite

/// The connections of a thread: to the file, or to what is in memory in its place.
extension Worker {
    /// A connection to read from.
    func readable(_ guardian: Guardian) throws(Failure) -> Session {
        if let session = try inMemory(guardian) { return session }
        let look: DatabaseFileLook
        do throws(DatabaseFileProblem) {
            look = try database.file.look()
        } catch {
            closeFile()
            guard case .missing = error, let seeds = database.seeds else { throw failure(error) }
            guard writes else { throw .needsWriter }
            if database.writes == .file { return try openFile(try makeFile(seeds, guardian), writes: true, guardian) }
            try fillMemory(seeds, guardian)
            guard let memory else { throw .missing }
            return memory.session
        }
        return try openFile(look, writes: false, guardian)
    }

    /// What is in memory, made anew where its seeds have changed; nil where nothing is, or what is there was made from
    /// seeds alone and there is a file by now.
    func inMemory(_ guardian: Guardian) throws(Failure) -> Session? {
        guard let memory else { return nil }
        guard let seeds = memory.seeds, let source = database.seeds else { return memory.session }
        let isWritten = memory.isWritten
        guard isWritten || !hasFile else {
            self.memory = nil
            database.setInMemory(false, isFixed: false)
            return nil
        }
        guard source.state != seeds else { return memory.session }
        try fillMemory(source, guardian)
        self.memory?.isWritten = isWritten
        return self.memory?.session
    }

    /// Whether something stands at the file's place.
    var hasFile: Bool {
        do throws(DatabaseFileProblem) { _ = try database.file.look() } catch { return error != .missing }
        return true
    }

    func failure(_ problem: DatabaseFileProblem) -> Failure {
        switch problem {
        case .missing: .missing
        case .refused(let why): .refused(why)
        }
    }

    func openFile(_ look: DatabaseFileLook, writes: Bool, _ guardian: Guardian) throws(Failure) -> Session {
        var look = look
        if let opened, opened.identity == look.identity, opened.writes || !writes, !isOutdated,
            !opened.isFrozen || Worker.mustBeFrozen(opened.path)
        {
            guard opened.stamp != look.stamp else { return opened.session }
            // A copy begins with an empty file, which is a database without tables.
            for _ in 0..<50 where look.stamp.size == 0 && opened.stamp.size > 0 && guardian.goesOn() {
                usleep(10_000)
                do throws(DatabaseFileProblem) { look = try database.file.look() } catch { throw failure(error) }
            }
            if try isKnown(opened, guardian) { return opened.session }
            closeFile()
            // It may have waited for somebody's commit.
            do throws(DatabaseFileProblem) { look = try database.file.look() } catch { throw failure(error) }
        }
        closeFile()
        let path: String
        do throws(DatabaseFileProblem) { path = try database.file.path() } catch { throw failure(error) }
        let born = look.identity.born(at: path)
        // The last connection to a file that was moved away takes its log with it. What is left of one then stays until
        // somebody removes it.
        let opening = try begin(look.identity, guardian)
        let isForeign = database.isForeign(log: LogIdentity(ofFile: path + "-wal"), of: born)
        guard !isForeign || LogIdentity(ofFile: path + "-wal", evenEmpty: false) == nil else {
            throw .problem(.foreignLog(database.file.name))
        }
        do throws(SQLiteError) {
            var isFrozen = false
            let connection = try connect(path, look.identity, writes: writes, opening, guardian, &isFrozen)
            let session = try Session(connection, name: database.file.name)
            session.guardian = guardian
            defer { session.guardian = nil }
            opened = try OpenedFile(
                session, database.file, at: path, look, writes: writes, isFrozen: isFrozen, opening: opening)
            // What is known of the data before it was opened is nothing.
            noteChange()
            return session
        } catch {
            if error == .copiedOver { database.endOpenings(opening.number, over: path) }
            // Another program has kept the index of the file before.
            let isOfIndex = isForeign && error.name == "SQLITE_CORRUPT"
            throw .problem(isOfIndex ? .foreignLog(database.file.name) : problem(error, guardian))
        }
    }

    /// Has the connections to a file before ended, and waits until none is left.
    private func begin(
        _ file: DatabaseFileIdentity, _ guardian: Guardian
    ) throws(Failure) -> Openings.Opening {
        var attempts = 0
        while true {
            switch database.openings.begin(file) {
            case .begun(let opening): return opening
            case .isOfOther(let number):
                // Theirs may be the one that stands there by now.
                guard (try? database.file.look())?.identity == file else {
                    throw .problem(problem(.movedOver, guardian))
                }
                database.endOpenings(number, over: nil)
            case .hasFormer:
                guard guardian.waitsForLock(attempts) else {
                    let why = "\(database.file.name) is another file now, and a query of the one before goes on"
                    throw .problem(Problem(503, "database locked", why))
                }
                attempts += 1
            }
        }
    }

    /// Whether the connection is to a file that stands there no more, or to what it was before it was written over.
    var isOutdated: Bool { opened.map { $0.opening.number != database.openings.current } ?? false }

    /// Closes the connection to the file.
    func closeFile() {
        if let opened, !isOutdated, opened.isWrittenOver {
            database.endOpenings(opened.opening.number, over: opened.path)
        }
        // The last connection that writes moves the log into the file, which may have been written over. One that was
        // moved away is still what the log belongs to.
        if let opened, isOutdated, (try? database.file.look())?.identity == opened.identity {
            opened.session.connection.keepsLog()
        }
        opened = nil
    }

    /// Whether SQLite knows what somebody has done to a file whose stamp has changed.
    private func isKnown(_ opened: OpenedFile, _ guardian: Guardian) throws(Failure) -> Bool {
        opened.session.guardian = guardian
        defer { opened.session.guardian = nil }
        do throws(SQLiteError) {
            return try opened.isKnown(noteChange)
        } catch {
            if error.isLock || error.isInterrupt { throw .problem(opened.session.problem(error)) }
            return false
        }
    }

    /// Notes that the data are others now. A log that wasn't there, or is another one now, comes with that.
    func noteChange() {
        database.version.change()
        noteLog()
    }

    /// Opens the file; one that can't be opened because its folder can't be written is read as it lies.
    private func connect(
        _ path: String, _ identity: DatabaseFileIdentity, writes: Bool, _ opening: Openings.Opening,
        _ guardian: Guardian, _ isFrozen: inout Bool
    ) throws(SQLiteError) -> SQLiteConnection {
        do throws(SQLiteError) {
            do throws(SQLiteError) {
                return try connect(path, identity, writes ? .readWrite : .readOnly, opening, guardian)
            } catch {
                // Who reads takes back what a program has left half done, as every program does that may write.
                guard error.isOfHotJournal, database.writes == .file else { throw error }
                _ = try connect(path, identity, .readWrite, opening, guardian)
                return try connect(path, identity, .readOnly, opening, guardian)
            }
        } catch {
            // Which of the two it is depends on whether the file itself may be written.
            let isRefused = error.name == "SQLITE_CANTOPEN" || error.name == "SQLITE_READONLY"
            guard !writes, isRefused, !error.isOfHotJournal, Worker.mustBeFrozen(path) else { throw error }
            isFrozen = true
            let connection = try SQLiteConnection(
                SQLitePath.uri(path, parameters: "immutable=1"), mode: .readOnly, isURI: true)
            connection.companion = opening
            _ = try connection.integer("PRAGMA schema_version")
            return connection
        }
    }

    private func connect(
        _ path: String, _ identity: DatabaseFileIdentity, _ mode: SQLiteConnection.Mode, _ opening: Openings.Opening,
        _ guardian: Guardian
    ) throws(SQLiteError) -> SQLiteConnection {
        let connection = try SQLiteConnection(path, mode: mode)
        connection.companion = opening
        connection.waitsForLock = { guardian.waitsForLock($0) }
        connection.goesOn = { guardian.goesOn() }
        // The file is open, and its log isn't: with connections to two files at once the index of their log would be
        // cut short under one of them. The locks on it are the process's (fcntl_locking(2)).
        guard (try? database.file.look())?.identity == identity else { throw .movedOver }
        do throws(SQLiteError) {
            // Nothing is read before the first statement.
            _ = try connection.integer("PRAGMA schema_version")
        } catch {
            // By the index that the other connections have, a file with more pages is damaged.
            let mayBeCopy = !error.isLock && !error.isInterrupt && opening.hasSeenLog
            throw mayBeCopy && opening.isWrittenOver(connection, at: path) ? .copiedOver : error
        }
        return connection
    }

    /// Whether a file has no log, and nobody here can make one beside it.
    static func mustBeFrozen(_ path: String) -> Bool {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        var status = stat()
        return lstat(path + "-wal", &status) != 0 && access(folder, W_OK) != 0
    }

    /// Notes the log that belongs to the file that is open.
    func noteLog() {
        guard let opened else { return }
        database.note(
            log: LogIdentity(ofFile: opened.path + "-wal"), of: opened.born, number: opened.opening.number)
    }
}
