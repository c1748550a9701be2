import Glibc
import Testing

@testable import Files

struct FolderWatchesTests {
    private let sandbox = FileSandbox()

    @Test("What concerns the file is noticed, what does not is passed over")
    func relevance() {
        let changes: [(String, Bool, (FileSandbox) -> Void)] = [
            ("nothing", false, { _ in }),
            ("edit", true, { $0.append("x", to: "d/map") }),
            ("truncate", true, { $0.truncate("d/map", to: 0) }),
            ("touch", true, { $0.setModified("d/map", seconds: 5) }),
            (
                "rename over", true,
                {
                    $0.write("", to: "tmp"); $0.rename("tmp", to: "d/map")
                }
            ),
            ("rename away", true, { $0.rename("d/map", to: "d/map.old") }),
            ("delete", true, { $0.remove("d/map") }),
            ("folder swapped", true, { $0.rename("d", to: "e") }),
            (
                "neighbour", false,
                {
                    $0.write("x", to: "d/other"); $0.remove("d/other")
                }
            ),
            (
                "neighbour of the folder", false,
                {
                    $0.write("x", to: "other"); $0.makeFolder("folder")
                }
            ),
            ("below a neighbour", false, { $0.write("x", to: "folder2/map") }),
            ("read", false, { close(open($0.at("d/map"), O_RDONLY)) }),
        ]
        for (name, isRelevant, change) in changes {
            let sandbox = FileSandbox()
            sandbox.write("map", to: "d/map")
            let watches = Watches(usesNotifications: true)
            watches.arm([sandbox.at("d/map").bytes])
            #expect(!watches.needsPolling)
            #expect(!watches.drain(), "\(name)")
            change(sandbox)
            #expect(watches.drain() == isRelevant, "\(name)")
            #expect(!watches.drain(), "\(name): taken")
        }
    }

    @Test("A swap of any link on the way is noticed")
    func links() {
        sandbox.write("1", to: "data1/map")
        sandbox.write("2", to: "data2/map")
        sandbox.link("conf/..data", to: "../data1")
        sandbox.link("conf/map", to: "..data/map")
        sandbox.link("entry", to: "conf/map")
        let watches = Watches(usesNotifications: true)
        watches.arm([sandbox.at("entry").bytes])
        sandbox.append("x", to: "data2/map")
        #expect(!watches.drain())
        sandbox.link("conf/..tmp", to: "../data2")
        #expect(!watches.drain())
        sandbox.rename("conf/..tmp", to: "conf/..data")
        #expect(watches.drain())
        watches.arm([sandbox.at("entry").bytes])
        #expect(!watches.drain())
        sandbox.append("x", to: "data1/map")
        #expect(!watches.drain(), "no more on the way")
        sandbox.append("x", to: "data2/map")
        #expect(watches.drain())
    }

    @Test("Of many files in a folder each is noticed, those that links lead to among them")
    func manyInFolder() {
        let names = ["d/a", "d/link", "d/later", "d/b", "to/d/c", "d/link2"]
        for (number, change) in ["d/a", "other/x", "d/later", "d/b", "d/c", "other/link2"].enumerated() {
            let sandbox = FileSandbox()
            for name in ["d/a", "d/b", "d/c", "other/x", "other/link2"] { sandbox.write("1", to: name) }
            sandbox.link("d/link", to: "../other/x")
            sandbox.link("d/link2", to: "../other/link2")
            sandbox.link("to", to: ".")
            let watches = Watches(usesNotifications: true)
            // Whichever comes first.
            watches.arm((names[number...] + names[..<number]).map { sandbox.at($0).bytes })
            #expect(!watches.drain())
            sandbox.write("2", to: "d/neighbour")
            #expect(!watches.drain(), "\(change)")
            sandbox.write("3", to: change)
            #expect(watches.drain(), "\(change)")
        }
    }

    @Test("A file that is not there yet is waited for, its folder too")
    func missing() {
        let watches = Watches(usesNotifications: true)
        watches.arm([sandbox.at("a/map").bytes])
        sandbox.makeFolder("a")
        #expect(watches.drain())
        watches.arm([sandbox.at("a/map").bytes])
        sandbox.write("x", to: "a/map")
        #expect(watches.drain())
    }

    @Test("Files that are wanted no more are not watched")
    func disarming() {
        sandbox.write("1", to: "a/map")
        sandbox.write("2", to: "b/map")
        let watches = Watches(usesNotifications: true)
        watches.arm([sandbox.at("a/map").bytes])
        watches.arm([sandbox.at("b/map").bytes])
        sandbox.append("x", to: "a/map")
        #expect(!watches.drain())
        sandbox.append("x", to: "b/map")
        #expect(watches.drain())
    }

    @Test("Without inotify the files have to be looked at")
    func polling() {
        let watches = Watches(usesNotifications: false)
        watches.arm([sandbox.at("map").bytes])
        #expect(watches.needsPolling)
        #expect(!watches.drain())
    }

    @Test("The descriptor is not inherited")
    func inheritance() {
        let watches = Watches(usesNotifications: true)
        watches.arm([sandbox.at("map").bytes])
        let descriptor = watches.watches.descriptor
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }
}

/// Watches that the expectation macros can capture.
private final class Watches {
    var watches: FolderWatches

    init(usesNotifications: Bool) { watches = FolderWatches(usesNotifications: usesNotifications) }

    func arm(_ paths: [[UInt8]]) { watches.arm(paths) }

    func drain() -> Bool { watches.drain() }

    var needsPolling: Bool { watches.needsPolling }
}
