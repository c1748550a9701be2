public import NIOCore

/// A header or trailer section: the bytes as received, and where each field line's name and value stand in them.
///
/// Order, case, repetition and bytes that are not UTF-8 survive, because nothing is decoded (RFC 9110 §5).
public struct FieldSection: Sendable {
    /// One field line, as offsets from the reader index of ``FieldSection/bytes``.
    public struct Line: Sendable, Equatable {
        public var nameStart: UInt32
        public var valueStart: UInt32
        public var valueLength: UInt32
        public var nameLength: UInt16
        public var name: FieldName

        public init(nameStart: Int, nameLength: Int, valueStart: Int, valueLength: Int, name: FieldName) {
            self.nameStart = UInt32(truncatingIfNeeded: nameStart)
            self.nameLength = UInt16(truncatingIfNeeded: nameLength)
            self.valueStart = UInt32(truncatingIfNeeded: valueStart)
            self.valueLength = UInt32(truncatingIfNeeded: valueLength)
            self.name = name
        }

        public var nameRange: Range<Int> { Int(nameStart)..<Int(nameStart) &+ Int(nameLength) }
        public var valueRange: Range<Int> { Int(valueStart)..<Int(valueStart) &+ Int(valueLength) }
    }

    /// What the lines' offsets refer to; for a head, the whole head.
    public private(set) var bytes: ByteBuffer
    /// The field lines in the order received.
    public private(set) var lines: ContiguousArray<Line>
    /// Which recognised names occur at all.
    public private(set) var present: FieldNameSet

    /// An empty section, to be built by ``append(name:value:)``.
    public init() {
        self.init(bytes: ByteBuffer(), lines: [])
    }

    /// A section over `bytes` with lines found by a parser, whose ranges are below 64 KiB and inside `bytes`.
    public init(bytes: ByteBuffer, lines: ContiguousArray<Line>) {
        var present = FieldNameSet()
        for line in lines { present.insert(line.name) }
        self.init(bytes: bytes, lines: lines, present: present)
    }

    /// The same, where the parser knows which names are present.
    public init(bytes: ByteBuffer, lines: ContiguousArray<Line>, present: FieldNameSet) {
        self.bytes = bytes
        self.lines = lines
        self.present = present
    }

    public var count: Int { lines.count }

    /// Gives the lines away, and leaves an empty section.
    public mutating func takeLines() -> ContiguousArray<Line> {
        var taken: ContiguousArray<Line> = []
        swap(&taken, &lines)
        present = FieldNameSet()
        return taken
    }

    /// Whether a field of this recognised name occurs.
    @inline(__always)
    public func contains(_ name: FieldName) -> Bool { present.contains(name) }

    /// Calls `body` with the bytes of the first value of `name`; nil where there is none.
    ///
    /// - Throws: What `body` throws.
    public func withFirst<Result, Failure: Error>(
        _ name: FieldName, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard present.contains(name) else { return nil }
        for line in lines where line.name == name { return try withValue(line, body) }
        return nil
    }

    /// Whether the first value of `name` is these bytes.
    public func first(_ name: FieldName, equals bytes: UnsafeRawBufferPointer) -> Bool {
        withFirst(name) { $0.equals(bytes) } ?? false
    }

    /// Calls `body` with each value of `name`, in order.
    ///
    /// - Throws: What `body` throws.
    public func forEach<Failure: Error>(_ name: FieldName, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void)
        throws(Failure)
    {
        guard present.contains(name) else { return }
        for line in lines where line.name == name { try withValue(line, body) }
    }

    /// How many lines of `name` there are.
    public func count(of name: FieldName) -> Int {
        guard present.contains(name) else { return 0 }
        return lines.reduce(into: 0) { if $1.name == name { $0 &+= 1 } }
    }

    /// Calls `body` with the bytes of a line's value.
    ///
    /// - Throws: What `body` throws.
    public func withValue<Result, Failure: Error>(
        _ line: Line, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withBytes(in: line.valueRange, body)
    }

    /// Calls `body` with the bytes of a line's name, as received.
    ///
    /// - Throws: What `body` throws.
    public func withName<Result, Failure: Error>(
        _ line: Line, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withBytes(in: line.nameRange, body)
    }

    /// Calls `body` with each line in order, and the bytes of its name and value.
    public func forEachLine(_ body: (Line, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeReadableBytes { all in
            let whole = 0..<all.count
            for line in lines {
                body(
                    line, UnsafeRawBufferPointer(rebasing: all[line.nameRange.clamped(to: whole)]),
                    UnsafeRawBufferPointer(rebasing: all[line.valueRange.clamped(to: whole)]))
            }
        }
    }

    /// Calls `body` with each value whose name is `name`, ASCII case ignored; for names that are not recognised ones.
    ///
    /// - Throws: What `body` throws.
    public func forEach<Failure: Error>(named name: [UInt8], _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void)
        throws(Failure)
    {
        for line in lines where Int(line.nameLength) == name.count {
            let matches = withName(line) { received in
                zip(received, name).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
            }
            if matches { try withValue(line, body) }
        }
    }

    /// The first value of `name` as text, bytes that are not UTF-8 replaced: for logs and pages, not for decisions.
    public func firstText(_ name: FieldName) -> String? {
        withFirst(name) { String(decoding: $0, as: UTF8.self) }
    }

    /// Appends a field line; the caller has checked that name is a token and value holds no CR, LF or NUL.
    public mutating func append(name: some Sequence<UInt8>, value: some Sequence<UInt8>) {
        let nameStart = bytes.readableBytes
        let nameLength = bytes.writeBytes(name)
        bytes.writeStaticString(": ")
        let valueStart = bytes.readableBytes
        let valueLength = bytes.writeBytes(value)
        bytes.writeStaticString("\r\n")
        let recognised = bytes.withUnsafeReadableBytes {
            FieldName(UnsafeRawBufferPointer(rebasing: $0[nameStart..<nameStart &+ nameLength]))
        }
        lines.append(
            Line(
                nameStart: nameStart, nameLength: nameLength, valueStart: valueStart, valueLength: valueLength,
                name: recognised))
        present.insert(recognised)
    }

    private func withBytes<Result, Failure: Error>(
        in range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try bytes.withUnsafeReadableBytes { all throws(Failure) in
            let clamped = range.clamped(to: 0..<all.count)
            return try body(UnsafeRawBufferPointer(rebasing: all[clamped]))
        }
    }
}
