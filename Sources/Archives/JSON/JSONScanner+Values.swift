import Glibc

extension JSONScanner {
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    // MARK: Strings

    /// Reads a string, where one stands here.
    ///
    /// - Returns: its bytes in UTF-8, up to the next call; nil where another value stands here, which is skipped. Of a
    ///   string that is longer than the room it is the beginning, and ``isCut`` is true.
    mutating func string() throws(JSONError) -> UnsafeRawBufferPointer? {
        guard try significant() == JSONScanner.quote else {
            try skipValue()
            return nil
        }
        return try string(throughColon: false)
    }

    /// Reads the string whose quote stands here, and the colon behind it.
    mutating func string(throughColon: Bool) throws(JSONError) -> UnsafeRawBufferPointer {
        isCut = false
        var mark = position &+ 1
        position = mark
        var length: Int
        while true {
            if let quote = quote() {
                length = quote &- mark
                position = quote &+ 1
                break
            }
            if isFull(from: mark) { return try cutString(throughColon: throughColon) }
            // What was looked at already is looked at again: at most once, since the room is filled then.
            position = mark
            try refill(from: mark)
            mark = 0
        }
        if throughColon { try colon(keeping: &mark) }
        let text = base + mark
        guard length > 0, memchr(text, CInt(JSONScanner.backslash), length) != nil else {
            return UnsafeRawBufferPointer(start: text, count: length)
        }
        length = JSONEscapes.decode(UnsafeMutableRawBufferPointer(start: text, count: length))
        return UnsafeRawBufferPointer(start: text, count: length)
    }

    /// Passes over the colon; what is in the room from `mark` on stays there.
    private mutating func colon(keeping mark: inout Int) throws(JSONError) {
        while true {
            while position < filled {
                switch current {
                case UInt8(ascii: ":"):
                    position &+= 1
                    return
                case 0x20, 0x09, 0x0A, 0x0D: position &+= 1
                default: throw unexpected("':'")
                }
            }
            guard !isFull(from: mark) else { throw unexpected("':'") }
            try refill(from: mark)
            mark = 0
        }
    }

    private mutating func cutString(throughColon: Bool) throws(JSONError) -> UnsafeRawBufferPointer {
        let prefix = UnsafeMutableRawBufferPointer(start: base + filled, count: JSONScanner.prefixLength)
        prefix.copyMemory(from: UnsafeRawBufferPointer(start: base, count: JSONScanner.prefixLength))
        position = 0
        try skipStringRest()
        if throughColon {
            guard try significant() == UInt8(ascii: ":") else { throw unexpected("':'") }
            position &+= 1
        }
        isCut = true
        return UnsafeRawBufferPointer(start: prefix.baseAddress, count: JSONEscapes.decode(prefix))
    }

    /// Finds the quote that ends the string in which the next byte is.
    ///
    /// A backslash before a quote stands for it where an odd number of them does. Those before it are counted back to
    /// the byte that is no backslash, each at most once.
    @inline(__always)
    private func quote() -> Int? {
        var from = position
        while from < filled {
            guard let found = memchr(base + from, CInt(JSONScanner.quote), filled &- from) else { return nil }
            let quote = UnsafeRawPointer(found) - UnsafeRawPointer(base)
            var index = quote
            while index > from, byte(index &- 1) == JSONScanner.backslash { index &-= 1 }
            if (quote &- index) & 1 == 0 { return quote }
            from = quote &+ 1
        }
        return nil
    }

    /// Passes over the string in which the next byte is, and its quote.
    mutating func skipStringRest() throws(JSONError) {
        while true {
            if let quote = quote() {
                position = quote &+ 1
                return
            }
            var index = filled
            while index > position, byte(index &- 1) == JSONScanner.backslash { index &-= 1 }
            let isOdd = (filled &- index) & 1 == 1
            // Of a chunk that ends within an escaped pair the next byte belongs to the backslash, whatever it is. A
            // quote that was passed over before is not counted twice: the run of backslashes ends behind it.
            position = filled
            try refill(from: position)
            if isOdd { position = 1 }
        }
    }

    /// Passes over a string, where one stands here.
    ///
    /// - Returns: where its bytes are in the text, as they are written; nil where another value stands here, which is
    ///   skipped.
    mutating func stringRange() throws(JSONError) -> Range<Int>? {
        guard try significant() == JSONScanner.quote else {
            try skipValue()
            return nil
        }
        position &+= 1
        let first = offset
        try skipStringRest()
        return first..<offset &- 1
    }

    // MARK: Numbers

    /// Reads an integer, where a number stands here that is one; another value is skipped.
    mutating func integer() throws(JSONError) -> Int? {
        _ = try significant()
        let place = offset
        guard let digits = try digits() else { return nil }
        if let value = Int(digits) { return value }
        guard let value = JSONScanner.value(digits) else { throw .syntax("this is no value of JSON", at: place) }
        return Int(exactly: value)
    }

    /// Reads a number, where one stands here; another value is skipped, and so is a number that is malformed.
    mutating func number() throws(JSONError) -> Double? { try digits().flatMap { JSONScanner.value($0) } }

    /// The text of a number; nil for another value, which is skipped.
    private mutating func digits() throws(JSONError) -> String? {
        let byte = try significant()
        guard byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte) else {
            try skipValue()
            return nil
        }
        var text: [UInt8] = []
        try scalar { if text.count < 64 { text.append($0) } }
        return String(decoding: text, as: UTF8.self)
    }

    private static func value(_ digits: String) -> Double? { digits.contains("x") ? nil : Double(digits) }

    // MARK: Skipping

    /// Passes over the value that stands here, whatever it is.
    mutating func skipValue() throws(JSONError) {
        let outer = depth
        repeat {
            switch try significant() {
            case JSONScanner.quote:
                position &+= 1
                try skipStringRest()
            case UInt8(ascii: "{"):
                try push(1)
                if try significant() != UInt8(ascii: "}") {
                    try skipName()
                    continue
                }
                pop()
            case UInt8(ascii: "["):
                try push(0)
                if try significant() != UInt8(ascii: "]") { continue }
                pop()
            default: try skipScalar()
            }
            try leave(upTo: outer)
        } while depth > outer
        isFirst = false
    }

    /// Goes on behind a value: to the next one, or out of the containers that end here.
    @inline(__always)
    private mutating func leave(upTo outer: Int) throws(JSONError) {
        while depth > outer {
            let byte = try significant()
            let isObject = containers & 1 == 1
            if byte == UInt8(ascii: ",") {
                position &+= 1
                if isObject { try skipName() }
                return
            }
            guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw unexpected(isObject ? "',' or '}'" : "',' or ']'")
            }
            pop()
        }
    }

    private mutating func skipName() throws(JSONError) {
        guard try significant() == JSONScanner.quote else { throw unexpected("a member's name") }
        position &+= 1
        try skipStringRest()
        guard try significant() == UInt8(ascii: ":") else { throw unexpected("':'") }
        position &+= 1
    }

    private mutating func skipScalar() throws(JSONError) {
        let place = offset
        let first = current
        var letters: UInt64 = 0
        var count = 0
        var digits = 0
        try scalar { byte in
            if count < 8 { letters = letters << 8 | UInt64(byte) }
            count &+= 1
            if (0x30...0x39).contains(byte) { digits &+= 1 }
        }
        let isNumber = digits > 0 && (first == UInt8(ascii: "-") || (0x30...0x39).contains(first))
        if isNumber { return }
        switch letters {
        case 0x7472_7565, 0x66_616c_7365, 0x6e75_6c6c, 0x4e_614e, 0x496e_6669_6e69_7479: return
        // -Infinit
        case 0x2d49_6e66_696e_6974 where count == 9: return
        default:
            guard count == 0 else { throw .syntax("this is no value of JSON", at: place) }
            throw unexpected("a value")
        }
    }

    /// Passes over a number or a literal: letters, digits, signs and points.
    private mutating func scalar(_ body: (UInt8) -> Void) throws(JSONError) {
        while true {
            while position < filled {
                let byte = current
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                    body(byte)
                    position &+= 1
                default: return
                }
            }
            do throws(JSONError) {
                try refill(from: position)
            } catch {
                // A number may be all of a text.
                guard error.kind == .end, depth == 0 else { throw error }
                return
            }
        }
    }
}
