/// Which bytes of a representation a request asks for (RFC 9110 §14.2).
public enum ByteRangeSelection: Sendable, Equatable {
    /// All of them, with 200: there is no Range field, or it is one to be ignored.
    case whole
    /// These, with 206, at least one and at most ``maximumParts``: not empty, inside the representation, apart from
    /// each other, in the order asked for. Their sum is never more than the representation's size.
    case satisfiable([Range<Int>])
    /// None, with 416: every range lies behind the end.
    case unsatisfiable

    /// How many parts a response has at most; a request for more gets the whole.
    public static let maximumParts = 32

    /// Reads the Range field of a request for a representation of `size` bytes.
    ///
    /// Ignored are Range fields of other methods than GET, of units other than `bytes`, malformed ones and two of them.
    /// Empty elements of the list are passed over (RFC 9110 §5.6.1.2); one that has no others is malformed.
    public init(method: Method, fields: FieldSection, size: Int) {
        guard fields.contains(.range), method == .get, fields.count(of: .range) == 1 else {
            self = .whole
            return
        }
        self = fields.withFirst(.range) { ByteRangeSelection($0, size: size) } ?? .whole
    }

    /// Reads the value of a Range field, in time that grows by n log n with its length.
    public init(_ value: UnsafeRawBufferPointer, size: Int) {
        let prefix = 6
        guard value.count > prefix, UnsafeRawBufferPointer(rebasing: value[0..<prefix]).equalsIgnoringCase("bytes=")
        else {
            self = .whole
            return
        }
        var ranges: [Range<Int>] = []
        var start = prefix
        var isEmpty = true
        while start <= value.count {
            var end = start
            while end < value.count, value[end] != UInt8(ascii: ",") { end &+= 1 }
            let element = UnsafeRawBufferPointer(rebasing: value[start..<end])
            let isFirst = start == prefix
            start = end &+ 1
            if element.trimmingOptionalWhitespace.isEmpty { continue }
            guard let spec = RangeSpec(element, isFirst: isFirst) else {
                self = .whole
                return
            }
            isEmpty = false
            guard let range = spec.resolved(size: size) else { continue }
            if let last = ranges.last, last.touches(range) {
                ranges[ranges.count &- 1] = last.union(range)
            } else {
                ranges.append(range)
            }
        }
        guard !ranges.isEmpty else {
            self = isEmpty ? .whole : .unsatisfiable
            return
        }
        let apart = ranges.count == 1 ? ranges : ByteRangeSelection.coalesced(ranges)
        self = apart.count <= ByteRangeSelection.maximumParts ? .satisfiable(apart) : .whole
    }

    /// Joins ranges that overlap or touch; each stands where the first of its parts stood.
    static func coalesced(_ ranges: [Range<Int>]) -> [Range<Int>] {
        let sorted = ranges.enumerated().sorted { $0.element.lowerBound < $1.element.lowerBound }
        var joined: [(position: Int, range: Range<Int>)] = []
        for (position, range) in sorted {
            if let last = joined.last, last.range.touches(range) {
                joined[joined.count &- 1] = (min(last.position, position), last.range.union(range))
            } else {
                joined.append((position, range))
            }
        }
        return joined.sorted { $0.position < $1.position }.map(\.range)
    }
}

/// `int-range` or `suffix-range` (RFC 9110 §14.1.2); numbers too large for an Int lie behind the end of everything.
private enum RangeSpec {
    case from(Int, through: Int)
    case suffix(Int)

    /// nil where the bytes are neither, or the last position lies before the first.
    ///
    /// Whitespace is allowed beside commas, so not before the first one (RFC 9110 §5.6.1).
    init?(_ element: UnsafeRawBufferPointer, isFirst: Bool) {
        guard !isFirst || (element.first != 0x20 && element.first != 0x09) else { return nil }
        let bytes = element.trimmingOptionalWhitespace
        guard let dash = bytes.firstIndex(of: UInt8(ascii: "-")) else { return nil }
        let before = UnsafeRawBufferPointer(rebasing: bytes[0..<dash])
        let after = UnsafeRawBufferPointer(rebasing: bytes[(dash &+ 1)...])
        if before.isEmpty {
            guard let length = after.saturatingDecimalValue else { return nil }
            self = .suffix(length)
            return
        }
        guard let first = before.saturatingDecimalValue else { return nil }
        if after.isEmpty {
            self = .from(first, through: .max)
            return
        }
        guard let last = after.saturatingDecimalValue, last >= first, last < .max || !after.isLess(than: before) else {
            return nil
        }
        self = .from(first, through: last)
    }

    /// The bytes meant, or nil where there are none.
    func resolved(size: Int) -> Range<Int>? {
        guard size > 0 else { return nil }
        switch self {
        case .from(let first, let last):
            return first < size ? first..<(min(last, size &- 1) &+ 1) : nil
        case .suffix(let length):
            return length > 0 ? (length < size ? size &- length : 0)..<size : nil
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The decimal number that these bytes are, `Int.max` where it is larger; nil where they are no `1*DIGIT`.
    var saturatingDecimalValue: Int? {
        if let value = decimalValue { return value }
        return !isEmpty && allSatisfy { $0.isMember(of: .digit) } ? .max : nil
    }
}

extension UnsafeRawBufferPointer {
    /// Whether these decimal digits are a smaller number than others, however many they are.
    fileprivate func isLess(than other: UnsafeRawBufferPointer) -> Bool {
        let digits = drop { $0 == UInt8(ascii: "0") }
        let others = other.drop { $0 == UInt8(ascii: "0") }
        return digits.count == others.count ? digits.lexicographicallyPrecedes(others) : digits.count < others.count
    }
}

extension Range<Int> {
    fileprivate func touches(_ other: Range<Int>) -> Bool {
        lowerBound <= other.upperBound && other.lowerBound <= upperBound
    }

    fileprivate func union(_ other: Range<Int>) -> Range<Int> {
        Swift.min(lowerBound, other.lowerBound)..<Swift.max(upperBound, other.upperBound)
    }
}
