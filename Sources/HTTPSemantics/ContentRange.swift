/// Writes the values of Content-Range (RFC 9110 §14.4).
public enum ContentRange {
    /// `bytes 0-499/1234` for the bytes `range`, which is not empty, of `size`; `*` stands for a size that is not
    /// known.
    public static func satisfied(_ range: Range<Int>, size: Int?) -> [UInt8] {
        var out: [UInt8] = []
        append(range, size: size, to: &out)
        return out
    }

    /// `bytes */1234`, for a 416.
    public static func unsatisfied(size: Int) -> [UInt8] {
        var out: [UInt8] = []
        out.append("bytes */")
        out.append(decimal: size)
        return out
    }

    static func append(_ range: Range<Int>, size: Int?, to out: inout [UInt8]) {
        out.append("bytes ")
        out.append(decimal: range.lowerBound)
        out.append("-")
        out.append(decimal: range.upperBound &- 1)
        out.append("/")
        if let size { out.append(decimal: size) } else { out.append("*") }
    }
}
