import Basics
import HTTPSemantics

/// Reads what stands around the data of chunks, wherever the bytes are cut (RFC 9112 §7.1).
///
///     chunk     = chunk-size [ chunk-ext ] CRLF chunk-data CRLF
///     chunk-ext = *( ";" chunk-ext-name [ "=" chunk-ext-val ] )
///
/// No whitespace is accepted around `;` and `=`, which RFC 9112 calls bad (BWS).
struct ChunkLineScanner {
    private enum State: UInt8 {
        case size, extensionNameStart, extensionName, extensionValueStart, extensionToken, extensionQuoted
        case extensionQuotedPair, extensionEnd, lineFeed, dataCarriageReturn, dataLineFeed
    }

    /// Digits of one chunk size, leading zeros included.
    private static let maximumDigits = 64

    private var state = State.size
    private var digits = 0
    private var size = 0
    private var extensionBytes = 0

    /// Scans to the end of a chunk's size line, over the end of the chunk before it.
    ///
    /// - Returns: How many bytes are done with, and the size once its line is complete.
    mutating func scan(
        _ bytes: UnsafeRawBufferPointer, _ maximumExtensionBytes: Int
    ) throws(HTTP1Error) -> (consumed: Int, size: Int?) {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index &+= 1
            switch state {
            case .size: try readSize(byte)
            case .lineFeed:
                guard byte == Byte.lineFeed else { throw .bareCarriageReturn }
                let complete = size
                // Data and the end of the chunk come before the next size; after the last chunk nothing does.
                state = .dataCarriageReturn
                size = 0
                digits = 0
                return (index, complete)
            case .dataCarriageReturn:
                guard byte == Byte.carriageReturn else { throw .invalidChunkEnd }
                state = .dataLineFeed
            case .dataLineFeed:
                guard byte == Byte.lineFeed else { throw .invalidChunkEnd }
                state = .size
            default:
                try readExtension(byte)
                if state != .lineFeed {
                    extensionBytes &+= 1
                    guard extensionBytes <= maximumExtensionBytes else { throw .chunkExtensionsTooLarge }
                }
            }
        }
        return (index, nil)
    }

    private mutating func readSize(_ byte: UInt8) throws(HTTP1Error) {
        if let digit = byte.hexValue {
            digits &+= 1
            guard digits <= ChunkLineScanner.maximumDigits else { throw .invalidChunkSize }
            guard size <= Int.max >> 4 else { throw .chunkTooLarge }
            size = size << 4 | Int(digit)
            return
        }
        guard digits > 0 else { throw .invalidChunkSize }
        switch byte {
        case Byte.carriageReturn: state = .lineFeed
        case UInt8(ascii: ";"): state = .extensionNameStart
        case Byte.lineFeed: throw .bareLineFeed
        default: throw .invalidChunkSize
        }
    }

    private mutating func readExtension(_ byte: UInt8) throws(HTTP1Error) {
        switch state {
        case .extensionNameStart where byte.isTokenByte: state = .extensionName
        case .extensionName where byte.isTokenByte: break
        case .extensionName where byte == UInt8(ascii: "="): state = .extensionValueStart
        case .extensionValueStart where byte.isTokenByte: state = .extensionToken
        case .extensionValueStart where byte == UInt8(ascii: "\""): state = .extensionQuoted
        case .extensionToken where byte.isTokenByte: break
        case .extensionName, .extensionToken, .extensionEnd: try endExtension(byte)
        case .extensionQuoted where byte.isFieldValueByte:
            if byte == UInt8(ascii: "\"") {
                state = .extensionEnd
            } else if byte == UInt8(ascii: "\\") {
                state = .extensionQuotedPair
            }
        case .extensionQuotedPair where byte.isFieldValueByte: state = .extensionQuoted
        default: throw byte == Byte.lineFeed ? .bareLineFeed : .invalidChunkExtension
        }
    }

    private mutating func endExtension(_ byte: UInt8) throws(HTTP1Error) {
        switch byte {
        case Byte.carriageReturn: state = .lineFeed
        case UInt8(ascii: ";"): state = .extensionNameStart
        case Byte.lineFeed: throw .bareLineFeed
        default: throw .invalidChunkExtension
        }
    }
}
