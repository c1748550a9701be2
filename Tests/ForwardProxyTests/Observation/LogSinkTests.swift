import Foundation
import NIOCore
import ProxyTestKit
import Synchronization
import Testing

@testable import ForwardProxy

@Suite("The access log's sink")
struct LogSinkTests {
    private let pipe = Pipe()

    private func written() throws -> String {
        try pipe.fileHandleForWriting.close()
        return String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    }

    private func makeSink() throws -> LogSink {
        try LogSink(.descriptor(pipe.fileHandleForWriting.fileDescriptor))
    }

    @Test("What is submitted is written in order by the time that it is closed")
    func order() throws {
        let sink = try makeSink()
        for number in 0..<1000 { sink.submit(ByteBuffer(string: "\(number)\n")) }
        sink.close(waitingAtMost: 10)
        #expect(try written() == (0..<1000).map { "\($0)\n" }.joined())
        #expect(sink.droppedBytes == 0)
    }

    @Test("A file that can't be opened anew is told, and lines go on to the one that was open")
    func reopening() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "subproxy-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder + ".away") }
        let sink = try LogSink(.file(folder + "/access.log"))
        try FileManager.default.moveItem(atPath: folder, toPath: folder + ".away")
        let told = Mutex<[String]>([])
        sink.reopen { error in told.withLock { $0.append("\(error)") } }
        sink.submit(ByteBuffer(string: "line\n"))
        sink.close(waitingAtMost: 600)
        #expect(told.withLock { $0.count == 1 && $0[0].contains("No such file or directory") })
        #expect(try String(contentsOfFile: folder + ".away/access.log", encoding: .utf8) == "line\n")
    }

    @Test("Nothing is written once it is closed: the descriptor may be another file's by then")
    func late() throws {
        let sink = try makeSink()
        sink.submit(ByteBuffer(string: "first\n"))
        sink.close(waitingAtMost: 10)
        sink.submit(ByteBuffer(string: "late\n"))
        sink.close(waitingAtMost: 10)
        #expect(try written() == "first\n")
        #expect(sink.droppedBytes == 5)
    }

    @Test("What waits behind a write that is stuck is dropped when the time is over, and so is what comes later")
    func stuck() throws {
        let line = String(repeating: "x", count: 99_999) + "\n"
        let sink = try makeSink()
        let reader = pipe.fileHandleForReading
        func read(_ count: Int) throws -> Int {
            var received = 0
            while received < count, let data = try reader.read(upToCount: count - received), !data.isEmpty {
                received += data.count
            }
            return received
        }
        for _ in 0..<4 { sink.submit(ByteBuffer(string: line)) }
        // The first byte of the second line shows that the others are in one batch with it, or wait behind it.
        #expect(try read(100_001) == 100_001)
        sink.close(waitingAtMost: 0)
        sink.submit(ByteBuffer(string: "late\n"))
        try pipe.fileHandleForWriting.close()
        #expect(try read(400_000) == 99_999)
        #expect(sink.droppedLines == 3)
        #expect(sink.droppedBytes == 200_005)
    }

    @Test("A write goes to the file that the sink was given, whatever its number is by then")
    func reusedNumber() throws {
        let number = dup(pipe.fileHandleForWriting.fileDescriptor)
        let sink = try LogSink(.descriptor(number))
        let other = Pipe()
        #expect(dup2(other.fileHandleForWriting.fileDescriptor, number) == number)
        sink.submit(ByteBuffer(string: "line\n"))
        sink.close(waitingAtMost: 10)
        close(number)
        try other.fileHandleForWriting.close()
        #expect(try written() == "line\n")
        #expect(try other.fileHandleForReading.readToEnd() ?? Data() == Data())
    }

    @Test("Lines that a full disk does not take are dropped and counted, and the first loss is told of once")
    func fullDisk() throws {
        let sink = try LogSink(.file("/dev/full"))
        let told = Atomic<Int>(0)
        sink.whenLinesAreLost { told.add(1, ordering: .relaxed) }
        for _ in 0..<3 { sink.submit(ByteBuffer(string: "one\ntwo\n")) }
        sink.close()
        #expect(sink.droppedLines == 6)
        #expect(sink.droppedBytes == 24)
        #expect(Wait.holds { told.load(ordering: .relaxed) == 1 })
    }

    @Test("What does not fit beside what waits is dropped, and the rest is written when the pipe is read again")
    func blockedPipe() throws {
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
