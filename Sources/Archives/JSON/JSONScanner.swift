import Glibc

/// What a scanner of JSON stumbled over.
struct JSONError: Error, Equatable {
    enum Kind: Sendable {
        /// What stands there is not JSON.
        case syntax
        /// The text ends before the value does.
        case end
        /// The file can't be read.
        case unreadable
        /// It is JSON, and what it says is refused.
        case refused
    }

    var kind: Kind
    /// Where in the text, in bytes from its beginning.
    var offset: Int
    var message: String

    static func syntax(_ message: String, at offset: Int) -> JSONError {
        JSONError(kind: .syntax, offset: offset, message: message)
    }
}

/// Reads JSON (RFC 8259) value by value from its beginning to its end, and keeps nothing of what it has read.
///
/// Containers are entered or skipped. What is skipped is checked by the grammar but for what is inside of its strings.
/// Beside JSON's literals it takes `NaN` and `Infinity`, as writers in Python make them. The text may begin with a
/// byte-order mark.
struct JSONScanner: ~Copyable {
    /// The deepest nesting of containers.
    static let depthLimit = 64
    /// How many bytes of a string that is too long for the room are kept: those that it begins with.
    static let prefixLength = 256

    private let source: ArchiveBytes
    private let end: Int
    private let room: Int
    let base: UnsafeMutableRawPointer
    /// The offset in the text of the first byte of the room.
    var start: Int
    /// Where in the room the next byte is.
    var position = 0
    /// How much of the room is filled.
    var filled = 0
    /// The containers that are open, the innermost in the lowest bit: 1 for an object.
    var containers: UInt64 = 0
    var depth = 0
    /// Whether the next member or element is the first of its container.
    var isFirst = false
    /// Whether the string that was read last is longer than the room: only its beginning was returned.
    var isCut = false

    /// - Parameters:
    ///   - range: what to read of the bytes; all by default.
    ///   - room: the most bytes of a string, as it is written, that can be returned whole.
    init(_ source: ArchiveBytes, _ range: Range<Int>? = nil, room: Int = 1 << 18) {
        let range = (range ?? 0..<source.count).clamped(to: 0..<source.count)
        self.source = source
        end = range.upperBound
        start = range.lowerBound
        self.room = max(min(room, range.count), 2 * JSONScanner.prefixLength)
        base = UnsafeMutableRawPointer.allocate(byteCount: self.room + JSONScanner.prefixLength, alignment: 16)
    }

    deinit { base.deallocate() }

    /// Where in the text the next byte is.
    var offset: Int { start &+ position }

    // MARK: Bytes

    /// Reads more behind what is in the room, from `mark` on; what is before it goes.
    mutating func refill(from mark: Int) throws(JSONError) {
        let kept = filled &- mark
        if kept > 0, mark > 0 { base.copyMemory(from: base + mark, byteCount: kept) }
        start &+= mark
        position &-= mark
        filled = kept
        let next = start &+ kept
        let wanted = min(room &- kept, end &- next)
        guard wanted > 0 else { throw JSONError(kind: .end, offset: next, message: "it ends too soon") }
        do throws(ArchiveProblem) {
            let read = try source.read(at: next, into: .init(start: base + kept, count: wanted))
            guard read > 0 else { throw ArchiveProblem.cutShort(at: next) }
            filled = kept &+ read
        } catch {
            throw JSONError(kind: .unreadable, offset: next, message: error.message)
        }
    }

    /// Whether the room is full from `mark` on.
    func isFull(from mark: Int) -> Bool { mark == 0 && filled == room }

    @inline(__always)
    var current: UInt8 { base.load(fromByteOffset: position, as: UInt8.self) }

    @inline(__always)
    func byte(_ index: Int) -> UInt8 { base.load(fromByteOffset: index, as: UInt8.self) }

    /// Passes over white space.
    ///
    /// - Returns: the byte behind it, which is not consumed.
    /// - Throws: ``JSONError`` at the end of the text.
    @inline(__always)
    mutating func significant() throws(JSONError) -> UInt8 {
        if position < filled {
            let byte = current
            if byte > 0x20 { return byte }
        }
        return try significantBehindSpace()
    }

    private mutating func significantBehindSpace() throws(JSONError) -> UInt8 {
        let spaces: UInt64 = 0x2020_2020_2020_2020
        while true {
            while position &+ 8 <= filled,
                base.loadUnaligned(fromByteOffset: position, as: UInt64.self) == spaces
            { position &+= 8 }
            while position < filled {
                let byte = current
                guard byte <= 0x20 else { return byte }
                guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else {
                    throw unexpected("a value, a comma or a bracket")
                }
                position &+= 1
                if byte == 0x0A { break }
            }
            if position == filled { try refill(from: position) }
        }
    }

    /// Passes over a byte-order mark, and tells texts in UTF-16.
    mutating func beginning() throws(JSONError) {
        if filled == 0 { try refill(from: 0) }
        if filled >= 3, byte(0) == 0xEF, byte(1) == 0xBB, byte(2) == 0xBF { position = 3 }
        if filled >= 2, byte(0) == 0xFE && byte(1) == 0xFF || byte(0) == 0xFF && byte(1) == 0xFE {
            throw .syntax("it is in UTF-16, and JSON is in UTF-8: 'iconv -f utf-16 -t utf-8' changes it", at: offset)
        }
    }

    /// Whether nothing but white space is left.
    mutating func isAtEnd() throws(JSONError) -> Bool {
        do throws(JSONError) {
            _ = try significant()
            return false
        } catch {
            guard error.kind == .end else { throw error }
            return true
        }
    }

    func unexpected(_ wanted: String) -> JSONError {
        let byte = position < filled ? current : 0
        let found = byte > 0x20 && byte < 0x7F ? "'\(Character(Unicode.Scalar(byte)))'" : "byte \(byte)"
        return .syntax("\(wanted) is expected, and \(found) stands there", at: offset)
    }

    // MARK: Containers

    /// Enters an object, where one stands here.
    ///
    /// - Returns: false where another value does; it is not consumed.
    mutating func enterObject() throws(JSONError) -> Bool { try enter(UInt8(ascii: "{"), 1) }

    /// Enters an array, where one stands here.
    ///
    /// - Returns: false where another value does; it is not consumed.
    mutating func enterArray() throws(JSONError) -> Bool { try enter(UInt8(ascii: "["), 0) }

    private mutating func enter(_ opening: UInt8, _ kind: UInt64) throws(JSONError) -> Bool {
        guard try significant() == opening else { return false }
        try push(kind)
        isFirst = true
        return true
    }

    @inline(__always)
    mutating func push(_ kind: UInt64) throws(JSONError) {
        guard depth < JSONScanner.depthLimit else {
            throw .syntax("it is nested deeper than \(JSONScanner.depthLimit) levels", at: offset)
        }
        position &+= 1
        depth &+= 1
        containers = containers << 1 | kind
    }

    @inline(__always)
    mutating func pop() {
        position &+= 1
        depth &-= 1
        containers >>= 1
    }

    /// Goes to the next element of the array that was entered last; leaves it at its end.
    ///
    /// - Returns: whether there is one; its value has to be read or skipped.
    mutating func nextElement() throws(JSONError) -> Bool { try next(UInt8(ascii: "]")) }

    /// Goes to the next member of the object that was entered last, and reads its name; leaves the object at its end.
    ///
    /// - Returns: the name, up to the next call; nil at the end. Behind a name its value has to be read or skipped.
    mutating func nextMember() throws(JSONError) -> UnsafeRawBufferPointer? {
        guard try next(UInt8(ascii: "}")) else { return nil }
        guard try significant() == UInt8(ascii: "\"") else { throw unexpected("a member's name") }
        return try string(throughColon: true)
    }

    private mutating func next(_ closing: UInt8) throws(JSONError) -> Bool {
        let byte = try significant()
        if byte == closing {
            pop()
            isFirst = false
            return false
        }
        if !isFirst {
            guard byte == UInt8(ascii: ",") else {
                throw unexpected(closing == UInt8(ascii: "]") ? "',' or ']'" : "',' or '}'")
            }
            position &+= 1
            _ = try significant()
        }
        isFirst = false
        return true
    }
}
