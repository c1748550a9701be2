import Testing

@testable import ForwardProxy

@Suite("Which way bytes go to a client")
struct ClientOutputTests {
    @Test(
        "a response goes past the channel where a flush follows, there is a straight way, and the channel has nothing",
        arguments: [
            (true, true, nil, true), (false, true, nil, false), (true, false, nil, false), (true, true, 0, true),
            (true, true, 1, false), (false, true, 0, false), (true, false, 0, false),
        ] as [(Bool, Bool, Int?, Bool)])
    func mayPass(isInRead: Bool, isDirect: Bool, pending: Int?, passes: Bool) {
        var output = ClientOutput()
        if pending != nil { output.gaveToChannel() }
        let found = output.mayPass(isInRead: isInRead, isDirect: isDirect, pending: pending ?? 99)
        #expect(found == passes)
    }

    @Test("the channel is asked only where it may have something, and not again once it had nothing")
    func asking() {
        var output = ClientOutput()
        var asked = 0
        func pending() -> Int {
            asked += 1
            return 0
        }
        _ = output.mayPass(isInRead: true, isDirect: true, pending: pending())
        #expect(asked == 0)
        output.gaveToChannel()
        #expect(!output.mayPass(isInRead: true, isDirect: true))
        _ = output.mayPass(isInRead: true, isDirect: true, pending: pending())
        _ = output.mayPass(isInRead: true, isDirect: true, pending: pending())
        #expect(asked == 1 && output.mayPass(isInRead: true, isDirect: true))
    }

    @Test("what was written is flushed once")
    func flushing() {
        var output = ClientOutput()
        var flushes = [output.flushes()]
        output.gaveDirectly()
        flushes += [output.flushes(), output.flushes()]
        #expect(flushes == [false, true, false])
        #expect(!output.channelMayHavePending)
        output.wroteToChannel()
        flushes = [output.flushes(), output.flushes()]
        #expect(flushes == [true, false])
        #expect(output.channelMayHavePending)
    }

    @Test("what has gone past the channel needs no flush, unless the channel has the rest", arguments: [true, false])
    func passed(hasRest: Bool) {
        var output = ClientOutput()
        output.gaveDirectly()
        if hasRest { output.gaveToChannel() }
        output.passed()
        #expect(output.needsFlush == hasRest)
    }
}
