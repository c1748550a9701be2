import Basics

/// JSON as it is written: bytes that grow.
///
/// It has a memory of its own because it is written to byte by byte, a million times in an answer.
struct JSONOutput: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    /// The number of bytes written.
    private(set) var count = 0
    /// Values of rows are left out once there is more: who asks for a limit refuses what has more bytes.
    let limit: Int

    init(capacity: Int = 512, limit: Int = .max) {
        self.limit = limit
        self.capacity = max(capacity, 64)
        start = .allocate(capacity: self.capacity)
    }

    deinit { start.deallocate() }

    /// What is written.
    var bytes: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }

    /// What is written from a place on.
    func bytes(from position: Int) -> ArraySlice<UInt8> {
        ArraySlice(UnsafeBufferPointer(start: start, count: count)[min(position, count)...])
    }

    @inline(__always)
    private mutating func reserve(_ additional: Int) {
        if capacity &- count < additional { grow(additional) }
    }

    @inline(never)
    private mutating func grow(_ additional: Int) {
        let wanted = max(capacity &* 2, count &+ additional)
        let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: wanted)
        grown.update(from: start, count: count)
        start.deallocate()
        start = grown
        capacity = wanted
    }

    @inline(__always)
    mutating func append(byte: UInt8) {
        reserve(1)
        start[count] = byte
        count &+= 1
    }

    @inline(__always)
    mutating func append(_ text: StaticString) {
        reserve(text.utf8CodeUnitCount)
        (start + count).update(from: text.utf8Start, count: text.utf8CodeUnitCount)
        count &+= text.utf8CodeUnitCount
    }

    @inline(__always)
    mutating func append(bytes: UnsafeBufferPointer<UInt8>) {
        guard let base = bytes.baseAddress else { return }
        reserve(bytes.count)
        (start + count).update(from: base, count: bytes.count)
        count &+= bytes.count
    }

    @inline(__always)
    mutating func append(bytes: [UInt8]) {
        reserve(bytes.count)
        let place = start + count
        bytes.withUnsafeBufferPointer { if let base = $0.baseAddress { place.update(from: base, count: bytes.count) } }
        count &+= bytes.count
    }

    /// Takes back what was written last.
    mutating func truncate(to length: Int) { count = min(count, max(0, length)) }

    // MARK: Values

    /// An integer's digits.
    mutating func append(_ integer: Int64) {
        reserve(DecimalText.longestInteger)
        count &+= DecimalText.write(integer, to: start + count)
    }

    /// A double's shortest digits that read back the same, with `.` or `e`; an infinity is null.
    mutating func append(_ real: Double) {
        reserve(DecimalText.longestReal)
        let length = DecimalText.write(real, to: start + count)
        count &+= length
        guard length == 0 else { return }
        guard real.isFinite else { return append("null") }
        var text = real.description
        text.withUTF8 { append(bytes: $0) }
    }

    /// A string in quotes.
    mutating func append(string: String) {
        var string = string
        string.withUTF8 { append(string: $0) }
    }

    /// A string in quotes; what is not UTF-8 becomes U+FFFD.
    mutating func append(string: UnsafeBufferPointer<UInt8>) {
        append(byte: UInt8(ascii: "\""))
        var begin = 0
        var index = 0
        let count = string.count
        while index < count {
            let byte = string[index]
            if byte < 0x80 {
                if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                    index &+= 1
                    continue
                }
                append(bytes: UnsafeBufferPointer(rebasing: string[begin..<index]))
                append(escaped: byte)
                index &+= 1
                begin = index
                continue
            }
            let length = JSONOutput.sequenceLength(string, at: index)
            guard length == 0 else {
                index &+= length
                continue
            }
            append(bytes: UnsafeBufferPointer(rebasing: string[begin..<index]))
            // One U+FFFD for each longest beginning of a sequence, as Swift and the URL standard replace.
            append("\u{FFFD}")
            index &+= JSONOutput.brokenLength(string, at: index)
            begin = index
        }
        append(bytes: UnsafeBufferPointer(rebasing: string[begin..<count]))
        append(byte: UInt8(ascii: "\""))
    }

    private mutating func append(escaped byte: UInt8) {
        let letter = JSONText.escape(of: byte) ?? byte
        append(byte: UInt8(ascii: "\\"))
        append(byte: letter)
        guard letter == UInt8(ascii: "u") else { return }
        append("00")
        append(byte: Hexadecimal.digit(byte >> 4))
        append(byte: Hexadecimal.digit(byte))
    }

    /// Bytes as a string of Base64 (RFC 4648 §4).
    mutating func append(base64 bytes: UnsafeRawBufferPointer) {
        append(byte: UInt8(ascii: "\""))
        reserve((bytes.count / 3 &+ 1) &* 4)
        var index = 0
        while index < bytes.count {
            let left = bytes.count &- index
            let first = bytes[index]
            let second = left > 1 ? bytes[index &+ 1] : 0
            let third = left > 2 ? bytes[index &+ 2] : 0
            append(byte: Base64Digits.digit(first >> 2))
            append(byte: Base64Digits.digit((first & 3) << 4 | second >> 4))
            append(byte: left > 1 ? Base64Digits.digit((second & 15) << 2 | third >> 6) : UInt8(ascii: "="))
            append(byte: left > 2 ? Base64Digits.digit(third & 63) : UInt8(ascii: "="))
            index &+= 3
        }
        append(byte: UInt8(ascii: "\""))
    }

    /// The length of the well-formed UTF-8 sequence that begins with a byte of 0x80 or more; 0 where none does.
    static func sequenceLength(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
        func byte(_ offset: Int) -> UInt8 { index &+ offset < text.count ? text[index &+ offset] : 0 }
        func continues(_ offset: Int) -> Bool { byte(offset) & 0xC0 == 0x80 }
        let first = text[index]
        switch first {
        case 0xC2...0xDF: return continues(1) ? 2 : 0
        case 0xE0...0xEF:
            guard continues(1), continues(2) else { return 0 }
            if first == 0xE0, byte(1) < 0xA0 { return 0 }
            return first == 0xED && byte(1) >= 0xA0 ? 0 : 3
        case 0xF0...0xF4:
            guard continues(1), continues(2), continues(3) else { return 0 }
            if first == 0xF0, byte(1) < 0x90 { return 0 }
            return first == 0xF4 && byte(1) >= 0x90 ? 0 : 4
        default: return 0
        }
    }

    /// The length of the longest beginning of a UTF-8 sequence at a place where no whole one stands; at least 1.
    private static func brokenLength(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
        func byte(_ offset: Int) -> UInt8 { index &+ offset < text.count ? text[index &+ offset] : 0 }
        let second: ClosedRange<UInt8>
        switch text[index] {
        case 0xE0: second = 0xA0...0xBF
        case 0xED: second = 0x80...0x9F
        case 0xE1...0xEF, 0xF1...0xF3: second = 0x80...0xBF
        case 0xF0: second = 0x90...0xBF
        case 0xF4: second = 0x80...0x8F
        default: return 1
        }
        guard second.contains(byte(1)) else { return 1 }
        return text[index] >= 0xF0 && byte(2) & 0xC0 == 0x80 ? 3 : 2
    }
}

enum Base64Digits {
    static func digit(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") &+ value
        case 26..<52: UInt8(ascii: "a") &+ value &- 26
        case 52..<62: UInt8(ascii: "0") &+ value &- 52
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }
}
