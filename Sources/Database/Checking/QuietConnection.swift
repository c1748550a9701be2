import CSQLite
import Glibc
import SQLite

extension SQLiteConnection {
    /// Opens a database for reading so that no file of it is made, changed or left behind.
    ///
    /// One that nobody has open is read as it lies. Of one with a log (`-wal`) the log is read too: together with the
    /// programs that have it open, or, where there is no index of the log (`-shm`), with an index of its own in memory.
    ///
    /// - Parameter path: absolute, with no symbolic link on it.
    /// - Throws: What SQLite says. A file that is no database is found out at the first statement only.
    static func quiet(_ path: String) throws(SQLiteError) -> SQLiteConnection {
        guard exists(path + "-wal") else {
            return try SQLiteConnection(
                SQLitePath.uri(path, parameters: "immutable=1"), mode: .readOnly, isURI: true)
        }
        guard !exists(path + "-shm") else { return try SQLiteConnection(path, mode: .readOnly) }
        // Without locks the log's index can be in memory, and at the end the log is not written to the database.
        let connection = try SQLiteConnection(
            SQLitePath.uri(path, parameters: "vfs=unix-none"), mode: .readOnly, isURI: true)
        connection.keepsLog()
        try connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        return connection
    }

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
