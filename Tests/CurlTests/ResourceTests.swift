import Glibc
import Testing

@testable import Curl

/// In processes of their own, where nothing else opens descriptors.
@Suite("What loops leave behind")
struct ResourceTests {
    @Test("50 loops leave no descriptor and no thread")
    func descriptors() async {
        await #expect(processExitsWith: .success) {
            let origin = ScriptedOrigin { connection in
                while connection.readHead() != nil { connection.respond("abc") }
            }
            func round() async throws {
                let loop = try makeLoop()
                for target in ["/a", "/b"] {
                    #expect(await run(.to(origin, "GET", target), TransferRecorder(), on: loop).isSuccess)
                }
                let recorder = TransferRecorder()
                let connected = TransferRecorder()
                loop.start(.to(origin, "POST", body: .length(5)), delegate: recorder)
                #expect(await run(.connection(to: "127.0.0.1", port: origin.port), connected, on: loop).isSuccess)
                if let descriptor = connected.current.descriptor { close(descriptor) }
                loop.shutdown()
            }
            func settled(_ isSo: ((Int, Int)) -> Bool) async -> (Int, Int) {
                // The origin's threads close their descriptors a little later than the loop.
                let limit = seconds() + 60
                var now = (entries("/proc/self/fd"), entries("/proc/self/task"))
                while !isSo(now), seconds() < limit {
                    await Task.yield()
                    now = (entries("/proc/self/fd"), entries("/proc/self/task"))
                }
                return now
            }
            try await round()
            let before = await settled { _ in origin.connections == origin.ended }
            for _ in 0..<50 { try await round() }
            // The runtime of the tests may open some of its own meanwhile: fewer than one a loop.
            let after = await settled { $0.0 < before.0 + 50 && $0.1 < before.1 + 50 }
            #expect(after.0 < before.0 + 50)
            #expect(after.1 < before.1 + 50)
        }
    }

    @Test("A loop that is released ends its thread and closes its descriptors")
    func release() async {
        await #expect(processExitsWith: .success) {
            // The runtime of the tests opens some of its own meanwhile, and keeps them: fewer than one a loop.
            let own = ["anon_inode:[eventfd]", "anon_inode:[eventpoll]"]
            func descriptors() -> Int { links("/proc/self/fd").count { own.contains($0) } }
            func threads() -> Int { names("/proc/self/task").count { threadName($0) == "transfers" } }
            let before = descriptors()
            var loops = try (0..<50).map { _ in try makeLoop() }
            #expect(descriptors() >= 2 * loops.count)
            loops.removeAll()
            // A thread stays in the list for a moment after it is joined.
            let limit = seconds() + 60
            while threads() > 0 || descriptors() >= before + 50, seconds() < limit { await Task.yield() }
            #expect(threads() == 0)
            #expect(descriptors() < before + 50)
        }
    }

    @Test("Keys of TLS connections are not written, though SSLKEYLOGFILE is set; it stays set")
    func keyLog() async {
        await #expect(processExitsWith: .success) {
            let file = "/tmp/curltests-keys-\(getpid())"
            setenv("SSLKEYLOGFILE", file, 1)
            _ = try makeLoop()
            #expect(access(file, F_OK) != 0)
            #expect(getenv("SSLKEYLOGFILE").map { String(cString: $0) } == file)
        }
    }
}

private func entries(_ directory: String) -> Int { names(directory).count }

private func names(_ directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
        names.append(String(decoding: name, as: UTF8.self))
    }
    return names
}

/// What the links in a directory lead to.
private func links(_ directory: String) -> [String] {
    names(directory).map { name in
        var target = [CChar](repeating: 0, count: 256)
        let count = readlink("\(directory)/\(name)", &target, target.count)
        return String(decoding: target.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

private func threadName(_ thread: String) -> String {
    guard let file = fopen("/proc/self/task/\(thread)/comm", "r") else { return "" }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 32)
    guard fgets(&line, 32, file) != nil else { return "" }
    return String(decoding: line.prefix { $0 != 0 && $0 != 0x0a }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}
