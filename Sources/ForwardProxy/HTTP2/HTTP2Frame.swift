import NIOCore

/// The header of an HTTP/2 frame (RFC 9113 §4.1).
struct HTTP2FrameHeader: Equatable {
    var length: Int
    var kind: HTTP2FrameKind
    var flags: HTTP2FrameFlags
    var stream: UInt32

    /// Bytes of the header itself.
    static let size = 9

    /// The header at the start of a buffer; nil while it is incomplete.
    init?(_ bytes: ByteBuffer) {
        guard
            let (high, low, kind, flags, stream) = bytes.peekMultipleIntegers(
                as: (UInt16, UInt8, UInt8, UInt8, UInt32).self)
        else { return nil }
        length = Int(high) << 8 | Int(low)
        self.kind = HTTP2FrameKind(rawValue: kind)
        self.flags = HTTP2FrameFlags(rawValue: flags)
        self.stream = stream & 0x7fff_ffff
    }

    init(length: Int, kind: HTTP2FrameKind, flags: HTTP2FrameFlags = [], stream: UInt32) {
        self.length = length
        self.kind = kind
        self.flags = flags
        self.stream = stream
    }

    func write(to bytes: inout ByteBuffer) {
        bytes.writeMultipleIntegers(
            UInt16(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length), kind.rawValue, flags.rawValue,
            stream)
    }

    /// What a payload holds without its padding (RFC 9113 §6.1, §6.2).
    func content(of payload: ByteBuffer) throws(HTTP2Violation) -> ByteBuffer {
        guard flags.contains(.padded) else { return payload }
        var content = payload
        guard let length = content.readInteger(as: UInt8.self) else { throw .connection(.frameSizeError) }
        guard let rest = content.readSlice(length: content.readableBytes &- Int(length)) else {
            throw .connection(.protocolError)
        }
        return rest
    }
}

/// The type of a frame; those that are not named here are ignored (RFC 9113 §5.5).
struct HTTP2FrameKind: RawRepresentable, Equatable {
    var rawValue: UInt8

    static let data = HTTP2FrameKind(rawValue: 0)
    static let headers = HTTP2FrameKind(rawValue: 1)
    static let priority = HTTP2FrameKind(rawValue: 2)
    static let reset = HTTP2FrameKind(rawValue: 3)
    static let settings = HTTP2FrameKind(rawValue: 4)
    static let pushPromise = HTTP2FrameKind(rawValue: 5)
    static let ping = HTTP2FrameKind(rawValue: 6)
    static let goAway = HTTP2FrameKind(rawValue: 7)
    static let windowUpdate = HTTP2FrameKind(rawValue: 8)
    static let continuation = HTTP2FrameKind(rawValue: 9)
}

/// The flags of a frame; what each means depends on the frame's type.
struct HTTP2FrameFlags: OptionSet {
    var rawValue: UInt8

    static let endStream = HTTP2FrameFlags(rawValue: 0x1)
    static let acknowledgement = HTTP2FrameFlags(rawValue: 0x1)
    static let endHeaders = HTTP2FrameFlags(rawValue: 0x4)
    static let padded = HTTP2FrameFlags(rawValue: 0x8)
    static let priority = HTTP2FrameFlags(rawValue: 0x20)
}

/// An error code of RST_STREAM and GOAWAY (RFC 9113 §7).
enum HTTP2ErrorCode: UInt32 {
    case noError = 0
    case protocolError = 1
    case internalError = 2
    case flowControlError = 3
    case streamClosed = 5
    case frameSizeError = 6
    case refusedStream = 7
    case cancel = 8
    case compressionError = 9
    case enhanceYourCalm = 11
}

/// A rule of RFC 9113 that the client has broken.
enum HTTP2Violation: Error, Equatable {
    /// Ends the connection (RFC 9113 §5.4.1).
    case connection(HTTP2ErrorCode)
    /// Ends one stream (RFC 9113 §5.4.2).
    case stream(UInt32, HTTP2ErrorCode)
}
