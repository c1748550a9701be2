import Testing

@testable import HTTP2

@Suite("The life of an HTTP/2 stream")
struct HTTP2StreamStateTests {
    private func stream(ended: Bool = false, window: Int = 65_535) -> HTTP2StreamState {
        HTTP2StreamState(1, requestIsComplete: ended, window: window, now: 0)
    }

    /// Compares values of mutating functions, which the macro can't call itself.
    private func expect<Value: Equatable>(
        _ found: Value, _ wanted: Value, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(found == wanted, sourceLocation: sourceLocation)
    }

    // MARK: The request

    enum Demand: CaseIterable { case wanted, unwanted, answered }

    @Test(
        "A body goes to the exchange, is kept until it is wanted, or is thrown away once the response is complete",
        arguments: zip(Demand.allCases, [HTTP2StreamState.BodyAction.deliver, .hold, .discard]))
    func body(demand: Demand, action: HTTP2StreamState.BodyAction) throws {
        var stream = stream()
        switch demand {
        case .wanted: expect(stream.setWantsBody(true), false)
        case .unwanted: expect(stream.setWantsBody(false), true)
        case .answered: stream.completedResponse()
        }
        expect(try stream.receivedData(10, frame: 10, isLast: false, now: 0), action)
        #expect(stream.phase == .open)
        try stream.receivedTrailers(isLast: true)
        expect(stream.endedRequest(), action)
        #expect(stream.phase == .halfClosedRemote)
    }

    @Test(
        "A body is as long as its Content-Length says",
        arguments: [
            (10, [10], true), (10, [4, 6], true), (10, [11], false), (10, [9], false), (10, [10, 1], false),
            (nil, [0, 7], true), (0, [0], true), (0, [1], false),
        ] as [(Int?, [Int], Bool)])
    func length(said: Int?, parts: [Int], isTaken: Bool) {
        var stream = stream()
        stream.receivedHead(length: said, expectsContinue: false)
        var isOk = true
        for (index, part) in parts.enumerated() {
            do throws(HTTP2Violation) {
                _ = try stream.receivedData(part, frame: part, isLast: index == parts.count - 1, now: 0)
            } catch {
                #expect(error == .stream(1, .protocolError))
                isOk = false
                break
            }
        }
        #expect(isOk == isTaken)
    }

    @Test("Trailers before the whole length has come are an error of the stream", arguments: [(3, false), (4, true)])
    func trailers(received: Int, isTaken: Bool) throws {
        var stream = stream()
        stream.receivedHead(length: 4, expectsContinue: false)
        _ = try stream.receivedData(received, frame: received, isLast: false, now: 0)
        if isTaken {
            try stream.receivedTrailers(isLast: true)
        } else {
            #expect(throws: HTTP2Violation.stream(1, .protocolError)) { try stream.receivedTrailers(isLast: true) }
        }
    }

    @Test("Trailers that are not taken are answered, unless a response has begun")
    func refusedTrailers() throws {
        var fresh = stream()
        expect(try fresh.refusedEnd(), .answer)
        var begun = stream()
        _ = begun.startedResponse(length: nil)
        #expect(throws: HTTP2Violation.stream(1, .protocolError)) { try begun.refusedEnd() }
        var answered = stream()
        _ = answered.startedResponse(length: 0)
        expect(try answered.refusedEnd(), .discard)
    }

    @Test("The client may send what its window holds, padding included, and gets more once half is used")
    func receiveWindow() throws {
        var stream = stream()
        _ = try stream.receivedData(32_000, frame: 32_700, isLast: false, now: 0)
        expect(stream.widenWindow(), nil)
        _ = try stream.receivedData(1, frame: 69, isLast: false, now: 0)
        // Not while the exchange wants nothing.
        _ = stream.setWantsBody(false)
        expect(stream.widenWindow(), nil)
        _ = stream.setWantsBody(true)
        expect(stream.widenWindow(), 32_769)
        expect(stream.widenWindow(), nil)
        #expect(throws: HTTP2Violation.stream(1, .flowControlError)) {
            try stream.receivedData(1, frame: 65_536, isLast: false, now: 0)
        }
    }

    @Test("100 (Continue) is sent once, to who waits for it, and before the response")
    func continues() {
        var stream = stream()
        stream.receivedHead(length: 5, expectsContinue: true)
        expect(stream.continues(), true)
        expect(stream.continues(), false)
        var answered = self.stream()
        answered.receivedHead(length: 5, expectsContinue: true)
        _ = answered.startedResponse(length: nil)
        expect(answered.continues(), false)
        var ended = self.stream(ended: true)
        ended.receivedHead(length: 0, expectsContinue: true)
        expect(ended.continues(), false)
    }

    // MARK: The response

    @Test(
        "The header section has END_STREAM where no body follows, and waits for a request that goes on unless it is an error",
        arguments: [
            (true, 200, 0, .writeLast), (true, 200, 5, .write), (true, 200, nil, .write), (true, 500, 0, .writeLast),
            (false, 200, 0, .hold), (false, 200, 5, .write), (false, 404, 0, .writeLast), (false, 404, nil, .write),
        ] as [(Bool, Int, Int?, HTTP2StreamState.HeadAction)])
    func head(ended: Bool, status: Int, length: Int?, action: HTTP2StreamState.HeadAction) {
        var stream = stream(ended: ended)
        expect(stream.willHoldEnding(status: status, length: length), !ended && status < 400)
        expect(stream.startedResponse(length: length), action)
        #expect(stream.responseIsComplete == (length == 0))
        // There is one final response.
        expect(stream.startedResponse(length: length), .discard)
    }

    @Test("A header section that was kept back is written when the request has ended")
    func keptHead() throws {
        var stream = stream()
        _ = stream.willHoldEnding(status: 200, length: 0)
        _ = stream.startedResponse(length: 0)
        #expect(!stream.maySend)
        _ = try stream.receivedData(0, frame: 0, isLast: true, now: 0)
        expect(stream.releaseEnding(), .writeHead)
        stream.sentEnd(now: 0)
        #expect(stream.phase == .closed)
        expect(stream.releaseEnding(), .nothing)
    }

    @Test("Of a body whose length is told the last byte is kept back, of another just its end")
    func keptBody() {
        var told = stream()
        _ = told.willHoldEnding(status: 200, length: 10)
        _ = told.startedResponse(length: 10)
        told.appended(10, now: 0)
        told.completedResponse()
        #expect(told.nextFrame(atMost: 100) == .data(atMost: 9))
        expect(told.sentData(9, now: 0), .init(isLast: false, makesRoom: false))
        #expect(!told.maySend)
        expect(told.releaseEnding(), .enqueue)
        #expect(told.maySend)
        expect(told.sentData(1, now: 0), .init(isLast: true, makesRoom: false))

        var untold = stream()
        _ = untold.willHoldEnding(status: 200, length: nil)
        _ = untold.startedResponse(length: nil)
        untold.appended(10, now: 0)
        untold.completedResponse()
        expect(untold.sentData(10, now: 0), .init(isLast: false, makesRoom: false))
        #expect(!untold.maySend)
        expect(untold.releaseEnding(), .enqueue)
        #expect(untold.maySend && untold.hasOnlyItsEndToSend)
        #expect(untold.nextFrame(atMost: 0) == .end)
    }

    @Test(
        "A DATA frame is no longer than the connection, the stream and what is there allow",
        arguments: [(100, 1000, 50, 50), (100, 1000, 200, 100), (100, 30, 200, 30), (100, 0, 200, 0), (100, 9, 0, 0)])
    func frame(pending: Int, window: Int, limit: Int, length: Int) {
        var stream = stream(ended: true, window: window)
        _ = stream.startedResponse(length: pending)
        stream.appended(pending, now: 0)
        #expect(stream.nextFrame(atMost: limit) == (length > 0 ? .data(atMost: length) : .nothing))
        #expect(stream.maySend == (window > 0))
    }

    @Test("END_STREAM is in the last DATA frame, or behind it with the trailers", arguments: [true, false])
    func end(hasTrailers: Bool) {
        var stream = stream(ended: true)
        _ = stream.startedResponse(length: nil)
        stream.appended(10, now: 0)
        stream.completedResponse(hasTrailers: hasTrailers)
        expect(stream.sentData(10, now: 0), .init(isLast: !hasTrailers, makesRoom: false))
        #expect(stream.nextFrame(atMost: 0) == .end)
        stream.sentEnd(now: 0)
        #expect(stream.phase == .closed)
        #expect(!stream.maySend)
    }

    @Test("An exchange that found no room is told when there is some, once")
    func room() {
        var stream = stream(ended: true, window: 1 << 20)
        _ = stream.startedResponse(length: nil)
        expect(stream.takesMore(), true)
        stream.appended(HTTP2StreamState.highWatermark, now: 0)
        expect(stream.takesMore(), false)
        expect(stream.sentData(HTTP2StreamState.lowWatermark, now: 0).makesRoom, false)
        expect(stream.sentData(1, now: 0).makesRoom, true)
        expect(stream.sentData(1, now: 0).makesRoom, false)
    }

    @Test(
        "A window of the client's grows to 2^31-1 and no further",
        arguments: [
            (0, .stream(1, .protocolError)), (1, nil), (2_147_483_646, nil),
            (2_147_483_647, .stream(1, .flowControlError)),
        ] as [(Int, HTTP2Violation?)])
    func sendWindow(increment: Int, violation: HTTP2Violation?) {
        var stream = stream(window: 1)
        var found: HTTP2Violation?
        do throws(HTTP2Violation) { try stream.receivedWindowUpdate(increment) } catch { found = error }
        #expect(found == violation)
    }

    @Test("SETTINGS may make a window negative; then nothing is sent until it is open again")
    func negativeWindow() throws {
        var stream = stream(ended: true, window: 100)
        _ = stream.startedResponse(length: 50)
        stream.appended(50, now: 0)
        _ = stream.sentData(20, now: 0)
        try stream.changeWindow(by: -100)
        #expect(stream.sendWindow.size == -20)
        #expect(!stream.maySend)
        try stream.receivedWindowUpdate(21)
        #expect(stream.nextFrame(atMost: 100) == .data(atMost: 1))
        #expect(throws: HTTP2Violation.connection(.flowControlError)) {
            try stream.changeWindow(by: HTTP2Window.largestSize)
        }
    }

    @Test("A stream that was reset is closed, and sends nothing")
    func reset() {
        var stream = stream()
        _ = stream.startedResponse(length: nil)
        stream.appended(100, now: 0)
        stream.close()
        #expect(stream.phase == .closed)
        #expect(!stream.maySend)
        #expect(stream.pendingBytes == 0)
        expect(stream.continues(), false)
        expect(stream.startedResponse(length: 0), .discard)
    }

    // MARK: Time

    /// What a stream is like when its time is looked at.
    enum Debt: CaseIterable {
        /// The origin is slow, and the client owes nothing.
        case none
        case requestBody
        /// The exchange takes no more of the request just now.
        case unwantedBody
        case responseBody
        case answeredRequest
        case keptEnding
    }

    @Test(
        "A client that owes something and doesn't move for the silence timeout is given up",
        arguments: zip(
            Debt.allCases,
            [HTTP2StreamState.TimeoutAction.none, .giveUp, .none, .giveUp, .close, .endResponse]))
    func silence(debt: Debt, action: HTTP2StreamState.TimeoutAction) throws {
        var stream = stream(ended: debt == .none || debt == .responseBody)
        switch debt {
        case .none, .requestBody: break
        case .unwantedBody: _ = stream.setWantsBody(false)
        case .responseBody:
            _ = stream.startedResponse(length: 10)
            stream.appended(10, now: 0)
        case .answeredRequest:
            _ = stream.willHoldEnding(status: 404, length: 0)
            _ = stream.startedResponse(length: 0)
            stream.sentEnd(now: 0)
        case .keptEnding:
            _ = stream.willHoldEnding(status: 200, length: 0)
            _ = stream.startedResponse(length: 0)
        }
        expect(stream.check(now: 100, silence: 100), .none)
        expect(stream.check(now: 201, silence: 100), action)
    }

    @Test("Once the end of the response is let go, the request has the silence timeout again")
    func secondSilence() {
        var stream = stream()
        _ = stream.willHoldEnding(status: 200, length: 0)
        _ = stream.startedResponse(length: 0)
        expect(stream.check(now: 101, silence: 100), .endResponse)
        expect(stream.releaseEnding(), .writeHead)
        stream.sentEnd(now: 101)
        expect(stream.check(now: 201, silence: 100), .none)
        expect(stream.check(now: 202, silence: 100), .close)
    }

    @Test("What is thrown away has to come at some speed, 4 KiB within the silence timeout", arguments: [4095, 4096])
    func discarded(count: Int) throws {
        var stream = stream()
        _ = stream.willHoldEnding(status: 404, length: 0)
        _ = stream.startedResponse(length: 0)
        stream.sentEnd(now: 0)
        _ = try stream.receivedData(count, frame: count, isLast: false, now: 60)
        expect(stream.check(now: 101, silence: 100), count < 4096 ? .close : .none)
    }

    @Test("A response has to be taken at some speed too", arguments: [4095, 4096])
    func taken(count: Int) {
        var stream = stream(ended: true)
        _ = stream.startedResponse(length: nil)
        stream.appended(10_000, now: 0)
        _ = stream.sentData(count, now: 60)
        expect(stream.check(now: 101, silence: 100), count < 4096 ? .giveUp : .none)
    }
}
