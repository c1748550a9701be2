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
}
