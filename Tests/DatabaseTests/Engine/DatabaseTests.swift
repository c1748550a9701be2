import Basics
import Glibc
import SQLite
import Synchronization
import Testing

@testable import Database

/// A file that is looked at as it lies.
struct PlainFile: DatabaseFile {
    let location: String
    var name: String { "shop.db" }

    func look() throws(DatabaseFileProblem) -> DatabaseFileLook {
        var status = stat()
        guard stat(location, &status) == 0 else { throw .missing }
        func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) }
        return DatabaseFileLook(
            DatabaseFileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)),
            DatabaseFileStamp(
                size: Int64(status.st_size), modified: nanoseconds(status.st_mtim),
                changed: nanoseconds(status.st_ctim)))
    }
    func path() throws(DatabaseFileProblem) -> String { location }
}

/// A folder that is removed with its files.
final class Folder: Sendable {
    let path: String
    init() {
        var name = Array("/tmp/subproxy-database-XXXXXX".utf8CString)
        path = name.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) } ?? ""
        }
    }
    deinit {
        for suffix in ["", "-wal", "-shm", "-journal", ".new"] { unlink(path + "/shop.db" + suffix) }
        rmdir(path)
    }
}

@Suite struct DatabaseTests {
    let folder = Folder()
    private var path: String { folder.path + "/shop.db" }

    private func make(
        _ script: [String] = ["CREATE TABLE t(id INTEGER PRIMARY KEY, a)", "INSERT INTO t VALUES(1,'x')"],
        wal: Bool = false
    ) throws {
        let connection = try SQLiteConnection(path, mode: .create)
        if wal { _ = try connection.prepare("PRAGMA journal_mode=WAL").step() }
        for statement in script { try connection.execute(statement) }
    }

    /// The time of a clock that stands still: on a busy machine a test may take longer than a database is idle.
    private static let began = monotonicNanoseconds()

    private func database(
        seeds: SeedSource? = nil, readers: ReaderDuty = ReaderDuty(),
        now: @escaping @Sendable () -> UInt64 = { DatabaseTests.began }
    ) -> Database {
        Database(
            PlainFile(location: path), seeds: seeds, memoryLimit: 1 << 20, entityTag: Stage.tag, now: now,
            readers: readers)
    }

    private func ask(
        _ database: Database, _ method: DatabaseRequest.Method, _ path: String, _ body: String = "",
        writes: DatabaseRule.Writes = .off, change: (inout DatabaseRule) -> Void = { _ in }
    ) async -> (status: Int, body: String, version: UInt64?) {
        var rule = DatabaseRule.unhurried
        rule.writes = writes
        change(&rule)
        let end = path.firstIndex(of: "?") ?? path.endIndex
        var request = DatabaseRequest(
            method, rule: rule, path: Array(path[..<end].utf8), query: Array(path[end...].dropFirst().utf8))
        request.body.type = "application/json"
        request.body.bytes = Array(body.utf8)
        let made = request
        return await withCheckedContinuation { continuation in
            database.submit(made) { result in
                switch result {
                case .answer(let answer, let version):
                    continuation.resume(
                        returning: (answer.status, String(decoding: answer.body, as: UTF8.self), version))
                case .rows(_, let version): continuation.resume(returning: (-3, "", version))
                case .missing: continuation.resume(returning: (-1, "", nil))
                case .refused(let why): continuation.resume(returning: (-2, why, nil))
                }
            }
        }
    }

    private func check(_ database: Database) async {
        _ = await withCheckedContinuation { continuation in database.check { continuation.resume(returning: $0) } }
    }

    private func reset(_ database: Database) async {
        await withCheckedContinuation { continuation in database.reset { continuation.resume() } }
    }

    /// How many descriptors of this process are open on the database's files.
    private func descriptors() -> Int {
        (0..<1024).count { descriptor in
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
            return count > 0
                && String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self).hasPrefix(path)
        }
    }

    @Test func `Threads and connections of an idle database end, and come back`() async throws {
        try make(wal: true)
        let passed = Mutex<UInt64>(0)
        // On a busy machine another thread is called for the next request, while the one before is not back yet.
        let database = database(readers: ReaderDuty(limit: 1, spare: 0)) {
            DatabaseTests.began &+ passed.withLock { $0 }
        }
        defer { database.close() }
        for _ in 0..<2 {
            #expect(await ask(database, .get, "t/1").status == 200)
            #expect(await ask(database, .patch, "t/1", #"{"a":"y"}"#, writes: .file).status == 200)
            #expect(database.threadCount == 2 && descriptors() > 0)
            passed.withLock { $0 &+= Database.idleTime - 30_000_000_000 }
            database.sweep()
            #expect(await ask(database, .get, "t/1").status == 200)
            #expect(database.threadCount == 2)
            passed.withLock { $0 &+= Database.idleTime }
            database.sweep()
            for _ in 0..<3000 where database.threadCount > 0 { usleep(10_000) }
            #expect(database.threadCount == 0 && descriptors() == 0)
            #expect(access(path + "-wal", F_OK) != 0)
        }
    }

    @Test func `Requests that come while threads end are answered`() async throws {
        try make()
        let passed = Mutex<UInt64>(0)
        let database = database { DatabaseTests.began &+ passed.withLock { $0 } }
        defer { database.close() }
        for round in 0..<200 {
            passed.withLock { $0 &+= Database.idleTime }
            database.sweep()
            let answered = await withTaskGroup(of: Int.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        guard number == 0 else { return await ask(database, .get, "t/1").status }
                        return await ask(database, .patch, "t/1", "{\"a\":\(round)}", writes: .file).status
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 == 200 ? 1 : 0 }
            }
            #expect(answered == 8)
        }
        #expect(database.threadCount <= ReaderDuty.maximumCount + 2)
    }

    @Test func `The thread that has a database in memory sleeps while nobody asks`() async throws {
        try make()
        let looks = Mutex(0)
        // To the thread its last request is longer ago than any that it waits for.
        let database = database {
            looks.withLock { $0 += 1 }
            return monotonicNanoseconds() &- 2 &* Database.idleTime
        }
        defer { database.close() }
        #expect(await ask(database, .patch, "t/1", #"{"a":"y"}"#, writes: .memory).status == 200)
        for _ in 0..<3000 where database.threadCount > 1 { usleep(10_000) }
        let before = looks.withLock { $0 }
        usleep(50_000)
        #expect(looks.withLock { $0 } - before < 10)
    }

    @Test func `What is in memory stays, however long nobody asks`() async throws {
        try make()
        let passed = Mutex<UInt64>(0)
        let database = database { DatabaseTests.began &+ passed.withLock { $0 } }
        defer { database.close() }
        #expect(await ask(database, .patch, "t/1", #"{"a":"y"}"#, writes: .memory).status == 200)
        passed.withLock { $0 &+= 10 * Database.idleTime }
        database.sweep()
        #expect(await ask(database, .get, "t/1").body == #"{"id":1,"a":"y"}"#)
        for _ in 0..<3000 where database.threadCount > 1 { usleep(10_000) }
        #expect(database.threadCount == 1)
    }

    @Test(arguments: [false, true]) func `What another program commits makes kept answers old`(wal: Bool) async throws {
        try make(wal: wal)
        let database = database()
        defer { database.close() }
        let first = await ask(database, .get, "t/1")
        #expect(first.body == #"{"id":1,"a":"x"}"# && first.version == database.version.current)
        await check(database)
        #expect(first.version == database.version.current)
        try make(["UPDATE t SET a = 'y'"])
        await check(database)
        #expect(first.version != database.version.current)
        #expect(await ask(database, .get, "t/1").body == #"{"id":1,"a":"y"}"#)
    }

    @Test func `A file that takes the place of another is opened`() async throws {
        try make()
        let database = database()
        defer { database.close() }
        #expect(await ask(database, .get, "t/1").status == 200)
        rename(path, path + ".old")
        #expect(await ask(database, .get, "t/1").status == -1)
        try make(["CREATE TABLE t(id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES(1)"])
        #expect(await ask(database, .get, "t/1").body == #"{"id":1}"#)
        unlink(path + ".old")
    }

    @Test func `A log that belongs to another file is not read into a new one`() async throws {
        try make(wal: true)
        let holder = try SQLiteConnection(path, mode: .readWrite)
        try holder.execute("UPDATE t SET a = 'log'")
        let database = database()
        defer { database.close() }
        #expect(await ask(database, .get, "t/1").body == #"{"id":1,"a":"log"}"#)
        let other = Folder()
        let connection = try SQLiteConnection(other.path + "/shop.db", mode: .create)
        try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
        #expect(rename(other.path + "/shop.db", path) == 0)
        let answer = await ask(database, .get, "t")
        #expect(answer.status == 502 && answer.body.contains("-wal"), "\(answer)")
        // The next requests, and those of other threads, don't get it either.
        #expect(await ask(database, .get, "t").status == 502)
        #expect(await ask(database, .post, "t", "{}", writes: .file).status == 502)
        unlink(path + "-wal")
        #expect(await ask(database, .get, "t").body == "[]")
    }

    @Test func `An empty log of the file before keeps nobody from a new one`() async throws {
        try make(wal: true)
        let database = database()
        defer { database.close() }
        // Who only reads makes the log, and leaves it empty.
        #expect(await ask(database, .get, "t/1").status == 200)
        var status = stat()
        #expect(stat(path + "-wal", &status) == 0 && status.st_size == 0)
        let other = Folder()
        do {
            let connection = try SQLiteConnection(other.path + "/shop.db", mode: .create)
            try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, b)")
        }
        #expect(rename(other.path + "/shop.db", path) == 0)
        #expect(await ask(database, .get, "t").body == "[]")
        // One that has a log itself gets an index of its own.
        do {
            let connection = try SQLiteConnection(other.path + "/shop.db", mode: .create)
            _ = try connection.prepare("PRAGMA journal_mode=WAL").step()
            try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, c)")
        }
        #expect(rename(other.path + "/shop.db", path) == 0)
        #expect(await ask(database, .get, "t").body == "[]")
    }

    @Test func `A log is told from the one before it, though it has got that one's inode`() async throws {
        try make(wal: true)
        var holder: SQLiteConnection? = try SQLiteConnection(path, mode: .readWrite)
        try holder?.execute("UPDATE t SET a = 'log'")
        let passed = Mutex<UInt64>(0)
        let database = database { monotonicNanoseconds() &+ passed.withLock { $0 } }
        defer { database.close() }
        #expect(await ask(database, .get, "t/1").status == 200)
        let old = try #require(LogIdentity(ofFile: path + "-wal"))
        passed.withLock { $0 &+= Database.idleTime }
        database.sweep()
        for _ in 0..<3000 where database.threadCount > 0 { usleep(10_000) }
        holder = nil
        unlink(path + "-wal")
        let other = Folder()
        // The file system gives the inode to one of the next files: ext4 to the first.
        let names = (0..<64).map { other.path + "/\($0)" }
        defer { for name in names { unlink(name) } }
        let heir = names.first { name in
            close(creat(name, 0o600))
            return LogIdentity(ofFile: name)?.file == old.file
        }
        if let heir { #expect(rename(heir, path + "-wal") == 0) }
        let connection = try SQLiteConnection(other.path + "/shop.db", mode: .create)
        try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
        #expect(rename(other.path + "/shop.db", path) == 0)
        #expect(await ask(database, .get, "t").body == "[]")
    }

    @Test(
        arguments: [(1, 5, true), (1, 6, false), (2, 5, false), (1, nil, false), (2, nil, false)]
            as [(UInt64, Int64?, Bool)])
    func `A log belongs to another file only if it is the same log`(inode: UInt64, birth: Int64?, isForeign: Bool) {
        let database = database()
        let (old, new) = (DatabaseFileIdentity(device: 1, inode: 10), DatabaseFileIdentity(device: 1, inode: 11))
        database.note(log: LogIdentity(file: DatabaseFileIdentity(device: 1, inode: 1), birth: 5), of: old)
        let log = LogIdentity(file: DatabaseFileIdentity(device: 1, inode: inode), birth: birth)
        #expect(database.isForeign(log: log, of: new) == isForeign)
        #expect(!database.isForeign(log: log, of: old))
    }

    @Test func `A write goes to memory until a reset, and the file stays as it is`() async throws {
        try make()
        let database = database()
        defer { database.close() }
        let before = await ask(database, .get, "t/1", writes: .memory)
        #expect(await ask(database, .patch, "t/1", #"{"a":"z"}"#, writes: .memory).status == 200)
        #expect(before.version != database.version.current)
        #expect(await ask(database, .get, "t/1", writes: .memory).body == #"{"id":1,"a":"z"}"#)
        #expect(database.version.checkedAt == .max)
        try make(["UPDATE t SET a = 'file'"])
        #expect(await ask(database, .get, "t/1").body == #"{"id":1,"a":"z"}"#)
        await reset(database)
        #expect(await ask(database, .get, "t/1").body == #"{"id":1,"a":"file"}"#)
    }

    @Test func `A write to the file shows at once, and to other programs`() async throws {
        try make()
        let database = database()
        defer { database.close() }
        _ = await ask(database, .get, "t/1", writes: .file)
        #expect(await ask(database, .post, "t", #"{"a":1}"#, writes: .file).status == 201)
        #expect(await ask(database, .get, "t/2", writes: .file).body == #"{"id":2,"a":1}"#)
        let other = try SQLiteConnection(path, mode: .readOnly)
        #expect(try other.integer("SELECT count(*) FROM t") == 2)
    }

    @Test func `A query that takes too long is ended`() async throws {
        try make()
        let database = database()
        defer { database.close() }
        let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT count(*) FROM n"
        let answer = await ask(database, .get, "") {
            $0.statement = DatabaseRule.Statement(sql: endless)
            $0.limits.time = 20_000_000
        }
        #expect(answer.status == 503 && answer.body.contains("took too long"))
    }

    @Test func `A look whether the data have changed waits for no query, however many take long`() async throws {
        try make()
        let database = database()
        defer { database.close() }
        #expect(await ask(database, .get, "t/1").status == 200)
        var rule = DatabaseRule.unhurried
        rule.statement = DatabaseRule.Statement(
            sql: "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT count(*) FROM n")
        (rule.limits.time, rule.limits.wait) = (600_000_000_000, 600_000_000_000)
        let request = DatabaseRequest(.get, rule: rule, path: [], query: [], url: [])
        let ended = Mutex(0)
        let count = ReaderDuty.maximumCount
        let tickets = (0...count).map { _ in database.submit(request) { _ in ended.withLock { $0 += 1 } } }
        for _ in 0..<3000 where database.threadCount < count { usleep(10_000) }
        // The one that waits gets no thread of its own; a look does, and that stays for the next one.
        for _ in 0..<3 { await check(database) }
        #expect(ended.withLock { $0 } == 0)
        #expect(database.threadCount <= count + 1)
        for ticket in tickets { ticket.cancel() }
        for _ in 0..<3000 where ended.withLock({ $0 }) < tickets.count { usleep(10_000) }
        #expect(ended.withLock { $0 } == tickets.count)
        #expect(await ask(database, .get, "t/1").status == 200)
    }

    @Test func `Requests wait for a lock of another program, and no longer than they may`() async throws {
        try make()
        let database = database()
        defer { database.close() }
        let other = try SQLiteConnection(path, mode: .readWrite)
        try other.execute("BEGIN EXCLUSIVE")
        let answer = await ask(database, .get, "t/1") { $0.limits.wait = 20_000_000 }
        #expect(answer.status == 503 && answer.body.contains("locked"), "\(answer)")
        try other.execute("COMMIT")
        #expect(await ask(database, .get, "t/1").status == 200)
    }

    @Test func `Too many requests are refused, and those that wait are answered`() async throws {
        try make()
        let database = database()
        defer { database.close() }
        nonisolated(unsafe) let other = try SQLiteConnection(path, mode: .readWrite)
        try other.execute("BEGIN EXCLUSIVE")
        let counts = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<300 {
                group.addTask {
                    // Longer than the slowest machine takes to ask them all.
                    await self.ask(database, .get, "t/1") {
                        $0.limits.wait = 600_000_000_000
                        $0.limits.time = 600_000_000_000
                    }.status
                }
            }
            var counts: [Int: Int] = [:]
            for await status in group {
                counts[status, default: 0] += 1
                // The first ones to come back are those that found no place.
                if status == 503, counts[503] == 40 { try? other.execute("COMMIT") }
            }
            return counts
        }
        #expect(
            (40...44).contains(counts[503] ?? 0) && counts.values.reduce(0, +) == 300 && counts.count == 2, "\(counts)")
    }

    @Test func `A view that SQLite can't be done with fails alone`() async throws {
        let views = (1...25).map { "CREATE VIEW v\($0) AS SELECT * FROM v\($0 - 1) UNION ALL SELECT * FROM v\($0 - 1)" }
        try make(
            [
                "CREATE TABLE t(id INTEGER PRIMARY KEY, a)", "INSERT INTO t VALUES(1,'x')",
                "CREATE VIEW v0 AS SELECT a FROM t",
            ]
                + views)
        let database = database()
        defer { database.close() }
        for _ in 0..<2 {
            #expect(await ask(database, .get, "t/1").status == 200)
            #expect(await ask(database, .post, "t", "{}", writes: .file).status == 201)
            let heavy = await ask(database, .get, "v25") { $0.limits.time = 300_000_000 }
            #expect([502, 503].contains(heavy.status), "\(heavy)")
            #expect(await ask(database, .get, "V1?_limit=1").body == #"[{"a":"x"}]"#)
            let unknown = await ask(database, .get, "w")
            #expect(unknown.status == 404 && unknown.body.contains(#"["t","v0","v1","v10","#), "\(unknown)")
        }
        let tables = await ask(database, .get, "") { $0.limits.time = 600_000_000_000 }
        let light = #"{"name":"v3","kind":"view","key":[],"columns":[{"name":"a","type":""}]}"#
        #expect(tables.status == 200 && tables.body.contains(light), "\(tables)")
        #expect(tables.body.contains(#"{"name":"v25","kind":"view","key":[],"columns":[]}"#), "\(tables)")
    }

    @Test(arguments: [[], ["", "v14"], ["v14", "", "v2"]])
    func `The list of tables is the same whichever views were asked for before`(before: [String]) async throws {
        let views = (1...14).map { "CREATE VIEW v\($0) AS SELECT * FROM v\($0 - 1) UNION ALL SELECT * FROM v\($0 - 1)" }
        try make(["CREATE TABLE t(id INTEGER PRIMARY KEY, a)", "CREATE VIEW v0 AS SELECT a FROM t"] + views)
        let database = database()
        defer { database.close() }
        // OPTIONS has a view's columns read, and no rows.
        for target in before { _ = await ask(database, .options, target) { $0.limits.time = 600_000_000_000 } }
        let tables = await ask(database, .get, "") { $0.limits.time = 600_000_000_000 }
        func entry(_ name: String, columns: String) -> String {
            #"{"name":"\#(name)","kind":"view","key":[],"columns":[\#(columns)]}"#
        }
        #expect(tables.body.contains(entry("v2", columns: #"{"name":"a","type":""}"#)), "\(tables)")
        #expect(tables.body.contains(entry("v14", columns: "")), "\(tables)")
    }

    @Test func `A database that is too large is not copied`() async throws {
        try make(["CREATE TABLE t(id INTEGER PRIMARY KEY, a)", "INSERT INTO t VALUES(1, zeroblob(2000000))"])
        let database = database()
        defer { database.close() }
        let answer = await ask(database, .post, "t", "{}", writes: .memory)
        #expect(answer.status == 507 && answer.body.contains("2.0 MB") && answer.body.contains("1 MiB"), "\(answer)")
    }

    @Test func `A database that outgrows its memory is refused more`() async throws {
        try make()
        let database = database()
        defer { database.close() }
        var answer = (status: 0, body: "", version: UInt64?.none)
        for _ in 0..<40 where answer.status != 507 {
            answer = await ask(
                database, .post, "t", "{\"a\":\"\(String(repeating: "x", count: 40_000))\"}", writes: .memory)
        }
        #expect(answer.status == 507)
        #expect(
            answer.body.contains(
                "\"detail\":\"the write does not fit: shop.db has 1.0 MB, and 'limits: { memory: … }' is 1 MiB\""),
            "\(answer)")
        #expect(await ask(database, .get, "t/1").status == 200)
    }

    @Test(arguments: [512, 4096, 65_536])
    func `What seeds have made is kept within the memory, whatever size their pages have`(pageSize: Int) async throws {
        let seeds = TestSeeds("PRAGMA page_size = \(pageSize); CREATE TABLE t(id INTEGER PRIMARY KEY, a);")
        let database = database(seeds: SeedSource(seeds))
        defer { database.close() }
        var (answer, count) = ((status: 0, body: "", version: UInt64?.none), -1)
        while count < 40, answer.status != 507 {
            answer = await ask(
                database, .post, "t", "{\"a\":\"\(String(repeating: "x", count: 40_000))\"}", writes: .memory)
            count += 1
        }
        #expect(answer.status == 507 && count > 8, "\(count) \(answer)")
    }

    @Test func `What is no database is told as what it is`() async throws {
        let file = fopen(path, "w")
        if let file { fputs(String(repeating: "no database ", count: 1000), file) }
        if let file { fclose(file) }
        let database = database()
        defer { database.close() }
        let answer = await ask(database, .get, "t")
        #expect(answer.status == 502 && answer.body.contains("SQLITE_NOTADB"))
    }

    @Test func `Rows that differ from call to call are not kept`() async throws {
        try make([
            "CREATE TABLE t(id INTEGER PRIMARY KEY)", "CREATE VIEW r AS SELECT random() AS n",
            "CREATE VIEW c AS SELECT 1 AS n",
        ])
        let database = database()
        defer { database.close() }
        for _ in 0..<2 {
            #expect(await ask(database, .get, "r").version == nil)
            #expect(await ask(database, .get, "c").version != nil)
        }
    }

    @Test func `A change of the schema by another program shows, whoever has looked first`() async throws {
        try make()
        let database = database()
        defer { database.close() }
        #expect(await ask(database, .get, "t/1").status == 200)
        try make(["ALTER TABLE t ADD COLUMN more"])
        await check(database)
        #expect(await ask(database, .get, "t/1").body == #"{"id":1,"a":"x","more":null}"#)
    }

    @Test func `A statement of the map has the columns that another program has given its table`() async throws {
        try make(["CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)", "INSERT INTO t VALUES(1,'x','y')"])
        let database = database()
        defer { database.close() }
        let statement = DatabaseRule.Statement(sql: "SELECT * FROM t", result: .one)
        func row() async -> String { await ask(database, .get, "") { $0.statement = statement }.body }
        #expect(await row() == #"{"id":1,"a":"x","b":"y"}"#)
        try make(["ALTER TABLE t RENAME COLUMN a TO c"])
        #expect(await row() == #"{"id":1,"c":"x","b":"y"}"#)
        try make(["ALTER TABLE t ADD COLUMN d BOOLEAN", "UPDATE t SET d = 1"])
        #expect(await row() == #"{"id":1,"c":"x","b":"y","d":true}"#)
        try make(["ALTER TABLE t DROP COLUMN c"])
        #expect(await row() == #"{"id":1,"b":"y","d":true}"#)
    }

    @Test func `A seed that changes makes the data anew before the next write`() async throws {
        let seeds = TestSeeds("CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1,'old');")
        let database = database(seeds: SeedSource(seeds))
        defer { database.close() }
        #expect(await ask(database, .get, "t/1", writes: .memory).body == #"{"id":1,"a":"old"}"#)
        seeds.text.withLock { $0 = "CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1,'new');" }
        #expect(await ask(database, .post, "t", #"{"a":2}"#, writes: .memory).status == 201)
        #expect(await ask(database, .get, "t", writes: .memory).body == #"[{"id":1,"a":"new"},{"id":2,"a":2}]"#)
    }

    @Test(arguments: [DatabaseRule.Writes.off, .memory])
    func `A file that appears takes the place of its seeds until something is written to memory`(
        writes: DatabaseRule.Writes
    ) async throws {
        let seeds = TestSeeds("CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1,'seed');")
        let database = database(seeds: SeedSource(seeds))
        defer { database.close() }
        let seeded = await ask(database, .get, "t/1", writes: writes)
        #expect(seeded.body == #"{"id":1,"a":"seed"}"#)
        try make()
        let before = database.version.current
        await check(database)
        #expect(database.version.current != before)
        #expect(await ask(database, .get, "t/1", writes: writes).body == #"{"id":1,"a":"x"}"#)
        unlink(path)
        #expect(await ask(database, .get, "t/1", writes: writes).body == #"{"id":1,"a":"seed"}"#)
        guard writes == .memory else { return }
        #expect(await ask(database, .patch, "t/1", #"{"a":"y"}"#, writes: writes).status == 200)
        try make()
        await check(database)
        #expect(await ask(database, .get, "t/1", writes: writes).body == #"{"id":1,"a":"y"}"#)
        seeds.text.withLock { $0 = "CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1,'new');" }
        await check(database)
        #expect(await ask(database, .get, "t/1", writes: writes).body == #"{"id":1,"a":"new"}"#)
        await reset(database)
        #expect(await ask(database, .get, "t/1", writes: writes).body == #"{"id":1,"a":"x"}"#)
    }

    @Test func `The file that seeds make may be written to by whom the umask lets`() async throws {
        let database = database(seeds: SeedSource(TestSeeds("CREATE TABLE t(id INTEGER PRIMARY KEY, a);")))
        defer { database.close() }
        #expect(await ask(database, .post, "t", #"{"a":1}"#, writes: .file).status == 201)
        let other = path + ".other"
        close(open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0o666))
        defer { unlink(other) }
        var modes = (stat(), stat())
        #expect(stat(path, &modes.0) == 0 && stat(other, &modes.1) == 0)
        #expect(modes.0.st_mode == modes.1.st_mode)
    }

    @Test func `The first write to memory is made in a copy of the file that has appeared`() async throws {
        let seeds = TestSeeds("CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1,'seed');")
        let database = database(seeds: SeedSource(seeds))
        defer { database.close() }
        #expect(await ask(database, .get, "t/1", writes: .memory).body == #"{"id":1,"a":"seed"}"#)
        #expect(await ask(database, .patch, "t/9", #"{"a":"y"}"#, writes: .memory).status == 404)
        try make()
        #expect(await ask(database, .post, "t", #"{"a":"y"}"#, writes: .memory).status == 201)
        #expect(
            await ask(database, .get, "t", writes: .memory).body == #"[{"id":1,"a":"x"},{"id":2,"a":"y"}]"#)
        #expect(try SQLiteConnection(path, mode: .readOnly).integer("SELECT count(*) FROM t") == 1)
    }

    @Test func `A request that waited longer than it may is not begun`() async throws {
        try make()
        let database = database()
        defer { database.close() }
        let other = try SQLiteConnection(path, mode: .readWrite)
        try other.execute("BEGIN EXCLUSIVE")
        // Each waits for the lock as long as it may; those behind have waited as long by then.
        async let first = ask(database, .post, "t", "{}", writes: .file) {
            ($0.limits.wait, $0.limits.time) = (50_000_000, 50_000_000)
        }
        async let second = ask(database, .post, "t", "{}", writes: .file) { ($0.limits.wait, $0.limits.time) = (1, 1) }
        let statuses = await [first.status, second.status]
        try other.execute("COMMIT")
        #expect(statuses == [503, 503])
        #expect(await ask(database, .get, "t").body == #"[{"id":1,"a":"x"}]"#)
    }
}

/// A seed whose text a test changes.
final class TestSeeds: SeedFiles {
    let text: Mutex<String>

    init(_ text: String) { self.text = Mutex(text) }

    func read() throws(SeedProblem) -> [SeedFile] { [SeedFile(name: "s.sql", bytes: Array(text.withLock { $0 }.utf8))] }

    var state: [UInt64] { [UInt64(bitPattern: Int64(text.withLock { $0 }.hashValue))] }
}
