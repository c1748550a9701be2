import Glibc
import HTTPSemantics

/// Reads the XML of property lists (Apple: PropertyList-1.0.dtd), from a beginning to its end; data stays in the file.
///
/// It is a subset of XML: UTF-8, no declarations, the five entities that XML has and those of numbers.
struct XMLPropertyList {
    /// The most bytes of one.
    static let limit = 256 << 20

    private var window: ByteWindow
    private var position = 0
    private var objects = 0

    private struct Tag {
        var name: [UInt8]
        var isEnd: Bool
        var isEmpty: Bool
        var offset: Int
    }

    /// - Parameter offset: where ``document()`` or ``element()`` begins to read.
    init(_ bytes: ArchiveBytes, at offset: Int = 0) throws(ArchiveProblem) {
        guard bytes.count <= Self.limit else { throw .error("more than \(Self.limit) bytes of XML", at: Self.limit) }
        window = ByteWindow(bytes, size: 1 << 16)
        position = offset
    }

    /// Reads a whole document: the value in its `plist` element, or without one.
    mutating func document() throws(ArchiveProblem) -> PropertyList {
        if try window.source.read(at: 0, upTo: 3) == [0xEF, 0xBB, 0xBF] { position = 3 }
        let first = try tag()
        guard isNamed(first, "plist"), !first.isEnd, !first.isEmpty else { return try element(first, 0) }
        let value = try element(try tag(), 0)
        let last = try tag()
        guard last.isEnd, isNamed(last, "plist") else { throw .error("</plist> is missing", at: last.offset) }
        return value
    }

    /// Reads one element.
    mutating func element() throws(ArchiveProblem) -> PropertyList { try element(try tag(), 0) }

    private func isNamed(_ tag: Tag, _ name: StaticString) -> Bool {
        tag.name.withUnsafeBytes { $0.equals(name) }
    }

    /// - Throws: ``ArchiveProblem`` where the element is none that property lists have.
    private mutating func element(_ tag: Tag, _ depth: Int) throws(ArchiveProblem) -> PropertyList {
        objects += 1
        guard objects <= PropertyListFile.objectLimit else {
            throw .error("more than \(PropertyListFile.objectLimit) objects", at: tag.offset)
        }
        guard depth < PropertyListFile.depthLimit else {
            throw .error("more than \(PropertyListFile.depthLimit) objects in each other", at: tag.offset)
        }
        guard !tag.isEnd else { throw .error("a value is missing", at: tag.offset) }
        switch String(decoding: tag.name, as: UTF8.self) {
        case "dict": return try dictionary(tag, depth)
        case "array": return try array(tag, depth)
        case "string", "key": return .string(try text(tag))
        case "data": return try data(tag)
        case "true", "false":
            _ = try text(tag)
            return .boolean(isNamed(tag, "true"))
        case "integer":
            guard let value = Self.integer(try text(tag)) else { throw .error("this is no integer", at: tag.offset) }
            return .integer(value)
        case "real":
            guard let value = Double(String(decoding: Self.trimmed(try text(tag)), as: UTF8.self)) else {
                throw .error("this is no number", at: tag.offset)
            }
            return .real(value)
        case "date":
            // Nothing that is read from archives is one.
            _ = try text(tag)
            return .null
        default: throw .error("property lists have no such element", at: tag.offset)
        }
    }

    private static func trimmed(_ text: [UInt8]) -> [UInt8] { text.filter { $0 > 0x20 } }

    private static func integer(_ text: [UInt8]) -> Int64? {
        let text = String(decoding: trimmed(text), as: UTF8.self)
        if text.hasPrefix("0x") || text.hasPrefix("0X") {
            return UInt64(text.dropFirst(2), radix: 16).map { Int64(bitPattern: $0) }
        }
        return Int64(text) ?? UInt64(text).map { Int64(bitPattern: $0) }
    }

    private mutating func array(_ tag: Tag, _ depth: Int) throws(ArchiveProblem) -> PropertyList {
        var items: [PropertyList] = []
        guard !tag.isEmpty else { return .array([]) }
        while true {
            let next = try self.tag()
            if next.isEnd {
                try close(next, tag)
                return .array(items)
            }
            items.append(try element(next, depth + 1))
        }
    }

    private mutating func dictionary(_ tag: Tag, _ depth: Int) throws(ArchiveProblem) -> PropertyList {
        var members: [PropertyMember] = [
            // Where it begins in the file, for those who want to read it once more: no key is an integer.
            PropertyMember(key: .integer(Int64(tag.offset)), value: .null)
        ]
        guard !tag.isEmpty else { return .dictionary(members) }
        while true {
            let next = try self.tag()
            if next.isEnd {
                try close(next, tag)
                break
            }
            guard isNamed(next, "key") else { throw .error("a key is missing", at: next.offset) }
            let key = try element(next, depth + 1)
            members.append(PropertyMember(key: key, value: try element(try self.tag(), depth + 1)))
        }
        // The references of keyed archives in XML.
        if members.count == 2, members[1].key == .string(Array("CF$UID".utf8)),
            case .integer(let uid) = members[1].value
        {
            return .uid(UInt64(bitPattern: uid))
        }
        return .dictionary(members)
    }

    private func close(_ end: Tag, _ start: Tag) throws(ArchiveProblem) {
        guard end.name == start.name else { throw .error("this closes another element", at: end.offset) }
    }

    private mutating func data(_ tag: Tag) throws(ArchiveProblem) -> PropertyList {
        let start = position
        guard !tag.isEmpty else { return .data(PropertyData(range: start..<start, isBase64: true)) }
        try skip(to: 0x3C)
        let end = position
        try close(try self.tag(), tag)
        return .data(PropertyData(range: start..<end, isBase64: true))
    }

    /// The text of an element, up to the tag that closes it.
    private mutating func text(_ tag: Tag) throws(ArchiveProblem) -> [UInt8] {
        guard !tag.isEmpty else { return [] }
        var text: [UInt8] = []
        while true {
            let byte = try next()
            switch byte {
            case 0x26: try entity(into: &text)
            case 0x3C:
                if try isNext("![CDATA[") {
                    position += 8
                    try cdata(into: &text)
                } else if try isNext("!--") {
                    try comment()
                } else {
                    position -= 1
                    let end = try self.tag()
                    guard end.isEnd else { throw .error("an element is where text belongs", at: end.offset) }
                    try close(end, tag)
                    return text
                }
            default: text.append(byte)
            }
        }
    }

    private mutating func cdata(into text: inout [UInt8]) throws(ArchiveProblem) {
        while true {
            if try isNext("]]>") {
                position += 3
                return
            }
            text.append(try next())
        }
    }

    private mutating func entity(into text: inout [UInt8]) throws(ArchiveProblem) {
        let start = position - 1
        var name: [UInt8] = []
        while name.count <= 12 {
            let byte = try next()
            if byte == 0x3B { break }
            name.append(byte)
        }
        switch String(decoding: name, as: UTF8.self) {
        case "lt": text.append(0x3C)
        case "gt": text.append(0x3E)
        case "amp": text.append(0x26)
        case "quot": text.append(0x22)
        case "apos": text.append(0x27)
        case let number where number.hasPrefix("#"):
            let digits = number.dropFirst()
            let value = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
            guard let value, let scalar = Unicode.Scalar(value) else { fallthrough }
            text += Array(String(Character(scalar)).utf8)
        default: throw .error("this entity is none that is known", at: start)
        }
    }

    // MARK: Bytes

    /// The next tag; what may stand before it is passed over.
    private mutating func tag() throws(ArchiveProblem) -> Tag {
        while true {
            let offset = position
            let byte = try next()
            if byte == 0x20 || (0x09...0x0D).contains(byte) { continue }
            guard byte == 0x3C else { throw .error("text is where an element belongs", at: offset) }
            if try isNext("?") {
                try skip(to: 0x3E)
                position += 1
            } else if try isNext("!--") {
                try comment()
            } else if try isNext("!") {
                try doctype(offset)
            } else {
                return try tag(at: offset)
            }
        }
    }

    private mutating func tag(at offset: Int) throws(ArchiveProblem) -> Tag {
        var tag = Tag(name: [], isEnd: false, isEmpty: false, offset: offset)
        if try isNext("/") {
            tag.isEnd = true
            position += 1
        }
        var isInName = true
        var quote: UInt8?
        while true {
            let byte = try next()
            if let open = quote {
                if byte == open { quote = nil }
                continue
            }
            switch byte {
            case 0x3E: return tag
            case 0x2F: tag.isEmpty = true
            case 0x20, 0x09...0x0D: isInName = false
            case 0x22, 0x27: quote = byte
            default:
                if isInName { tag.name.append(byte) }
                guard tag.name.count <= 16 else { throw .error("property lists have no such element", at: offset) }
            }
        }
    }

    private mutating func comment() throws(ArchiveProblem) {
        position += 3
        while try !isNext("-->") {
            try skip(to: 0x2D)
            if try !isNext("-->") { position += 1 }
        }
        position += 3
    }

    /// Passes over a DOCTYPE that names a DTD; one that brings declarations, such as entities, is refused.
    private mutating func doctype(_ offset: Int) throws(ArchiveProblem) {
        var quote: UInt8?
        while true {
            let byte = try next()
            if let open = quote {
                if byte == open { quote = nil }
                continue
            }
            switch byte {
            case 0x3E: return
            case 0x22, 0x27: quote = byte
            case 0x5B: throw .error("a DTD with declarations, such as entities, is not read", at: offset)
            default: continue
            }
        }
    }

    private mutating func next() throws(ArchiveProblem) -> UInt8 {
        if position >= window.end || position < window.start { try window.require(1, at: position) }
        guard position < window.end else { throw .cutShort(at: position) }
        defer { position += 1 }
        return window.buffer[position - window.start]
    }

    private mutating func isNext(_ text: StaticString) throws(ArchiveProblem) -> Bool {
        try window.require(text.utf8CodeUnitCount, at: position)
        let start = position - window.start
        guard start >= 0, start + text.utf8CodeUnitCount <= window.buffer.count else { return false }
        for index in 0..<text.utf8CodeUnitCount where window.buffer[start + index] != text.utf8Start[index] {
            return false
        }
        return true
    }

    /// Goes to the next byte of a kind.
    private mutating func skip(to byte: UInt8) throws(ArchiveProblem) {
        while true {
            try window.require(1, at: position)
            guard position < window.end else { throw .cutShort(at: position) }
            let start = position - window.start
            let found: Int? = window.buffer.withUnsafeBytes { all in
                guard let base = all.baseAddress, let found = memchr(base + start, Int32(byte), all.count - start)
                else {
                    return nil
                }
                return UnsafeRawPointer(found) - base
            }
            if let found {
                position = window.start + found
                return
            }
            position = window.end
        }
    }
}
