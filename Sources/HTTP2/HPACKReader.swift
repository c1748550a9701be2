/// The fields of one decompressed header block, in their order.
public struct FieldBlock: Sendable {
    public struct Line: Sendable {
        public var start: Int
        public var nameLength: Int
        public var valueLength: Int

        public var name: Range<Int> { start..<start &+ nameLength }
        public var value: Range<Int> { start &+ nameLength..<start &+ nameLength &+ valueLength }
    }

    /// Each field's name, and behind it its value.
    public fileprivate(set) var bytes: [UInt8] = []
    public fileprivate(set) var lines: [Line] = []
    /// Whether there were more bytes or lines than are allowed; those beyond are left out.
    fileprivate(set) var isTooLarge = false

    public init() {}

    /// Whether a name, in lower case as HTTP/2 has it, is that of Cookie.
    fileprivate func isCookie(_ start: Int, _ length: Int) -> Bool {
        length == 6 && bytes[start..<min(start &+ length, bytes.count)].elementsEqual("cookie".utf8)
    }

    /// Bytes of the lines as HTTP/1 writes them, the empty line after them included.
    var writtenSize: Int { lines.reduce(bytes.count &+ 2) { sum, _ in sum &+ 4 } }

    fileprivate mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        lines.removeAll(keepingCapacity: true)
        isTooLarge = false
    }
}

/// Decompresses the header blocks of a connection (RFC 7541).
public struct HPACKReader: Sendable {
    /// The block is no well-formed one: COMPRESSION_ERROR, for the connection (RFC 9113 §4.3).
    public struct Failure: Error {}

    private var table = HPACKTable()
    private let maxBytes: Int
    private let maxLines: Int

    /// - Parameters:
    ///   - maxBytes: of a section, each line counted with 32 more (RFC 9113 §6.5.2).
    ///   - maxLines: of a section; the lines of Cookie, which are one field cut into crumbs (RFC 9113 §8.2.3), count as
    ///     one.
    public init(maxBytes: Int, maxLines: Int) {
        self.maxBytes = maxBytes
        self.maxLines = maxLines
    }

    /// Decompresses one block into `fields`, whose storage is used again.
    ///
    /// - Throws: ``Failure`` where the block is no well-formed one; the connection can't go on then. One that is too
    ///   large is no failure: `fields` knows.
    public mutating func decode(_ block: UnsafeRawBufferPointer, into fields: inout FieldBlock) throws(Failure) {
        fields.clear()
        var cursor = Cursor(bytes: block)
        var size = 0
        var count = 0
        var hasCookie = false
        var mayResize = true
        while let first = cursor.peek {
            let start = fields.bytes.count
            var nameLength = 0
            if first & 0x80 != 0 {
                guard let entry = table[try cursor.integer(prefix: 7)] else { throw Failure() }
                size &+= entry.size
                // What is over the limit is not copied: a reference of one byte may stand for four thousand.
                if size <= maxBytes { fields.bytes += entry.bytes }
                nameLength = entry.nameLength
            } else if first & 0xe0 == 0x20 {
                // RFC 7541 §4.2: at the start of a block only.
                guard mayResize, table.setCapacity(try cursor.integer(prefix: 5)) else { throw Failure() }
                continue
            } else {
                let isIndexed = first & 0x40 != 0
                nameLength = try name(try cursor.integer(prefix: isIndexed ? 6 : 4), &cursor, &fields)
                try cursor.string(into: &fields.bytes)
                size &+= fields.bytes.count &- start &+ 32
                if isIndexed { table.insert(HPACKTable.Entry(Array(fields.bytes[start...]), nameLength: nameLength)) }
            }
            mayResize = false
            let isCrumb = size <= maxBytes && fields.isCookie(start, nameLength)
            if !isCrumb || !hasCookie { count &+= 1 }
            hasCookie = hasCookie || isCrumb
            if size > maxBytes || count > maxLines {
                fields.isTooLarge = true
                fields.bytes.removeSubrange(start...)
            } else {
                fields.lines.append(
                    FieldBlock.Line(
                        start: start, nameLength: nameLength, valueLength: fields.bytes.count &- start &- nameLength))
            }
        }
    }

    /// Appends the name of a literal; its length.
    private func name(_ index: Int, _ cursor: inout Cursor, _ fields: inout FieldBlock) throws(Failure) -> Int {
        let start = fields.bytes.count
        if index == 0 {
            try cursor.string(into: &fields.bytes)
        } else {
            guard let entry = table[index] else { throw Failure() }
            fields.bytes += entry.bytes[..<entry.nameLength]
        }
        return fields.bytes.count &- start
    }

    /// Reads the primitive types of RFC 7541 §5.
    private struct Cursor {
        let bytes: UnsafeRawBufferPointer
        var position = 0

        var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

        mutating func integer(prefix: Int) throws(Failure) -> Int {
            guard let first = peek else { throw Failure() }
            position &+= 1
            let limit = 1 << prefix &- 1
            var value = Int(first) & limit
            guard value == limit else { return value }
            var shift = 0
            while let byte = peek {
                position &+= 1
                value &+= Int(byte & 0x7f) << shift
                if byte < 0x80 { return value }
                shift &+= 7
                // No number in use here is near to this, and none beyond could be of use.
                guard shift <= 28 else { throw Failure() }
            }
            throw Failure()
        }

        mutating func string(into out: inout [UInt8]) throws(Failure) {
            guard let first = peek else { throw Failure() }
            let count = try integer(prefix: 7)
            guard count <= bytes.count &- position else { throw Failure() }
            let coded = UnsafeRawBufferPointer(rebasing: bytes[position..<position &+ count])
            position &+= count
            if first & 0x80 == 0 {
                out.append(contentsOf: coded)
            } else if !HPACKHuffmanCode.decode(coded, to: &out) {
                throw Failure()
            }
        }
    }
}

extension [UInt8] {
    /// `withUnsafeBytes`, with errors that keep their type.
    func withRawBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBufferPointer { buffer throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
    }
}
