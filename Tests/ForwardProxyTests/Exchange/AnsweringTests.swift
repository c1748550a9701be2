import Dispatch
import Files
import Glibc
import NIOPosix
import ProxyTestKit
import Substitution
import Testing

@testable import ForwardProxy

/// A loop looks itself where the kernel can say what it has in memory, of a file system that is known to be local.
private let loopLooks: Bool = {
    let folder = TemporaryFolder()
    _ = try? folder.write("f", "text")
    let files = RetainedFiles(now: { 0 })
    guard let file = try? files.load(FolderRoot(path: folder.path), Array("f".utf8)) else { return false }
    return files.glance(at: file, now: 1) != nil
}()

@Suite("Looks at the files of answers that are ready")
struct AnsweringTests {
    private static let map = "substitutions:\n  http://m.test/d/: ./\n  http://m.test/exact: f.txt\n"

    /// Keeps all threads that files are read on busy until it ends.
    private final class BusyPool {
        private let gate = DispatchSemaphore(value: 0)
        private let threads: Int

        init(_ pool: NIOThreadPool) {
            threads = 8
            let begun = DispatchSemaphore(value: 0)
            for _ in 0..<threads {
                pool.submit { [gate] _ in
                    begun.signal()
                    gate.wait()
                }
            }
            for _ in 0..<threads { begun.wait() }
        }

        deinit { release() }

        func release() { for _ in 0..<threads { gate.signal() } }
    }

    /// A proxy whose file is old enough for its times to tell.
    private func proxy() throws -> TestProxy {
        let proxy = try TestProxy(Self.map, files: ["f.txt": "first"])
        usleep(100_000)
        return proxy
    }

    @Test(
        "what was looked at long ago is looked at by the loop, and waits for no thread",
        .enabled(if: loopLooks, "kernel: openat2(2) with RESOLVE_CACHED, and a local file system in /tmp"),
        arguments: ["http://m.test/d/f.txt", "http://m.test/exact"])
    func onLoop(_ url: String) throws {
        let proxy = try proxy()
        #expect(try proxy.exchange("GET", url).body == "first")
        let busy = BusyPool(proxy.server.core.filePool)
        usleep(150_000)
        #expect(try proxy.exchange("GET", url).body == "first")
        usleep(150_000)
        #expect(try proxy.exchange("GET", url, fields: ["Range: bytes=1-2"]).body == "ir")
        busy.release()
    }

    @Test(
        "what is in memory for another map, or another loop, waits for no thread",
        .enabled(if: loopLooks, "kernel: openat2(2) with RESOLVE_CACHED, and a local file system in /tmp"))
    func fromStore() throws {
        let proxy = try proxy()
        #expect(try proxy.exchange("GET", "http://m.test/d/f.txt").body == "first")
        let busy = BusyPool(proxy.server.core.filePool)
        proxy.server.adopt(proxy.server.map)
        let response = try proxy.exchange("GET", "http://m.test/exact")
        #expect(response.body == "first" && response.status == 200)
        #expect(response.field("Content-Type") == "text/plain; charset=utf-8")
        busy.release()
    }

    @Test("an edit is never answered from memory, also where the threads are busy")
    func edited() throws {
        let proxy = try proxy()
        #expect(try proxy.exchange("GET", "http://m.test/d/f.txt").body == "first")
        let busy = BusyPool(proxy.server.core.filePool)
        try proxy.write("second", to: "f.txt")
        usleep(110_000)
        let socket = try proxy.connect()
        try socket.send("GET http://m.test/d/f.txt HTTP/1.1\r\nHost: m.test\r\nConnection: close\r\n\r\n")
        usleep(50_000)
        busy.release()
        #expect(TestResponse(try socket.receiveAll()).body == "second")
    }

    @Test("more files than the store takes are answered, each with its own content")
    func manyFiles() throws {
        let names = (0..<300).map { "f\($0).txt" }
        let proxy = try TestProxy(
            Self.map, files: Dictionary(uniqueKeysWithValues: names.map { ($0, "text of \($0)") })
        ) { $0.retention.memory = 100 * 1200 }
        for _ in 0..<2 {
            for name in names {
                #expect(try proxy.exchange("GET", "http://m.test/d/\(name)").body == "text of \(name)")
            }
        }
        let statistics = proxy.server.core.files.statistics
        #expect(statistics.bytes <= 100 * 1200)
    }
}
