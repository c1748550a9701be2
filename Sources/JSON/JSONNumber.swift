/// A number of JSON's, as it is written (RFC 8259 §6).
public struct JSONNumber: Sendable, Hashable {
    /// Its characters, such as `-1.50e+3`.
    public let text: [UInt8]
    /// Whether it is written without a point and an exponent.
    public let isWhole: Bool

    /// - Returns: nil for a text that is no number of JSON's.
    public init?(_ text: [UInt8]) {
        guard let scan = try? Scan(text, from: 0), scan.end == text.count else { return nil }
        self.init(text, isWhole: scan.isWhole)
    }

    init(_ text: [UInt8], isWhole: Bool) {
        self.text = text
        self.isWhole = isWhole
    }

    /// The number, where it is written without a point and an exponent, and is within 64 bits.
    public var integer: Int64? {
        guard isWhole else { return nil }
        let isNegative = text.first == UInt8(ascii: "-")
        var value: Int64 = 0
        for digit in isNegative ? text.dropFirst() : text[...] {
            // Counted downwards, since the least number has no positive counterpart.
            let (tenfold, overflows) = value.multipliedReportingOverflow(by: 10)
            let (next, underflows) = tenfold.subtractingReportingOverflow(Int64(digit &- UInt8(ascii: "0")))
            guard !overflows, !underflows else { return nil }
            value = next
        }
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    /// The double that is nearest; nil beyond a double's range.
    public var real: Double? {
        let text = self.text.count > JSONNumber.decisiveDigits ? shortened : self.text
        guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
        return value
    }

    /// More digits than any two neighbouring doubles need to be told from what lies between them (767).
    private static let decisiveDigits = 800

    /// A number of a few digits that rounds to the same double.
    private var shortened: [UInt8] {
        var digits: [UInt8] = []
        var exponent = 0
        var isExact = true
        var isFraction = false
        var index = 0
        while index < text.count, text[index] | 0x20 != UInt8(ascii: "e") {
            let byte = text[index]
            index &+= 1
            if byte == UInt8(ascii: "-") { continue }
            if byte == UInt8(ascii: ".") {
                isFraction = true
                continue
            }
            let isKept = digits.count < JSONNumber.decisiveDigits
            if isFraction && isKept { exponent &-= 1 }
            if !isFraction && !isKept { exponent &+= 1 }
            if !isKept {
                isExact = isExact && byte == UInt8(ascii: "0")
            } else if !digits.isEmpty || byte != UInt8(ascii: "0") {
                digits.append(byte)
            }
        }
        if digits.isEmpty { digits = [UInt8(ascii: "0")] }
        if !isExact {
            digits.append(UInt8(ascii: "1"))
            exponent &-= 1
        }
        let sign: [UInt8] = text.first == UInt8(ascii: "-") ? [UInt8(ascii: "-")] : []
        return sign + digits + "e\(exponent &+ Self.exponent(text[index...].dropFirst()))".utf8
    }

    /// An exponent with its sign, or one that is as good where it is huge.
    private static func exponent(_ text: ArraySlice<UInt8>) -> Int {
        var value = 0
        for byte in text where UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte {
            value = min(value &* 10 &+ Int(byte &- UInt8(ascii: "0")), 1 << 40)
        }
        return text.first == UInt8(ascii: "-") ? 0 &- value : value
    }

    /// The number that begins at a byte.
    struct Scan {
        let end: Int
        let isWhole: Bool

        /// - Throws: What is missing of a number.
        init(_ bytes: [UInt8], from start: Int) throws(JSONError) {
            var index = start
            var isWhole = true
            func peek() -> UInt8? { index < bytes.count ? bytes[index] : nil }
            func readDigits() throws(JSONError) {
                let first = index
                while let byte = peek(), UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { index &+= 1 }
                guard index > first else { throw JSONError("a digit is missing", at: index) }
            }
            if peek() == UInt8(ascii: "-") { index &+= 1 }
            let first = index
            try readDigits()
            guard bytes[first] != UInt8(ascii: "0") || index == first &+ 1 else {
                throw JSONError("a number doesn't begin with 0", at: first)
            }
            if peek() == UInt8(ascii: ".") {
                index &+= 1
                isWhole = false
                try readDigits()
            }
            if let byte = peek(), byte | 0x20 == UInt8(ascii: "e") {
                index &+= 1
                isWhole = false
                if let sign = peek(), sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { index &+= 1 }
                try readDigits()
            }
            end = index
            self.isWhole = isWhole
        }
    }
}
