/// A `name=value` pair of a field: a parameter (RFC 9110 §5.6.6) or a directive, whose value is optional.
///
/// It points into the field's bytes and allocates nothing.
public struct FieldParameter {
    /// The name as received, a token.
    public let name: UnsafeRawBufferPointer
    /// The value without its quotes, escapes still in it; nil where there is no `=`.
    public let value: UnsafeRawBufferPointer?
    /// Whether the value was a quoted string.
    public let isQuoted: Bool

    /// Parses `name`, `name=token` or `name="quoted string"`; nil where `bytes` are none of them.
    ///
    /// - Parameter allowingBadWhitespace: Whether spaces beside `=` are passed over. RFC 9110 has none there.
    public init?(_ bytes: UnsafeRawBufferPointer, allowingBadWhitespace: Bool = false) {
        guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")) else {
            guard bytes.isToken else { return nil }
            (name, value, isQuoted) = (bytes, nil, false)
            return
        }
        var name = UnsafeRawBufferPointer(rebasing: bytes[0..<equals])
        var value = UnsafeRawBufferPointer(rebasing: bytes[(equals &+ 1)...])
        if allowingBadWhitespace {
            name = name.trimmingOptionalWhitespace
            value = value.trimmingOptionalWhitespace
        }
        guard name.isToken else { return nil }
        self.name = name
        if value.first == 0x22 {
            guard let content = FieldParameter.quotedContent(value) else { return nil }
            (self.value, isQuoted) = (content, true)
        } else {
            guard value.isToken else { return nil }
            (self.value, isQuoted) = (value, false)
        }
    }

    /// The bytes between the quotes, where `bytes` are one whole quoted string (RFC 9110 §5.6.4).
    static func quotedContent(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var index = 1
        while index < bytes.count {
            switch bytes[index] {
            case 0x22:
                guard index &+ 1 == bytes.count else { return nil }
                return UnsafeRawBufferPointer(rebasing: bytes[1..<index])
            case 0x5c: index &+= 2
            default: index &+= 1
            }
        }
        return nil
    }

    /// The value with the backslashes of quoted pairs taken out.
    public var unescapedValue: [UInt8]? {
        guard let value else { return nil }
        guard isQuoted else { return Array(value) }
        var out: [UInt8] = []
        out.reserveCapacity(value.count)
        var isEscaped = false
        for byte in value {
            if byte == 0x5c && !isEscaped {
                isEscaped = true
            } else {
                out.append(byte)
                isEscaped = false
            }
        }
        return out
    }
}

/// What stands before the first `;` of a list element, and the parameters behind it (RFC 9110 §5.6.6).
public struct ParameterisedItem {
    /// The item, as `text/html` or `gzip`.
    public let item: UnsafeRawBufferPointer
    private let rest: UnsafeRawBufferPointer

    /// Splits a list element or a whole field value.
    public init(_ element: UnsafeRawBufferPointer) {
        let end = element.endOfElement(from: 0, separator: UInt8(ascii: ";"))
        item = UnsafeRawBufferPointer(rebasing: element[0..<end]).trimmingOptionalWhitespace
        rest = UnsafeRawBufferPointer(rebasing: element[min(end &+ 1, element.count)...])
    }

    /// The texts between the semicolons, each to be read by ``FieldParameter/init(_:allowingBadWhitespace:)``.
    public var parameters: FieldListElements { FieldListElements(rest, separator: UInt8(ascii: ";")) }

    /// The first parameter of that name, ASCII case ignored; `name` is in lower case.
    public func parameter(_ name: StaticString) -> FieldParameter? {
        for text in parameters {
            if let parameter = FieldParameter(text), parameter.name.equalsIgnoringCase(name) { return parameter }
        }
        return nil
    }

    /// The weight (`q`) in thousandths, 1000 where there is none; nil where it is malformed (RFC 9110 §12.4.2).
    public var weight: Int? {
        for text in parameters {
            guard text[0].asciiLowercased == UInt8(ascii: "q") else { continue }
            guard text.count > 1, text[1] != 0x20, text[1] != 0x09 else { return nil }
            guard text[1] == UInt8(ascii: "=") else { continue }
            return ParameterisedItem.thousandths(UnsafeRawBufferPointer(rebasing: text[2...]))
        }
        return 1000
    }

    /// `( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] )` in thousandths.
    static func thousandths(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard (1...5).contains(bytes.count), bytes[0] == 0x30 || bytes[0] == 0x31 else { return nil }
        guard bytes.count == 1 || bytes[1] == UInt8(ascii: ".") else { return nil }
        var value = Int(bytes[0] &- 0x30) &* 1000
        var place = 100
        for byte in bytes.dropFirst(2) {
            guard byte.isMember(of: .digit) else { return nil }
            value &+= Int(byte &- 0x30) &* place
            place /= 10
        }
        return value <= 1000 ? value : nil
    }
}
