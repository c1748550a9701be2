import Basics

/// How a plain scalar is written, if it is a number by the core schema of YAML 1.2 (10.3.2).
enum NumberForm {
    case decimal(Decimal)
    /// `0x` or `0o` and digits.
    case prefixed(radix: Int, digits: ArraySlice<UInt8>)
    case infinity(isNegative: Bool)
    case notANumber

    /// `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`, its whole part without a needless zero.
    struct Decimal {
        var isNegative: Bool
        var whole: ArraySlice<UInt8>
        /// The digits after the point; nil without a point.
        var fraction: ArraySlice<UInt8>?
        /// From the letter `e` on; nil without one.
        var exponent: ArraySlice<UInt8>?

        var isInteger: Bool { fraction == nil && exponent == nil }

        /// The number by JSON's grammar (RFC 8259 6): without `+`, with a digit on both sides of the point.
        var json: [UInt8] {
            var json: [UInt8] = isNegative ? [UInt8(ascii: "-")] : []
            json += whole.isEmpty ? [UInt8(ascii: "0")] : whole
            if let fraction {
                json.append(UInt8(ascii: "."))
                json += fraction.isEmpty ? [UInt8(ascii: "0")] : fraction
            }
            if let exponent { json += exponent }
            return json
        }
    }

    init?(_ text: ArraySlice<UInt8>) {
        if let word = Self.word(text) {
            self = word
        } else if text.starts(with: "0x".utf8) || text.starts(with: "0o".utf8) {
            let radix = text[text.startIndex + 1] == UInt8(ascii: "x") ? 16 : 8
            let digits = text.dropFirst(2)
            guard !digits.isEmpty, digits.allSatisfy({ Self.figure($0).map { $0 < radix } ?? false }) else {
                return nil
            }
            self = .prefixed(radix: radix, digits: digits)
        } else if let decimal = Self.decimal(text) {
            self = .decimal(decimal)
        } else {
            return nil
        }
    }

    private static func word(_ text: ArraySlice<UInt8>) -> NumberForm? {
        guard text.count == 4 || text.count == 5 else { return nil }
        for word in [".nan", ".NaN", ".NAN"] where text.elementsEqual(word.utf8) { return .notANumber }
        let isSigned = text.first == UInt8(ascii: "-") || text.first == UInt8(ascii: "+")
        for word in [".inf", ".Inf", ".INF"] where (isSigned ? text.dropFirst() : text).elementsEqual(word.utf8) {
            return .infinity(isNegative: text.first == UInt8(ascii: "-"))
        }
        return nil
    }

    private static func decimal(_ text: ArraySlice<UInt8>) -> Decimal? {
        var rest = text
        let sign = rest.first
        let isNegative = sign == UInt8(ascii: "-")
        if isNegative || sign == UInt8(ascii: "+") { rest.removeFirst() }
        var decimal = Decimal(isNegative: isNegative, whole: digits(&rest))
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            decimal.fraction = digits(&rest)
        }
        guard !(decimal.whole.isEmpty && decimal.fraction?.isEmpty ?? true) else { return nil }
        guard decimal.whole.count < 2 || decimal.whole.first != UInt8(ascii: "0") else { return nil }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            decimal.exponent = rest
            rest.removeFirst()
            if rest.first == UInt8(ascii: "-") || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
            guard !digits(&rest).isEmpty else { return nil }
        }
        return rest.isEmpty ? decimal : nil
    }

    /// Takes the digits from the front.
    private static func digits(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest[digits.endIndex...]
        return digits
    }

    /// The value of a digit of a base up to 16.
    static func figure(_ byte: UInt8) -> Int? { byte.hexValue.map { Int($0) } }
}

extension YAMLScalar {
    /// How it is written, if it is a number.
    var number: NumberForm? { isPlain ? NumberForm(bytes) : nil }
}
