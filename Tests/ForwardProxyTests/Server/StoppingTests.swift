import Dispatch
import Synchronization
import Testing

@testable import ForwardProxy

@Suite("Stopping the server")
struct StoppingTests {
    @Test("ends what is under way for an event loop before the loop")
    func work() throws {
        let proxy = try TestProxy()
        let server = proxy.server
        let (hasBegun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let isDone = Mutex(false)
        server.onEachLoop { context in
            context.onFilePool({ () throws(Never) in
                hasBegun.signal()
                mayEnd.wait()
            }) { _ in isDone.withLock { $0 = true } }
        }
        hasBegun.wait()
        let stopped = DispatchGroup()
        DispatchQueue.global().async(group: stopped) { server.stop() }
        // Time for the loop to end, if it did not wait.
        _ = stopped.wait(timeout: .now() + 0.3)
        mayEnd.signal()
        stopped.wait()
        #expect(isDone.withLock { $0 })
        // Its end stops the server too.
        withExtendedLifetime(proxy) {}
    }
}
