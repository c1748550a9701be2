import Glibc
import SQLite
import Synchronization
import Testing

@testable import Database

/// A file that counts what is asked of it.
private final class CountedFile: DatabaseFile {
    private let plain: PlainFile
    private let counts = Mutex((looks: 0, openings: 0))
    private let action = Mutex<(@Sendable () -> Void)?>(nil)
    var name: String { plain.name }

    init(_ path: String) { plain = PlainFile(location: path) }

    func look() throws(DatabaseFileProblem) -> DatabaseFileLook {
        let look = try plain.look()
        counts.withLock { $0.looks += 1 }
        let next = action.withLock { action in
            defer { action = nil }
            return action
        }
        next?()
        return look
    }

    func path() throws(DatabaseFileProblem) -> String {
        counts.withLock { $0.openings += 1 }
        return try plain.path()
    }

    var looks: Int { counts.withLock { $0.looks } }
    var openings: Int { counts.withLock { $0.openings } }

    /// Has something done when the next look has been taken, and before it is told.
    func afterNextLook(_ body: @escaping @Sendable () -> Void) { action.withLock { $0 = body } }
}

/// Another program that has the database open.
private final class Program: @unchecked Sendable {
    let connection: SQLiteConnection
    init(_ path: String) throws { connection = try SQLiteConnection(path, mode: .create) }

    func run(_ statements: String...) throws {
        for statement in statements {
            let statement = try connection.prepare(statement)
            while try statement.step() {}
        }
    }
}

@Suite struct OpenedFileTests {
    private let folder = Folder()
    private let other = Folder()
    private var path: String { folder.path + "/shop.db" }
    private static let table = "CREATE TABLE t(id INTEGER PRIMARY KEY, a)"

    /// A database with one thread that reads, and stays: each has a connection of its own, which is opened once however
    /// slow the machine is.
    private func database(_ file: CountedFile) -> Database {
        Database(
            file, memoryLimit: 1 << 20, entityTag: Stage.tag, now: { 1_000_000_000 },
            readers: ReaderDuty(limit: 1, spare: 0),
            patience: .max)
    }

    /// A program that has made the database, with a log, and keeps it open.
    private func programWithLog() throws -> Program {
        let program = try Program(path)
        try program.run("PRAGMA journal_mode=WAL", Self.table)
        try program.run("INSERT INTO t VALUES (1,'x'), (2,'x'), (3,'x')")
        return program
    }

    private func check(_ database: Database) async -> Bool {
        await withCheckedContinuation { continuation in database.check { continuation.resume(returning: $0) } }
    }

    /// Gives the file a stamp that it hasn't had: the clock of a file system may stand still for some milliseconds.
    private func stamp(_ modified: Int) {
        let times = [timespec(tv_sec: modified, tv_nsec: 0), timespec(tv_sec: modified, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
    }

    /// Copies a database with this row over the file, as cp does.
    private func overwrite(_ row: String, modified: Int) throws {
        let source = other.path + "/shop.db"
        unlink(source)
        do {
            let program = try Program(source)
            try program.run("PRAGMA journal_mode=WAL", Self.table, "INSERT INTO t VALUES \(row)")
        }
        let from = open(source, O_RDONLY)
        let to = open(path, O_WRONLY | O_TRUNC)
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(from, &bytes, bytes.count)
        #expect(count > 0 && count < bytes.count && write(to, bytes, count) == count)
        stamp(modified)
    }

    @Test(arguments: [false, true])
    func `A look in the midst of another program's commit costs no opening`(byCheck: Bool) async throws {
        let program = try Program(path)
        try program.run(Self.table, "INSERT INTO t VALUES (1,'x')", "PRAGMA cache_size=2")
        let file = CountedFile(path)
        let database = database(file)
        defer { database.close() }
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"x"}"#)
        for id in [2, 3] {
            let before = try file.look().stamp
            // More than fits in its memory: so it writes to the file before the commit.
            try program.run("BEGIN")
            for number in 0..<30 { try program.run("INSERT INTO t VALUES (\(id * 100 + number), zeroblob(4000))") }
            #expect(try file.look().stamp != before)
            file.afterNextLook {
                try? program.run("INSERT INTO t VALUES (\(id),zeroblob(20000))", "UPDATE t SET a = \(id) WHERE id = 1")
                try? program.run("COMMIT")
            }
            if byCheck { #expect(await check(database)) }
            let first = await database.ask(.get, "t/1")
            #expect(first.body == #"{"id":1,"a":\#(id)}"#)
            #expect(first.version == database.version.current)
            #expect(await check(database))
            let second = await database.ask(.get, "t/1")
            #expect(second.version == first.version && second.version == database.version.current)
            #expect(file.openings == 1)
        }
    }

    @Test func `A checkpoint costs no opening while it goes on, and one where it ends unseen`() async throws {
        let program = try programWithLog()
        let file = CountedFile(path)
        let database = database(file)
        defer { database.close() }
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"x"}"#)
        // A checkpoint goes no further than to what the oldest reader sees.
        var readers: [SQLiteConnection] = []
        for id in 1...3 {
            try program.run("UPDATE t SET a = 'y\(id)' WHERE id = \(id)")
            let reader = try SQLiteConnection(path, mode: .readOnly)
            try reader.execute("BEGIN")
            #expect(try reader.integer("SELECT count(*) FROM t") == 3)
            readers.append(reader)
        }
        try program.run("UPDATE t SET a = 'z' WHERE id = 1")
        let before = await database.ask(.get, "t/1")
        #expect(before.body == #"{"id":1,"a":"z"}"# && before.version == database.version.current)
        #expect(file.openings == 1)
        var copied: UInt32 = 0
        for (step, reader) in readers.enumerated() {
            try program.run("PRAGMA wal_checkpoint(PASSIVE)")
            stamp(1_000_000 + step)
            let progress = try #require(program.connection.logProgress)
            #expect(progress.copied > copied && progress.copied < progress.frames && progress.tried == progress.copied)
            copied = progress.copied
            for _ in 0..<2 {
                #expect(await check(database))
                #expect(await database.ask(.get, "t/1").version == before.version)
            }
            #expect(file.openings == 1 && database.version.current == before.version)
            try reader.execute("COMMIT")
        }
        try program.run("PRAGMA wal_checkpoint(PASSIVE)")
        stamp(2_000_000)
        let progress = try #require(program.connection.logProgress)
        #expect(progress.copied == progress.frames)
        // A file that was copied over this one by now would look the same.
        for _ in 0..<2 {
            #expect(await check(database))
            #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"z"}"#)
            #expect(file.openings == 2)
        }
        // Whoever sees the commit and the checkpoint at once needs nothing.
        try program.run("UPDATE t SET a = 'v' WHERE id = 1", "PRAGMA wal_checkpoint(PASSIVE)")
        stamp(3_000_000)
        for _ in 0..<2 { #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"v"}"#) }
        #expect(file.openings == 2)
    }

    @Test(arguments: ["PASSIVE", "TRUNCATE"])
    func `A file that was copied over one with a log is read anew, once all of the log was in it`(
        mode: String
    ) async throws {
        let program = try programWithLog()
        let file = CountedFile(path)
        let database = database(file)
        defer { database.close() }
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"x"}"#)
        // With the look between, and without it.
        for (step, looks) in [true, false].enumerated() {
            try program.run("UPDATE t SET a = 'y\(step)' WHERE id = 1")
            #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"y\#(step)"}"#)
            try program.run("PRAGMA wal_checkpoint(\(mode))")
            if looks { #expect(await check(database)) }
            let version = database.version.current
            try overwrite("(1,'z\(step)')", modified: 1_000_000 + step)
            #expect(await check(database))
            #expect(database.version.current != version)
            #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"z\#(step)"}"#)
        }
    }

    @Test func `What is written over a file is noticed where no checkpoint has been at work`() async throws {
        let program = try programWithLog()
        let file = CountedFile(path)
        let database = database(file)
        defer { database.close() }
        try program.run("UPDATE t SET a = 'y' WHERE id = 1")
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"y"}"#)
        let version = database.version.current
        stamp(1_000_000)
        #expect(await check(database))
        #expect(file.openings == 2 && database.version.current != version)
    }

    @Test func `A file whose log was removed is opened anew when another one is copied over it`() async throws {
        let program = try programWithLog()
        let file = CountedFile(path)
        let database = database(file)
        defer { database.close() }
        let reader = try SQLiteConnection(path, mode: .readOnly)
        try reader.execute("BEGIN")
        #expect(try reader.integer("SELECT count(*) FROM t") == 3)
        try program.run("UPDATE t SET a = 'y' WHERE id = 1")
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"y"}"#)
        // Not all of the log comes to the file.
        try program.run("PRAGMA wal_checkpoint(PASSIVE)")
        for suffix in ["-wal", "-shm"] { #expect(unlink(path + suffix) == 0) }
        try overwrite("(1,'z')", modified: 1_000_000)
        _ = await check(database)
        #expect(file.openings == 2)
    }

    @Test func `A commit to the log takes no second look, and its checkpoint costs no opening`() async throws {
        let program = try programWithLog()
        let file = CountedFile(path)
        let database = database(file)
        defer { database.close() }
        #expect(await database.ask(.patch, "t/1", #"{"a":"w"}"#).status == 200)
        let looks = file.looks
        for number in 1...3 { #expect(await database.ask(.patch, "t/1", "{\"a\":\(number)}").status == 200) }
        #expect(file.looks == looks + 3)
        // SQLite begins a checkpoint by itself when the log has 1000 pages.
        let text = String(repeating: "x", count: 900_000)
        for id in 11...16 { #expect(await database.ask(.post, "t", "{\"id\":\(id),\"a\":\"\(text)\"}").status == 201) }
        let progress = try #require(program.connection.logProgress)
        #expect(progress.copied > 0 || progress.frames < 1000)
        #expect(await database.ask(.patch, "t/1", #"{"a":"w"}"#).status == 200)
        #expect(file.openings == 1)
    }

    @Test func `Commits to a file without a log are its own`() async throws {
        try Program(path).run(Self.table, "INSERT INTO t VALUES (1,'x')")
        let file = CountedFile(path)
        let database = database(file)
        defer { database.close() }
        for number in 1...3 { #expect(await database.ask(.patch, "t/1", "{\"a\":\(number)}").status == 200) }
        #expect(file.openings == 1)
        try overwrite("(1,'y')", modified: 1_000_000)
        #expect(await database.ask(.patch, "t/1", #"{"id":1}"#).body == #"{"id":1,"a":"y"}"#)
    }

    /// Makes a database, then as many commits as it takes for another count of changes: its schema has the version of
    /// one with as many statements.
    private func make(_ path: String, commits: Int = 0, log: Bool = false, _ statements: String...) throws {
        let program = try Program(path)
        if log { try program.run("PRAGMA journal_mode=WAL") }
        for statement in statements { try program.run(statement) }
        for number in 0..<commits { try program.run("PRAGMA user_version=\(number + 1)") }
    }

    /// Copies a file over the database, as cp does.
    private func copy(_ source: String) throws { try copy(source, to: path) }

    @Test(arguments: [false, true])
    func `A file with other columns that was copied there is read by its own schema`(log: Bool) async throws {
        let source = other.path + "/shop.db"
        defer { for suffix in ["", "-wal", "-shm"] { unlink(source + suffix) } }
        try make(
            path, log: log, "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)", "INSERT INTO t VALUES (1,'old a','old b')")
        try make(
            source, commits: 3, log: log, "CREATE TABLE t(id INTEGER PRIMARY KEY, b, a)",
            "INSERT INTO t VALUES (1,'new b','new a')")
        let file = CountedFile(path)
        let database = database(file)
        defer { database.close() }
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"old a","b":"old b"}"#)
        try copy(source)
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"b":"new b","a":"new a"}"#)
        #expect(file.openings == 2)
    }

    @Test func `A write goes into the table of its name after another file was copied there`() async throws {
        let source = other.path + "/shop.db"
        defer { unlink(source) }
        let tables = ["CREATE TABLE t(id INTEGER PRIMARY KEY, a)", "CREATE TABLE u(id INTEGER PRIMARY KEY, a)"]
        try make(path, tables[0], tables[1])
        try make(source, commits: 3, tables[1], tables[0])
        let file = CountedFile(path)
        let database = database(file)
        defer { database.close() }
        #expect(await database.ask(.post, "t", #"{"id":1,"a":"x"}"#).status == 201)
        // The file is still the old one when the request looks at it.
        file.afterNextLook { try? copy(source) }
        #expect(await database.ask(.post, "t", #"{"id":2,"a":"y"}"#).status == 201)
        let program = try Program(path)
        #expect(try program.connection.integer("SELECT id FROM t") == 2)
        #expect(try program.connection.integer("SELECT count(*) FROM u") == 0)
    }

    @Test func `Another program's commits cost no opening, and a new schema neither`() async throws {
        let program = try Program(path)
        try program.run(Self.table, "INSERT INTO t VALUES (1,'x')")
        let file = CountedFile(path)
        let database = database(file)
        defer { database.close() }
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"x"}"#)
        for number in 1...3 {
            try program.run("UPDATE t SET a = \(number)")
            #expect(await database.ask(.patch, "t/1", #"{"id":1}"#).body == #"{"id":1,"a":\#(number)}"#)
        }
        try program.run("ALTER TABLE t ADD COLUMN b")
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":3,"b":null}"#)
        #expect(file.openings == 2)
    }

    @Test func `A file that is empty while another one is copied there is no database without tables`() async throws {
        let source = other.path + "/shop.db"
        defer { unlink(source) }
        try make(path, Self.table, "INSERT INTO t VALUES (1,'x')")
        try make(source, Self.table, "INSERT INTO t VALUES (1,'y')")
        let file = CountedFile(path)
        let database = database(file)
        defer { database.close() }
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"x"}"#)
        #expect(truncate(path, 0) == 0)
        // The file is there at the third look.
        file.afterNextLook { file.afterNextLook { try? copy(source) } }
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"y"}"#)
        // One that stays empty is what it is.
        #expect(truncate(path, 0) == 0)
        #expect(await database.ask(.get, "t/1").status == 404)
    }

    /// Leaves the database as a program does that is killed in the midst of a commit: with its journal.
    private func killWriter() throws {
        let copies = other.path
        do {
            let program = try Program(path)
            try program.run("PRAGMA cache_size=2", "BEGIN", "UPDATE t SET a = 'half done'")
            for id in 2..<40 { try program.run("INSERT INTO t VALUES (\(id), zeroblob(4000))") }
            for suffix in ["", "-journal"] { try copy(path + suffix, to: copies + "/left.db" + suffix) }
            try program.run("ROLLBACK")
        }
        for suffix in ["-journal", ""] {
            try copy(copies + "/left.db" + suffix, to: path + suffix)
            unlink(copies + "/left.db" + suffix)
        }
    }

    private func copy(_ source: String, to target: String) throws {
        let from = open(source, O_RDONLY)
        let to = open(target, O_WRONLY | O_TRUNC | O_CREAT, 0o600)
        defer {
            close(from)
            close(to)
        }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(from, &bytes, bytes.count)
        #expect(count > 0 && count < bytes.count && write(to, bytes, count) == count)
    }

    @Test(arguments: [false, true])
    func `What a killed program has begun is taken back by who reads, where the map has the file written`(
        isOpen: Bool
    ) async throws {
        try make(path, Self.table, "INSERT INTO t VALUES (1,'x')")
        for writes in [DatabaseRule.Writes.off, .file] {
            let database = Database(
                PlainFile(location: path), writes: writes, memoryLimit: 1 << 20, entityTag: Stage.tag)
            defer { database.close() }
            if isOpen { #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"x"}"#) }
            try killWriter()
            let answer = await database.ask(.get, "t/1")
            if writes == .file {
                #expect(answer.body == #"{"id":1,"a":"x"}"#)
                #expect(access(path + "-journal", F_OK) != 0)
            } else {
                #expect(answer.status == 502 && answer.body.contains("takes back what it had begun"), "\(answer)")
                #expect(access(path + "-journal", F_OK) == 0)
                // As the message advises.
                #expect(try Program(path).connection.integer("SELECT count(*) FROM t") == 1)
                #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"x"}"#)
            }
        }
    }
}
