/// Decodes base64 piece by piece, as far as it goes: characters of no base64 are passed over (RFC 2045 §6.8) and
/// counted, white space is not counted, and padding may be missing, or stand where pieces were joined.
struct LenientBase64: Sendable {
    private var bits: UInt32 = 0
    private var count = 0
    /// How many characters there were that are no base64, and such as stand alone at an end.
    private(set) var strangers = 0

    private static let white: UInt8 = 64
    private static let padding: UInt8 = 65
    private static let stranger: UInt8 = 0xFF

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: stranger, count: 256)
        let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        alphabet.withUTF8Buffer { for (value, byte) in $0.enumerated() { values[Int(byte)] = UInt8(value) } }
        for byte in [0x20, 0x09, 0x0A, 0x0D] { values[byte] = white }
        values[0x3D] = padding
        return values
    }()

    /// Decodes the next characters.
    mutating func decode(_ text: [UInt8], into bytes: inout [UInt8]) {
        text.withUnsafeBytes { decode($0, into: &bytes) }
    }

    /// Decodes the next characters.
    mutating func decode(_ text: UnsafeRawBufferPointer, into bytes: inout [UInt8]) {
        bytes.reserveCapacity(bytes.count &+ text.count / 4 &* 3 &+ 3)
        var index = 0
        while index < text.count {
            if count == 0 { index = decodeRun(text, from: index, into: &bytes) }
            guard index < text.count else { return }
            add(text[index], into: &bytes)
            index &+= 1
        }
    }

    /// Ends the text, and appends the bytes of a last group that has no padding.
    mutating func finish(into bytes: inout [UInt8]) {
        switch count {
        case 1: strangers &+= 1
        case 2: bytes.append(UInt8(truncatingIfNeeded: bits >> 4))
        case 3:
            bytes.append(UInt8(truncatingIfNeeded: bits >> 10))
            bytes.append(UInt8(truncatingIfNeeded: bits >> 2))
        default: break
        }
        count = 0
        bits = 0
    }

    /// Decodes groups of four characters, as long as they are whole.
    ///
    /// - Returns: where another character is, or fewer than four are left.
    private func decodeRun(_ text: UnsafeRawBufferPointer, from start: Int, into bytes: inout [UInt8]) -> Int {
        let groups = (text.count &- start) / 4
        guard groups > 0 else { return start }
        var index = start
        let table = LenientBase64.values
        let piece = [UInt8](unsafeUninitializedCapacity: groups &* 3) { buffer, written in
            // Indices are bytes, and the table has an element for each.
            table.withUnsafeBufferPointer { values in
                var next = 0
                for _ in 0..<groups {
                    let (first, second) = (values[Int(text[index])], values[Int(text[index &+ 1])])
                    let (third, fourth) = (values[Int(text[index &+ 2])], values[Int(text[index &+ 3])])
                    guard (first | second | third | fourth) < 64 else { break }
                    buffer[next] = first << 2 | second >> 4
                    buffer[next &+ 1] = second << 4 | third >> 2
                    buffer[next &+ 2] = third << 6 | fourth
                    next &+= 3
                    index &+= 4
                }
                written = next
            }
        }
        bytes += piece
        return index
    }

    private mutating func add(_ character: UInt8, into bytes: inout [UInt8]) {
        let value = LenientBase64.values[Int(character)]
        switch value {
        case 0..<64:
            bits = bits << 6 | UInt32(value)
            count &+= 1
            guard count == 4 else { return }
            for shift: UInt32 in [16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: bits >> shift)) }
            count = 0
            bits = 0
        case LenientBase64.padding: finish(into: &bytes)
        case LenientBase64.white: break
        default: strangers &+= 1
        }
    }
}
