import Basics
import HTTPSemantics

/// Percent-decoding of bytes (RFC 3986 §2.1); what is no `%` with two hexadecimal digits stays as it is.
enum PercentDecoding {
    /// The byte that `%XX` at `index` stands for; nil where there is none.
    @inline(__always)
    static func byte(_ bytes: some RandomAccessCollection<UInt8>, at index: Int) -> UInt8? {
        let position = bytes.index(bytes.startIndex, offsetBy: index)
        guard bytes.count - index > 2, bytes[position] == UInt8(ascii: "%"),
            let high = bytes[bytes.index(position, offsetBy: 1)].hexValue,
            let low = bytes[bytes.index(position, offsetBy: 2)].hexValue
        else { return nil }
        return high << 4 | low
    }

    /// Appends the decoded bytes.
    static func append(_ bytes: some RandomAccessCollection<UInt8>, to output: inout [UInt8]) {
        var index = 0
        let count = bytes.count
        while index < count {
            if let decoded = byte(bytes, at: index) {
                output.append(decoded)
                index += 3
            } else {
                output.append(bytes[bytes.index(bytes.startIndex, offsetBy: index)])
                index += 1
            }
        }
    }
}
