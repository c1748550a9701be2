import HTTPSemantics

/// Judges a Transfer-Encoding that is not exactly `chunked` (RFC 9112 §6.1, §7).
enum TransferCoding {
    /// The error for `value`: a coding that is understood and not offered, or a list that frames nothing.
    ///
    /// Tokens of which only the last may be `chunked` are a transfer coding that isn't supported; anything else (empty
    /// elements, parameters, quotes, `chunked` twice or before another) is malformed.
    static func refusal(of value: UnsafeRawBufferPointer) -> HTTP1Error {
        var elementStart = 0
        var seenChunked = false
        while elementStart <= value.count {
            var elementEnd = elementStart
            while elementEnd < value.count, value[elementEnd] != UInt8(ascii: ",") { elementEnd &+= 1 }
            let element = value.rebased(elementStart..<elementEnd).trimmingOptionalWhitespace
            guard !element.isEmpty, !seenChunked else { return .invalidTransferEncoding }
            for byte in element where !byte.isTokenByte { return .invalidTransferEncoding }
            seenChunked = element.equalsIgnoringCase("chunked")
            elementStart = elementEnd &+ 1
        }
        return .unsupportedTransferCoding
    }
}
