import Testing

@testable import ForwardProxy

@Suite("What a client's connection waits for, and until when")
struct ConnectionDeadlinesTests {
    private static let patience = ConnectionPatience(idle: 75, head: 10, silence: 60)

    private func waiting(for wait: ConnectionDeadlines.Wait, from now: UInt64 = 0) -> ConnectionDeadlines {
        var deadlines = ConnectionDeadlines()
        deadlines.expect(wait, ConnectionDeadlinesTests.patience, now: now)
        return deadlines
    }

    @Test(
        "each wait has its time",
        arguments: [
            (.nothing, nil), (.request, 75), (.lastRequest, 250_000_000), (.head, 10), (.body, 60), (.closing, 60),
            (.rest, 2_000_000_000), (.lingering, 2_000_000_000),
        ] as [(ConnectionDeadlines.Wait, UInt64?)])
    func times(wait: ConnectionDeadlines.Wait, time: UInt64?) {
        let deadlines = waiting(for: wait, from: 1000)
        #expect(deadlines.wait == wait)
        if let time { #expect(!deadlines.hasPassed(999 + time) && deadlines.hasPassed(1000 + time)) }
        #expect(deadlines.hasPassed(.max - 1) == (time != nil))
    }

    @Test("a time that has just been read is not read again, and a request ends every wait")
    func knownTime() {
        var deadlines = ConnectionDeadlines()
        var reads: UInt64 = 0
        func read() -> UInt64 {
            reads += 1
            return 500
        }
        deadlines.knownTime = 100
        deadlines.expect(.head, ConnectionDeadlinesTests.patience, now: read())
        #expect(reads == 0 && deadlines.hasPassed(110))
        deadlines.knownTime = nil
        deadlines.expect(.head, ConnectionDeadlinesTests.patience, now: read())
        #expect(reads == 1 && !deadlines.hasPassed(509) && deadlines.hasPassed(510))
        deadlines.inputEnded(now: 0)
        deadlines.beganRequest()
        let probes = deadlines.probes(now: .max - 1)
        #expect(deadlines.wait == .nothing && !deadlines.hasPassed(.max - 1) && !probes)
    }

    /// What the connection does when its deadline has passed.
    enum Course: CaseIterable { case idle, awaitingBody, draining, complete }

    private func state(_ course: Course) -> ConnectionState {
        var state = ConnectionState()
        if course == .idle { return state }
        state.receivedHead(isPersistent: true, expectsContinue: false)
        if course == .complete { _ = state.receivedEnd() }
        if course == .draining {
            _ = state.startedResponse()
            _ = state.finishedResponse()
        }
        return state
    }

    @Test(
        "a deadline that has passed ends the connection, or is set again where the client owes nothing",
        arguments: [
            (.nothing, .idle, true, 0, .none), (.request, .idle, true, 0, .abort), (.request, .idle, true, 5, .renew),
            (.lastRequest, .idle, true, 0, .abort), (.lastRequest, .idle, true, 5, .renew),
            (.head, .idle, true, 0, .refuseHead), (.body, .awaitingBody, true, 0, .refuseBody),
            (.body, .awaitingBody, false, 0, .renew), (.body, .draining, true, 0, .abort),
            (.body, .complete, true, 0, .none), (.closing, .idle, true, 0, .close), (.closing, .idle, true, 5, .renew),
            (.rest, .draining, true, 0, .endReading), (.lingering, .idle, true, 5, .close),
        ] as [(ConnectionDeadlines.Wait, Course, Bool, Int, ConnectionDeadlines.Action)])
    func timedOut(
        wait: ConnectionDeadlines.Wait, course: Course, wantsBody: Bool, pending: Int,
        action: ConnectionDeadlines.Action
    ) {
        let deadlines = waiting(for: wait)
        let found = deadlines.timedOut(state(course), bodyIsWanted: wantsBody, pending: pending)
        #expect(found == action)
    }

    @Test("an answer that was handed over whole is on its way for as long as there is something of it to take")
    func slowReader() {
        for (wait, end) in [(ConnectionDeadlines.Wait.request, ConnectionDeadlines.Action.abort), (.closing, .close)] {
            let deadlines = waiting(for: wait)
            let idle = ConnectionState()
            let actions = [100, 99, 99, 0].map { pending in
                deadlines.timedOut(idle, bodyIsWanted: true, pending: pending)
            }
            #expect(actions == [.renew, .renew, .renew, end])
            #expect(deadlines.leavesBytes)
        }
        #expect(!waiting(for: .lastRequest).leavesBytes && !waiting(for: .nothing).leavesBytes)
    }

    @Test("a client that has closed its output is asked after 200 ms, and then every second")
    func probes() {
        var deadlines = ConnectionDeadlines()
        let millisecond: UInt64 = 1_000_000
        let before = deadlines.probes(now: 5_000 * millisecond)
        deadlines.inputEnded(now: 0)
        let times: [UInt64] = [199, 200, 450, 1199, 1200, 2300]
        let asked = times.filter { deadlines.probes(now: $0 * millisecond) }
        #expect(!before)
        #expect(asked == [200, 1200, 2300])
    }

    @Test("a client that takes nothing of a response is given up after ten times the silence timeout")
    func stalled() {
        var deadlines = ConnectionDeadlines()
        func isStalled(_ pending: Int?, _ now: UInt64) -> Bool {
            deadlines.isStalled(pending: pending, ConnectionDeadlinesTests.patience, now: now)
        }
        let first = [isStalled(100, 0), isStalled(100, 600), isStalled(99, 601), isStalled(99, 1201)]
        #expect(first == [false, false, false, false])
        let second = [isStalled(nil, 1202), isStalled(99, 1203), isStalled(99, 1803), isStalled(99, 1804)]
        #expect(second == [false, false, false, true])
    }
}
