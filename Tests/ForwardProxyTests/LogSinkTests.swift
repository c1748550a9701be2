import Foundation
import NIOCore
import ProxyTestKit
import Synchronization
import Testing

@testable import ForwardProxy

@Suite("The sink of the access log")
struct LogSinkTests {
    @Test("lines that a full disk does not take are dropped and counted, and the first loss is told of once")
    func fullDisk() throws {
        let sink = try LogSink(.file("/dev/full"))
        let told = Atomic<Int>(0)
        sink.whenLinesAreLost { told.add(1, ordering: .relaxed) }
        for _ in 0..<3 { sink.submit(ByteBuffer(string: "one\ntwo\n")) }
        sink.close()
        #expect(sink.droppedLines == 6)
        #expect(sink.droppedBytes == 24)
        #expect(Wait.holds(within: 5) { told.load(ordering: .relaxed) == 1 })
    }

    @Test("what does not fit beside what waits is dropped, and the rest is written when the pipe is read again")
    func blockedPipe() throws {
        let pipe = Pipe()
        let line = String(repeating: "x", count: 99_999) + "\n"
        // A pipe takes 64 KiB: the first line is written in part, two wait behind it.
        let sink = try LogSink(.descriptor(pipe.fileHandleForWriting.fileDescriptor), capacity: 300_000)
        for _ in 0..<10 { sink.submit(ByteBuffer(string: line)) }
        #expect(sink.droppedLines == 7)
        #expect(sink.droppedBytes == 700_000)
        var received = 0
        while received < 300_000 { received += pipe.fileHandleForReading.availableData.count }
        sink.close()
        #expect(received == 300_000)
        #expect(sink.droppedLines == 7)
    }
}
