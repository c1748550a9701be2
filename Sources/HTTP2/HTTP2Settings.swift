public import NIOCore

/// What the client has told about itself in SETTINGS (RFC 9113 §6.5.2).
public struct HTTP2Settings: Equatable, Sendable {
    /// The window that each of its streams begins with: bytes; the default is 65,535.
    public private(set) var initialWindowSize = HTTP2Window.initialSize
    /// The largest frame that it takes: bytes; the default is 16 KiB.
    private(set) var maxFrameSize = HTTP2Settings.leastFrameSize
    /// The largest dynamic table that it has for the fields sent to it: bytes; the default is 4,096.
    private var headerTableSize = 4096
    /// Whether that has become smaller, which the next header block has to acknowledge.
    private(set) var hasSmallerTable = false

    public static let leastFrameSize = 1 << 14
    private static let largestFrameSize = 1 << 24 - 1

    /// Takes in the payload of a SETTINGS frame, in its order.
    mutating func apply(_ payload: ByteBuffer) throws(HTTP2Violation) {
        var payload = payload
        guard payload.readableBytes % 6 == 0 else { throw .connection(.frameSizeError) }
        while let (name, value) = payload.readMultipleIntegers(as: (UInt16, UInt32).self) {
            switch name {
            case 0x1:
                if Int(value) < headerTableSize { hasSmallerTable = true }
                headerTableSize = Int(value)
            case 0x2: guard value <= 1 else { throw .connection(.protocolError) }
            case 0x4:
                guard value <= UInt32(HTTP2Window.largestSize) else { throw .connection(.flowControlError) }
                initialWindowSize = Int(value)
            case 0x5:
                guard HTTP2Settings.leastFrameSize...HTTP2Settings.largestFrameSize ~= Int(value) else {
                    throw .connection(.protocolError)
                }
                maxFrameSize = Int(value)
            // Nothing is pushed, and unknown ones are ignored.
            default: break
            }
        }
    }

    /// The next header block tells that no dynamic table is used.
    mutating func tellsTable() { hasSmallerTable = false }

    /// Writes the proxy's own SETTINGS frame.
    public static func write(streams: Int, headerSectionBytes: Int, to bytes: inout ByteBuffer) {
        HTTP2FrameHeader(length: 12, kind: .settings, stream: 0).write(to: &bytes)
        // SETTINGS_MAX_CONCURRENT_STREAMS and SETTINGS_MAX_HEADER_LIST_SIZE. The windows stay at their defaults.
        bytes.writeMultipleIntegers(
            UInt16(0x3), UInt32(clamping: streams), UInt16(0x6), UInt32(clamping: headerSectionBytes))
    }
}

/// How many bytes one side may still send (RFC 9113 §6.9).
public struct HTTP2Window: Equatable, Sendable {
    /// May be negative, where a SETTINGS frame has made it so (RFC 9113 §6.9.2).
    public private(set) var size: Int

    static let initialSize = 65_535
    static let largestSize = Int(Int32.max)

    init(_ size: Int = HTTP2Window.initialSize) { self.size = size }

    mutating func take(_ count: Int) { size &-= count }

    /// Whether the window is still one that may be.
    mutating func grow(by count: Int) -> Bool {
        size &+= count
        return size <= HTTP2Window.largestSize
    }
}
