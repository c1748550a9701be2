import Glibc
import SQLite
import Synchronization
import Testing

@testable import Database

@Suite("A file that takes the place of one with a log")
struct ReplacedFileTests {
    private let folder = Folder()
    private let other = Folder()
    private var path: String { folder.path + "/shop.db" }
    private var source: String { other.path + "/shop.db" }

    /// Makes a database with a row, and as many more pages as are asked for.
    private func make(_ path: String, _ value: String, pages: Int = 0, mode: String = "WAL") throws {
        let connection = try SQLiteConnection(path, mode: .create)
        for statement in [
            "PRAGMA journal_mode=\(mode)", "CREATE TABLE t(id INTEGER PRIMARY KEY, a)",
            "INSERT INTO t VALUES (1,'\(value)')",
            "CREATE TABLE filling(a)", "INSERT INTO filling VALUES (zeroblob(\(pages * 4096)))",
        ] {
            let statement = try connection.prepare(statement)
            while try statement.step() {}
        }
    }

    private func run(_ statement: String) throws {
        let connection = try SQLiteConnection(path, mode: .readWrite)
        let statement = try connection.prepare(statement)
        while try statement.step() {}
    }

    private func database() -> Database {
        Database(
            PlainFile(location: path), writes: .file, memoryLimit: 1 << 20, entityTag: Stage.tag, now: { 1_000_000_000 }
        )
    }

    private func bytes(_ path: String) -> [UInt8] {
        let file = open(path, O_RDONLY)
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(file, &bytes, bytes.count)
        #expect(count > 0 && count < bytes.count)
        return Array(bytes.prefix(max(count, 0)))
    }

    /// Copies the other database over this one, as cp does.
    private func copy() {
        let bytes = bytes(source)
        let file = open(path, O_WRONLY | O_TRUNC)
        defer { close(file) }
        #expect(write(file, bytes, bytes.count) == bytes.count)
        // The clock of a file system may stand still for some milliseconds.
        let times = [timespec(tv_sec: 1_000_000, tv_nsec: 0), timespec(tv_sec: 1_000_000, tv_nsec: 0)]
        #expect(futimens(file, times) == 0)
    }

    /// A database that two threads have open, and that has this row.
    private func opened(_ value: String) async -> Database {
        let database = database()
        #expect(await database.ask(.get, "t/1").body.contains("before"))
        #expect(await database.ask(.patch, "t/1", "{\"a\":\"\(value)\"}").status == 200)
        #expect(await database.ask(.get, "t/1").body == "{\"id\":1,\"a\":\"\(value)\"}")
        return database
    }

    @Test(
        "One that is copied there is read and written, though other connections sleep",
        arguments: [(0, 20, "WAL"), (20, 0, "WAL"), (0, 20, "DELETE"), (20, 0, "DELETE")])
    func copied(before: Int, after: Int, mode: String) async throws {
        try make(path, "before", pages: before)
        let database = await opened("x")
        defer { database.close() }
        try run("PRAGMA wal_checkpoint(TRUNCATE)")
        try make(source, "after", pages: after, mode: mode)
        copy()
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"after"}"#)
        #expect(await database.ask(.patch, "t/1", #"{"a":"y"}"#).body == #"{"id":1,"a":"y"}"#)
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"y"}"#)
        #expect(try SQLiteConnection(path, mode: .readWrite).integer("SELECT count(*) FROM filling") == 1)
        let check = try SQLiteConnection(path, mode: .readWrite).prepare("PRAGMA integrity_check")
        #expect(try check.step() && check.string(0) == "ok")
    }

    @Test(
        "A log that has what the file before had not is neither read into the new one nor written there",
        arguments: [true, false])
    func leftLog(isAsked: Bool) async throws {
        try make(path, "before")
        let database = await opened("x")
        defer { database.close() }
        try make(source, "after", pages: 20)
        copy()
        if isAsked {
            for _ in 0..<2 {
                let answer = await database.ask(.get, "t/1")
                #expect(answer.status == 502, "\(answer)")
                #expect(answer.body.contains("remove shop.db-shm, and then shop.db-wal"))
                #expect(await database.ask(.patch, "t/1", #"{"a":"y"}"#).status == 502)
            }
            for suffix in ["-shm", "-wal"] { unlink(path + suffix) }
            #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"after"}"#)
        }
        database.close()
        for _ in 0..<3000 where database.threadCount > 0 { usleep(10_000) }
        #expect(bytes(path) == bytes(source))
    }

    @Test(
        "A copy is told that follows a commit which nobody has read",
        arguments: ["UPDATE t SET a = 'y'", "INSERT INTO filling VALUES (zeroblob(9000))"], [false, true])
    func copiedAfterCommit(commit: String, hasOld: Bool) async throws {
        try make(path, "before")
        let database = await opened("x")
        defer { database.close() }
        // The log has what is in the file, or begins anew.
        if hasOld { try run("PRAGMA wal_checkpoint(PASSIVE)") }
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"x"}"#)
        try make(source, "after", pages: 3)
        try run(commit)
        copy()
        for _ in 0..<2 {
            let answer = await database.ask(.get, "t/1")
            #expect(answer.status == 502, "\(answer)")
            #expect(answer.body.contains("remove shop.db-shm, and then shop.db-wal"))
            #expect(await database.ask(.patch, "t/1", #"{"a":"z"}"#).status == 502)
        }
        for suffix in ["-shm", "-wal"] { unlink(path + suffix) }
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"after"}"#)
        #expect(bytes(path) == bytes(source))
    }

    @Test("A shorter copy is told though a checkpoint and the commit behind it are unread")
    func copiedAfterCheckpoint() async throws {
        try make(path, "before", pages: 20)
        let database = await opened("x")
        defer { database.close() }
        try make(source, "after", pages: 3)
        for statement in ["CREATE TABLE u(a)", "PRAGMA wal_checkpoint(FULL)", "UPDATE t SET a = 'y'"] {
            try run(statement)
        }
        copy()
        #expect(await database.ask(.get, "t/1").status == 502)
        #expect(bytes(path) == bytes(source))
    }

    @Test("Checkpoints, commits and VACUUM of another program are no copy, in any order")
    func noCopy() async throws {
        try make(path, "before", pages: 5)
        let database = await opened("x")
        defer { database.close() }
        let others = [
            try SQLiteConnection(path, mode: .readWrite), try SQLiteConnection(path, mode: .readWrite),
        ]
        let steps = [
            "INSERT INTO filling VALUES (zeroblob(9000))", "PRAGMA wal_checkpoint(PASSIVE)", "UPDATE t SET a = 'y'",
            "PRAGMA wal_checkpoint(TRUNCATE)", "DELETE FROM filling", "VACUUM", "PRAGMA wal_checkpoint(RESTART)",
            "CREATE TABLE IF NOT EXISTS u(a)", "PRAGMA user_version=7", "DROP TABLE IF EXISTS u", "BEGIN", "COMMIT",
        ]
        var random: UInt32 = 1
        var isBegun = false
        for number in 1...600 {
            random = random &* 1_664_525 &+ 1_013_904_223
            let step = steps[Int(random >> 16) % steps.count]
            if step == "BEGIN" || step == "COMMIT" {
                guard (step == "BEGIN") != isBegun else { continue }
                isBegun.toggle()
            }
            let statement = try others[isBegun || step == "COMMIT" ? 0 : number % 3 / 2].prepare(step)
            do throws(SQLiteError) {
                while try statement.step() {}
            } catch {
                // VACUUM and checkpoints are refused within a transaction.
                #expect(isBegun, "\(error)")
            }
            if random >> 30 == 0 { continue }
            if !isBegun, random >> 29 & 1 == 0 {
                #expect(await database.ask(.patch, "t/1", "{\"a\":\(number)}").status == 200, "\(number): \(step)")
            }
            let answer = await database.ask(.get, "t/1")
            #expect(answer.status == 200, "\(number): \(step): \(answer)")
        }
        #expect(database.openings.current == 0)
    }

    @Test("A log stays that of a file whose times alone have changed")
    func touched() async throws {
        try make(path, "before")
        let database = await opened("x")
        defer { database.close() }
        let times = [timespec(tv_sec: 1_000_000, tv_nsec: 0), timespec(tv_sec: 1_000_000, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"x"}"#)
        #expect(await database.ask(.patch, "t/1", #"{"a":"y"}"#).body == #"{"id":1,"a":"y"}"#)
        try run("PRAGMA wal_checkpoint(PASSIVE)")
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"y"}"#)
        #expect(database.openings.current == 0)
    }

    @Test("A file that is moved to its place between the look at it and its opening shares no log with the one before")
    func movedMeanwhile() async throws {
        try make(path, "before")
        try make(source, "after", pages: 20)
        let file = MovedFile(plain: PlainFile(location: path), source: source)
        let database = Database(
            file, writes: .file, memoryLimit: 1 << 20, entityTag: Stage.tag, now: { 1_000_000_000 })
        defer { database.close() }
        // The thread that reads has the first one open when the one that writes opens its own.
        #expect(await database.ask(.get, "t/1").body.contains("before"))
        file.isArmed.store(true, ordering: .relaxed)
        #expect(await database.ask(.patch, "t/1", #"{"a":"y"}"#).body == #"{"id":1,"a":"y"}"#)
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"y"}"#)
        let isArmed = file.isArmed.load(ordering: .relaxed)
        #expect(!isArmed)
        #expect(try SQLiteConnection(path, mode: .readWrite).integer("SELECT count(*) FROM filling") == 1)
    }

    @Test("A file without a log, moved away after the look at it, shares none with the file that comes")
    func movedAfterLook() async throws {
        try make(path, "before", mode: "DELETE")
        try make(source, "after", pages: 20)
        let file = MovedFile(plain: PlainFile(location: path), source: source)
        let database = Database(
            file, writes: .file, memoryLimit: 1 << 20, entityTag: Stage.tag, now: { 1_000_000_000 })
        defer { database.close() }
        #expect(await database.ask(.get, "t/1").body.contains("before"))
        final class Flag: Sendable { let isSet = Atomic<Bool>(false) }
        let answered = Flag()
        var rule = DatabaseRule.unhurried
        rule.statement = DatabaseRule.Statement(
            sql: "SELECT a, (SELECT sum(length(a)) FROM filling) AS size FROM t WHERE id = 1")
        // However long the other request waits for a thread.
        rule.limits.time = 600_000_000_000
        let made = DatabaseRequest(.get, rule: rule, path: [], query: [], url: [])
        let body = await withCheckedContinuation { (done: CheckedContinuation<String, Never>) in
            file.afterLook.withLock {
                $0 = {
                    Task {
                        let written = await database.ask(.patch, "t/1", #"{"a":"y"}"#)
                        #expect(written.body == #"{"id":1,"a":"y"}"#)
                        answered.isSet.store(true, ordering: .relaxed)
                    }
                    // It has the log of the file that came, or waits for the end of this connection.
                    for _ in 0..<60_000
                    where !answered.isSet.load(ordering: .relaxed) && database.openings.current == 0 { usleep(1000) }
                }
            }
            database.submit(made) { result in
                guard case .answer(let answer, _) = result else { return done.resume(returning: "") }
                done.resume(returning: String(decoding: answer.body, as: UTF8.self))
            }
        }
        let states = [("before", 0), ("after", 20 * 4096), ("y", 20 * 4096)].map { #"[{"a":"\#($0)","size":\#($1)}]"# }
        #expect(states.contains(body))
        for value in 0..<3 {
            let written = await database.ask(.patch, "t/1", #"{"a":"\#(value)"}"#)
            #expect(written.body == #"{"id":1,"a":"\#(value)"}"#)
            #expect(await database.ask(.get, "t/1").body == written.body)
        }
        #expect(try SQLiteConnection(path, mode: .readWrite).integer("SELECT count(*) FROM filling") == 1)
    }

    @Test("A file whose first page a checkpoint has left out, as somebody reads, is no other file")
    func checkpointBesideReader() async throws {
        try make(path, "before")
        let database = await opened("x")
        defer { database.close() }
        try run("INSERT INTO filling VALUES (zeroblob(60000))")
        let other = try SQLiteConnection(path, mode: .readWrite)
        for statement in ["BEGIN", "SELECT count(*) FROM filling"] {
            let statement = try other.prepare(statement)
            while try statement.step() {}
        }
        try run("INSERT INTO filling VALUES (zeroblob(60000))")
        try run("PRAGMA wal_checkpoint(PASSIVE)")
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"x"}"#)
        #expect(await database.ask(.patch, "t/1", #"{"a":"y"}"#).body == #"{"id":1,"a":"y"}"#)
        #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"y"}"#)
        #expect(database.openings.current == 0)
    }

    @Test(
        "A query that goes on is ended and asked of the file that took the place of its own",
        arguments: [false, true])
    func running(isCopied: Bool) async throws {
        try make(path, "before")
        let database = await opened("1000000000000")
        defer { database.close() }
        try run("PRAGMA wal_checkpoint(TRUNCATE)")
        try make(source, "3", pages: 20)
        var rule = DatabaseRule.unhurried
        rule.statement = DatabaseRule.Statement(
            sql: """
                WITH RECURSIVE n(x) AS (
                  SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < (SELECT CAST(a AS INTEGER) FROM t WHERE id = 1))
                SELECT count(*) AS n FROM n
                """)
        rule.limits.time = 60_000_000_000
        rule.limits.wait = 60_000_000_000
        let made = DatabaseRequest(.get, rule: rule, path: [], query: [], url: [])
        let body = await withCheckedContinuation { (done: CheckedContinuation<String, Never>) in
            database.submit(made) { result in
                guard case .answer(let answer, _) = result else { return done.resume(returning: "") }
                done.resume(returning: String(decoding: answer.body, as: UTF8.self))
            }
            Task {
                // Another thread answers this one, so that the query has begun.
                _ = await database.ask(.get, "t/1")
                if isCopied { copy() } else { #expect(rename(source, path) == 0) }
                #expect(await database.ask(.get, "t/1").body == #"{"id":1,"a":"3"}"#)
            }
        }
        #expect(body == #"[{"n":3}]"#)
    }

    @Test("No connection begins while one to the file before is open, or is about to be")
    func openings() {
        let openings = Openings()
        let (old, new) = (DatabaseFileIdentity(device: 1, inode: 10), DatabaseFileIdentity(device: 1, inode: 11))
        func begin(_ file: DatabaseFileIdentity) -> Openings.Opening? {
            if case .begun(let opening) = openings.begin(file) { opening } else { nil }
        }
        var former = [begin(old), begin(old)]
        #expect(former.allSatisfy { $0?.number == 0 })
        guard case .isOfOther(0) = openings.begin(new) else {
            Issue.record("It begins beside connections to another file")
            return
        }
        #expect(openings.end(0))
        // A second thread may have seen the same.
        #expect(!openings.end(0) && openings.current == 1)
        for _ in 0..<2 {
            guard case .hasFormer = openings.begin(new) else {
                Issue.record("It begins while one before is open")
                return
            }
            former.removeLast()
        }
        #expect(begin(new)?.number == 1)
        // Where none is open, it may be to any file.
        #expect(begin(old)?.number == 1)
    }
}

/// A file in whose place another one comes when it is to be opened, or when it has been looked at.
private final class MovedFile: DatabaseFile {
    /// The other one comes when it is to be opened.
    let isArmed = Atomic<Bool>(false)
    /// The other one comes after the next look, and this is done.
    let afterLook = Mutex<(@Sendable () -> Void)?>(nil)
    private let plain: PlainFile
    private let source: String

    init(plain: PlainFile, source: String) {
        self.plain = plain
        self.source = source
    }

    var name: String { plain.name }

    func look() throws(DatabaseFileProblem) -> DatabaseFileLook {
        let look = try plain.look()
        let action = afterLook.withLock { action in
            defer { action = nil }
            return action
        }
        guard let action else { return look }
        #expect(rename(source, try plain.path()) == 0)
        action()
        return look
    }

    func path() throws(DatabaseFileProblem) -> String {
        let path = try plain.path()
        if isArmed.exchange(false, ordering: .relaxed) { #expect(rename(source, path) == 0) }
        return path
    }
}
