import Glibc
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import ForwardProxy

@Suite("The pause after a connection that could not be accepted")
struct AcceptPauseTests {
    @Test("when it is over reading goes on, but not in a listener that stops", arguments: [true, false])
    func over(mayAccept: Bool) throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let loop = EmbeddedEventLoop()
        let channel = EmbeddedChannel(handler: AcceptPause(AcceptWarnings(logger: logger)) { mayAccept }, loop: loop)
        channel.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept"))
        func isReading() -> Bool? {
            channel.options.last { $0.option is ChannelOptions.Types.AutoReadOption }?.value as? Bool
        }
        #expect(isReading() == false)
        loop.advanceTime(by: AcceptPause.pause)
        #expect(isReading() == mayAccept)
        _ = try? channel.finish()
    }
}
