import Testing

@testable import ForwardProxy

@Suite("The life of a client's connection")
struct ConnectionStateTests {
    /// Compares values of mutating functions, which the macro can't call itself.
    private func expect<Value: Equatable>(
        _ found: Value, _ wanted: Value, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(found == wanted, sourceLocation: sourceLocation)
    }

    private func exchange(complete: Bool, persistent: Bool = true) -> ConnectionState {
        var state = ConnectionState()
        state.receivedHead(isPersistent: persistent, expectsContinue: false)
        if complete { _ = state.receivedEnd() }
        return state
    }

    @Test("a complete exchange on a persistent connection leads to the next request")
    func nextRequest() {
        var state = exchange(complete: true)
        #expect(!state.wantsBytes(bodyIsWanted: true))
        expect(state.startedResponse(), true)
        expect(state.finishedResponse(), .proceed)
        #expect(state.isIdle)
        #expect(state.wantsBytes(bodyIsWanted: true))
    }

    @Test("a connection that is not persistent is closed behind the response, not with it")
    func lastResponse() {
        var state = exchange(complete: true, persistent: false)
        expect(state.startedResponse(), false)
        expect(state.finishedResponse(), .closeOutput)
        #expect(state.phase == .lingering)
        expect(state.inputEnded(), .close)
    }

    @Test("a body that is still coming after the response is read within a bound, then given up")
    func draining() {
        var state = exchange(complete: false)
        _ = state.startedResponse()
        expect(state.finishedResponse(), .proceed)
        expect(state.receivedBody(1000), .discard)
        expect(state.receivedBody(ConnectionState.drainLimit), .closeOutput)
        #expect(state.phase == .lingering)
    }

    @Test(
        "a response that leaves more of the body than is read behind it says that the connection ends",
        arguments: [
            // The body's length, what has come of it, whether the exchange uses the rest, and whether it may stay open.
            (0, 0, false, true), (ConnectionState.drainLimit, 0, false, true),
            (ConnectionState.drainLimit + 1, 0, false, false), (ConnectionState.drainLimit + 1, 1, false, true),
            (ConnectionState.drainLimit + 1, 0, true, true), (.max, 10, false, false), (nil, 0, false, true),
        ] as [(Int?, Int, Bool, Bool)])
    func givenUp(length: Int?, received: Int, usesBody: Bool, staysOpen: Bool) {
        var state = ConnectionState()
        state.receivedHead(isPersistent: true, expectsContinue: false, bodyLength: length)
        if length == 0 { _ = state.receivedEnd() }
        if received > 0 { expect(state.receivedBody(received), .deliver) }
        #expect(state.leavesTooMuch == (usesBody || !staysOpen))
        expect(state.startedResponse(usesBody: usesBody), staysOpen)
        // Up to the bound it is read all the same.
        expect(state.finishedResponse(), .proceed)
        guard !staysOpen else { return }
        expect(state.receivedBody(ConnectionState.drainLimit), .discard)
        expect(state.receivedBody(1), .closeOutput)
    }

    @Test("a body that is given up and doesn't come is waited for no longer than a closed connection is")
    func nothingComes() {
        var state = ConnectionState()
        state.receivedHead(isPersistent: true, expectsContinue: false, bodyLength: 3 << 20)
        expect(state.startedResponse(), false)
        #expect(!state.readsGivenUpBody)
        expect(state.finishedResponse(), .proceed)
        #expect(state.readsGivenUpBody)
        expect(state.receivedBody(10), .discard)
        expect(state.endedReading(), .closeOutput)
        #expect(state.phase == .lingering && !state.readsGivenUpBody)
        expect(state.endedReading(), .none)
        // One whose end may be read belongs to a connection that stays open.
        var other = exchange(complete: false)
        _ = other.startedResponse()
        expect(other.finishedResponse(), .proceed)
        #expect(!other.readsGivenUpBody)
        expect(other.endedReading(), .none)
    }

    @Test("a body that has come whole behind a response which gave it up ends the connection")
    func cameWhole() {
        var state = ConnectionState()
        state.receivedHead(isPersistent: true, expectsContinue: false, bodyLength: ConnectionState.drainLimit + 1)
        expect(state.startedResponse(), false)
        expect(state.receivedBody(ConnectionState.drainLimit + 1), .deliver)
        expect(state.receivedEnd(), .none)
        expect(state.finishedResponse(), .closeOutput)
    }

    @Test("after a drained body the next request is read")
    func drained() {
        var state = exchange(complete: false)
        _ = state.startedResponse()
        _ = state.finishedResponse()
        expect(state.receivedBody(10), .discard)
        expect(state.receivedEnd(), .proceed)
        #expect(state.isIdle)
    }

    @Test("a client that waits for 100 can't be told from one that sends a request: the connection ends")
    func unansweredExpectation() {
        var state = ConnectionState()
        state.receivedHead(isPersistent: true, expectsContinue: true)
        expect(state.startedResponse(), false)
        expect(state.finishedResponse(), .closeOutput)
    }

    @Test("a client that closed its output still gets the response")
    func halfClosed() {
        var state = exchange(complete: true)
        expect(state.inputEnded(), .none)
        _ = state.startedResponse()
        expect(state.finishedResponse(), .proceed)
        expect(state.inputEnded(), .close)
    }

    @Test("an idle connection closes when the client does")
    func idle() {
        var closed = ConnectionState()
        expect(closed.inputEnded(), .close)
    }

    @Test("when the server stops, the exchange under way is the last")
    func stopping() {
        var state = exchange(complete: true)
        state.stop()
        expect(state.startedResponse(), false)
        expect(state.finishedResponse(), .closeOutput)
    }

    @Test("a request that was on its way when the server stopped is answered, and is the last")
    func lastRequest() {
        var state = ConnectionState()
        state.stop()
        #expect(state.isIdle)
        state.receivedHead(isPersistent: true, expectsContinue: false)
        _ = state.receivedEnd()
        expect(state.startedResponse(), false)
        expect(state.finishedResponse(), .closeOutput)
    }

    @Test("an aborted exchange closes at once, and only once")
    func aborted() {
        var state = exchange(complete: true)
        _ = state.startedResponse()
        expect(state.aborted(), .abort)
        expect(state.aborted(), .none)
    }

    @Test("bytes of a body are wanted as long as the exchange wants them")
    func backPressure() {
        let state = exchange(complete: false)
        #expect(state.wantsBytes(bodyIsWanted: true))
        #expect(!state.wantsBytes(bodyIsWanted: false))
    }

    // MARK: Each phase and each event

    enum Start: CaseIterable, Sendable {
        case idle, request, wholeRequest, response, wholeRequestResponse, draining, lingering, relaying, closed

        var state: ConnectionState {
            var state = ConnectionState()
            switch self {
            case .idle: return state
            case .closed: state.closed()
            case .relaying:
                state.receivedHead(isPersistent: true, expectsContinue: false)
                state.startedRelaying()
            case .request, .wholeRequest, .response, .wholeRequestResponse, .draining, .lingering:
                state.receivedHead(isPersistent: true, expectsContinue: false)
                if self == .wholeRequest || self == .wholeRequestResponse { _ = state.receivedEnd() }
                if self != .request && self != .wholeRequest { _ = state.startedResponse() }
                if self == .draining || self == .lingering { _ = state.finishedResponse() }
                if self == .lingering { _ = state.receivedBody(ConnectionState.drainLimit + 1) }
            }
            return state
        }
    }

    enum Event: CaseIterable, Sendable { case end, response, responseEnd, inputEnd, abort }

    struct Row: CustomTestStringConvertible, Sendable {
        var start: Start
        var event: Event
        var action: ConnectionState.Action
        var phase: ConnectionState.Phase

        var testDescription: String { "\(start), \(event)" }
    }

    private static let table: [(Start, [(ConnectionState.Action, Start)])] = [
        (.idle, [(.none, .idle), (.none, .idle), (.none, .idle), (.close, .closed), (.abort, .closed)]),
        (
            .request,
            [
                (.none, .wholeRequest), (.none, .response), (.proceed, .draining), (.none, .request),
                (.abort, .closed),
            ]
        ),
        (
            .wholeRequest,
            [
                (.none, .wholeRequest), (.none, .wholeRequestResponse), (.proceed, .idle), (.none, .wholeRequest),
                (.abort, .closed),
            ]
        ),
        (
            .response,
            [
                (.none, .wholeRequestResponse), (.none, .response), (.proceed, .draining), (.none, .response),
                (.abort, .closed),
            ]
        ),
        (
            .wholeRequestResponse,
            [
                (.none, .wholeRequestResponse), (.none, .wholeRequestResponse), (.proceed, .idle),
                (.none, .wholeRequestResponse), (.abort, .closed),
            ]
        ),
        (
            .draining,
            [(.proceed, .idle), (.none, .draining), (.none, .draining), (.close, .closed), (.abort, .closed)]
        ),
        (
            .lingering,
            [(.none, .lingering), (.none, .lingering), (.none, .lingering), (.close, .closed), (.abort, .closed)]
        ),
        (
            .relaying,
            [(.none, .relaying), (.none, .relaying), (.none, .relaying), (.none, .relaying), (.abort, .closed)]
        ),
        (.closed, [(.none, .closed), (.none, .closed), (.none, .closed), (.none, .closed), (.none, .closed)]),
    ]

    private static let rows = table.flatMap { start, outcomes in
        zip(Event.allCases, outcomes).map { event, outcome in
            Row(start: start, event: event, action: outcome.0, phase: outcome.1.state.phase)
        }
    }

    @Test("an event leads from each phase to the next, and to what has to happen", arguments: rows)
    func event(row: Row) {
        var state = row.start.state
        let action: ConnectionState.Action
        switch row.event {
        case .end: action = state.receivedEnd()
        case .response:
            _ = state.startedResponse()
            action = .none
        case .responseEnd: action = state.finishedResponse()
        case .inputEnd: action = state.inputEnded()
        case .abort: action = state.aborted()
        }
        #expect(action == row.action)
        #expect(state.phase == row.phase)
    }

    @Test("the table has a row for each phase and a column for each event")
    func isWhole() {
        #expect(ConnectionStateTests.table.map(\.0) == Start.allCases)
        #expect(ConnectionStateTests.table.allSatisfy { $0.1.count == Event.allCases.count })
    }

    @Test(
        "the last response of a connection closes its output, or all of it where the client has closed its side",
        arguments: [
            (true, false, false, .proceed), (false, false, false, .closeOutput), (true, true, false, .closeOutput),
            (true, false, true, .proceed), (false, false, true, .close), (true, true, true, .close),
        ] as [(Bool, Bool, Bool, ConnectionState.Action)])
    func last(isPersistent: Bool, isStopping: Bool, inputHasEnded: Bool, action: ConnectionState.Action) {
        var state = exchange(complete: true, persistent: isPersistent)
        if isStopping { state.stop() }
        if inputHasEnded { expect(state.inputEnded(), .none) }
        expect(state.startedResponse(), isPersistent && !isStopping)
        expect(state.finishedResponse(), action)
    }

    @Test("requests that wait are answered before a client that has closed its side is closed")
    func waitingRequests() {
        var state = ConnectionState()
        expect(state.inputEnded(requestsWait: true), .none)
        #expect(state.isIdle && state.inputHasEnded)
        expect(state.inputEnded(), .close)
    }

    @Test("bytes that are no request are answered once, and nothing behind them is read", arguments: [true, false])
    func malformed(inputHasEnded: Bool) {
        var state = exchange(complete: false)
        if inputHasEnded { expect(state.inputEnded(), .none) }
        expect(state.finishedErrorResponse(), inputHasEnded ? .close : .closeOutput)
        #expect(state.phase == .lingering)
        expect(state.receivedBody(10), .discard)
    }

    @Test(
        "a body that comes ends the wait for 100, and 100 is sent once",
        arguments: [true, false])
    func expectation(isSent: Bool) {
        var state = ConnectionState()
        state.receivedHead(isPersistent: true, expectsContinue: true)
        #expect(state.awaitsContinue && state.awaitsBody)
        if isSent { state.sentContinue() } else { expect(state.receivedBody(1), .deliver) }
        #expect(!state.awaitsContinue)
        expect(state.startedResponse(), true)
    }
}
