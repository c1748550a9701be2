import Glibc
import HTTPSemantics
import NIOCore
import Testing

@testable import ForwardProxy

@Suite("A body on its way to a client")
struct BodyPassageTests {
    /// Both ends of a connection.
    private final class Pair {
        let near: CInt
        let far: CInt

        init() throws {
            var ends: [CInt] = [-1, -1]
            try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
            (near, far) = (ends[0], ends[1])
        }

        deinit {
            close(near)
            close(far)
        }

        /// What has come to the far end.
        func receive() -> [UInt8] {
            var all: [UInt8] = []
            while true {
                var part = [UInt8](repeating: 0, count: 65536)
                let count = read(far, &part, part.count)
                guard count > 0 else { return all }
                all += part[..<count]
            }
        }
    }

    private final class Client: BodyReceiver {
        let pair: Pair
        var isWritable = true
        var hasSentAll = true
        var taken = 0
        var sentPast = 0
        var isDuplicable = true
        var takesBodyAsItIs = true
        var whenFlushed: () -> Void = {}

        init() throws { pair = try Pair() }

        func send(_ body: ByteBuffer) { taken += body.readableBytes }
        func flush() { whenFlushed() }
        func duplicateSocket() -> CInt? { isDuplicable ? dup(pair.near) : nil }
        func noteSent(_ count: Int) { sentPast += count }
    }

    private final class Transport: OriginTransport {
        var unacknowledgedBytes: Int? = 0
        var loan: OutputLoan?
        var positions: [Int] = []

        func start(sink: any OriginSink) {}
        func upload(_ body: ByteBuffer) -> Bool { true }
        func endUpload(trailers: [[UInt8]]) {}
        func cancel() {}
        func acknowledge(_ count: Int) { unacknowledgedBytes? -= count }

        func lend(_ loan: OutputLoan, at position: Int) {
            self.loan = loan
            positions.append(position)
            loan.lend(at: position)
        }
    }

    private static let piece = ByteBuffer(repeating: 0x61, count: 65536)
    private let passage = BodyPassage()
    private let client: Client
    private let transport = Transport()

    init() throws {
        client = try Client()
        begin(length: 10 << 20)
    }

    private func begin(_ passage: BodyPassage? = nil, length: Int) {
        (passage ?? self.passage).begin(
            ResponseStart(status: 200, reason: nil, lines: ByteBuffer(), body: .length(length)))
    }

    private func pass(_ passage: BodyPassage? = nil, inFlight: Int = 0) {
        transport.unacknowledgedBytes? += Self.piece.readableBytes + inFlight
        (passage ?? self.passage).pass(Self.piece, to: client, from: transport)
        transport.unacknowledgedBytes? -= inFlight
    }

    private func sendPast(_ text: String, at position: Int) throws -> Int {
        let loan = try #require(transport.loan)
        return Array(text.utf8).withUnsafeBytes { loan.send($0, at: position) }
    }

    @Test("A large body's socket is lent once all that came has left")
    func lending() throws {
        pass()
        #expect(transport.positions == [65536])
        #expect(transport.unacknowledgedBytes == 0)
        #expect(try sendPast("straight", at: 65536) == 8)
        #expect(String(decoding: client.pair.receive(), as: UTF8.self) == "straight")
        passage.end(client)
        #expect(client.taken == 65536)
        #expect(client.sentPast == 8)
        #expect(try sendPast("too late", at: 65536) == 0)
    }

    @Test("While more is on its way to the event loop, nothing is lent, and nothing more asked for")
    func inFlight() {
        pass(inFlight: 65536)
        #expect(transport.positions.isEmpty)
        #expect(transport.unacknowledgedBytes == 65536)
        pass()
        #expect(transport.positions == [131_072])
        #expect(transport.unacknowledgedBytes == 0)
    }

    @Test("A client that is slower is not lent to, and its pace is the origin's")
    func slowClient() {
        client.hasSentAll = false
        pass()
        #expect(transport.positions.isEmpty)
        #expect(transport.unacknowledgedBytes == 0)
        client.isWritable = false
        pass()
        #expect(transport.unacknowledgedBytes == 65536)
        passage.acknowledge(to: transport)
        #expect(transport.unacknowledgedBytes == 0)
        (client.isWritable, client.hasSentAll) = (true, true)
        pass()
        #expect(transport.positions == [196_608])
    }

    @Test("Bytes that were handed over before the loan was known end it")
    func overtaking() throws {
        pass()
        #expect(try sendPast("too early", at: 65537) == 0)
        #expect(try sendPast("and for good", at: 65536) == 0)
        #expect(client.pair.receive().isEmpty)
        pass()
        #expect(transport.positions == [65536, 131_072])
        #expect(try sendPast("in turn", at: 131_072) == 7)
    }

    @Test("A socket that takes no more ends the loan, and what it took is counted")
    func fullSocket() throws {
        pass()
        let loan = try #require(transport.loan)
        var sent = 0
        var last = 16384
        let part = [UInt8](repeating: 0x62, count: 16384)
        while last == 16384 {
            last = part.withUnsafeBytes { loan.send($0, at: 65536) }
            sent += last
        }
        loan.push()
        #expect(client.pair.receive().count == sent)
        #expect(try sendPast("on the way by itself", at: 65536) == 0)
        pass()
        #expect(client.sentPast == sent)
        #expect(transport.positions == [65536, 131_072])
        passage.end(client)
        #expect(client.sentPast == sent)
    }

    @Test("Short bodies, those of unknown length, and the ends of long ones are not lent for")
    func notWorthIt() {
        let short = BodyPassage()
        begin(short, length: 65536 + BodyPassage.leastLent - 1)
        pass(short)
        pass(BodyPassage())
        #expect(transport.positions.isEmpty)
        let long = BodyPassage()
        begin(long, length: 65536 + BodyPassage.leastLent)
        pass(long)
        pass(long)
        #expect(transport.positions == [65536])
    }

    @Test("Where there is no descriptor, or the transport takes no loan, a body passes all the same")
    func noDescriptor() {
        client.isDuplicable = false
        pass()
        client.isDuplicable = true
        pass()
        #expect(transport.positions.isEmpty)
        #expect(transport.unacknowledgedBytes == 0)
        let other = BodyPassage()
        begin(other, length: 10 << 20)
        transport.unacknowledgedBytes = nil
        pass(other)
        #expect(transport.positions.isEmpty)
        #expect(client.taken == 3 * 65536)
        client.takesBodyAsItIs = false
        client.whenFlushed = { Issue.record("flushed, though nothing is lent") }
        transport.unacknowledgedBytes = 0
        let last = BodyPassage()
        begin(last, length: 10 << 20)
        pass(last)
        #expect(transport.positions.isEmpty)
    }

    @Test("A client that goes while it is written to is not lent")
    func goneClient() {
        client.whenFlushed = { passage.end(client) }
        pass()
        #expect(transport.positions.isEmpty)
    }
}
