import Glibc

/// The lines of a header section, as lenient readers take them: each ends with LF, before which any number of CR may
/// stand; an empty one ends the section.
struct HeadLines {
    private let bytes: UnsafeRawBufferPointer
    /// Where the next line begins; behind the empty line at the end.
    private(set) var position = 0
    /// Whether the empty line has been found.
    private(set) var isComplete = false

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The next line, without what ends it; nil at the empty line, and where the bytes end before a line does.
    mutating func next() -> Range<Int>? {
        let rest = bytes.count - position
        guard rest > 0, let start = bytes.baseAddress.map({ $0 + position }) else { return nil }
        guard let end = memchr(start, 0x0A, rest) else { return nil }
        let first = position
        var last = first + (UnsafeRawPointer(end) - start)
        position = last + 1
        while last > first, bytes[last - 1] == 0x0D { last -= 1 }
        guard last > first else {
            isComplete = true
            return nil
        }
        return first..<last
    }

    /// What is left without a line's end: the last line of a section that is cut short.
    mutating func rest() -> Range<Int>? {
        guard !isComplete, position < bytes.count else { return nil }
        let first = position
        position = bytes.count
        var last = position
        while last > first, bytes[last - 1] == 0x0D { last -= 1 }
        return last > first ? first..<last : nil
    }
}
