/// The elements of a comma-separated list in one field value, without allocation (RFC 9110 §5.6.1).
///
/// Empty elements are skipped and whitespace around an element is left out. A comma inside a quoted string separates
/// nothing; a quoted string that has no end reaches to the end of the value. The slices point into the value's bytes.
public struct FieldListElements: Sequence, IteratorProtocol {
    private let bytes: UnsafeRawBufferPointer
    private let separator: UInt8
    private var index = 0

    /// Iterates the elements of `value`; `separator` is `,` for lists and `;` for parameters.
    public init(_ value: UnsafeRawBufferPointer, separator: UInt8 = UInt8(ascii: ",")) {
        bytes = value
        self.separator = separator
    }

    public mutating func next() -> UnsafeRawBufferPointer? {
        while index < bytes.count {
            let start = index
            index = bytes.endOfElement(from: start, separator: separator)
            let element = UnsafeRawBufferPointer(rebasing: bytes[start..<index]).trimmingOptionalWhitespace
            index &+= 1
            if !element.isEmpty { return element }
        }
        return nil
    }
}

extension UnsafeRawBufferPointer {
    /// Where the element that begins at `start` ends: at the next separator outside quoted strings, or at the end.
    public func endOfElement(from start: Int, separator: UInt8) -> Int {
        var index = start
        while index < count, self[index] != separator {
            index = self[index] == 0x22 ? endOfQuotedString(from: index) : index &+ 1
        }
        return index
    }

    /// Where the quoted string that opens at `start` ends: after its closing quote, or at the end where it has none.
    func endOfQuotedString(from start: Int) -> Int {
        var index = start &+ 1
        while index < count {
            switch self[index] {
            case 0x22: return index &+ 1
            case 0x5c: index &+= 2
            default: index &+= 1
            }
        }
        return count
    }

    /// Whether these bytes are a token (`1*tchar`, RFC 9110 §5.6.2).
    public var isToken: Bool { !isEmpty && allSatisfy { $0.isMember(of: .token) } }

    /// Whether these bytes are the same as `other`, ASCII letters compared without case.
    public func equalsIgnoringCase(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        for index in 0..<count where self[index].asciiLowercased != other[index].asciiLowercased { return false }
        return true
    }
}

extension FieldSection {
    /// Calls `body` with each list element of all lines of `name`, in order.
    ///
    /// - Throws: What `body` throws.
    public func forEachElement<Failure: Error>(
        of name: FieldName, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        try forEach(name) { value throws(Failure) in
            for element in FieldListElements(value) { try body(element) }
        }
    }

    /// Whether `predicate` holds for any list element of the lines of `name`; the ones after it are not read.
    public func containsElement(of name: FieldName, where predicate: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        guard contains(name) else { return false }
        for line in lines where line.name == name {
            let found = withValue(line) { value in
                for element in FieldListElements(value) where predicate(element) { return true }
                return false
            }
            if found { return true }
        }
        return false
    }

    /// Whether the list in the lines of `name` has `token`, ASCII case ignored; `token` is in lower case.
    public func contains(token: StaticString, in name: FieldName) -> Bool {
        containsElement(of: name) { $0.equalsIgnoringCase(token) }
    }

    /// Whether the list in the lines of `name` has `token`, ASCII case ignored.
    public func contains(token: UnsafeRawBufferPointer, in name: FieldName) -> Bool {
        containsElement(of: name) { $0.equalsIgnoringCase(token) }
    }
}
