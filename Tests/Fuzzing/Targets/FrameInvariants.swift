#if DEBUG || FUZZING
import HTTP1Invariants
import HTTPSemantics
import NIOCore
import NIOEmbedded

@testable import ForwardProxy
@testable import HTTP2

/// Properties of an HTTP/2 connection, from a client's bytes to those that it gets (RFC 9113).
enum FrameInvariants {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// - Parameter bytes: what follows the preface and an empty SETTINGS frame; with a first byte of 255, what takes
    ///   their place.
    static func check(_ bytes: [UInt8]) throws {
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        let sent = bytes.first == 255 ? Array(bytes.dropFirst()) : preface + settings + bytes
        let cut = pieces(sent, cutAt: sent.count <= 1024 ? Array(sent.indices) : [9, sent.count / 2])
        let outputs = try EmbeddedProxy.outputs(2) { run in
            var connection = try Connection()
            try connection.proxy.receive(run == 0 ? [ByteBuffer(bytes: sent)] : cut)
            try connection.finish()
            return connection.proxy.output
        }
        try require(outputs[0] == outputs[1], "\(outputs[0]), cut: \(outputs[1])")
        try checkByFrames(sent)
    }

    /// A connection, and the handler that is looked into.
    private struct Connection {
        var proxy: EmbeddedProxy
        let handler: HTTP2Connection

        init() throws {
            var made: HTTP2Connection?
            proxy = try EmbeddedProxy { loop in
                let authority = SecureAuthority(Authority(host: "a.test", port: 443))
                let handler = HTTP2Connection(loop: loop, secured: authority, address: "127.0.0.1", isLocal: true)
                made = handler
                return handler
            }
            guard let made else { throw InvariantViolation("no handler") }
            handler = made
        }

        mutating func finish() throws {
            try proxy.finish()
            try require(handler.streams.isEmpty, "\(handler.streams.count) streams after the end")
        }

        /// What one connection may hold.
        func checkLimits() throws {
            try require(handler.streams.count <= HTTP2ConnectionState.maxStreams, "\(handler.streams.count) streams")
            let input = handler.input.readableBytes
            try require(input <= HTTP2FrameHeader.size + HTTP2Settings.leastFrameSize, "\(input) bytes held")
            if let block = handler.state.openBlock {
                let most = handler.limits.headerSectionBytes
                try require(block.bytes.readableBytes <= max(most, HTTP2Settings.leastFrameSize), "a long block")
            }
            let pending = handler.streams.values.map(\.state.pendingBytes).max() ?? 0
            try require(pending < 1 << 20, "\(pending) bytes pending")
        }
    }

    /// Sends frame by frame, and reads along as the client would.
    private static func checkByFrames(_ sent: [UInt8]) throws {
        var connection = try Connection()
        var client = FrameReader()
        var rest = sent[...]
        if rest.starts(with: preface) {
            try connection.proxy.receive([ByteBuffer(bytes: preface)])
            rest = rest.dropFirst(preface.count)
        }
        while !rest.isEmpty, connection.proxy.channel.isActive {
            let header = HTTP2FrameHeader(ByteBuffer(bytes: rest.prefix(9)))
            let frame = Array(rest.prefix(9 + (header?.length ?? 0)))
            rest = rest.dropFirst(frame.count)
            if let header, frame.count == 9 + header.length { client.note(header, Array(frame.dropFirst(9))) }
            try connection.proxy.receive([ByteBuffer(bytes: frame)])
            try client.read(connection.proxy.output)
            try connection.checkLimits()
        }
        try checkNextRequest(&connection, &client)
        try connection.finish()
        try client.read(connection.proxy.output)
        try client.checkEnd()
    }

    /// On a connection that goes on, the next good request is answered.
    private static func checkNextRequest(_ connection: inout Connection, _ client: inout FrameReader) throws {
        let handler = connection.handler
        let state = handler.state
        guard state.phase == .open, !state.isLeaving, state.openBlock == nil, handler.input.readableBytes == 0,
            connection.proxy.channel.isActive, handler.streams.count < HTTP2ConnectionState.maxStreams,
            state.highestStream < 0x7fff_fff0
        else { return }
        let stream = state.highestStream + (state.highestStream & 1 == 1 ? 2 : 1)
        // GET https://a.test/ in the static table, `:authority` as a literal.
        let block: [UInt8] = [0x82, 0x87, 0x84, 0x01, 0x06] + Array("a.test".utf8)
        var frame = ByteBuffer()
        HTTP2FrameHeader(length: block.count, kind: .headers, flags: [.endStream, .endHeaders], stream: stream)
            .write(to: &frame)
        frame.writeBytes(block)
        client.note(
            HTTP2FrameHeader(
                length: block.count, kind: .headers, flags: [.endStream, .endHeaders], stream: stream), block)
        try connection.proxy.receive([frame])
        try client.read(connection.proxy.output)
        try require(client.hasResponse(stream), "no response to the next request, \(stream)")
    }
}

/// Reads what a client gets, and checks that each frame may come where it does.
private struct FrameReader {
    private struct Stream {
        var hasHead = false
        var hasEnded = false
        var window = 0
    }

    private var position = 0
    private var streams: [UInt32: Stream] = [:]
    /// The most that the client may have allowed: what it sends in error counts too.
    private var window = 65_535
    private var initialWindow = 65_535
    private var goAways = 0
    private var decoder = HPACKReader(maxBytes: 1 << 16, maxLines: 200)
    private var block: (stream: UInt32, bytes: [UInt8])?

    /// Notes a frame that is being sent.
    mutating func note(_ header: HTTP2FrameHeader, _ payload: [UInt8]) {
        func word(_ start: Int) -> Int { payload[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
        switch header.kind {
        case .headers where streams[header.stream] == nil: streams[header.stream] = Stream()
        case .settings where !header.flags.contains(.acknowledgement):
            for start in stride(from: 0, to: payload.count - 5, by: 6)
            where payload[start] == 0 && payload[start + 1] == 4 {
                initialWindow = max(initialWindow, word(start + 2))
            }
        case .windowUpdate where payload.count == 4:
            let increment = word(0) & 0x7fff_ffff
            if header.stream == 0 { window += increment } else { streams[header.stream]?.window += increment }
        default: break
        }
    }

    mutating func read(_ output: [UInt8]) throws {
        while position < output.count {
            let start = ByteBuffer(bytes: output[position...].prefix(9))
            guard let header = HTTP2FrameHeader(start), output.count - position >= 9 + header.length else {
                throw InvariantViolation("half a frame at \(position) of \(output)")
            }
            let payload = Array(output[(position + 9)...].prefix(header.length))
            position += 9 + header.length
            try require(header.length <= HTTP2Settings.leastFrameSize, "a frame of \(header.length) bytes")
            try require(block == nil || header.kind == .continuation, "\(header) inside a block")
            try read(header, payload)
        }
    }

    private mutating func read(_ header: HTTP2FrameHeader, _ payload: [UInt8]) throws {
        switch header.kind {
        case .settings: try require(header.stream == 0 && header.length % 6 == 0, "\(header)")
        case .ping: try require(header.stream == 0 && header.length == 8, "\(header)")
        case .windowUpdate: try require(header.length == 4 && payload != [0, 0, 0, 0], "\(header)")
        case .goAway:
            goAways += 1
            try require(header.stream == 0 && header.length == 8 && goAways <= 2, "\(header)")
        case .reset:
            try require(header.length == 4 && header.stream != 0, "\(header)")
            streams[header.stream]?.hasEnded = true
        case .headers: try readHead(header, payload)
        case .continuation:
            guard let open = block, open.stream == header.stream else { throw InvariantViolation("\(header)") }
            block = (open.stream, open.bytes + payload)
            if header.flags.contains(.endHeaders) { try readBlock() }
        case .data: try readData(header)
        default: throw InvariantViolation("\(header)")
        }
    }

    private mutating func readHead(_ header: HTTP2FrameHeader, _ payload: [UInt8]) throws {
        guard let stream = streams[header.stream], !stream.hasEnded else {
            throw InvariantViolation("a head on a stream that is not open: \(header)")
        }
        block = (header.stream, payload)
        if header.flags.contains(.endHeaders) { try readBlock() }
        if header.flags.contains(.endStream) { streams[header.stream]?.hasEnded = true }
    }

    private mutating func readBlock() throws {
        guard let (stream, bytes) = block else { return }
        block = nil
        var fields = FieldBlock()
        try bytes.withRawBytes { try decoder.decode($0, into: &fields) }
        let names = fields.lines.map { String(decoding: fields.bytes[$0.name], as: UTF8.self) }
        guard streams[stream]?.hasHead == false else {
            return try require(!names.contains { $0.hasPrefix(":") }, "trailers \(names)")
        }
        try require(names.first == ":status" && names.count { $0.hasPrefix(":") } == 1, "names \(names)")
        let forbidden = ["connection", "keep-alive", "transfer-encoding", "upgrade", "proxy-connection"]
        try require(!names.contains { forbidden.contains($0) || $0 != $0.lowercased() }, "names \(names)")
        let status = fields.lines.first.map { Array(fields.bytes[$0.value]) } ?? []
        if status.first != UInt8(ascii: "1") { streams[stream]?.hasHead = true }
    }

    private mutating func readData(_ header: HTTP2FrameHeader) throws {
        guard var stream = streams[header.stream], stream.hasHead, !stream.hasEnded else {
            throw InvariantViolation("data on a stream that is not open: \(header)")
        }
        window -= header.length
        stream.window -= header.length
        try require(window >= 0 && stream.window + initialWindow >= 0, "more than the windows: \(header)")
        if header.flags.contains(.endStream) { stream.hasEnded = true }
        streams[header.stream] = stream
    }

    func hasResponse(_ stream: UInt32) -> Bool { streams[stream].map { $0.hasHead || $0.hasEnded } ?? false }

    func checkEnd() throws { try require(block == nil, "a block without an end") }
}
#endif
