/// A text in which each `*` stands for any bytes, none included; for the values of conditions.
struct WildcardText: Sendable, Hashable {
    /// The literals before, between and behind the stars, one after another.
    private let literals: [UInt8]
    /// Where each literal ends; one more than there are stars.
    private let ends: [Int]

    /// Reads a text as it was written.
    init(_ text: some Sequence<UInt8>) {
        var literals: [UInt8] = []
        var ends: [Int] = []
        for byte in text {
            if byte == UInt8(ascii: "*") { ends.append(literals.count) } else { literals.append(byte) }
        }
        ends.append(literals.count)
        self.literals = literals
        self.ends = ends
    }

    /// Reads a text in which `%XX` stands for a byte, so that `%2A` is a star that is meant literally.
    init(percentEncoded text: [UInt8]) {
        var literals: [UInt8] = []
        var ends: [Int] = []
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "*") {
                ends.append(literals.count)
                index += 1
            } else if let byte = PercentDecoding.byte(text, at: index) {
                literals.append(byte)
                index += 3
            } else {
                literals.append(text[index])
                index += 1
            }
        }
        ends.append(literals.count)
        self.literals = literals
        self.ends = ends
    }

    /// Whether all of `bytes` match.
    ///
    /// Each literal is taken at its first place behind the one before, so no text costs more than its length times
    /// the longest literal's.
    func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let first = ends[0]
        guard ends.count > 1 else {
            return bytes.count == first && occurs(0..<first, in: bytes, at: 0)
        }
        let last = ends[ends.count - 2]..<literals.count
        guard bytes.count >= first + last.count, occurs(0..<first, in: bytes, at: 0),
            occurs(last, in: bytes, at: bytes.count - last.count)
        else { return false }
        var position = first
        let limit = bytes.count - last.count
        for number in 1..<(ends.count - 1) {
            let literal = ends[number - 1]..<ends[number]
            while position + literal.count <= limit, !occurs(literal, in: bytes, at: position) { position += 1 }
            guard position + literal.count <= limit else { return false }
            position += literal.count
        }
        return true
    }

    /// How many stars it has.
    var starCount: Int { ends.count - 1 }

    /// What each star stands for in bytes that match, the first as much as it can, then the second, and so on.
    ///
    /// Each literal is taken at its last place before the one behind it, so that the star before it gets the most.
    func stars(in bytes: UnsafeRawBufferPointer) -> [Range<Int>] {
        guard starCount > 0 else { return [] }
        let first = ends[0]
        var starEnd = bytes.count - (literals.count - ends[ends.count - 2])
        var ranges: [Range<Int>] = []
        for number in (1..<starCount).reversed() {
            let literal = ends[number - 1]..<ends[number]
            var position = starEnd - literal.count
            while position > first, !occurs(literal, in: bytes, at: position) { position -= 1 }
            guard position >= first else { return [] }
            ranges.append(position + literal.count..<starEnd)
            starEnd = position
        }
        guard starEnd >= first else { return [] }
        ranges.append(first..<starEnd)
        return ranges.reversed()
    }

    private func occurs(_ literal: Range<Int>, in bytes: UnsafeRawBufferPointer, at position: Int) -> Bool {
        for offset in 0..<literal.count where literals[literal.lowerBound + offset] != bytes[position + offset] {
            return false
        }
        return true
    }

    /// The text as it was written, but for percent-encoding.
    var description: String {
        var text = ""
        var start = 0
        for (number, end) in ends.enumerated() {
            if number > 0 { text += "*" }
            text += String(decoding: literals[start..<end], as: UTF8.self)
            start = end
        }
        return text
    }
}
