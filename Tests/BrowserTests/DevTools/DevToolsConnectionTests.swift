import Foundation
import Glibc
import ProxyTestKit
import Testing

@testable import Browser

@Suite("A connection to a browser", .onThreads)
struct DevToolsConnectionTests {
    @Test("waits for an answer only as long as it should, though events never end")
    func endlessEvents() throws {
        let ends = try MessagePipe.ends()
        let connection = DevToolsConnection(MessagePipe(ends.own, interruption: BrowserInterruption()))
        let events = Array(repeatElement(Array("{\"method\":\"X\",\"params\":{}}\0".utf8), count: 1000).joined())
        // It ends when the connection is closed.
        Thread.detachNewThread {
            while send(ends.other, events, events.count, CInt(MSG_NOSIGNAL)) == events.count {}
            close(ends.other)
        }
        let failure = #expect(throws: BrowserFailure.self) {
            try connection.call("A", until: Deadline(milliseconds: 50))
        }
        #expect(failure?.kind == .timedOut)
    }
}
