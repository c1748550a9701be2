import Basics
import Glibc
import SQLite
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

    @Test func `A thread that has stepped back has short slices, and its own ones again afterwards`() {
        var slices: [[UInt64]] = []
        let nice = Nice(3, isPrivileged: true)
        var weight = ThreadWeight(
            read: { nice.value },
            write: { value in
                nice.value = value
                return true
            }, setSlice: { slices.append([UInt64($0), $1]) })
        for _ in 0..<2 { weight.lower() }
        _ = weight.restore()
        #expect(slices == [[13, ThreadWeight.slice], [3, 0]])
    }

    @Test func `A query that takes long steps back, and its thread doesn't stay so`() async throws {
        let folder = Folder()
        _ = try SQLiteConnection(folder.path + "/shop.db", mode: .create).execute("CREATE TABLE t(a)")
        let database = Database(
            PlainFile(location: folder.path + "/shop.db"), memoryLimit: 1 << 20, entityTag: Stage.tag)
        defer { database.close() }
        let own = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
        var rule = DatabaseRule()
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
                wasSeen = ThreadWeightTests.niceValues().contains { $0 >= own + ThreadWeight.step }
            }
            #expect(wasSeen)
            ticket.cancel()
        }
        func isBack() -> Bool { !ThreadWeightTests.niceValues().contains { $0 >= own + ThreadWeight.step } }
        for _ in 0..<3000 where !isBack() { usleep(10_000) }
        #expect(isBack())
    }

    /// The nice values of this process's threads (proc_pid_stat(5), field 19).
    private static func niceValues() -> [CInt] {
        guard let folder = opendir("/proc/self/task") else { return [] }
        defer { closedir(folder) }
        var values: [CInt] = []
        while let entry = readdir(folder) {
            guard
                let thread = CInt(
                    withUnsafeBytes(of: entry.pointee.d_name) { name in
                        String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
                    })
            else { continue }
            var status = [UInt8](repeating: 0, count: 1024)
            let file = open("/proc/self/task/\(thread)/stat", O_RDONLY)
            guard file >= 0 else { continue }
            defer { close(file) }
            let count = read(file, &status, status.count)
            guard count > 0, let end = status[..<count].lastIndex(of: UInt8(ascii: ")")) else { continue }
            let fields = status[(end + 1)..<count].split(separator: 0x20)
            if fields.count > 16, let value = CInt(String(decoding: fields[16], as: UTF8.self)) { values.append(value) }
        }
        return values
    }
}
