import Basics
import Diagnostics
import Glibc
import SQLite
import Synchronization

/// The files that a database is made from where its own does not exist.
public protocol SeedFiles: Sendable {
    /// Reads them. Blocks.
    ///
    /// - Throws: Why one can't be read.
    func read() throws(SeedProblem) -> [SeedFile]

    /// What they are now: another value, and a database in memory is made anew. Blocks.
    var state: [UInt64] { get }
}

/// Why a seed can't be read.
public struct SeedProblem: Error, Sendable {
    public let message: String

    public init(_ message: String) { self.message = message }
}

/// Makes databases from seeds.
public struct SeedSource: Sendable {
    private let files: any SeedFiles

    public init(_ files: any SeedFiles) { self.files = files }

    /// What the files are now.
    var state: [UInt64] { files.state }

    /// Fills an empty database.
    ///
    /// - Throws: 502 with the first thing that is wrong with a seed, or 507 where there is no room.
    func fill(_ connection: SQLiteConnection, name: String, _ guardian: Guardian) throws(Problem) {
        let read: [SeedFile]
        do throws(SeedProblem) { read = try files.read() } catch {
            throw Problem(502, "database error", error.message)
        }
        do throws(SeedError) {
            try Seeding.run(read, on: connection)
        } catch {
            if let cause = error.cause, cause.isFull || cause.isInterrupt || cause.isLock {
                throw Problem(cause, of: name, guardian)
            }
            throw Problem(502, "database error", error.diagnostic.headline)
        }
    }
}

private let drafts = Atomic<Int>(0)

extension Worker {
    /// Sees to it that nothing lies beside the place of a file that is gone which SQLite would read into the next one.
    ///
    /// - Throws: 502 where something does: it may have rows that are in no file yet, and the file may have been moved.
    static func refuseLeftLog(_ path: String, name: String, isGone: () -> Bool) throws(Problem) {
        for suffix in ["-wal", "-journal"] {
            var status = stat()
            // What is beside another process's new file is that one's.
            guard lstat(path + suffix, &status) == 0, status.st_size > 0, isGone() else { continue }
            throw Problem(
                502, "database error",
                "\(name) is gone, and \(name)\(suffix) is left of it: remove that too, or bring \(name) back")
        }
    }

    /// Makes a database's file from seeds beside its place, and puts it there when it is complete.
    ///
    /// - Throws: 502 or 507. Another one that was put there meanwhile stays.
    static func makeFile(_ path: String, _ seeds: SeedSource, name: String, _ guardian: Guardian) throws(Problem) {
        // Two databases of one place may be filled at once, where the map has changed meanwhile.
        let draft = path + ".\(getpid()).\(drafts.wrappingAdd(1, ordering: .relaxed).newValue).new"
        defer { for suffix in ["", "-wal", "-shm", "-journal"] { unlink(draft + suffix) } }
        unlink(draft)
        // SQLite's own would never let a group write to it; this one is as the umask has it, as are the files beside
        // it.
        let descriptor = open(draft, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            throw Problem(502, "database error", "\(name) can't be made: \(SystemError().text)")
        }
        close(descriptor)
        try fill(draft, seeds, name: name, guardian)
        do throws(SQLiteError) {
            // The mode stays with the file: readers and a writer don't wait for each other. The last connection's end
            // takes the log away.
            try SQLiteConnection(draft, mode: .readWrite).execute("PRAGMA journal_mode=WAL")
        } catch {
            throw Problem(error, of: name, guardian)
        }
        // link(2) doesn't take the place of what is there.
        guard link(draft, path) == 0 || errno == EEXIST else {
            throw Problem(502, "database error", "\(name) can't be made: \(SystemError().text)")
        }
    }

    private static func fill(
        _ path: String, _ seeds: SeedSource, name: String, _ guardian: Guardian
    ) throws(Problem) {
        let connection: SQLiteConnection
        do throws(SQLiteError) { connection = try SQLiteConnection(path, mode: .create) } catch {
            throw Problem(error, of: name, guardian)
        }
        connection.goesOn = { guardian.goesOn() }
        try seeds.fill(connection, name: name, guardian)
    }
}
