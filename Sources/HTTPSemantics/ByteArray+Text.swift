extension [UInt8] {
    mutating func append(_ literal: StaticString) {
        append(contentsOf: UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    /// Appends the digits of `value`, with `-` where it is negative.
    mutating func append(decimal value: Int) {
        if value < 0 { append(0x2d) }
        let start = count
        var rest = value.magnitude
        repeat {
            append(0x30 &+ UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        self[start...].reverse()
    }
}
