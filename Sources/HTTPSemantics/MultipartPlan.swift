import Basics

/// A body of several ranges, as `multipart/byteranges`: what stands between them and its exact length (RFC 9110 §14.6).
///
/// The body is, for each part, its head and then the bytes of its range, and at last ``closing``.
public struct MultipartPlan: Sendable, Equatable {
    public struct Part: Sendable, Equatable {
        /// The delimiter, the part's fields and the empty line.
        public let head: [UInt8]
        /// The bytes of the representation that follow the head.
        public let range: Range<Int>
    }

    public let parts: [Part]
    /// The last delimiter.
    public let closing: [UInt8]
    /// The length of the whole body: its Content-Length.
    public let totalLength: Int
    /// The value of the response's Content-Type.
    public let contentType: [UInt8]

    /// Plans the body for `ranges` of a representation of `size` bytes.
    ///
    /// - Parameters:
    ///   - ranges: As in ``ByteRangeSelection/satisfiable(_:)``.
    ///   - partType: The media type of the representation; empty where it has none.
    ///   - randomBits: 128 bits from a secure source, new for each response, so that nobody can have put the boundary
    ///     into the content.
    /// - Returns: nil where the total length is beyond `Int`.
    public init?(ranges: [Range<Int>], size: Int, partType: [UInt8], randomBits: (UInt64, UInt64)) {
        let boundary = MultipartPlan.boundary(randomBits)
        var total = 0
        var parts: [Part] = []
        parts.reserveCapacity(ranges.count)
        for range in ranges {
            var head: [UInt8] = []
            head.append(parts.isEmpty ? "--" : "\r\n--")
            head.append(contentsOf: boundary)
            if !partType.isEmpty {
                head.append("\r\nContent-Type: ")
                head.append(contentsOf: partType)
            }
            head.append("\r\nContent-Range: ")
            ContentRange.append(range, size: size, to: &head)
            head.append("\r\n\r\n")
            let (sum, overflow) = total.addingReportingOverflow(head.count)
            let (next, carry) = sum.addingReportingOverflow(range.count)
            guard !overflow, !carry else { return nil }
            total = next
            parts.append(Part(head: head, range: range))
        }
        var closing: [UInt8] = []
        closing.append("\r\n--")
        closing.append(contentsOf: boundary)
        closing.append("--\r\n")
        let (sum, overflow) = total.addingReportingOverflow(closing.count)
        guard !overflow else { return nil }
        var contentType: [UInt8] = []
        contentType.append("multipart/byteranges; boundary=")
        contentType.append(contentsOf: boundary)
        self.parts = parts
        self.closing = closing
        self.contentType = contentType
        totalLength = sum
    }

    /// 32 hexadecimal digits.
    static func boundary(_ randomBits: (UInt64, UInt64)) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(32)
        for half in [randomBits.0, randomBits.1] {
            withUnsafeBytes(of: half.bigEndian) { Hexadecimal.append($0, to: &out) }
        }
        return out
    }
}
