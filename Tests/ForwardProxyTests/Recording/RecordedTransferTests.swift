import Archives
import HTTP1
import HTTPSemantics
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import ForwardProxy

@Suite("A recorded transfer whose client leaves")
struct RecordedTransferTests {
    /// Counts what it is given.
    private final class Counter: ExchangeRecorder {
        private let counts = Mutex<(recorded: Int, passedOver: [Unrecorded])>((0, []))
        let bodyLimit: Int

        init(bodyLimit: Int) { self.bodyLimit = bodyLimit }

        var recorded: Int { counts.withLock { $0.recorded } }
        var passedOver: [Unrecorded] { counts.withLock { $0.passedOver } }

        func admit(goOn: @escaping @Sendable () -> Void) -> Bool { true }

        func record(
            _ exchange: PackedExchange, body: RecordedPieces, goOn: @escaping @Sendable () -> Void
        ) -> Bool {
            counts.withLock { $0.recorded += 1 }
            return true
        }

        func makeSpool(for exchange: PackedExchange) -> any BodySpool { Spool() }
        func passOver(_ reason: Unrecorded) { counts.withLock { $0.passedOver.append(reason) } }
        func noteTunnel(host: String, port: UInt16) {}
    }

    private final class Spool: BodySpool {
        func append(_ bytes: ByteBuffer, taken: @escaping @Sendable () -> Void) { taken() }
    }

    /// An origin that says nothing by itself.
    private final class Silence: OriginTransport {
        var unacknowledgedBytes: Int? { nil }
        private(set) var isCancelled = false

        func start(sink: any OriginSink) {}
        func upload(_ body: ByteBuffer) -> Bool { true }
        func endUpload(trailers: [[UInt8]]) {}
        func acknowledge(_ count: Int) {}
        func lend(_ loan: OutputLoan, at position: Int) {}
        func cancel() { isCancelled = true }
    }

    private final class Client: OriginSink {
        var whenHeadHasCome: () -> Void = {}

        func originSentInterim(_ head: ResponseHead) {}
        func originSentHead(_ head: ResponseHead) { whenHeadHasCome() }
        func originSentBody(_ body: ByteBuffer) {}
        func originSentTrailers(_ fields: FieldSection) {}
        func originWantsBody() {}
        func originTookBody() {}
        func originFinished(_ failure: ProxyError?) {}
    }

    @Test(
        "is recorded where all of the response had come, and not where some is missing or its end is not known",
        arguments: [
            ("GET", 200, 5, false, 5, 1 << 20, nil), ("GET", 200, 5, false, 4, 1 << 20, .cutOff),
            ("GET", 200, 0, false, 0, 1 << 20, nil), ("GET", 200, nil, true, 5, 1 << 20, .cutOff),
            ("GET", 200, nil, false, 5, 1 << 20, .cutOff), ("HEAD", 200, 5, false, 0, 1 << 20, nil),
            ("GET", 304, 5, false, 0, 1 << 20, nil), ("GET", 200, 400_000, false, 400_000, 1 << 20, nil),
            ("GET", 200, 5, false, 5, 4, .tooLong), ("GET", nil, nil, false, 0, 1 << 20, .cutOff),
        ] as [(String, Int?, Int?, Bool, Int, Int, Unrecorded?)])
    func leaving(
        _ method: String, _ status: Int?, _ length: Int?, _ isChunked: Bool, _ count: Int, _ limit: Int,
        _ reason: Unrecorded?
    ) throws {
        let stage = try LoopStage("substitutions:\n  http://m.test/: { text: mapped }\n")
        let recorder = Counter(bodyLimit: limit)
        let origin = Silence()
        var request = RecordedExchange()
        request.method = method
        let transfer = RecordedTransfer(
            origin, PackedExchange(request), hasBody: false, by: recorder, loop: stage.context)
        transfer.start(sink: Client())
        if let status {
            transfer.originSentHead(
                ResponseHead(
                    status: status, version: .http1_1, reasonRange: 0..<0, fields: FieldSection(),
                    contentLength: length, isChunked: isChunked))
        }
        if count > 0 { transfer.originSentBody(ByteBuffer(repeating: 0x78, count: count)) }
        transfer.cancel()
        #expect(origin.isCancelled)
        #expect(recorder.recorded == (reason == nil ? 1 : 0))
        #expect(recorder.passedOver == (reason.map { [$0] } ?? []))
        // Nothing is told twice.
        transfer.cancel()
        transfer.originFinished(nil)
        #expect(recorder.recorded + recorder.passedOver.count == 1)
    }

    /// Keeps what it is to call.
    private final class LateSpool: BodySpool {
        private let calls = Mutex<[@Sendable () -> Void]>([])
        func append(_ bytes: ByteBuffer, taken: @escaping @Sendable () -> Void) { calls.withLock { $0.append(taken) } }
        func call() { for call in calls.withLock({ $0 }) { call() } }
    }

    @Test("takes no calls for a loop once they have been closed")
    func lateCalls() throws {
        let loop = EmbeddedEventLoop()
        let calls = LoopCalls(loop)
        let count = Mutex(0)
        let spool = LateSpool()
        spool.append(ByteBuffer()) { calls.call { count.withLock { $0 += 1 } } }
        spool.call()
        loop.run()
        #expect(count.withLock { $0 } == 1)
        calls.close()
        spool.call()
        loop.run()
        #expect(count.withLock { $0 } == 1)
    }

    @Test(
        "is not recorded where its head had another answer take its place, or the request's body had not come whole",
        arguments: [true, false])
    func discarded(isReplaced: Bool) throws {
        let stage = try LoopStage("substitutions:\n  http://m.test/: { text: mapped }\n")
        let recorder = Counter(bodyLimit: 1 << 20)
        let client = Client()
        let transfer = RecordedTransfer(
            Silence(), PackedExchange(RecordedExchange()), hasBody: !isReplaced, by: recorder, loop: stage.context)
        if isReplaced { client.whenHeadHasCome = { transfer.cancel() } }
        transfer.start(sink: client)
        if !isReplaced { _ = transfer.upload(ByteBuffer(string: "the first of many")) }
        transfer.originSentHead(
            ResponseHead(
                status: 503, version: .http1_1, reasonRange: 0..<0, fields: FieldSection(), contentLength: 0,
                isChunked: false))
        transfer.cancel()
        #expect(recorder.recorded == 0 && recorder.passedOver == [.cutOff])
    }
}
