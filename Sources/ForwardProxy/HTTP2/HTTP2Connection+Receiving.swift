import Basics
import NIOCore

/// What comes from the client, frame by frame.
extension HTTP2Connection {
    private static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    private static let maxContinuations = 5

    /// Takes in what has come, as far as the client takes what it gets.
    func parse() {
        var isWhole = false
        do throws(HTTP2Violation) {
            while phase != .failed, context?.channel.isWritable == true, try parseNext() {
                isWhole = true
                if output.readableBytes >= HTTP2Connection.outputSize { flushOutput() }
            }
        } catch {
            switch error {
            case .connection(let code): fail(code)
            case .stream: fail(.internalError)
            }
        }
        if input.readableBytes == 0 {
            frameSince = nil
        } else if isWhole || frameSince == nil {
            frameSince = monotonicNanoseconds()
        }
    }

    /// - Returns: whether there was a whole frame.
    private func parseNext() throws(HTTP2Violation) -> Bool {
        if phase == .preface { return try takePreface() }
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
        phase = .settings
        return true
    }

    /// An error of one stream; too many of them are one of the connection.
    private func reset(_ id: UInt32, _ code: HTTP2ErrorCode) throws(HTTP2Violation) {
        try errors.count(at: monotonicNanoseconds())
        if let stream = streams[id] {
            stream.violated(code)
        } else {
            closedStreams.insert(id, byProxy: true)
            writeReset(stream: id, code)
        }
    }

    private func isIdle(_ id: UInt32) -> Bool { id & 1 == 0 || id > highestStream }

    private func receive(_ header: HTTP2FrameHeader, _ payload: ByteBuffer) throws(HTTP2Violation) {
        if phase == .settings {
            guard header.kind == .settings, !header.flags.contains(.acknowledgement) else {
                throw .connection(.protocolError)
            }
            phase = .open
        }
        if openBlock != nil { return try receiveContinuation(header, payload) }
        switch header.kind {
        case .data: try receiveData(header, payload)
        case .headers: try receiveHeaders(header, payload)
        case .priority: try receivePriority(header, payload)
        case .reset: try receiveReset(header, payload)
        case .settings: try receiveSettings(header, payload)
        case .ping: try receivePing(header, payload)
        case .goAway:
            guard header.stream == 0 else { throw .connection(.protocolError) }
            guard header.length >= 8 else { throw .connection(.frameSizeError) }
            clientIsLeaving = true
            closeIfDone()
        case .windowUpdate: try receiveWindowUpdate(header, payload)
        case .pushPromise, .continuation: throw .connection(.protocolError)
        default: try idleFrames.count(at: monotonicNanoseconds())
        }
    }

    // MARK: Requests

    private func receiveData(_ header: HTTP2FrameHeader, _ payload: ByteBuffer) throws(HTTP2Violation) {
        guard header.stream != 0 else { throw .connection(.protocolError) }
        receiveWindow.take(header.length)
        guard receiveWindow.size >= 0 else { throw .connection(.flowControlError) }
        // What a stream may hold is bounded by its own window.
        if receiveWindow.size < HTTP2Connection.receiveWindowSize / 2 {
            let more = HTTP2Connection.receiveWindowSize &- receiveWindow.size
            writeWindowUpdate(stream: 0, more)
            _ = receiveWindow.grow(by: more)
        }
        var content = payload
        try removePadding(header, &content)
        guard let stream = streams[header.stream] else {
            guard !isIdle(header.stream) else { throw .connection(.protocolError) }
            guard closedStreams.isClosedByProxy(header.stream) != true else {
                return try idleFrames.count(at: monotonicNanoseconds())
            }
            throw .stream(header.stream, .streamClosed)
        }
        let isLast = header.flags.contains(.endStream)
        if content.readableBytes == 0, !isLast { try emptyFrames.count(at: monotonicNanoseconds()) }
        try stream.receive(content, taking: header.length, isLast: isLast)
    }

    private func removePadding(_ header: HTTP2FrameHeader, _ content: inout ByteBuffer) throws(HTTP2Violation) {
        guard header.flags.contains(.padded) else { return }
        guard let length = content.readInteger(as: UInt8.self) else { throw .connection(.frameSizeError) }
        guard let rest = content.readSlice(length: content.readableBytes &- Int(length)) else {
            throw .connection(.protocolError)
        }
        content = rest
    }

    private func receiveHeaders(_ header: HTTP2FrameHeader, _ payload: ByteBuffer) throws(HTTP2Violation) {
        guard header.stream & 1 == 1 else { throw .connection(.protocolError) }
        var content = payload
        try removePadding(header, &content)
        var dependsOnItself = false
        if header.flags.contains(.priority) {
            guard let (dependency, _) = content.readMultipleIntegers(as: (UInt32, UInt8).self) else {
                throw .connection(.frameSizeError)
            }
            dependsOnItself = dependency & 0x7fff_ffff == header.stream
        }
        var block = OpenBlock(
            stream: header.stream, isLast: header.flags.contains(.endStream), dependsOnItself: dependsOnItself,
            bytes: content, startedAt: 0)
        guard !header.flags.contains(.endHeaders) else { return try receive(block) }
        block.startedAt = monotonicNanoseconds()
        openBlock = block
    }

    private func receiveContinuation(_ header: HTTP2FrameHeader, _ payload: ByteBuffer) throws(HTTP2Violation) {
        guard var block = openBlock, header.kind == .continuation, header.stream == block.stream else {
            throw .connection(.protocolError)
        }
        openBlock = nil
        block.frames &+= 1
        block.bytes.writeImmutableBuffer(payload)
        guard block.frames <= HTTP2Connection.maxContinuations, block.bytes.readableBytes <= limits.headerSectionBytes
        else { throw .connection(.enhanceYourCalm) }
        guard !header.flags.contains(.endHeaders) else { return try receive(block) }
        openBlock = block
    }

    /// A whole header block: it is decompressed whatever becomes of it, since later ones build on it (RFC 9113 §4.3).
    private func receive(_ block: OpenBlock) throws(HTTP2Violation) {
        do throws(FieldBlockDecoder.Failure) {
            try block.bytes.withUnsafeReadableBytes { bytes throws(FieldBlockDecoder.Failure) in
                try decoder.decode(bytes, into: &fields)
            }
        } catch {
            throw .connection(.compressionError)
        }
        let id = block.stream
        if let stream = streams[id] {
            guard !stream.requestIsComplete else { throw .stream(id, .streamClosed) }
            guard block.isLast else { throw .stream(id, .protocolError) }
            return try stream.receiveTrailers(fields)
        }
        guard id > highestStream else {
            switch closedStreams.isClosedByProxy(id) {
            case true?: return try idleFrames.count(at: monotonicNanoseconds())
            case false?: throw .connection(.streamClosed)
            case nil: throw .connection(.protocolError)
            }
        }
        highestStream = id
        // RFC 9113 §6.8: the client has been told which streams are served, and asks again elsewhere.
        guard !isStopping else { return closedStreams.insert(id, byProxy: true) }
        guard streams.count < HTTP2Connection.maxStreams else { throw .stream(id, .refusedStream) }
        guard !block.dependsOnItself else { throw .stream(id, .protocolError) }
        lastStream = id
        let stream = HTTP2Stream(id, self)
        streams[id] = stream
        try stream.receive(fields, isLast: block.isLast)
    }

    // MARK: Control

    private func receivePriority(_ header: HTTP2FrameHeader, _ payload: ByteBuffer) throws(HTTP2Violation) {
        try idleFrames.count(at: monotonicNanoseconds())
        guard header.stream != 0 else { throw .connection(.protocolError) }
        let isKnown = streams[header.stream] != nil
        guard header.length == 5, let dependency = payload.getInteger(at: payload.readerIndex, as: UInt32.self) else {
            throw isKnown ? .stream(header.stream, .frameSizeError) : .connection(.frameSizeError)
        }
        guard dependency & 0x7fff_ffff != header.stream else {
            throw isKnown ? .stream(header.stream, .protocolError) : .connection(.protocolError)
        }
    }

    private func receiveReset(_ header: HTTP2FrameHeader, _ payload: ByteBuffer) throws(HTTP2Violation) {
        guard header.length == 4 else { throw .connection(.frameSizeError) }
        guard !isIdle(header.stream) else { throw .connection(.protocolError) }
        guard let stream = streams[header.stream] else { return try quietFrames.count(at: monotonicNanoseconds()) }
        remove(stream, byProxy: false)
        stream.clientIsGone("client reset the stream")
        try resets.count(at: monotonicNanoseconds())
    }

    private func receiveSettings(_ header: HTTP2FrameHeader, _ payload: ByteBuffer) throws(HTTP2Violation) {
        guard header.stream == 0 else { throw .connection(.protocolError) }
        guard !header.flags.contains(.acknowledgement) else {
            guard header.length == 0 else { throw .connection(.frameSizeError) }
            return
        }
        try controls.count(at: monotonicNanoseconds())
        let before = settings.initialWindowSize
        try settings.apply(payload)
        let change = settings.initialWindowSize &- before
        if change != 0 {
            for stream in streams.values {
                guard stream.sendWindow.grow(by: change) else { throw .connection(.flowControlError) }
                enqueue(stream)
            }
        }
        HTTP2FrameHeader(length: 0, kind: .settings, flags: .acknowledgement, stream: 0).write(to: &output)
    }

    private func receivePing(_ header: HTTP2FrameHeader, _ payload: ByteBuffer) throws(HTTP2Violation) {
        guard header.stream == 0 else { throw .connection(.protocolError) }
        guard header.length == 8 else { throw .connection(.frameSizeError) }
        try controls.count(at: monotonicNanoseconds())
        guard !header.flags.contains(.acknowledgement) else { return }
        HTTP2FrameHeader(length: 8, kind: .ping, flags: .acknowledgement, stream: 0).write(to: &output)
        output.writeImmutableBuffer(payload)
    }

    private func receiveWindowUpdate(_ header: HTTP2FrameHeader, _ payload: ByteBuffer) throws(HTTP2Violation) {
        guard header.length == 4, let word = payload.getInteger(at: payload.readerIndex, as: UInt32.self) else {
            throw .connection(.frameSizeError)
        }
        try quietFrames.count(at: monotonicNanoseconds())
        let increment = Int(word & 0x7fff_ffff)
        guard header.stream != 0 else {
            guard increment > 0 else { throw .connection(.protocolError) }
            guard sendWindow.grow(by: increment) else { throw .connection(.flowControlError) }
            return
        }
        guard !isIdle(header.stream) else { throw .connection(.protocolError) }
        guard let stream = streams[header.stream] else { return }
        guard increment > 0 else { throw .stream(header.stream, .protocolError) }
        guard stream.sendWindow.grow(by: increment) else { throw .stream(header.stream, .flowControlError) }
        enqueue(stream)
    }
}
