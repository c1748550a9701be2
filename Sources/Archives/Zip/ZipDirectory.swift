/// The table of contents of a zip (APPNOTE.TXT 6.3), with zip64. Only files that are stored or deflated, each with a
/// place of its own.
struct ZipDirectory: Sendable {
    static let mostNames = 1_000_000

    let bytes: ArchiveBytes
    /// In the directory's order.
    private(set) var entries: ContiguousArray<ZipEntry> = []
    private var names: [UInt8] = []
    private var numbers: [ZipName: Int32] = [:]

    /// Reads it. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where there is none, or what it says can't be or isn't read here.
    init(_ bytes: ArchiveBytes) throws(ArchiveProblem) {
        self.bytes = bytes
        let end = try ZipEnd(of: bytes)
        var position = end.offset
        // The directory is read in parts, so that memory goes by the names it has.
        var buffer: [UInt8] = []
        var start = 0
        for _ in 0..<end.count {
            let from = position + buffer.count - start
            if buffer.count - start < ZipDirectory.mostHeaderBytes, from < end.offset + end.size {
                buffer.removeFirst(start)
                start = 0
                buffer += try bytes.read(at: from, upTo: min(end.offset + end.size - from, 1 << 20))
            }
            let length = try add(buffer[start...], at: position, end)
            start += length
            position += length
        }
        try checkOverlaps(end)
    }

    /// A header of the directory is at most this long: 46 bytes, a name, extra fields and a comment.
    private static let mostHeaderBytes = 46 + 3 * 65_535

    func name(_ index: Int) -> ArraySlice<UInt8> { names[entries[index].name] }

    /// The number of the file of a name, compared byte for byte; of several the last.
    func find(_ name: some Sequence<UInt8>) -> Int? { numbers[ZipName(name)].map { Int($0) } }

    /// Where a stored file's bytes are; nil where it is compressed. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where its own header is not there.
    func range(_ index: Int) throws(ArchiveProblem) -> Range<Int>? {
        let entry = entries[index]
        guard entry.method == .stored else { return nil }
        return try data(entry)
    }

    /// Reads a file. The stream throws where its length or its checksum is not what the directory says. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where its own header is not there.
    func open(_ index: Int) throws(ArchiveProblem) -> any BodyStream {
        let entry = entries[index]
        let range = try data(entry)
        return ZipStream(
            RangeStream(bytes, range), entry, inflater: entry.method == .deflate ? try Inflater(.raw) : nil)
    }

    /// Reads the file of a name; nil where there is none. Does I/O.
    func open(_ name: String) throws(ArchiveProblem) -> (any BodyStream)? {
        guard let index = find(name.utf8) else { return nil }
        return try open(index)
    }

    private func data(_ entry: ZipEntry) throws(ArchiveProblem) -> Range<Int> {
        let header = LittleEndian(try bytes.read(entry.offset..<entry.offset + 30))
        guard header.word(0) == 0x0403_4B50 else { throw .error("the zip has no file here", at: entry.offset) }
        let start = entry.offset + 30 + Int(header.short(26)) + Int(header.short(28))
        guard start + entry.storedSize <= entry.limit else {
            throw .error("files of the zip overlap", at: entry.offset)
        }
        return start..<start + entry.storedSize
    }

    /// Adds what a header of the directory says.
    ///
    /// - Returns: how long the header is.
    private mutating func add(
        _ bytes: ArraySlice<UInt8>, at position: Int, _ end: ZipEnd
    ) throws(ArchiveProblem) -> Int {
        let header = LittleEndian(bytes)
        guard bytes.count >= 46, header.word(0) == 0x0201_4B50 else {
            throw .error("the zip's directory is damaged", at: position)
        }
        let lengths = (Int(header.short(28)), Int(header.short(30)), Int(header.short(32)))
        let length = 46 + lengths.0 + lengths.1 + lengths.2
        guard bytes.count >= length, position + length <= end.offset + end.size else {
            throw .error("the zip's directory is damaged", at: position)
        }
        let name = bytes.dropFirst(46).prefix(lengths.0)
        guard header.short(8) & 0x2041 == 0 else {
            throw .error("\(ZipDirectory.text(name)) is encrypted", at: position)
        }
        guard let method = ZipEntry.Method(rawValue: header.short(10)) else {
            let text = "\(ZipDirectory.text(name)) is compressed by method \(header.short(10)): only stored and deflate"
            throw .error(text + " are read", at: position)
        }
        var values = ZipSizes(header)
        values.readExtra(LittleEndian(bytes.dropFirst(46 + lengths.0).prefix(lengths.1)))
        guard
            let entry = values.entry(below: end.offset, header.word(16), method, names.count..<names.count + name.count)
        else { throw .error("\(ZipDirectory.text(name)) has sizes beyond the file", at: position) }
        names += name
        numbers[ZipName(name)] = Int32(clamping: entries.count)
        entries.append(entry)
        return length
    }

    /// No two files share bytes: a few bytes could else become any number of files.
    private mutating func checkOverlaps(_ end: ZipEnd) throws(ArchiveProblem) {
        let order = entries.indices.sorted { entries[$0].offset < entries[$1].offset }
        for (place, index) in order.enumerated() {
            let limit = place + 1 < order.count ? entries[order[place + 1]].offset : end.offset
            // Its own header says how long its name and extra fields are there; this is the least.
            guard entries[index].offset + 30 + entries[index].storedSize <= limit else {
                throw .error("files of the zip overlap: \(ZipDirectory.text(name(index)))", at: entries[index].offset)
            }
            entries[index].limit = limit
        }
    }

    private static func text(_ name: ArraySlice<UInt8>) -> String { String(decoding: name.prefix(200), as: UTF8.self) }
}

/// A name of a zip, hashed with a seed of this process: names are chosen by others.
private struct ZipName: Hashable {
    private let bytes: [UInt8]

    init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
}

/// The sizes and the place of a file, of which zip64 has the large ones elsewhere.
private struct ZipSizes {
    private var size: UInt64
    private var storedSize: UInt64
    private var offset: UInt64

    init(_ header: LittleEndian) {
        storedSize = header.number(20, 4)
        size = header.number(24, 4)
        offset = header.number(42, 4)
    }

    /// The extra field 1 has those that are 0xFFFFFFFF in the header, in this order (APPNOTE.TXT §4.5.3).
    mutating func readExtra(_ extra: LittleEndian) {
        var position = 0
        while position + 4 <= extra.bytes.count {
            let length = Int(extra.short(position + 2))
            if extra.short(position) == 1 {
                var next = position + 4
                let end = min(next + length, extra.bytes.count)
                for value in [\ZipSizes.size, \.storedSize, \.offset]
                where self[keyPath: value] == 0xFFFF_FFFF && next + 8 <= end {
                    self[keyPath: value] = extra.long(next)
                    next += 8
                }
                return
            }
            position += 4 + length
        }
    }

    /// Nil where it doesn't fit below the directory.
    func entry(
        below end: Int, _ checksum: UInt32, _ method: ZipEntry.Method, _ name: Range<Int>
    ) -> ZipEntry? {
        guard let offset = Int(exactly: offset), let storedSize = Int(exactly: storedSize),
            let size = Int(exactly: size), offset <= end, storedSize <= end - offset, end - offset - storedSize >= 30,
            method == .deflate || size == storedSize
        else { return nil }
        return ZipEntry(
            offset: offset, limit: end, storedSize: storedSize, size: size, checksum: checksum, method: method,
            name: name)
    }
}
