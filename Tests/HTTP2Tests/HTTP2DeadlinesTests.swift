import NIOCore
import Testing

@testable import HTTP2

@Suite("What an HTTP/2 connection owes, and since when")
struct HTTP2DeadlinesTests {
    /// What a connection was doing from its start on, at 0.
    enum Course: CaseIterable {
        case noPreface, open, inFrame, inDataFrame, inBlock, unwritable, writableAgain, busy, idle, nextFrame
    }

    private static let patience = HTTP2Patience(header: 10, silence: 60, idle: 75)

    @Test(
        "Each debt has its time",
        arguments: [
            (.noPreface, 10, .none), (.noPreface, 11, .close), (.open, 75, .none), (.open, 76, .stop),
            (.busy, 1000, .none), (.inFrame, 10, .none), (.inFrame, 11, .fail), (.inDataFrame, 60, .none),
            (.inBlock, 10, .none), (.inBlock, 11, .fail), (.unwritable, 60, .none), (.unwritable, 61, .giveUp),
            (.writableAgain, 61, .none), (.idle, 95, .none), (.idle, 96, .stop), (.nextFrame, 15, .none),
            (.nextFrame, 16, .fail),
        ] as [(Course, UInt64, HTTP2Deadlines.Action)])
    func debt(course: Course, now: UInt64, action: HTTP2Deadlines.Action) throws {
        var deadlines = HTTP2Deadlines(0)
        var state = HTTP2ConnectionState(maxBlockBytes: 100)
        if course != .noPreface {
            state.receivedPreface()
            try state.received(HTTP2FrameHeader(length: 0, kind: .settings, stream: 0))
        }
        switch course {
        case .noPreface, .open, .busy: break
        case .inFrame, .inDataFrame: deadlines.read(tookFrame: false, isInFrame: true, now: 0)
        case .inBlock:
            let header = HTTP2FrameHeader(length: 0, kind: .headers, stream: 1)
            _ = try state.receivedHeaders(header, ByteBuffer(), now: 0)
        case .unwritable: deadlines.becameWritable(false, now: 0)
        case .writableAgain:
            deadlines.becameWritable(false, now: 0)
            deadlines.becameWritable(true, now: 50)
        case .idle: deadlines.becameIdle(now: 20)
        case .nextFrame:
            // One frame came in two parts, and another began behind it.
            deadlines.read(tookFrame: false, isInFrame: true, now: 0)
            deadlines.read(tookFrame: true, isInFrame: true, now: 5)
        }
        let found = deadlines.check(
            state, isIdle: course != .busy, isInData: course == .inDataFrame,
            patience: HTTP2DeadlinesTests.patience, now: now)
        #expect(found == action)
    }

    @Test("A frame is late from its first part on, however often another comes")
    func parts() {
        var deadlines = HTTP2Deadlines(0)
        for now in 0..<10 as Range<UInt64> { deadlines.read(tookFrame: false, isInFrame: true, now: now) }
        let state = HTTP2ConnectionState(maxBlockBytes: 100)
        let patience = HTTP2Patience(header: 10, silence: 60, idle: 75)
        var open = state
        open.receivedPreface()
        try? open.received(HTTP2FrameHeader(length: 0, kind: .settings, stream: 0))
        #expect(deadlines.check(open, isIdle: false, isInData: false, patience: patience, now: 11) == .fail)
        deadlines.read(tookFrame: true, isInFrame: false, now: 11)
        #expect(deadlines.check(open, isIdle: false, isInData: false, patience: patience, now: 60) == .none)
    }
}
