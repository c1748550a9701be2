import Dispatch
import Glibc
import Testing

@testable import Files

struct FileWatcherTests {
    private let sandbox = FileSandbox()
    private let told = DispatchSemaphore(value: 0)
    private let timing = FileWatchTiming(quiet: 30, latest: 1000, poll: 20)

    /// Whether a change is told within a generous time.
    private func isTold() -> Bool { told.wait(timeout: .now() + 60) == .success }

    private func watcher(_ names: [String], usesNotifications: Bool = true) throws -> FileWatcher {
        try FileWatcher(
            paths: names.map(sandbox.at), timing: timing, usesNotifications: usesNotifications
        ) { [told] in told.signal() }
    }

    @Test("Edits, renames, deletion and return are told", arguments: [true, false])
    func changes(usesNotifications: Bool) throws {
        sandbox.write("1", to: "map")
        let watcher = try watcher(["map"], usesNotifications: usesNotifications)
        sandbox.append("2", to: "map")
        #expect(isTold())
        sandbox.write("3", to: "tmp")
        sandbox.rename("tmp", to: "map")
        #expect(isTold())
        sandbox.remove("map")
        #expect(isTold())
        sandbox.write("4", to: "map")
        #expect(isTold())
        watcher.stop()
    }

    @Test("A swap of a link in the middle of the path is told", arguments: [true, false])
    func links(usesNotifications: Bool) throws {
        sandbox.write("1", to: "release1/map")
        sandbox.write("2", to: "release2/map")
        sandbox.link("current", to: "release1")
        let watcher = try watcher(["current/map"], usesNotifications: usesNotifications)
        sandbox.link("next", to: "release2")
        sandbox.rename("next", to: "current")
        #expect(isTold())
        sandbox.append("3", to: "release2/map")
        #expect(isTold())
        watcher.stop()
    }

    @Test("Any of several files is told, and those of an update")
    func updates() throws {
        sandbox.write("1", to: "a/map")
        sandbox.write("1", to: "b/map")
        let watcher = try watcher(["a/map", "b/map"])
        sandbox.append("2", to: "b/map")
        #expect(isTold())
        watcher.update(paths: [sandbox.at("c/map")])
        sandbox.write("1", to: "c/map")
        #expect(isTold())
        watcher.stop()
    }

    @Test("A file that has changed between its reading and the watch is told", arguments: [true, false])
    func readBefore(isAtStart: Bool) throws {
        sandbox.write("1", to: "map")
        let change = UInt64(clamping: sandbox.identity("map").changed.nanosecondsSinceEpoch)
        let paths = [sandbox.at("map")]
        let watcher = try FileWatcher(
            paths: isAtStart ? paths : [], readSince: isAtStart ? change : nil, timing: timing
        ) { [told] in told.signal() }
        if !isAtStart { watcher.update(paths: paths, readSince: change) }
        #expect(isTold())
        watcher.stop()
    }

    @Test("A burst of changes is told once")
    func debounce() throws {
        sandbox.write("1", to: "map")
        let calls = Collected<Int>()
        let patient = FileWatchTiming(quiet: 1500, latest: 60_000)
        let watcher = try FileWatcher(paths: [sandbox.at("map")], timing: patient) { [told] in
            calls.add(1)
            told.signal()
        }
        for index in 0..<50 { sandbox.write("\(index)", to: "map") }
        #expect(isTold())
        watcher.stop()
        #expect(calls.all.count == 1)
    }

    @Test("A change is told at last although more may follow")
    func latest() throws {
        sandbox.write("1", to: "map")
        let restless = FileWatchTiming(quiet: 3_600_000, latest: 20)
        let watcher = try FileWatcher(paths: [sandbox.at("map")], timing: restless) { [told] in told.signal() }
        sandbox.append("2", to: "map")
        #expect(isTold())
        watcher.stop()
    }

    @Test("Nothing is told after stop, which may come twice, and the thread lets go of everything")
    func stopping() throws {
        sandbox.write("1", to: "map")
        let calls = Collected<Int>()
        weak var released: Collected<Int>?
        do {
            let held = Collected<Int>()
            released = held
            let watcher = try FileWatcher(paths: [sandbox.at("map")], timing: timing) {
                calls.add(1)
                held.add(1)
            }
            watcher.stop()
            watcher.stop()
        }
        sandbox.append("2", to: "map")
        #expect(released == nil)
        #expect(calls.all.isEmpty)
        #expect(sandbox.openDescriptors == 0)
    }

    @Test("A watcher that is dropped stops")
    func dropping() throws {
        weak var released: Collected<Int>?
        do {
            let held = Collected<Int>()
            released = held
            _ = try FileWatcher(paths: [sandbox.at("map")], timing: timing) { held.add(1) }
        }
        #expect(released == nil)
    }

    @Test("The watcher may be stopped and updated from its own call")
    func reentrance() throws {
        sandbox.write("1", to: "map")
        let own = Collected<FileWatcher>()
        let path = sandbox.at("map")
        let watcher = try FileWatcher(paths: [path], timing: timing) { [told] in
            for watcher in own.all {
                watcher.update(paths: [path])
                watcher.stop()
            }
            told.signal()
        }
        own.add(watcher)
        sandbox.append("2", to: "map")
        #expect(isTold())
        watcher.stop()
    }

    @Test("A path with NUL names no file and does no harm")
    func invalidPath() throws {
        let watcher = try FileWatcher(paths: ["/tmp/a\0b", "relative"], timing: timing) {}
        watcher.stop()
    }
}
