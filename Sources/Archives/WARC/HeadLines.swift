import Glibc
import HTTPSemantics

/// What stands behind the head of a response.
enum BehindHead {
    /// The body, or nothing.
    case body
    /// The head of the next response: this one is an interim response, such as `100 Continue`, and its recorder has
    /// kept all that came (RFC 9110 §15.2).
    case response
    /// That is not known from so few bytes.
    case unknown

    /// - Parameters:
    ///   - bytes: from behind the head on.
    ///   - isWhole: whether there are no more.
    init(_ status: Int, _ bytes: UnsafeRawBufferPointer, isWhole: Bool) {
        // Behind 101 the bytes are another protocol's.
        guard (100...199).contains(status), status != 101 else {
            self = .body
            return
        }
        let begin: StaticString = "HTTP/"
        if bytes.count >= begin.utf8CodeUnitCount || isWhole {
            self = bytes.begins(with: begin) ? .response : .body
        } else {
            self = .unknown
        }
    }
}

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
