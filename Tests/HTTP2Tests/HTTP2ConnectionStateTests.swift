import NIOCore
import Testing

@testable import HTTP2

@Suite("The life of an HTTP/2 connection")
struct HTTP2ConnectionStateTests {
    private static func open() -> HTTP2ConnectionState {
        var state = HTTP2ConnectionState(maxBlockBytes: 100)
        state.receivedPreface()
        try? state.received(HTTP2FrameHeader(length: 0, kind: .settings, stream: 0))
        return state
    }

    private func header(
        _ kind: HTTP2FrameKind, _ flags: HTTP2FrameFlags = [], length: Int = 0, stream: UInt32 = 0
    ) -> HTTP2FrameHeader {
        HTTP2FrameHeader(length: length, kind: kind, flags: flags, stream: stream)
    }

    /// The rule that a call says is broken.
    private func violation(_ body: () throws(HTTP2Violation) -> Void) -> HTTP2Violation? {
        do throws(HTTP2Violation) { try body() } catch { return error }
        return nil
    }

    private func block(_ stream: UInt32, _ flags: HTTP2FrameFlags = [.endHeaders]) throws -> HTTP2HeaderBlock {
        try HTTP2HeaderBlock(header(.headers, flags, stream: stream), ByteBuffer(), now: 0)
    }

    // MARK: Order

    @Test(
        "The first frame is SETTINGS, and no acknowledgement",
        arguments: [
            (.settings, [], true), (.settings, .acknowledgement, false), (.headers, [], false), (.ping, [], false),
            (HTTP2FrameKind(rawValue: 99), [], false),
        ] as [(HTTP2FrameKind, HTTP2FrameFlags, Bool)])
    func first(kind: HTTP2FrameKind, flags: HTTP2FrameFlags, isTaken: Bool) {
        var state = HTTP2ConnectionState(maxBlockBytes: 100)
        #expect(state.phase == .preface)
        state.receivedPreface()
        #expect(state.phase == .settings)
        let found = violation { () throws(HTTP2Violation) in try state.received(header(kind, flags)) }
        #expect(found == (isTaken ? nil : .connection(.protocolError)))
        #expect(state.phase == (isTaken ? .open : .settings))
    }

    @Test(
        "Inside of a header block only its CONTINUATION may come",
        arguments: [(.continuation, 1, true), (.continuation, 3, false), (.data, 1, false), (.ping, 0, false)]
            as [(HTTP2FrameKind, UInt32, Bool)])
    func inBlock(kind: HTTP2FrameKind, stream: UInt32, isTaken: Bool) throws {
        var state = HTTP2ConnectionStateTests.open()
        let whole = try state.receivedHeaders(header(.headers, stream: 1), ByteBuffer(), now: 0)
        #expect(whole == nil && state.openBlock != nil)
        let found = violation { () throws(HTTP2Violation) in try state.received(header(kind, stream: stream)) }
        #expect(found == (isTaken ? nil : .connection(.protocolError)))
    }

    @Test(
        "A header block has five CONTINUATION frames and as many bytes as a header section, at the most",
        arguments: [(1, 10, true), (5, 10, true), (6, 10, false), (2, 45, true), (2, 46, false)])
    func continuations(count: Int, size: Int, isTaken: Bool) throws {
        var state = HTTP2ConnectionStateTests.open()
        _ = try state.receivedHeaders(header(.headers, stream: 1), ByteBuffer(repeating: 1, count: 10), now: 0)
        var whole: HTTP2HeaderBlock?
        let found = violation { () throws(HTTP2Violation) in
            for index in 1...count {
                whole = try state.receivedContinuation(
                    header(.continuation, index == count ? .endHeaders : [], stream: 1),
                    ByteBuffer(repeating: 2, count: size))
            }
        }
        #expect(found == (isTaken ? nil : .connection(.enhanceYourCalm)))
        #expect(whole?.bytes.readableBytes == (isTaken ? 10 + count * size : nil))
        if isTaken { #expect(state.openBlock == nil) }
    }

    @Test("A longer header section may come in as many CONTINUATION frames as are full")
    func longerBlocks() throws {
        for (bytes, most) in [(1 << 16, 5), (1 << 20, 65)] {
            var state = HTTP2ConnectionState(maxBlockBytes: bytes)
            _ = try state.receivedHeaders(header(.headers, stream: 1), ByteBuffer(), now: 0)
            for _ in 0..<most {
                _ = try state.receivedContinuation(
                    header(.continuation, stream: 1), ByteBuffer(repeating: 0, count: bytes / most))
            }
            let found = violation { () throws(HTTP2Violation) in
                _ = try state.receivedContinuation(header(.continuation, stream: 1), ByteBuffer())
            }
            #expect(found == .connection(.enhanceYourCalm))
        }
    }

    @Test(
        "Padding and priority are taken off a header block, and have to fit",
        arguments: [
            ([.endHeaders], [1, 2], .success([1, 2])), ([.endHeaders, .padded], [1, 7, 0], .success([7])),
            ([.endHeaders, .padded], [2, 7], .failure(.connection(.protocolError))),
            ([.endHeaders, .padded], [], .failure(.connection(.frameSizeError))),
            ([.endHeaders, .priority], [0, 0, 0, 3, 9, 7], .success([7])),
            ([.endHeaders, .priority], [0, 0, 0, 3], .failure(.connection(.frameSizeError))),
        ] as [(HTTP2FrameFlags, [UInt8], Result<[UInt8], HTTP2Violation>)])
    func content(flags: HTTP2FrameFlags, payload: [UInt8], content: Result<[UInt8], HTTP2Violation>) {
        let found: Result<[UInt8], HTTP2Violation> = Result { () throws(HTTP2Violation) in
            let header = header(.headers, flags, length: payload.count, stream: 1)
            return Array(buffer: try HTTP2HeaderBlock(header, ByteBuffer(bytes: payload), now: 0).bytes)
        }
        #expect(found == content)
    }

    @Test("Frames of a connection have no stream, those of a stream one, and each its length")
    func streamsAndLengths() {
        var state = HTTP2ConnectionStateTests.open()
        let wrongStream = HTTP2Violation.connection(.protocolError)
        let wrongSize = HTTP2Violation.connection(.frameSizeError)
        let four = ByteBuffer(bytes: [0, 0, 0, 1])
        func check(_ wanted: HTTP2Violation?, _ body: () throws(HTTP2Violation) -> Void) {
            #expect(violation(body) == wanted)
        }
        check(wrongStream) { () throws(HTTP2Violation) in _ = try state.receivedData(header(.data)) }
        for stream in [0, 2] as [UInt32] {
            check(wrongStream) { () throws(HTTP2Violation) in
                _ = try state.receivedHeaders(header(.headers, .endHeaders, stream: stream), ByteBuffer(), now: 0)
            }
        }
        for (header, wanted) in [
            (header(.settings, stream: 1), wrongStream), (header(.settings, .acknowledgement, length: 6), wrongSize),
            (header(.settings, .acknowledgement), nil), (header(.settings), nil),
        ] {
            check(wanted) { () throws(HTTP2Violation) in _ = try state.receivedSettings(header, ByteBuffer(), now: 0) }
        }
        for (header, wanted) in [
            (header(.ping, length: 8, stream: 1), wrongStream), (header(.ping, length: 7), wrongSize),
            (header(.ping, length: 8), nil),
        ] {
            check(wanted) { () throws(HTTP2Violation) in _ = try state.receivedPing(header, now: 0) }
        }
        for (header, wanted) in [
            (header(.goAway, length: 8, stream: 1), wrongStream), (header(.goAway, length: 7), wrongSize),
            (header(.goAway, length: 9), nil),
        ] {
            check(wanted) { () throws(HTTP2Violation) in try state.receivedGoAway(header) }
        }
        for (header, wanted) in [
            (header(.reset, length: 3, stream: 1), wrongSize), (header(.reset, length: 4), wrongStream),
            (header(.reset, length: 4, stream: 2), wrongStream),
        ] {
            check(wanted) { () throws(HTTP2Violation) in try state.receivedReset(header, isOpen: false, now: 0) }
        }
        for (header, wanted) in [
            (header(.windowUpdate, length: 5, stream: 1), wrongSize), (header(.windowUpdate, length: 4), nil),
        ] {
            check(wanted) { () throws(HTTP2Violation) in
                _ = try state.receivedWindowUpdate(header, four, isOpen: true, now: 0)
            }
        }
    }

    @Test(
        "PRIORITY that is malformed is an error of its stream where that is open, else of the connection",
        arguments: [
            (true, 4, 9, .stream(1, .frameSizeError)), (false, 4, 9, .connection(.frameSizeError)),
            (true, 5, 1, .stream(1, .protocolError)), (false, 5, 1, .connection(.protocolError)), (true, 5, 9, nil),
        ] as [(Bool, Int, UInt8, HTTP2Violation?)])
    func priority(isOpen: Bool, length: Int, dependency: UInt8, wanted: HTTP2Violation?) {
        var state = HTTP2ConnectionStateTests.open()
        let payload = ByteBuffer(bytes: [0x80, 0, 0, dependency, 7].prefix(length))
        let found = violation { () throws(HTTP2Violation) in
            try state.receivedPriority(
                header(.priority, length: length, stream: 1), payload, isOpen: isOpen, now: 0)
        }
        #expect(found == wanted)
    }

    // MARK: Streams

    @Test("A hundred streams may be open, one that depends on itself is an error, and each is above the last")
    func opening() throws {
        var state = HTTP2ConnectionStateTests.open()
        let opens = try state.receivedRequest(try block(1), openStreams: 99, now: 0)
        #expect(opens && state.lastStream == 1)
        let refused = try block(3)
        #expect(throws: HTTP2Violation.stream(3, .refusedStream)) {
            try state.receivedRequest(refused, openStreams: 100, now: 0)
        }
        let circular = try HTTP2HeaderBlock(
            header(.headers, [.endHeaders, .priority], length: 5, stream: 5), ByteBuffer(bytes: [0, 0, 0, 5, 0]),
            now: 0)
        #expect(throws: HTTP2Violation.stream(5, .protocolError)) {
            try state.receivedRequest(circular, openStreams: 0, now: 0)
        }
        // Used, and not served.
        #expect(state.highestStream == 5 && state.lastStream == 1)
        #expect(state.absence(of: 3) == .forgotten)
        #expect(state.absence(of: 7) == .idle)
        #expect(state.absence(of: 4) == .idle)
    }

    @Test("An error on a stream that isn't open is remembered as this side's reset")
    func failedStream() throws {
        var state = HTTP2ConnectionStateTests.open()
        _ = try state.receivedRequest(try block(1), openStreams: 0, now: 0)
        state.closedStream(1, byProxy: false)
        #expect(state.absence(of: 1) == .closedByClient)
        try state.failedStream(1, .streamClosed, isOpen: false, now: 0)
        #expect(state.absence(of: 1) == .closedByProxy)
    }

    @Test(
        "Streams beyond the hundred are refused, and are errors of the client's only where it knew better",
        arguments: [
            (knows: false, early: 400, errors: 200, isTaken: true), (false, 400, 201, false), (false, 0, 600, true),
            (false, 0, 601, false), (true, 0, 200, true), (true, 0, 201, false),
        ])
    func refusing(knows: Bool, early: Int, errors: Int, isTaken: Bool) throws {
        var state = HTTP2ConnectionStateTests.open()
        func acknowledge() throws(HTTP2Violation) {
            _ = try state.receivedSettings(header(.settings, .acknowledgement), ByteBuffer(), now: 0)
        }
        if knows { try acknowledge() }
        let found = violation { () throws(HTTP2Violation) in
            for index in 0..<early + errors {
                if early > 0, index == early { try acknowledge() }
                try state.failedStream(UInt32(201 + 2 * index), .refusedStream, isOpen: false, now: 0)
            }
        }
        #expect(found == (isTaken ? nil : .connection(.enhanceYourCalm)))
    }

    @Test("The last 512 streams that were closed are known")
    func forgetting() throws {
        var state = HTTP2ConnectionStateTests.open()
        for id in stride(from: 1, through: 1025, by: 2) as StrideThrough<UInt32> {
            _ = try state.receivedRequest(try block(id), openStreams: 0, now: 0)
            state.closedStream(id, byProxy: id == 3)
        }
        #expect(state.absence(of: 1) == .forgotten)
        #expect(state.absence(of: 3) == .closedByProxy)
        #expect(state.absence(of: 1025) == .closedByClient)
    }

    @Test("After GOAWAY new streams are passed over without an error, and the last is the one that was told")
    func stopping() throws {
        var state = HTTP2ConnectionStateTests.open()
        _ = try state.receivedRequest(try block(1), openStreams: 0, now: 0)
        #expect(!state.isLeaving)
        let first = state.stop()
        let second = state.stop()
        #expect(first && !second && state.isLeaving)
        let opens = try state.receivedRequest(try block(3), openStreams: 1, now: 0)
        #expect(!opens && state.lastStream == 1)
        #expect(state.absence(of: 3) == .closedByProxy)
        state.fail()
        #expect(!state.isLeaving)
    }

    @Test("A client's GOAWAY lets the connection end with its streams")
    func clientLeaves() throws {
        var state = HTTP2ConnectionStateTests.open()
        try state.receivedGoAway(header(.goAway, length: 8))
        #expect(state.isLeaving)
        // The streams that it has opened before are served.
        let opens = try state.receivedRequest(try block(1), openStreams: 0, now: 0)
        #expect(opens)
    }

    @Test("A connection that has failed sends no GOAWAY when the proxy stops")
    func failed() {
        var state = HTTP2ConnectionStateTests.open()
        state.fail()
        let stops = state.stop()
        #expect(!stops)
    }

    // MARK: Windows

    @Test("All streams together may send 1 MiB, and get more once half is used")
    func receiveWindow() throws {
        var state = HTTP2ConnectionStateTests.open()
        let first = state.widenWindow()
        #expect(first == (1 << 20) - 65_535)
        for _ in 0..<32 {
            let more = try state.receivedData(header(.data, length: 1 << 14, stream: 1))
            #expect(more == nil)
        }
        let more = try state.receivedData(header(.data, length: 1, stream: 3))
        #expect(more == (1 << 19) + 1)
        // Before the window is widened, RFC 9113's default holds.
        var narrow = HTTP2ConnectionStateTests.open()
        #expect(throws: HTTP2Violation.connection(.flowControlError)) {
            try narrow.receivedData(header(.data, length: 65_536, stream: 1))
        }
    }

    @Test(
        "The connection's window grows to 2^31-1 and no further; a stream's is the stream's",
        arguments: [
            (0, 0, .connection(.protocolError)), (0, 1, nil), (0, 0x7fff_ffff, .connection(.flowControlError)),
            (0, 0x7fff_0000, nil), (1, 0, nil),
        ] as [(UInt32, UInt32, HTTP2Violation?)])
    func sendWindow(stream: UInt32, increment: UInt32, wanted: HTTP2Violation?) {
        var state = HTTP2ConnectionStateTests.open()
        var given: Int?
        let found = violation { () throws(HTTP2Violation) in
            given = try state.receivedWindowUpdate(
                header(.windowUpdate, length: 4, stream: stream), ByteBuffer(integer: increment),
                isOpen: stream != 0, now: 0)
        }
        #expect(found == wanted)
        #expect(given == (stream == 0 ? nil : Int(increment)))
        if stream == 0, wanted == nil { #expect(state.sendWindow.size == 65_535 + Int(increment)) }
    }

    @Test("SETTINGS_INITIAL_WINDOW_SIZE changes the open streams' windows by the difference")
    func settings() throws {
        var state = HTTP2ConnectionStateTests.open()
        let frame = header(.settings, length: 6)
        let less = try state.receivedSettings(frame, ByteBuffer(bytes: [0, 4, 0, 0, 0, 0]), now: 0)
        #expect(less == -65_535)
        let more = try state.receivedSettings(frame, ByteBuffer(bytes: [0, 4, 0, 0, 0, 9]), now: 0)
        #expect(more == 9 && state.settings.initialWindowSize == 9)
        let none = try state.receivedSettings(header(.settings), ByteBuffer(), now: 0)
        #expect(none == 0)
    }

    // MARK: Floods

    enum Flood: CaseIterable {
        case ping, settings, reset, error, emptyData, unknown, priority, lateData, lateHeaders, lateReset, windowUpdate
    }

    private func send(_ flood: Flood, to state: inout HTTP2ConnectionState, now: UInt64) throws(HTTP2Violation) {
        let four = ByteBuffer(bytes: [0, 0, 0, 1])
        switch flood {
        case .ping: _ = try state.receivedPing(header(.ping, length: 8), now: now)
        case .settings: _ = try state.receivedSettings(header(.settings), ByteBuffer(), now: now)
        case .reset: try state.closedByReset(now: now)
        case .error: try state.failedStream(1, .protocolError, isOpen: false, now: now)
        case .emptyData: try state.receivedEmptyData(now: now)
        case .unknown: try state.receivedUnknown(now: now)
        case .priority:
            let payload = ByteBuffer(bytes: [0, 0, 0, 9, 0])
            try state.receivedPriority(header(.priority, length: 5, stream: 1), payload, isOpen: false, now: now)
        case .lateData: try state.receivedData(onAbsent: 1, now: now)
        case .lateHeaders:
            let block = try HTTP2HeaderBlock(header(.headers, .endHeaders, stream: 1), ByteBuffer(), now: 0)
            _ = try state.receivedRequest(block, openStreams: 0, now: now)
        case .lateReset: try state.receivedReset(header(.reset, length: 4, stream: 1), isOpen: false, now: now)
        case .windowUpdate:
            _ = try state.receivedWindowUpdate(
                header(.windowUpdate, length: 4, stream: 1), four, isOpen: false, now: now)
        }
    }

    @Test(
        "What costs a client little may come so often in 30 s, or between parts of responses",
        arguments: [
            (.ping, 200, true), (.settings, 200, true), (.reset, 200, false), (.error, 200, false),
            (.emptyData, 200, false), (.unknown, 5000, false), (.priority, 5000, false), (.lateData, 5000, false),
            (.lateHeaders, 5000, false), (.lateReset, 5000, true), (.windowUpdate, 5000, true),
        ] as [(Flood, Int, Bool)])
    func flood(flood: Flood, limit: Int, isForgiven: Bool) throws {
        let second: UInt64 = 1_000_000_000
        var state = HTTP2ConnectionStateTests.open()
        _ = try state.receivedRequest(try block(1), openStreams: 0, now: 0)
        state.closedStream(1, byProxy: true)
        func fill(_ state: inout HTTP2ConnectionState, at now: UInt64) throws {
            for _ in 0..<limit { try send(flood, to: &state, now: now) }
        }
        func overflows(_ state: HTTP2ConnectionState, at now: UInt64) -> Bool {
            var state = state
            let found = violation { () throws(HTTP2Violation) in try send(flood, to: &state, now: now) }
            return found == .connection(.enhanceYourCalm)
        }
        try fill(&state, at: 40 * second)
        #expect(overflows(state, at: 69 * second))
        #expect(!overflows(state, at: 71 * second))
        state.sentResponse(1)
        #expect(overflows(state, at: 69 * second) == !isForgiven)
    }

    @Test("What is sent of bodies takes room in the connection's window")
    func sent() {
        var state = HTTP2ConnectionStateTests.open()
        state.sentResponse(0)
        state.sentResponse(65_535)
        #expect(state.sendWindow.size == 0)
    }
}
