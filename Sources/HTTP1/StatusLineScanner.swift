import HTTPSemantics

/// Finds the parts of a status line, wherever the bytes are cut (RFC 9112 §4).
///
///     status-line = HTTP-version SP status-code SP [ reason-phrase ]
///
/// The last SP may be missing where the reason phrase is, as many origins send it.
struct StatusLineScanner {
    private enum State: UInt8 { case version, status, afterStatus, reason, lineFeed, complete }

    private var state = State.version
    /// The first byte that is not scanned yet.
    private(set) var position = 0
    private(set) var version = HTTPVersion.http1_1
    private(set) var status = 0
    private(set) var reasonRange = 0..<0

    /// Where the status code stands: after "HTTP/1.1 ".
    private static let statusStart = 9

    /// Scans on, and tells whether the line is complete.
    mutating func scan(_ bytes: UnsafeRawBufferPointer, _ limits: MessageLimits) throws(HTTP1Error) -> Bool {
        while position < bytes.count {
            let byte = bytes[position]
            switch state {
            case .version:
                guard try !VersionText.accept(byte, at: position, &version, .invalidStatusLine) else { break }
                guard byte == Byte.space else { throw .invalidStatusLine }
                state = .status
            case .status:
                let digit = byte &- 0x30
                guard digit < 10, status > 0 || digit > 0 else { throw .invalidStatusLine }
                status = status &* 10 &+ Int(digit)
                if position == StatusLineScanner.statusStart &+ 2 { state = .afterStatus }
            case .afterStatus:
                reasonRange = position..<position
                switch byte {
                case Byte.space:
                    reasonRange = position &+ 1..<position &+ 1
                    state = .reason
                case Byte.carriageReturn: state = .lineFeed
                case Byte.lineFeed: throw .bareLineFeed
                default: throw .invalidStatusLine
                }
            case .reason:
                switch byte {
                case Byte.carriageReturn:
                    reasonRange = reasonRange.lowerBound..<position
                    state = .lineFeed
                case Byte.lineFeed: throw .bareLineFeed
                default:
                    guard byte.isFieldValueByte else { throw .invalidStatusLine }
                    guard position &- reasonRange.lowerBound < limits.reasonBytes else { throw .headerSectionTooLarge }
                }
            case .lineFeed:
                guard byte == Byte.lineFeed else { throw .bareCarriageReturn }
                position &+= 1
                state = .complete
                return true
            case .complete:
                return true
            }
            position &+= 1
        }
        return state == .complete
    }
}
