import Foundation
import NIOCore
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
}
