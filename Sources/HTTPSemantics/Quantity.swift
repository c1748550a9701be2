/// Why a text is not a duration, size or rate; each message says how one is written.
public enum UnitError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Which kind of quantity was expected.
    public enum Kind: Sendable, Equatable {
        case duration, size, rate

        fileprivate var examples: String {
            switch self {
            case .duration: "250ms, 1.5s, 2m, 1h"
            case .size: "64KiB, 16MiB, 1GB"
            case .rate: "64KiB/s, 1.5MB/s"
            }
        }
    }

    case noNumber(Kind)
    case negative(Kind)
    case needsUnit(Kind)
    case unknownUnit(Kind, String)
    case tooLarge(Kind)

    public var description: String {
        switch self {
        case .noNumber(let kind): "not a number with a unit, as in \(kind.examples)"
        case .negative: "must not be negative"
        case .needsUnit(let kind): "needs a unit, as in \(kind.examples)"
        case .unknownUnit(let kind, let unit): "unknown unit '\(unit)'; write it as in \(kind.examples)"
        case .tooLarge: "too large"
        }
    }
}

/// Reads the quantities of maps and options: decimal numbers with a unit, as `1.5s` or `64KiB/s`.
///
/// A space may stand before the unit. 0 needs none. Fractions of a nanosecond or a byte are cut off.
public enum Quantity {
    /// A duration in nanoseconds: `ns`, `us`, `ms`, `s`, `m` or `min`, `h`, `d`.
    ///
    /// - Throws: ``UnitError`` if the text is not a number with such a unit, is negative, or is too large.
    public static func duration(_ text: some Collection<UInt8>) throws(UnitError) -> Int64 {
        try parse(Array(text), .duration) { unit in
            switch unit {
            case "ns": 1
            case "us", "µs": 1000
            case "ms": 1_000_000
            case "s": 1_000_000_000
            case "m", "min": 60_000_000_000
            case "h": 3_600_000_000_000
            case "d": 86_400_000_000_000
            default: nil
            }
        }
    }

    /// A size in bytes: `B`, `kB` `MB` `GB` `TB` by 1000, `KiB` `MiB` `GiB` `TiB` by 1024; case ignored.
    ///
    /// - Throws: ``UnitError`` if the text is not a number with such a unit, is negative, or is too large.
    public static func size(_ text: some Collection<UInt8>) throws(UnitError) -> Int {
        Int(try parse(Array(text), .size, unit: bytesPerUnit))
    }

    /// A rate in bytes a second: a size and `/s`.
    ///
    /// - Throws: ``UnitError`` if the text is not such a rate, is negative, or is too large.
    public static func rate(_ text: some Collection<UInt8>) throws(UnitError) -> Int {
        let value = try parse(Array(text), .rate) { unit in
            unit.hasSuffix("/s") ? bytesPerUnit(String(unit.dropLast(2))) : nil
        }
        return Int(value)
    }

    private static func bytesPerUnit(_ unit: String) -> Int64? {
        switch String(decoding: unit.utf8.map(\.asciiLowercased), as: UTF8.self) {
        case "b": 1
        case "kb": 1000
        case "mb": 1_000_000
        case "gb": 1_000_000_000
        case "tb": 1_000_000_000_000
        case "kib": 1 << 10
        case "mib": 1 << 20
        case "gib": 1 << 30
        case "tib": 1 << 40
        default: nil
        }
    }

    private static func parse(
        _ text: [UInt8], _ kind: UnitError.Kind, unit multiplier: (String) -> Int64?
    ) throws(UnitError) -> Int64 {
        var rest = text[...]
        if rest.first == UInt8(ascii: "-") { throw .negative(kind) }
        let whole = rest.prefix { $0.isMember(of: .digit) }
        guard !whole.isEmpty else { throw .noNumber(kind) }
        rest = rest.dropFirst(whole.count)
        var fraction: ArraySlice<UInt8> = []
        if rest.first == UInt8(ascii: ".") {
            fraction = rest.dropFirst().prefix { $0.isMember(of: .digit) }
            guard !fraction.isEmpty else { throw .noNumber(kind) }
            rest = rest.dropFirst(fraction.count &+ 1)
        }
        if rest.first == 0x20 { rest = rest.dropFirst() }
        guard !rest.isEmpty else {
            guard (whole + fraction).allSatisfy({ $0 == 0x30 }) else { throw .needsUnit(kind) }
            return 0
        }
        let name = String(decoding: rest, as: UTF8.self)
        guard let factor = multiplier(name) else { throw .unknownUnit(kind, name) }
        return try total(whole, fraction, factor, kind)
    }

    private static func total(
        _ whole: ArraySlice<UInt8>, _ fraction: ArraySlice<UInt8>, _ factor: Int64, _ kind: UnitError.Kind
    ) throws(UnitError) -> Int64 {
        var value: Int64 = 0
        for digit in whole {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Int64(digit &- 0x30))
            guard !overflow, !carry else { throw .tooLarge(kind) }
            value = sum
        }
        var (total, overflow) = value.multipliedReportingOverflow(by: factor)
        guard !overflow else { throw .tooLarge(kind) }
        var numerator: Int64 = 0
        var denominator: Int64 = 1
        // Further digits can't count: no factor has more than fourteen.
        for digit in fraction.prefix(14) {
            numerator = numerator &* 10 &+ Int64(digit &- 0x30)
            denominator = denominator &* 10
        }
        // The factor is below 2^47 and the numerator below 2^47, so the product needs the full width.
        let product = factor.multipliedFullWidth(by: numerator)
        let part = denominator.dividingFullWidth(product).quotient
        (total, overflow) = total.addingReportingOverflow(part)
        guard !overflow else { throw .tooLarge(kind) }
        return total
    }
}
