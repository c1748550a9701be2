import Glibc
import SQLite
import Testing

@testable import Database

@Suite struct WorkerTests {
    private let folder = Folder()
    private let other = Folder()
    private var path: String { folder.path + "/shop.db" }

    private func make(_ path: String, _ values: String) throws {
        let connection = try SQLiteConnection(path, mode: .create)
        try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
        try connection.execute("INSERT INTO t VALUES \(values)")
    }

    /// Copies a database with these rows over the file, as cp does.
    private func overwrite(_ values: String, modified: Int) throws {
        let source = other.path + "/shop.db"
        unlink(source)
        try make(source, values)
        let from = open(source, O_RDONLY)
        let to = open(path, O_WRONLY | O_TRUNC)
        defer { for descriptor in [from, to] { close(descriptor) } }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(from, &bytes, bytes.count)
        #expect(count > 0 && count < bytes.count && write(to, bytes, count) == count)
        // The clock of a file system may stand still for some milliseconds.
        let times = [timespec(tv_sec: modified, tv_nsec: 0), timespec(tv_sec: modified, tv_nsec: 0)]
        #expect(futimens(to, times) == 0)
    }

    private func check(_ database: Database) async {
        _ = await withCheckedContinuation { continuation in database.check { continuation.resume(returning: $0) } }
    }

    @Test func `A file that another one was copied over is read anew, though both count as many changes`() async throws
    {
        try make(path, "(1,'x')")
        let database = Database(PlainFile(location: path), memoryLimit: 1 << 20, entityTag: Stage.tag)
        defer { database.close() }
        let first = await database.ask(.get, "t")
        #expect(first.body == #"[{"id":1,"a":"x"}]"#)
        try overwrite("(1,'y')", modified: 1_000_000)
        await check(database)
        #expect(first.version != database.version.current)
        #expect(await database.ask(.get, "t").body == #"[{"id":1,"a":"y"}]"#)
        try overwrite("(1,'z'),(2,'z')", modified: 2_000_000)
        let second = await database.ask(.get, "t")
        #expect(second.body == #"[{"id":1,"a":"z"},{"id":2,"a":"z"}]"#)
        await check(database)
        #expect(second.version == database.version.current)
    }

    @Test func `A write after another file was copied over the file changes that one`() async throws {
        try make(path, "(1,'x')")
        let database = Database(PlainFile(location: path), memoryLimit: 1 << 20, entityTag: Stage.tag)
        defer { database.close() }
        #expect(await database.ask(.patch, "t/1", #"{"a":"w"}"#).status == 200)
        try overwrite("(1,'y'),(2,'y'),(3,'y')", modified: 1_000_000)
        #expect(await database.ask(.patch, "t/3", #"{"a":"w"}"#).body == #"{"id":3,"a":"w"}"#)
        #expect(await database.ask(.patch, "t/2", #"{"a":"v"}"#).body == #"{"id":2,"a":"v"}"#)
        #expect(
            await database.ask(.get, "t").body == #"[{"id":1,"a":"y"},{"id":2,"a":"v"},{"id":3,"a":"w"}]"#)
        let connection = try SQLiteConnection(path, mode: .readOnly)
        #expect(try connection.prepare("PRAGMA integrity_check").step())
        #expect(try connection.integer("SELECT count(*) FROM t WHERE a = 'y'") == 1)
    }

    @Test func `A checkpoint of the log leaves the answers what they are`() async throws {
        try make(path, "(1,'x')")
        let holder = try SQLiteConnection(path, mode: .readWrite)
        _ = try holder.prepare("PRAGMA journal_mode=WAL").step()
        let database = Database(PlainFile(location: path), memoryLimit: 1 << 20, entityTag: Stage.tag)
        defer { database.close() }
        #expect(await database.ask(.patch, "t/1", #"{"a":"w"}"#).status == 200)
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"w"}"#)
        for step in ["PASSIVE", "TRUNCATE"] {
            _ = try holder.prepare("PRAGMA wal_checkpoint(\(step))").step()
            #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"w"}"#)
            #expect(await database.ask(.patch, "t/1", #"{"a":"w"}"#).status == 200)
        }
    }
}
