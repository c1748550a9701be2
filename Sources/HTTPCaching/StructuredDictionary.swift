import HTTPSemantics

/// Reads the members of a Dictionary of structured fields, one after the other (RFC 8941 §3.2, §4.2.2).
///
/// Strict as the algorithm is: an error anywhere is the field's end, and what was read before it must not be used.
/// Inner lists, decimals and byte sequences are checked and not kept. No allocation.
struct StructuredDictionary {
    enum Value {
        case boolean(Bool)
        case integer(Int64)
        /// What is between the quotes, escapes still in it.
        case string(UnsafeRawBufferPointer)
        case token(UnsafeRawBufferPointer)
        /// A Decimal, a Byte Sequence or an Inner List.
        case other
    }

    enum Step {
        case member(key: UnsafeRawBufferPointer, value: Value)
        case end
        case failure
    }

    private let bytes: UnsafeRawBufferPointer
    private var index = 0
    private var isFirst = true

    init(_ value: UnsafeRawBufferPointer) {
        bytes = value
    }

    /// The next member, the end, or that the field is malformed.
    mutating func next() -> Step {
        if isFirst {
            isFirst = false
            skip { $0 == 0x20 }
            if isAtEnd { return .end }
        } else {
            skip { $0 == 0x20 || $0 == 0x09 }
            if isAtEnd { return .end }
            guard take(UInt8(ascii: ",")) else { return .failure }
            skip { $0 == 0x20 || $0 == 0x09 }
            if isAtEnd { return .failure }
        }
        guard let key = key() else { return .failure }
        var value = Value.boolean(true)
        if take(UInt8(ascii: "=")) {
            guard let given = current == UInt8(ascii: "(") ? innerList() : bareItem() else { return .failure }
            value = given
        }
        return parameters() ? .member(key: key, value: value) : .failure
    }

    private var isAtEnd: Bool { index >= bytes.count }
    private var current: UInt8? { isAtEnd ? nil : bytes[index] }

    private mutating func skip(while predicate: (UInt8) -> Bool) {
        while index < bytes.count, predicate(bytes[index]) { index &+= 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        index &+= 1
        return true
    }

    private func slice(from start: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[start..<index])
    }

    /// `( lcalpha / "*" ) *( lcalpha / DIGIT / "_" / "-" / "." / "*" )`
    private mutating func key() -> UnsafeRawBufferPointer? {
        let start = index
        guard let first = current, (0x61...0x7a).contains(first) || first == UInt8(ascii: "*") else { return nil }
        skip {
            switch $0 {
            case 0x61...0x7a, 0x30...0x39, 0x5f, 0x2d, 0x2e, 0x2a: true
            default: false
            }
        }
        return slice(from: start)
    }

    /// `*( ";" *SP key [ "=" bare-item ] )`; false where that is malformed.
    private mutating func parameters() -> Bool {
        while take(UInt8(ascii: ";")) {
            skip { $0 == 0x20 }
            guard key() != nil else { return false }
            if take(UInt8(ascii: "=")), bareItem() == nil { return false }
        }
        return true
    }

    /// `"(" *SP [ item *( 1*SP item ) *SP ] ")"`
    private mutating func innerList() -> Value? {
        index &+= 1
        while !isAtEnd {
            skip { $0 == 0x20 }
            if take(UInt8(ascii: ")")) { return .other }
            guard bareItem() != nil, parameters() else { return nil }
            guard current == 0x20 || current == UInt8(ascii: ")") else { return nil }
        }
        return nil
    }

    private mutating func bareItem() -> Value? {
        guard let first = current else { return nil }
        return switch first {
        case UInt8(ascii: "-"), 0x30...0x39: number()
        case 0x22: string()
        case 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "*"): token()
        case UInt8(ascii: ":"): byteSequence()
        case UInt8(ascii: "?"): boolean()
        default: nil
        }
    }

    /// An Integer of at most 15 digits, or a Decimal of at most 12 and 3 (RFC 8941 §4.2.4).
    private mutating func number() -> Value? {
        let isNegative = take(UInt8(ascii: "-"))
        let start = index
        skip { $0.isMember(of: .digit) }
        let digits = slice(from: start)
        if take(UInt8(ascii: ".")) {
            let fraction = index
            skip { $0.isMember(of: .digit) }
            let isDecimal = (1...12).contains(digits.count) && (1...3).contains(index &- fraction)
            return isDecimal ? .other : nil
        }
        guard digits.count <= 15, let value = digits.decimalValue else { return nil }
        return .integer(isNegative ? -Int64(value) : Int64(value))
    }

    private mutating func string() -> Value? {
        index &+= 1
        let start = index
        while let byte = current {
            switch byte {
            case 0x22:
                let text = slice(from: start)
                index &+= 1
                return .string(text)
            case 0x5c:
                index &+= 1
                guard current == 0x22 || current == 0x5c else { return nil }
                index &+= 1
            case 0x20...0x7e: index &+= 1
            default: return nil
            }
        }
        return nil
    }

    private mutating func token() -> Value? {
        let start = index
        skip { $0.isMember(of: .token) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
        return .token(slice(from: start))
    }

    private mutating func byteSequence() -> Value? {
        index &+= 1
        skip { $0.isMember(of: .alphanumeric) || $0 == 0x2b || $0 == 0x2f || $0 == 0x3d }
        return take(UInt8(ascii: ":")) ? .other : nil
    }

    private mutating func boolean() -> Value? {
        index &+= 1
        if take(UInt8(ascii: "1")) { return .boolean(true) }
        return take(UInt8(ascii: "0")) ? .boolean(false) : nil
    }
}
