import Basics
import HTTP2
import NIOCore

/// What comes from the client, frame by frame.
extension HTTP2Connection {
    private static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    /// Takes in what has come, as far as the client takes what it gets.
    func parse() {
        var isWhole = false
        do throws(HTTP2Violation) {
            while state.phase != .failed, context?.channel.isWritable == true, try parseNext() {
                isWhole = true
                if output.readableBytes >= HTTP2Connection.outputSize { flushOutput() }
            }
        } catch {
            switch error {
            case .connection(let code): fail(code)
            case .stream: fail(.internalError)
            }
        }
        noteRead(tookFrame: isWhole)
    }

    /// - Returns: whether there was a whole frame.
    private func parseNext() throws(HTTP2Violation) -> Bool {
        if state.phase == .preface { return try takePreface() }
        guard let header = HTTP2FrameHeader(input) else { return false }
        guard header.length <= HTTP2Settings.leastFrameSize else { throw .connection(.frameSizeError) }
        guard input.readableBytes >= HTTP2FrameHeader.size &+ header.length else { return false }
        input.moveReaderIndex(forwardBy: HTTP2FrameHeader.size)
        guard let payload = input.readSlice(length: header.length) else { return false }
        do throws(HTTP2Violation) {
            try receive(header, payload)
        } catch {
            guard case .stream(let stream, let code) = error else { throw error }
            try reset(stream, code)
        }
        return true
    }

    private func takePreface() throws(HTTP2Violation) -> Bool {
        let expected = UnsafeRawBufferPointer(
            start: HTTP2Connection.preface.utf8Start, count: HTTP2Connection.preface.utf8CodeUnitCount)
        let isPrefix = input.withUnsafeReadableBytes { zip($0, expected).allSatisfy { $0 == $1 } }
        guard isPrefix else { throw .connection(.protocolError) }
        guard input.readableBytes >= expected.count else { return false }
        input.moveReaderIndex(forwardBy: expected.count)
        state.receivedPreface()
        return true
    }

    /// An error of one stream; too many of them are one of the connection.
    private func reset(_ id: UInt32, _ code: HTTP2ErrorCode) throws(HTTP2Violation) {
        let stream = streams[id]
        try state.failedStream(id, code, isOpen: stream != nil, now: monotonicNanoseconds())
        if let stream { stream.violated(code) } else { writeReset(stream: id, code) }
    }

    private func receive(_ header: HTTP2FrameHeader, _ payload: ByteBuffer) throws(HTTP2Violation) {
        try state.received(header)
        let now = monotonicNanoseconds()
        switch header.kind {
        case .data: try receiveData(header, payload, now)
        case .headers:
            if let block = try state.receivedHeaders(header, payload, now: now) { try receive(block, now) }
        case .continuation:
            if let block = try state.receivedContinuation(header, payload) { try receive(block, now) }
        case .priority:
            try state.receivedPriority(header, payload, isOpen: streams[header.stream] != nil, now: now)
        case .reset: try receiveReset(header, now)
        case .settings: try receiveSettings(header, payload, now)
        case .ping:
            guard try state.receivedPing(header, now: now) else { return }
            HTTP2FrameHeader(length: 8, kind: .ping, flags: .acknowledgement, stream: 0).write(to: &output)
            output.writeImmutableBuffer(payload)
        case .goAway:
            try state.receivedGoAway(header)
            closeIfDone()
        case .windowUpdate: try receiveWindowUpdate(header, payload, now)
        default: try state.receivedUnknown(now: now)
        }
    }

    private func receiveData(
        _ header: HTTP2FrameHeader, _ payload: ByteBuffer, _ now: UInt64
    ) throws(HTTP2Violation) {
        if let more = try state.receivedData(header) { writeWindowUpdate(stream: 0, more) }
        let content = try header.content(of: payload)
        guard let stream = streams[header.stream] else {
            return try state.receivedData(onAbsent: header.stream, now: now)
        }
        let isLast = header.flags.contains(.endStream)
        if content.readableBytes == 0, !isLast { try state.receivedEmptyData(now: now) }
        try stream.receive(content, taking: header.length, isLast: isLast, now: now)
    }

    /// A whole header block: it is decompressed whatever becomes of it, since later ones build on it (RFC 9113 §4.3).
    private func receive(_ block: HTTP2HeaderBlock, _ now: UInt64) throws(HTTP2Violation) {
        do throws(HPACKReader.Failure) {
            try block.bytes.withUnsafeReadableBytes { bytes throws(HPACKReader.Failure) in
                try decoder.decode(bytes, into: &fields)
            }
        } catch {
            throw .connection(.compressionError)
        }
        let id = block.stream
        if let stream = streams[id] { return try stream.receiveTrailers(fields, isLast: block.isLast) }
        guard try state.receivedRequest(block, openStreams: streams.count, now: now) else { return }
        let stream = HTTP2Stream(id, self, requestIsComplete: block.isLast, now: now)
        streams[id] = stream
        try stream.receive(fields, now: now)
    }

    private func receiveReset(_ header: HTTP2FrameHeader, _ now: UInt64) throws(HTTP2Violation) {
        let stream = streams[header.stream]
        try state.receivedReset(header, isOpen: stream != nil, now: now)
        guard let stream else { return }
        remove(stream, byProxy: false)
        stream.clientIsGone("client reset the stream")
        try state.closedByReset(now: now)
    }

    private func receiveSettings(
        _ header: HTTP2FrameHeader, _ payload: ByteBuffer, _ now: UInt64
    ) throws(HTTP2Violation) {
        guard let change = try state.receivedSettings(header, payload, now: now) else { return }
        if change != 0 {
            for stream in streams.values {
                try stream.state.changeWindow(by: change)
                enqueue(stream)
            }
        }
        HTTP2FrameHeader(length: 0, kind: .settings, flags: .acknowledgement, stream: 0).write(to: &output)
    }

    private func receiveWindowUpdate(
        _ header: HTTP2FrameHeader, _ payload: ByteBuffer, _ now: UInt64
    ) throws(HTTP2Violation) {
        let stream = streams[header.stream]
        let increment = try state.receivedWindowUpdate(header, payload, isOpen: stream != nil, now: now)
        guard let stream, let increment else { return }
        try stream.state.receivedWindowUpdate(increment)
        enqueue(stream)
    }
}
