import Basics

/// What is rendered, up to a limit.
///
/// It has a memory of its own because a page is written in many small pieces.
struct BoundedOutput: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    /// Bytes that there is memory for.
    private var allocated = 1024
    private var count = 0
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
        start = .allocate(capacity: allocated)
    }

    deinit { start.deallocate() }

    /// What is written.
    var bytes: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }

    /// The limit.
    var capacity: Int { limit }

    /// How many bytes more may be written.
    var remaining: Int { max(0, limit &- count) }

    /// The error of writing more than may be.
    var full: RenderingLimit { .answerBytes(limit) }

    /// Makes room for bytes that are written next.
    @inline(__always)
    private mutating func reserve(_ additional: Int) throws(RenderingLimit) {
        guard additional <= limit &- count else { throw full }
        makeRoom(for: additional)
    }

    @inline(__always)
    private mutating func makeRoom(for additional: Int) {
        if allocated &- count < additional { grow(additional) }
    }

    /// Notes bytes that have been written into the room made for them.
    private mutating func note(_ written: Int) throws(RenderingLimit) {
        guard written <= limit &- count else { throw full }
        count &+= written
    }

    @inline(never)
    private mutating func grow(_ additional: Int) {
        let wanted = max(allocated &* 2, count &+ additional)
        let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: wanted)
        grown.update(from: start, count: count)
        start.deallocate()
        start = grown
        allocated = wanted
    }

    @inline(__always)
    mutating func append(_ text: UnsafeBufferPointer<UInt8>) throws(RenderingLimit) {
        try reserve(text.count)
        guard let base = text.baseAddress else { return }
        (start + count).update(from: base, count: text.count)
        count &+= text.count
    }

    mutating func append(_ text: [UInt8], _ range: Range<Int>) throws(RenderingLimit) {
        try text.withUnsafeBufferPointer { text throws(RenderingLimit) in
            try append(UnsafeBufferPointer(rebasing: text[range]))
        }
    }

    mutating func append(_ text: [UInt8]) throws(RenderingLimit) {
        try text.withUnsafeBufferPointer { text throws(RenderingLimit) in try append(text) }
    }

    mutating func append(_ text: StaticString) throws(RenderingLimit) {
        try append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ byte: UInt8) throws(RenderingLimit) {
        try reserve(1)
        start[count] = byte
        count &+= 1
    }

    mutating func append(_ number: Int64) throws(RenderingLimit) {
        makeRoom(for: DecimalText.longestInteger)
        try note(DecimalText.write(number, to: start + count))
    }

    /// The shortest digits that read back the same, with a point or an exponent.
    mutating func append(_ number: Double) throws(RenderingLimit) {
        makeRoom(for: DecimalText.longestReal)
        let length = DecimalText.write(number, to: start + count)
        guard length == 0 else { return try note(length) }
        try append(Array(number.description.utf8))
    }

    /// Text in HTML and XML, in an element or a quoted attribute.
    mutating func appendHTML(_ text: [UInt8]) throws(RenderingLimit) {
        try text.withUnsafeBufferPointer { text throws(RenderingLimit) in
            var written = 0
            for index in 0..<text.count {
                // Of most texts all bytes are others.
                guard text[index] <= UInt8(ascii: ">") else { continue }
                let reference: StaticString
                switch text[index] {
                case UInt8(ascii: "&"): reference = "&amp;"
                case UInt8(ascii: "<"): reference = "&lt;"
                case UInt8(ascii: ">"): reference = "&gt;"
                case UInt8(ascii: "\""): reference = "&quot;"
                case UInt8(ascii: "'"): reference = "&#39;"
                default: continue
                }
                try append(UnsafeBufferPointer(rebasing: text[written..<index]))
                try append(reference)
                written = index &+ 1
            }
            try append(UnsafeBufferPointer(rebasing: text[written...]))
        }
    }

    /// Text inside of a string of JSON (RFC 8259 §7).
    ///
    /// - Parameter isScript: Whether what JavaScript and HTML would take for an end is escaped as well: U+2028, U+2029
    ///   and `<`.
    mutating func appendJSONCharacters(_ text: [UInt8], isScript: Bool) throws(RenderingLimit) {
        try text.withUnsafeBufferPointer { text throws(RenderingLimit) in
            var written = 0
            var index = 0
            while index < text.count {
                let byte = text[index]
                guard byte < 0x20 || byte == 0x22 || byte == 0x5C || (isScript && (byte == 0x3C || byte == 0xE2)) else {
                    index &+= 1
                    continue
                }
                var length = 1
                if byte == 0xE2 {
                    let isSeparator =
                        text.count &- index >= 3 && text[index &+ 1] == 0x80 && text[index &+ 2] & 0xFE == 0xA8
                    guard isSeparator else {
                        index &+= 1
                        continue
                    }
                    length = 3
                }
                try append(UnsafeBufferPointer(rebasing: text[written..<index]))
                try appendEscape(of: byte, last: text[index &+ length &- 1])
                index &+= length
                written = index
            }
            try append(UnsafeBufferPointer(rebasing: text[written...]))
        }
    }

    private mutating func appendEscape(of byte: UInt8, last: UInt8) throws(RenderingLimit) {
        if byte == 0xE2 { return try append(last == 0xA8 ? "\\u2028" : "\\u2029") }
        // `<` is the one that JSON itself lets stand.
        let letter = JSONText.escape(of: byte) ?? UInt8(ascii: "u")
        try append(UInt8(ascii: "\\"))
        try append(letter)
        guard letter == UInt8(ascii: "u") else { return }
        try append("00")
        try append(Hexadecimal.digit(byte >> 4))
        try append(Hexadecimal.digit(byte))
    }
}
