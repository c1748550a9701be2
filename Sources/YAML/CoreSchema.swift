/// What a scalar means by the core schema of YAML 1.2 (10.3.2).
public enum YAMLScalarValue: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int)
    /// An integer that doesn't fit an Int.
    case integerOverflow
    case float(Double)
    case text
}

extension YAMLScalar {
    /// The value by the core schema; a scalar that isn't plain is text.
    ///
    /// Stricter than the schema in one point: a number with a needless leading zero (`018`) is text, since YAML 1.1,
    /// YAML 1.2 and JSON read it in three ways.
    public var value: YAMLScalarValue {
        guard isPlain else { return .text }
        if isNull { return .null }
        if let boolean = boolValue { return .boolean(boolean) }
        guard let number else { return .text }
        switch number {
        case .infinity(let isNegative): return .float(isNegative ? -.infinity : .infinity)
        case .notANumber: return .float(.nan)
        case .prefixed(let radix, let digits):
            return integer(digits, radix: radix, isNegative: false).map { .integer($0) } ?? .integerOverflow
        case .decimal(let decimal) where decimal.isInteger:
            return integer(decimal.whole, radix: 10, isNegative: decimal.isNegative).map { .integer($0) }
                ?? .integerOverflow
        case .decimal(let decimal):
            return Double(String(decoding: decimal.json, as: UTF8.self)).map { .float($0) } ?? .text
        }
    }

    /// Whether it is `null`, `Null`, `NULL`, `~` or nothing at all.
    public var isNull: Bool {
        guard isPlain else { return false }
        return count == 0 || self == "~" || self == "null" || self == "Null" || self == "NULL"
    }

    /// `true` or `false`, also with a capital or in capitals; nil for anything else.
    public var boolValue: Bool? {
        guard isPlain, count == 4 || count == 5 else { return nil }
        if self == "true" || self == "True" || self == "TRUE" { return true }
        if self == "false" || self == "False" || self == "FALSE" { return false }
        return nil
    }

    /// Whether it is a word that only YAML 1.1 takes for a boolean, such as `yes`, `no`, `on`, `off`, `NO`, `y`.
    ///
    /// It is text to this module. Where a boolean is wanted, an error can say: write true or false; where a text is
    /// wanted, nothing is wrong.
    public var isYAML11Boolean: Bool {
        guard isPlain, (1...3).contains(count) else { return false }
        let words: [StaticString] = [
            "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF",
        ]
        return words.contains { self == $0 }
    }

    /// The integer: decimal with or without a sign, `0x1F` or `0o17`; nil for anything else and for one that doesn't
    /// fit (see ``value`` to tell these apart).
    public var intValue: Int? {
        if case .integer(let integer) = value { return integer }
        return nil
    }

    /// The number as a Double, an integer too; nil for what isn't a number.
    public var doubleValue: Double? {
        switch value {
        case .float(let double): return double
        case .integer(let integer): return Double(integer)
        case .integerOverflow:
            guard case .decimal(let decimal) = number else { return nil }
            return Double(String(decoding: decimal.json, as: UTF8.self))
        case .null, .boolean, .text: return nil
        }
    }

    private func integer(_ digits: ArraySlice<UInt8>, radix: Int, isNegative: Bool) -> Int? {
        var result = 0
        for digit in digits {
            guard let figure = NumberForm.figure(digit) else { return nil }
            let product = result.multipliedReportingOverflow(by: radix)
            // Downwards for negative numbers: Int.min has no positive counterpart.
            let sum =
                isNegative
                ? product.partialValue.subtractingReportingOverflow(figure)
                : product.partialValue.addingReportingOverflow(figure)
            guard !product.overflow, !sum.overflow else { return nil }
            result = sum.partialValue
        }
        return result
    }
}
