#if DEBUG || FUZZING
import Files
import HTTP1Invariants
import HTTPSemantics
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import Substitution

@testable import ForwardProxy

/// A client's connection to a proxy without sockets: bytes go in, and what is written is gathered.
///
/// The proxy never asks an origin, and its map answers from memory.
struct EmbeddedProxy {
    let eventLoop = EmbeddedEventLoop()
    let loop: LoopContext
    let channel: EmbeddedChannel
    private(set) var output: [UInt8] = []

    private static let core = Result {
        var configuration = ProxyConfiguration()
        configuration.isOffline = true
        var logger = Logger(label: "fuzzing")
        logger.logLevel = .critical
        // Lines that are written to no descriptor are dropped.
        return ProxyCore(
            configuration: configuration, addressPolicy: AddressPolicy(), logSink: try LogSink(.descriptor(-1)),
            logger: logger, files: RetainedFiles(now: { 0 }), filePool: NIOThreadPool(numberOfThreads: 1),
            identity: ProxyIdentity(random: 1), ownNames: OwnNames(),
            transports: try TransferLoops(configuration))
    }

    private static let map = SubstitutionMap.load(
        text: """
            substitutions:
              http://a.test/: { text: hello }
              https://a.test/: { text: hello }
              //a.test/big: { text: "\(String(repeating: "0123456789abcdef", count: 6000))" }
              //a.test/json: { json: { a: [1, 2] }, status: 201, headers: { X-A: b } }
              //a.test/moved: { redirect: "/" }
              //a.test/blocked: { block: true }
              //a.test/any: { text: any, methods: [GET, POST, PUT] }
            """
    ).map

    init(_ makeHandler: (LoopContext) -> any ChannelHandler) throws {
        guard let map = EmbeddedProxy.map else { throw InvariantViolation("the map has errors") }
        loop = LoopContext(
            eventLoop: eventLoop, proxy: try EmbeddedProxy.core.get(), map: map, tunnelPolicy: TunnelPolicy(map))
        // What is compared has Dates in it.
        loop.clock = LoopClock(stoppedAt: 1_795_000_000_000_000_000)
        channel = EmbeddedChannel(handler: makeHandler(loop), loop: eventLoop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        try gather()
    }

    /// Takes in pieces as one turn of the event loop does: the end of a read comes after the last.
    mutating func receive(_ pieces: [ByteBuffer]) throws {
        guard channel.isActive else { return }
        for piece in pieces { channel.pipeline.fireChannelRead(piece) }
        channel.pipeline.fireChannelReadComplete()
        try gather()
    }

    /// Ends the client's side, and lets pass the time that a connection may take to end.
    mutating func finish() throws {
        if channel.isActive { channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        eventLoop.advanceTime(by: .seconds(1))
        try gather()
        if channel.isActive { channel.close(promise: nil) }
        eventLoop.advanceTime(by: .hours(1))
        try gather()
        try require(!channel.isActive, "still open")
    }

    private mutating func gather() throws {
        eventLoop.run()
        while let part = try channel.readOutbound(as: IOData.self) {
            switch part {
            case .byteBuffer(let bytes): output += bytes.readableBytesView
            case .fileRegion: throw InvariantViolation("a file where there is none")
            }
        }
    }

    /// What `run` returns for each number, without what is random in it where they differ.
    static func outputs(_ count: Int, _ run: (Int) throws -> [UInt8]) throws -> [[UInt8]] {
        let outputs = try (0..<count).map(run)
        return outputs.allSatisfy { $0 == outputs.first } ? outputs : outputs.map(withoutBoundaries)
    }

    /// Puts zeros in the place of the boundaries of multipart bodies.
    private static func withoutBoundaries(_ output: [UInt8]) -> [UInt8] {
        var output = output
        let name = Array("boundary=".utf8)
        var position = 0
        while let found = next(name, in: output, from: position) {
            position = found + name.count
            let boundary = Array(output[position...].prefix(32))
            guard boundary.count == 32, boundary.contains(where: { $0 != 0x30 }) else { continue }
            var place = position
            while let next = next(boundary, in: output, from: place) {
                output.replaceSubrange(next..<next + 32, with: repeatElement(0x30, count: 32))
                place = next + 32
            }
        }
        return output
    }

    /// Where the pattern stands next; the standard library's search takes a thousand times as long.
    private static func next(_ pattern: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        bytes.withUnsafeBufferPointer { bytes -> Int? in
            var index = start
            while index + pattern.count <= bytes.count {
                var length = 0
                while length < pattern.count, bytes[index + length] == pattern[length] { length += 1 }
                if length == pattern.count { return index }
                index += 1
            }
            return nil
        }
    }
}
#endif
