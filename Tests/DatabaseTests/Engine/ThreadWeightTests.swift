import Basics
import CLinux
import Glibc
import SQLite
import Synchronization
import Testing

@testable import Database

@Suite struct ThreadWeightTests {
    /// A thread's nice value, as a system keeps it.
    private final class Nice {
        var value: CInt
        var isPrivileged: Bool
        init(_ value: CInt, isPrivileged: Bool) {
            self.value = value
            self.isPrivileged = isPrivileged
        }

        func weight() -> ThreadWeight {
            ThreadWeight(
                read: { self.value },
                write: { value in
                    guard value >= self.value || self.isPrivileged else { return false }
                    self.value = value
                    return true
                })
        }
    }

    @Test(arguments: [(0, 10), (-5, 5), (12, 19), (19, 19)] as [(CInt, CInt)])
    func `A thread steps back once, and goes back to what it was`(before: CInt, after: CInt) {
        let nice = Nice(before, isPrivileged: true)
        var weight = nice.weight()
        for _ in 0..<3 { weight.lower() }
        #expect(nice.value == after && weight.isLow == (after > before))
        let isBack = weight.restore()
        #expect(isBack && nice.value == before && !weight.isLow)
    }

    @Test func `A thread that may not go back says so, and one that it makes too`() {
        let nice = Nice(0, isPrivileged: false)
        var weight = nice.weight()
        var isBack = weight.restore()
        #expect(isBack)
        weight.lower()
        isBack = weight.restore()
        #expect(!isBack && weight.isLow && nice.value == 10)
        var made = nice.weight()
        made.inherit(weight.former)
        made.lower()
        isBack = made.restore()
        #expect(!isBack && nice.value == 10)
    }

    @Test func `A thread gives way once a slice that it runs, however long it waits then`() {
        var yields: [UInt64] = []
        var clock: UInt64 = 0
        var weight = ThreadWeight(
            read: { 0 }, write: { _ in true },
            yield: {
                yields.append(clock)
                // Others have the processor for a tick.
                clock += 4_000_000
            }, clock: { clock })
        for _ in 0..<45 {
            clock += 20_000
            weight.giveWay(at: clock)
        }
        #expect(yields == [200_000, 4_400_000, 8_600_000, 12_800_000])
    }

    @Test(arguments: [3_000_000, 700_000] as [UInt64])
    func `A thread that has stepped back has short slices, and its own ones again afterwards`(own: UInt64) {
        // The system's are 700,000 ns.
        var slice = own
        var slices: [[UInt64]] = []
        let nice = Nice(3, isPrivileged: true)
        var weight = ThreadWeight(
            read: { nice.value },
            write: { value in
                nice.value = value
                return true
            }, readSlice: { slice },
            setSlice: {
                slices.append([UInt64($0), $1])
                slice = $1 == 0 ? 700_000 : $1
            })
        for _ in 0..<2 { weight.lower() }
        #expect(slice == ThreadWeight.slice)
        _ = weight.restore()
        #expect(slice == own)
        #expect(slices == [[13, ThreadWeight.slice], [3, 0]] + (own == 700_000 ? [] : [[3, own]]))
    }

    @Test(.enabled(if: linux_slice() > 0, "kernel: Linux 6.12"))
    func `A thread's slices are what they were after it has stepped back`() {
        // A thread of its own, whose slices are of no concern to other tests.
        final class Found: @unchecked Sendable {
            var slices: [UInt64] = []
            func look() { slices.append(linux_slice()) }
        }
        let found = Found()
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let found = Unmanaged<Found>.fromOpaque(argument).takeUnretainedValue()
                let nice = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
                found.look()
                for slice in [0, 2_000_000] as [UInt64] {
                    _ = linux_set_slice(nice, slice)
                    // The nice value stays: most users couldn't have it back.
                    var weight = ThreadWeight(
                        read: { nice == 19 ? 18 : nice }, write: { _ in true }, readSlice: { linux_slice() },
                        setSlice: { _ = linux_set_slice(nice, $1) })
                    weight.lower()
                    found.look()
                    _ = weight.restore()
                    found.look()
                }
                return nil
            }, Unmanaged.passUnretained(found).toOpaque())
        #expect(code == 0)
        pthread_join(thread, nil)
        withExtendedLifetime(found) {}
        #expect(found.slices == [found.slices[0], 200_000, found.slices[0], 200_000, 2_000_000])
    }

    @Test func `A query that takes long steps back, and its thread doesn't stay so`() async throws {
        let folder = Folder()
        _ = try SQLiteConnection(folder.path + "/shop.db", mode: .create).execute("CREATE TABLE t(a)")
        let file = NotingFile(folder.path + "/shop.db")
        let database = Database(file, memoryLimit: 1 << 20, entityTag: Stage.tag)
        defer { database.close() }
        // The thread that reads is made by this one.
        let own = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
        let lowered = min(19, own + ThreadWeight.step)
        var rule = DatabaseRule.unhurried
        rule.statement = DatabaseRule.Statement(
            sql: "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT count(*) FROM n")
        rule.limits.time = 60_000_000_000
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            let ticket = database.submit(DatabaseRequest(.get, rule: rule, path: [], query: [], url: [])) { _ in
                done.resume()
            }
            var wasSeen = false
            for _ in 0..<3000 where !wasSeen {
                usleep(10_000)
                wasSeen = file.niceValue == lowered
            }
            #expect(wasSeen)
            ticket.cancel()
        }
        // It may have ended, where it couldn't go back.
        var isBack = false
        for _ in 0..<3000 where !isBack {
            usleep(10_000)
            isBack = file.niceValue ?? own == own
        }
        #expect(isBack)
    }
}

/// A file that notes which thread opens it.
private final class NotingFile: DatabaseFile {
    private let plain: PlainFile
    /// Below /proc, as "1/task/2".
    private let thread = Mutex("")
    var name: String { plain.name }

    init(_ path: String) { plain = PlainFile(location: path) }

    func look() throws(DatabaseFileProblem) -> DatabaseFileLook { try plain.look() }

    func path() throws(DatabaseFileProblem) -> String {
        var target = [CChar](repeating: 0, count: 64)
        let count = readlink("/proc/thread-self", &target, target.count)
        let read = target.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }
        thread.withLock { $0 = String(decoding: read, as: UTF8.self) }
        return try plain.path()
    }

    /// That thread's nice value (proc_pid_stat(5), field 19); nil where it has ended.
    var niceValue: CInt? {
        var status = [UInt8](repeating: 0, count: 1024)
        let file = open("/proc/\(thread.withLock { $0 })/stat", O_RDONLY)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let count = read(file, &status, status.count)
        guard count > 0, let end = status[..<count].lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = status[(end + 1)..<count].split(separator: 0x20)
        return fields.count > 16 ? CInt(String(decoding: fields[16], as: UTF8.self)) : nil
    }
}
