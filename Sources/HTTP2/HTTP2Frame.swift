public import NIOCore

/// The header of an HTTP/2 frame (RFC 9113 §4.1).
public struct HTTP2FrameHeader: Equatable, Sendable {
    public var length: Int
    public var kind: HTTP2FrameKind
    public var flags: HTTP2FrameFlags
    public var stream: UInt32

    /// Bytes of the header itself.
    public static let size = 9

    /// The header at the start of a buffer; nil while it is incomplete.
    public init?(_ bytes: ByteBuffer) {
        guard
            let (high, low, kind, flags, stream) = bytes.peekMultipleIntegers(
                as: (UInt16, UInt8, UInt8, UInt8, UInt32).self)
        else { return nil }
        length = Int(high) << 8 | Int(low)
        self.kind = HTTP2FrameKind(rawValue: kind)
        self.flags = HTTP2FrameFlags(rawValue: flags)
        self.stream = stream & 0x7fff_ffff
    }

    public init(length: Int, kind: HTTP2FrameKind, flags: HTTP2FrameFlags = [], stream: UInt32) {
        self.length = length
        self.kind = kind
        self.flags = flags
        self.stream = stream
    }

    public func write(to bytes: inout ByteBuffer) {
        bytes.writeMultipleIntegers(
            UInt16(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length), kind.rawValue, flags.rawValue,
            stream)
    }

    /// What a payload holds without its padding (RFC 9113 §6.1, §6.2).
    ///
    /// - Throws: An error of the connection: FRAME_SIZE_ERROR where the length of the padding is missing,
    ///   PROTOCOL_ERROR where the padding is longer than the payload.
    public func content(of payload: ByteBuffer) throws(HTTP2Violation) -> ByteBuffer {
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
public struct HTTP2FrameKind: RawRepresentable, Equatable, Sendable {
    public var rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let data = HTTP2FrameKind(rawValue: 0)
    public static let headers = HTTP2FrameKind(rawValue: 1)
    public static let priority = HTTP2FrameKind(rawValue: 2)
    public static let reset = HTTP2FrameKind(rawValue: 3)
    public static let settings = HTTP2FrameKind(rawValue: 4)
    public static let pushPromise = HTTP2FrameKind(rawValue: 5)
    public static let ping = HTTP2FrameKind(rawValue: 6)
    public static let goAway = HTTP2FrameKind(rawValue: 7)
    public static let windowUpdate = HTTP2FrameKind(rawValue: 8)
    public static let continuation = HTTP2FrameKind(rawValue: 9)
}

/// The flags of a frame; what each means depends on the frame's type.
public struct HTTP2FrameFlags: OptionSet, Sendable {
    public var rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let endStream = HTTP2FrameFlags(rawValue: 0x1)
    public static let acknowledgement = HTTP2FrameFlags(rawValue: 0x1)
    public static let endHeaders = HTTP2FrameFlags(rawValue: 0x4)
    public static let padded = HTTP2FrameFlags(rawValue: 0x8)
    public static let priority = HTTP2FrameFlags(rawValue: 0x20)
}

/// An error code of RST_STREAM and GOAWAY (RFC 9113 §7).
public enum HTTP2ErrorCode: UInt32, Sendable {
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
public enum HTTP2Violation: Error, Equatable {
    /// Ends the connection (RFC 9113 §5.4.1).
    case connection(HTTP2ErrorCode)
    /// Ends one stream (RFC 9113 §5.4.2).
    case stream(UInt32, HTTP2ErrorCode)
}
