import HTTP2
import NIOCore
import NIOHPACK
import Testing

@testable import ForwardProxy

/// Thousands of connections whose frames are nearly right, in memory: none may trap or be answered with frames that no
/// client could take.
@Suite("Frames that are nearly right")
struct HTTP2NoiseTests {
    @Test("get frames that are well formed, in order, and no more than was granted", arguments: [1, 2, 3, 4])
    func noise(_ seed: UInt64) throws {
        let stage = try ConnectionStage()
        var noise = FrameNoise(seed: seed)
        var outcomes: [String: Int] = [:]
        for index in 0..<600 {
            let bytes = noise.connection()
            let output = try stage.run(noise.pieces(of: bytes))
            var check = OutputCheck(sent: bytes)
            try check.take(output)
            #expect(check.faults.isEmpty, "connection \(index) of seed \(seed): \(check.faults)")
            outcomes[check.goAway.map { "GOAWAY \($0)" } ?? "open", default: 0] += 1
            outcomes["answers", default: 0] += check.answers
        }
        // The connections are of all kinds, and many of them are served.
        #expect(outcomes.count > 5 && outcomes["open", default: 0] > 100, "\(outcomes)")
        #expect(outcomes["answers", default: 0] > 300, "\(outcomes)")
        // Whatever became of them, the exchanges that began have ended, and in order.
        #expect(stage.watch.all.count > 300)
        #expect(stage.watch.all.allSatisfy { $0.isInOrder })
        // The next connection is a good one.
        let good =
            Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
            + [0, 0, 11, 1, 5, 0, 0, 0, 1, 0x82, 0x87, 0x84, 0x41, 6] + Array("h.test".utf8)
        var check = OutputCheck(sent: good)
        try check.take(try stage.run([ByteBuffer(bytes: good)]))
        #expect(check.answers == 1 && check.goAway == nil)
    }
}

/// Reads what a client was sent.
private struct OutputCheck {
    private(set) var faults: [String] = []
    private(set) var goAway: UInt32?
    /// Responses that are complete.
    private(set) var answers = 0

    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private var ended: Set<UInt32> = []
    private var started: Set<UInt32> = []
    /// What the client has granted at the most: the windows of streams, and of all (0).
    private var granted: [UInt32: Int] = [0: 65_535]
    private var initialWindow = 65_535

    init(sent: [UInt8]) {
        var rest = ByteBuffer(bytes: sent.dropFirst(24))
        while let (header, payload) = OutputCheck.next(&rest) {
            var payload = payload
            switch header.kind {
            case .windowUpdate where payload.readableBytes == 4:
                let increment = payload.readInteger(as: UInt32.self) ?? 0
                granted[header.stream, default: 0] += Int(increment & 0x7fff_ffff)
            case .settings:
                while let (name, value) = payload.readMultipleIntegers(as: (UInt16, UInt32).self) {
                    if name == 4 { initialWindow = max(initialWindow, Int(value)) }
                }
            default: break
            }
        }
    }

    mutating func take(_ output: [UInt8]) throws {
        var rest = ByteBuffer(bytes: output)
        while let (header, payload) = OutputCheck.next(&rest) {
            if goAway != nil { faults.append("a frame behind GOAWAY") }
            try take(header, payload)
        }
        if rest.readableBytes > 0 { faults.append("\(rest.readableBytes) bytes of no frame") }
    }

    private mutating func take(_ header: HTTP2FrameHeader, _ payload: ByteBuffer) throws {
        if header.length > 16_384 { faults.append("a frame of \(header.length)") }
        let isLast = header.flags.contains(.endStream)
        switch header.kind {
        case .headers:
            if ended.contains(header.stream) { faults.append("HEADERS behind the end of \(header.stream)") }
            if !header.flags.contains(.endHeaders) { faults.append("HEADERS without END_HEADERS") }
            var payload = payload
            let fields = try decoder.decodeHeaders(from: &payload)
            let status = fields.first(name: ":status") ?? ""
            if status.utf8.count != 3 { faults.append("no status in \(fields)") }
            started.insert(header.stream)
        case .data:
            if ended.contains(header.stream) { faults.append("DATA behind the end of \(header.stream)") }
            if !started.contains(header.stream) { faults.append("DATA before HEADERS of \(header.stream)") }
            granted[0, default: 0] -= header.length
            granted[header.stream, default: 0] -= header.length
            if granted[0, default: 0] < 0 || granted[header.stream, default: 0] + initialWindow < 0 {
                faults.append("more DATA on \(header.stream) than was granted")
            }
        case .reset: ended.insert(header.stream)
        case .goAway: goAway = payload.getInteger(at: payload.readerIndex + 4, as: UInt32.self)
        case .settings, .ping, .windowUpdate: break
        default: faults.append("a frame of type \(header.kind.rawValue)")
        }
        guard isLast, header.kind == .headers || header.kind == .data else { return }
        ended.insert(header.stream)
        answers += 1
    }

    private static func next(_ bytes: inout ByteBuffer) -> (HTTP2FrameHeader, ByteBuffer)? {
        guard let header = HTTP2FrameHeader(bytes), bytes.readableBytes >= 9 + header.length else { return nil }
        bytes.moveReaderIndex(forwardBy: 9)
        return bytes.readSlice(length: header.length).map { (header, $0) }
    }
}
