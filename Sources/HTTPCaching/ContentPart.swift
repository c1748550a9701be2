import HTTPSemantics

/// Which bytes of a representation a stored 206 holds (RFC 9110 §14.4, §15.3.7).
public struct ContentPart: Sendable, Equatable {
    /// Not empty.
    public var range: Range<Int>
    /// The size of the whole representation, where it is known.
    public var completeLength: Int?

    public init(range: Range<Int>, completeLength: Int?) {
        self.range = range
        self.completeLength = completeLength
    }

    /// Whether this is all there is.
    public var isComplete: Bool { range.lowerBound == 0 && range.upperBound == completeLength }

    /// Reads a Content-Range of bytes: `bytes 0-499/1234` or `bytes 0-499/*`.
    ///
    /// nil for other units, for `*/1234`, and where the numbers can't be: the last position before the first, or no
    /// less than the length.
    init?(_ value: UnsafeRawBufferPointer) {
        let value = value.trimmingOptionalWhitespace
        let unit = 6
        guard value.count > unit, UnsafeRawBufferPointer(rebasing: value[0..<unit]).equalsIgnoringCase("bytes "),
            let dash = value.firstIndex(of: UInt8(ascii: "-")), dash > unit,
            let slash = value.firstIndex(of: UInt8(ascii: "/")), slash > dash
        else { return nil }
        guard let first = UnsafeRawBufferPointer(rebasing: value[unit..<dash]).decimalValue,
            let last = UnsafeRawBufferPointer(rebasing: value[(dash &+ 1)..<slash]).decimalValue,
            first <= last, last < .max
        else { return nil }
        let length = UnsafeRawBufferPointer(rebasing: value[(slash &+ 1)...])
        if length.equals("*") {
            self.init(range: first..<(last &+ 1), completeLength: nil)
        } else {
            guard let complete = length.decimalValue, last < complete else { return nil }
            self.init(range: first..<(last &+ 1), completeLength: complete)
        }
    }
}
