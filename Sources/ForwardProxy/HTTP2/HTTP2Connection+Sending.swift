import HTTP2
import NIOCore

/// What goes to the client: frames gathered in one buffer, and bodies as the windows allow (RFC 9113 §5.2).
extension HTTP2Connection {
    /// How much is gathered before it is handed on: bytes.
    static let outputSize = 64 << 10

    func flushOutput() {
        guard let context, output.readableBytes > 0 else { return }
        let bytes = output
        output = ByteBuffer()
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    func writeWindowUpdate(stream: UInt32, _ increment: Int) {
        HTTP2FrameHeader(length: 4, kind: .windowUpdate, stream: stream).write(to: &output)
        output.writeInteger(UInt32(truncatingIfNeeded: increment))
    }

    func writeReset(stream: UInt32, _ code: HTTP2ErrorCode) {
        HTTP2FrameHeader(length: 4, kind: .reset, stream: stream).write(to: &output)
        output.writeInteger(code.rawValue)
    }

    func writeGoAway(_ code: HTTP2ErrorCode) {
        HTTP2FrameHeader(length: 8, kind: .goAway, stream: 0).write(to: &output)
        output.writeMultipleIntegers(state.lastStream, code.rawValue)
    }

    /// Writes a header block, in as many frames as it takes.
    func writeHeaders(stream: UInt32, _ block: ByteBuffer, isLast: Bool) {
        state.sentResponse(0)
        var rest = block
        if state.mustTellTable() {
            rest = ByteBuffer(integer: HPACKWriter.noTable)
            rest.writeImmutableBuffer(block)
        }
        var header = HTTP2FrameHeader(
            length: 0, kind: .headers, flags: isLast ? .endStream : [], stream: stream)
        repeat {
            header.length = min(rest.readableBytes, HTTP2Settings.leastFrameSize)
            if header.length == rest.readableBytes { header.flags.insert(.endHeaders) }
            header.write(to: &output)
            if let part = rest.readSlice(length: header.length) { output.writeImmutableBuffer(part) }
            header.kind = .continuation
            header.flags = []
        } while rest.readableBytes > 0
    }

    func writeData(stream: UInt32, _ body: ByteBuffer, isLast: Bool) {
        state.sentResponse(body.readableBytes)
        HTTP2FrameHeader(
            length: body.readableBytes, kind: .data, flags: isLast ? .endStream : [], stream: stream
        ).write(to: &output)
        output.writeImmutableBuffer(body)
    }

    /// Has a stream take its turn, if it has something to send that its window allows.
    func enqueue(_ stream: HTTP2Stream) {
        guard !stream.isQueued, stream.state.maySend else { return }
        stream.isQueued = true
        queue.append(stream.id)
    }

    /// Sends what the windows and the connection allow, a frame of each stream in turn.
    func pump() {
        guard !isPumping, let context else { return }
        isPumping = true
        defer { isPumping = false }
        var waiting = 0
        while waiting < queue.count, context.channel.isWritable, let id = queue.popFirst() {
            guard let stream = streams[id] else { continue }
            stream.isQueued = false
            guard stream.state.maySend else { continue }
            guard state.sendWindow.size > 0 || stream.state.hasOnlyItsEndToSend else {
                stream.isQueued = true
                queue.append(id)
                waiting &+= 1
                continue
            }
            waiting = 0
            stream.sendFrame(atMost: min(state.sendWindow.size, HTTP2Settings.leastFrameSize))
            enqueue(stream)
            if output.readableBytes >= HTTP2Connection.outputSize { flushOutput() }
        }
    }
}
