import Testing

@testable import HTTP2

@Suite("The end of a response whose request goes on")
struct ResponseEndingTests {
    @Test(
        "is kept back unless the response is an error",
        arguments: [(200, true), (204, true), (304, true), (399, true), (400, false), (404, false), (502, false)])
    func isHeld(status: Int, isHeld: Bool) {
        var ending = ResponseEnding()
        ending.begin(status: status, length: 10)
        #expect(ending.isHeld == isHeld)
    }

    @Test(
        "is the last byte where the length is told, and nothing of the body where it isn't",
        arguments: [
            (10, 0, 4, 4), (10, 0, 10, 9), (10, 0, 12, 9), (10, 8, 2, 1), (10, 9, 1, 0), (1, 0, 1, 0), (10, 10, 0, 0),
            (nil, 0, 10, 10), (nil, 50, 3, 3),
        ] as [(Int?, Int, Int, Int)])
    func sendable(length: Int?, sent: Int, ready: Int, sendable: Int) {
        var ending = ResponseEnding()
        ending.begin(status: 200, length: length)
        ending.sent(sent)
        #expect(ending.sendable(of: ready) == sendable)
    }

    @Test("is let go once, with the header section if that was kept back", arguments: [true, false])
    func release(holdsHead: Bool) {
        var ending = ResponseEnding()
        ending.begin(status: 200, length: 0)
        if holdsHead { ending.holdHead() }
        let first = ending.release()
        #expect(first == holdsHead)
        #expect(!ending.isHeld)
        let second = ending.release()
        #expect(!second)
    }
}
