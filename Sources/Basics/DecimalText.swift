/// Numbers as text in decimal digits, written where they are wanted.
public enum DecimalText {
    /// The bytes that an integer takes at most.
    public static let longestInteger = 20
    /// The bytes that a number takes at most that ``write(_:to:)-(Double,_)`` writes.
    public static let longestReal = 17

    /// Writes an integer's digits.
    ///
    /// - Parameter place: has room for ``longestInteger`` bytes.
    /// - Returns: how many bytes were written.
    @inlinable
    public static func write(_ integer: Int64, to place: UnsafeMutablePointer<UInt8>) -> Int {
        guard integer < 0 else { return write(UInt64(integer), to: place) }
        place[0] = UInt8(ascii: "-")
        return 1 &+ write(integer.magnitude, to: place + 1)
    }

    @inlinable
    static func write(_ magnitude: UInt64, to place: UnsafeMutablePointer<UInt8>) -> Int {
        var length = 1
        var bound: UInt64 = 10
        while length < 20, magnitude >= bound {
            length &+= 1
            let (next, overflow) = bound.multipliedReportingOverflow(by: 10)
            if overflow { break }
            bound = next
        }
        var rest = magnitude
        var position = length
        repeat {
            position &-= 1
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            place[position] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit)
            rest = quotient
        } while position > 0
        return length
    }

    /// Writes a number of at most two places, such as a price, as `description` has it: the shortest digits that read
    /// back the same, with a point.
    ///
    /// A decimal of at most 15 digits is the only one of so many that reads back as its double.
    ///
    /// - Parameter place: has room for ``longestReal`` bytes.
    /// - Returns: how many bytes were written; 0 for any other number.
    @inlinable
    public static func write(_ real: Double, to place: UnsafeMutablePointer<UInt8>) -> Int {
        let magnitude = real.magnitude
        guard magnitude < 1e12, real != 0 || real.sign == .plus else { return 0 }
        let hundredfold = (magnitude * 100).rounded()
        guard hundredfold / 100 == magnitude, let hundredths = UInt64(exactly: hundredfold) else { return 0 }
        var length = 0
        if real < 0 {
            place[0] = UInt8(ascii: "-")
            length = 1
        }
        let (whole, fraction) = hundredths.quotientAndRemainder(dividingBy: 100)
        length &+= write(whole, to: place + length)
        let (tenths, rest) = UInt8(truncatingIfNeeded: fraction).quotientAndRemainder(dividingBy: 10)
        place[length] = UInt8(ascii: ".")
        place[length &+ 1] = UInt8(ascii: "0") &+ tenths
        guard rest > 0 else { return length &+ 2 }
        place[length &+ 2] = UInt8(ascii: "0") &+ rest
        return length &+ 3
    }
}
