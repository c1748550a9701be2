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
            let after = await settled { $0.0 <= before.0 && $0.1 <= before.1 }
            #expect(after.0 <= before.0)
            #expect(after.1 <= before.1)
        }
    }

    @Test("A loop that is released ends its thread")
    func release() async {
        await #expect(processExitsWith: .success) {
            _ = try makeLoop()
            let before = entries("/proc/self/fd")
            for _ in 0..<50 { _ = try makeLoop() }
            // Descriptors of the test runner come and go, one or two at a time; each loop has two.
            #expect(entries("/proc/self/fd") < before + 50)
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

private func entries(_ directory: String) -> Int {
    guard let stream = opendir(directory) else { return 0 }
    defer { closedir(stream) }
    var count = 0
    while readdir(stream) != nil { count += 1 }
    return count
}
