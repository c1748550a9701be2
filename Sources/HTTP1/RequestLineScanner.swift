import HTTPSemantics

/// Finds the parts of a request line, wherever the bytes are cut (RFC 9112 §3).
///
///     request-line = method SP request-target SP HTTP-version
///
/// Single spaces, CRLF at the end, and no HTTP/0.9. The target is checked for bytes that no URI and no client sends;
/// which of its four forms it has is for `RequestTarget`.
struct RequestLineScanner {
    private enum State: UInt8 { case method, target, version, lineFeed, complete }

    private var state = State.method
    /// The first byte that is not scanned yet.
    private(set) var position = 0
    private(set) var methodEnd = 0
    private(set) var targetEnd = 0
    private(set) var version = HTTPVersion.http1_1

    var methodRange: Range<Int> { 0..<methodEnd }
    var targetRange: Range<Int> { methodEnd &+ 1..<targetEnd }

    /// Scans on, and tells whether the line is complete.
    ///
    /// `bytes` begins with the first byte of the method and grows from call to call.
    mutating func scan(_ bytes: UnsafeRawBufferPointer, _ limits: MessageLimits) throws(HTTP1Error) -> Bool {
        switch state {
        case .method:
            guard try scanMethod(bytes, limits.methodBytes) else { return false }
            state = .target
            fallthrough
        case .target:
            guard try scanTarget(bytes, limits.targetBytes) else { return false }
            state = .version
            fallthrough
        case .version:
            guard try scanVersion(bytes) else { return false }
            state = .lineFeed
            fallthrough
        case .lineFeed:
            guard position < bytes.count else { return false }
            guard bytes[position] == Byte.lineFeed else { throw .bareCarriageReturn }
            position &+= 1
            state = .complete
            fallthrough
        case .complete:
            return true
        }
    }

    /// Where the scan of a part stops that began at `start` and is at most `length` bytes long, with its delimiter.
    private func window(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ length: Int) -> (end: Int, isCut: Bool) {
        let (sum, overflow) = start.addingReportingOverflow(length)
        guard !overflow, sum < bytes.count else { return (bytes.count, false) }
        return (sum &+ 1, true)
    }

    private mutating func scanMethod(_ bytes: UnsafeRawBufferPointer, _ limit: Int) throws(HTTP1Error) -> Bool {
        // "GET" and a space are what is nearly always there.
        if position == 0, bytes.count > 3, limit > 2,
            UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)) == 0x2054_4547
        {
            methodEnd = 3
            position = 4
            return true
        }
        let (end, isCut) = window(bytes, 0, limit)
        var index = position
        while index < end, bytes[index].isTokenByte { index &+= 1 }
        position = index
        guard index < end else {
            if isCut { throw .methodTooLong }
            return false
        }
        guard bytes[index] == Byte.space, index > 0 else {
            switch bytes[index] {
            case Byte.lineFeed: throw .bareLineFeed
            case Byte.space, Byte.tab, Byte.carriageReturn: throw .invalidRequestLine
            // A TLS record with a handshake (RFC 8446 §5.1).
            case 0x16 where index == 0: throw .tlsRecord
            default: throw .invalidMethod
            }
        }
        methodEnd = index
        position = index &+ 1
        return true
    }

    private mutating func scanTarget(_ bytes: UnsafeRawBufferPointer, _ limit: Int) throws(HTTP1Error) -> Bool {
        let start = methodEnd &+ 1
        let (end, isCut) = window(bytes, start, limit)
        let index = bytes.firstOutsideTarget(from: position, to: end)
        position = index
        guard index < end else {
            if isCut { throw .targetTooLong }
            return false
        }
        switch bytes[index] {
        case Byte.space where index > start: break
        case Byte.lineFeed: throw .bareLineFeed
        case Byte.carriageReturn: throw .invalidRequestLine
        default: throw .invalidTarget
        }
        targetEnd = index
        position = index &+ 1
        return true
    }

    private mutating func scanVersion(_ bytes: UnsafeRawBufferPointer) throws(HTTP1Error) -> Bool {
        let start = targetEnd &+ 1
        // "HTTP/1.1" and CR, where all of it has come, are what is nearly always there.
        if position == start, bytes.count &- start > 8, bytes[start &+ 8] == Byte.carriageReturn,
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)) == 0x312e_312f_5054_5448
        {
            version = .http1_1
            position = start &+ 9
            return true
        }
        while position < bytes.count {
            if try VersionText.accept(bytes[position], at: position &- start, &version, .invalidRequestLine) {
                position &+= 1
                continue
            }
            switch bytes[position] {
            case Byte.carriageReturn: break
            case Byte.lineFeed: throw .bareLineFeed
            default: throw .invalidRequestLine
            }
            position &+= 1
            return true
        }
        return false
    }
}
