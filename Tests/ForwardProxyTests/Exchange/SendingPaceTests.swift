import NIOCore
import Testing

@testable import ForwardProxy

@Suite("The pace of a body")
struct SendingPaceTests {
    @Test("is its rate, however small or large that is", arguments: [1, 2, 9, 10, 11, 19, 39, 1000, 65_536, 1 << 30])
    func rate(_ rate: Int) {
        let pace = SendingPace(rate: rate)
        #expect(pace.portion >= 1 && pace.portion <= max(1, rate / 10))
        for count in Set([1, pace.portion / 2, pace.portion]) where count > 0 {
            let pause = Double(pace.pause(after: count).nanoseconds) / 1e9
            #expect(abs(pause * Double(rate) - Double(count)) < 1e-3 * Double(count) + 1e-6 * Double(rate))
            #expect(pause <= 1)
        }
    }

    @Test("is that of a byte a second where a rate says less")
    func least() {
        #expect(SendingPace(rate: 0).portion == 1)
        #expect(SendingPace(rate: 0).pause(after: 1) == .seconds(1))
    }
}
