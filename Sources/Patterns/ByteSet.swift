/// A set of bytes as 256 bits.
struct ByteSet: Hashable, Sendable {
    private(set) var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    init() {}

    init(_ ranges: ClosedRange<UInt8>...) {
        for range in ranges { insert(range) }
    }

    init(bytes: some Sequence<UInt8>) {
        for byte in bytes { insert(byte) }
    }

    /// The set with these four words.
    init(words: ArraySlice<UInt64>) {
        let start = words.startIndex
        self.words = (words[start], words[start + 1], words[start + 2], words[start + 3])
    }

    static func == (left: ByteSet, right: ByteSet) -> Bool { left.words == right.words }

    func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }

    func contains(_ byte: UInt8) -> Bool {
        let word =
            switch byte >> 6 {
            case 0: words.0
            case 1: words.1
            case 2: words.2
            default: words.3
            }
        return word >> UInt64(byte & 63) & 1 != 0
    }

    mutating func insert(_ byte: UInt8) {
        let bit = UInt64(1) << UInt64(byte & 63)
        switch byte >> 6 {
        case 0: words.0 |= bit
        case 1: words.1 |= bit
        case 2: words.2 |= bit
        default: words.3 |= bit
        }
    }

    mutating func insert(_ range: ClosedRange<UInt8>) {
        for byte in range { insert(byte) }
    }

    mutating func formUnion(_ other: ByteSet) {
        words = (
            words.0 | other.words.0, words.1 | other.words.1, words.2 | other.words.2, words.3 | other.words.3
        )
    }

    var inverted: ByteSet {
        var result = ByteSet()
        result.words = (~words.0, ~words.1, ~words.2, ~words.3)
        return result
    }

    var count: Int {
        words.0.nonzeroBitCount + words.1.nonzeroBitCount + words.2.nonzeroBitCount + words.3.nonzeroBitCount
    }

    /// The members in ascending order.
    var members: [UInt8] {
        (UInt8.min...UInt8.max).filter(contains)
    }

    /// This set with the other case of each ASCII letter in it.
    var caseFolded: ByteSet {
        var result = self
        for letter in UInt8(ascii: "a")...UInt8(ascii: "z") {
            let capital = letter & ~0x20
            if contains(letter) { result.insert(capital) }
            if contains(capital) { result.insert(letter) }
        }
        return result
    }
}

extension ByteSet {
    static let digit = ByteSet(0x30...0x39)
    static let word = ByteSet(0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A)
    /// Tab, line feed, form feed, carriage return and space, as `\s` of Perl before 5.18 and of RE2.
    static let space = ByteSet(0x09...0x0A, 0x0C...0x0D, 0x20...0x20)
    static let any = ByteSet(0x00...0xFF)
    static let anyButNewline = ByteSet(0x00...0x09, 0x0B...0xFF)

    /// The class that POSIX gives a name, `alpha` of `[[:alpha:]]`, in the C locale.
    static func posixClass(named name: String) -> ByteSet? {
        switch name {
        case "alnum": ByteSet(0x30...0x39, 0x41...0x5A, 0x61...0x7A)
        case "alpha": ByteSet(0x41...0x5A, 0x61...0x7A)
        case "ascii": ByteSet(0x00...0x7F)
        case "blank": ByteSet(0x09...0x09, 0x20...0x20)
        case "cntrl": ByteSet(0x00...0x1F, 0x7F...0x7F)
        case "digit": digit
        case "graph": ByteSet(0x21...0x7E)
        case "lower": ByteSet(0x61...0x7A)
        case "print": ByteSet(0x20...0x7E)
        case "punct": ByteSet(0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E)
        case "space": ByteSet(0x09...0x0D, 0x20...0x20)
        case "upper": ByteSet(0x41...0x5A)
        case "word": word
        case "xdigit": ByteSet(0x30...0x39, 0x41...0x46, 0x61...0x66)
        default: nil
        }
    }
}
